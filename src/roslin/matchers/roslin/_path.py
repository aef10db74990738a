"""The best alignment itself, note by note: that of `_alignment`, one transposition at a time, with all places kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import FARTHEST, LANES, NO_INTERVAL, Encoded, Longs, Numbers, Tables, tempo_shift

PAIR, SKIP_MELODY, SKIP_QUERY = 0, 1, 2


@kernel
def fill(
    query: Encoded, melodies: Encoded, first: int, last: int, shift: int, lane: int, tables: Tables, grid: Longs
) -> tuple[int, int, int]:
    """Fill grid[kind, i + 1, j + 1] with the best score that ends there; the best of all with its ends, and where."""
    size, length = len(query.pitches), last - first
    role = 0 if size < length else (1 if size > length else 2)
    other = 1 if role == 0 else (0 if role == 1 else 2)
    best, best_i, best_j = FARTHEST, -1, -1
    for kind in range(3):
        for j in range(length + 1):
            grid[kind, 0, j] = FARTHEST
        for i in range(size + 1):
            grid[kind, i, 0] = FARTHEST
    for i in range(size):
        for j in range(length):
            above = max(grid[0, i, j + 1], max(grid[1, i, j + 1], grid[2, i, j + 1]))
            left = max(grid[0, i + 1, j], max(grid[1, i + 1, j], grid[2, i + 1, j]))
            diagonal = max(grid[0, i, j], max(grid[1, i, j], grid[2, i, j]))
            start = -tables.starts[role, i] - tables.starts[other, j]
            worth = worth_of(query, i, melodies, first + j, last, shift, lane, tables)
            grid[0, i + 1, j + 1] = worth + max(start, diagonal)
            grid[1, i + 1, j + 1] = max(
                left - tables.openings[melodies.gaps[first + j]], grid[1, i + 1, j] - tables.extension
            )
            grid[2, i + 1, j + 1] = max(above - tables.openings[query.gaps[i]], grid[2, i, j + 1] - tables.extension)
            whole = grid[0, i + 1, j + 1] - tables.ends[role, size - 1 - i] - tables.ends[other, length - 1 - j]
            if whole > best:
                best, best_i, best_j = whole, i, j
    return best, best_i, best_j


@kernel
def worth_of(
    query: Encoded, i: int, melodies: Encoded, at: int, last: int, shift: int, lane: int, tables: Tables
) -> Any:
    span: Any = min(abs(np.int64(melodies.values[at]) - np.int64(query.values[i]) - shift), 10)
    seen = 0
    if query.intervals[i] != NO_INTERVAL and query.intervals[i] == melodies.intervals[at]:
        seen = 1
    if i + 1 < len(query.pitches) and at + 1 < last and query.intervals[i + 1] == melodies.intervals[at + 1]:
        seen += 2
    both = tables.labels[query.labels[i], melodies.labels[at]]
    turn = (np.int64(melodies.pitches[at]) - np.int64(query.pitches[i])) % 12
    if tables.is_equal[turn * LANES + lane]:
        kinds = tables.kinds[query.kinds[i]] + tables.kinds[melodies.kinds[at]]
        return tables.equal[span] + tables.contexts[0, seen] + kinds + both
    return tables.pitch[turn * LANES + lane] + tables.near[span] + tables.contexts[1, seen] + both


@kernel
def best_path(
    query: Encoded, melodies: Encoded, number: int, tables: Tables, steps: Numbers
) -> tuple[int, int, int, int]:
    """(score, tempo, transposition, number of steps); a step is (kind, i, j), from the first to the last."""
    first, last = melodies.offsets[number], melodies.offsets[number + 1]
    size, length = len(query.pitches), last - first
    grid = np.empty((3, size + 1, length + 1), np.int32)
    difference = int(melodies.tempos[number]) - int(query.tempos[0])
    best, best_tempo, best_lane = FARTHEST, 0, 0
    for tempo in range(len(tables.tempo_prices)):
        for lane in range(12):
            if tables.lanes[lane] < 0:
                continue
            score, _, _ = fill(query, melodies, first, last, tempo_shift(tempo, difference), lane, tables, grid)
            score -= tables.tempo_prices[tempo]
            if score > best:
                best, best_tempo, best_lane = score, tempo, lane
    _, i, j = fill(query, melodies, first, last, tempo_shift(best_tempo, difference), best_lane, tables, grid)
    return best, best_tempo, best_lane, trace(query, i, j, tables, grid, steps)


@kernel
def trace(query: Encoded, i: int, j: int, tables: Tables, grid: Longs, steps: Numbers) -> int:
    size, length = len(query.pitches), grid.shape[2] - 1
    role = 0 if size < length else (1 if size > length else 2)
    other = 1 if role == 0 else (0 if role == 1 else 2)
    count, kind = 0, PAIR
    while True:
        steps[count, 0], steps[count, 1], steps[count, 2] = kind, i, j
        count += 1
        if kind == PAIR:
            diagonal = max(grid[0, i, j], max(grid[1, i, j], grid[2, i, j]))
            if -tables.starts[role, i] - tables.starts[other, j] >= diagonal:
                break
            i, j = i - 1, j - 1
        elif kind == SKIP_MELODY:
            if grid[1, i + 1, j + 1] == grid[1, i + 1, j] - tables.extension:
                j -= 1
                continue
            j -= 1
        else:
            if grid[2, i + 1, j + 1] == grid[2, i, j + 1] - tables.extension:
                i -= 1
                continue
            i -= 1
        kind = PAIR
        if grid[1, i + 1, j + 1] > grid[kind, i + 1, j + 1]:
            kind = SKIP_MELODY
        if grid[2, i + 1, j + 1] > grid[kind, i + 1, j + 1]:
            kind = SKIP_QUERY
    for k in range(count // 2):
        for column in range(3):
            steps[k, column], steps[count - 1 - k, column] = steps[count - 1 - k, column], steps[k, column]
    return count


@kernel
def tempo_of(query: Encoded, melody: Encoded, tempo: int) -> Any:
    """How much slower one melody is taken to be, in quarters of an octave of time."""
    return tempo_shift(tempo, int(melody.tempos[0]) - int(query.tempos[0]))


@kernel
def step_worths(
    query: Encoded, melody: Encoded, tempo: int, lane: int, tables: Tables, steps: Numbers, worths: Longs
) -> tuple[int, int, int, int]:
    """Write the worth of each step; the prices of what is left out: before and after, of the query and the melody."""
    size, length = len(query.pitches), len(melody.pitches)
    shift = tempo_of(query, melody, tempo)
    for place in range(len(steps)):
        kind, i, j = steps[place, 0], steps[place, 1], steps[place, 2]
        if kind == PAIR:
            worths[place] = worth_of(query, i, melody, j, length, shift, lane, tables)
        elif steps[place - 1, 0] == kind:
            worths[place] = -tables.extension
        elif kind == SKIP_MELODY:
            worths[place] = -tables.openings[melody.gaps[j]]
        else:
            worths[place] = -tables.openings[query.gaps[i]]
    role = 0 if size < length else (1 if size > length else 2)
    other = 1 if role == 0 else (0 if role == 1 else 2)
    last = len(steps) - 1
    return (
        tables.starts[role, steps[0, 1]],
        tables.starts[other, steps[0, 2]],
        tables.ends[role, size - 1 - steps[last, 1]],
        tables.ends[other, length - 1 - steps[last, 2]],
    )
