"""The score of the best alignment of a query with each of many melodies, all transpositions side by side.

Vectors of sixteen hold one number for each transposition; the last four are not used. For every tempo the query's notes
are rows and the melody's notes columns:

    pair(i, j)   worth of a pair + the best way to get there: a start here, or whatever ended at (i - 1, j - 1)
    skipped      the melody's note j, or the query's note i, is left out: `opening` for the first, `extension` for more

An alignment starts and ends with a pair. What is left out before and after it has a price (`Ends`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._vectors import higher, largest, load, longs16, minus, plus, spread, store, where_equal

__all__ = ["Encoded", "Tables", "align_all", "self_scores", "tempo_shift"]

Bytes = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

LANES = 16
FARTHEST = -(1 << 28)  # nothing can be reached from here
NO_INTERVAL = 127


class Encoded(NamedTuple):
    """Notes of many melodies end to end; melody k is offsets[k] to offsets[k + 1]."""

    offsets: Numbers
    tempos: Bytes  # of each melody: its median g
    pitches: Bytes  # of each note: pitch class
    values: Bytes  # g
    intervals: Bytes  # semitones from the note before, NO_INTERVAL for the first
    kinds: Bytes  # interval kind x duration class
    gaps: Bytes  # duration class
    labels: Bytes  # metre x phrase


class Tables(NamedTuple):
    """The worth of everything, in whole units."""

    equal: Longs  # [11] A
    near: Longs  # [11] B
    pitch: Longs  # [12, 16]: P of what lane u sees at pitch difference r; of an equal pitch 0
    is_equal: Longs  # [12, 16]: 1 where lane u sees an equal pitch
    contexts: Longs  # [2, 4]
    kinds: Longs  # [12]
    labels: Longs  # [16, 16]
    openings: Longs  # [3]
    extension: int
    starts: Longs  # [3, longest + 1]: of the shorter, the longer, one of two equally long
    ends: Longs  # the same
    tempo_prices: Longs  # [4]: as written, by the medians, double, half
    lanes: Longs  # [16]: 0 for a transposition that is allowed, otherwise FARTHEST


@kernel
def tempo_shift(tempo: int, difference: int | np.int64) -> Any:
    """How much longer a melody's notes are taken to be than the query's, in quarters of an octave of time."""
    if tempo == 0:
        return 0
    if tempo == 1:
        return difference
    return 4 if tempo == 2 else -4


@kernel
def is_needed(tempo: int, difference: int | np.int64, prices: npt.NDArray[Any]) -> bool:
    """Whether no other tempo makes the notes as long for less, or as one that comes before it for the same price."""
    shift = tempo_shift(tempo, difference)
    for other in range(len(prices)):
        is_cheaper = prices[other] < prices[tempo] or (prices[other] == prices[tempo] and other < tempo)
        if is_cheaper and tempo_shift(other, difference) == shift:
            return False
    return True


@kernel
def align_all(query: Encoded, melodies: Encoded, tables: Tables, numbers: Numbers, scores: Longs) -> None:
    """Write the score of the best alignment with each of these melodies."""
    longest = 1
    for number in numbers:
        longest = max(longest, melodies.offsets[number + 1] - melodies.offsets[number])
    rows = np.empty((longest + 1) * LANES, np.int32)
    gaps = np.empty((longest + 1) * LANES, np.int32)
    for place in range(len(numbers)):
        scores[place] = best_score(query, melodies, numbers[place], tables, rows, gaps)


@kernel
def best_score(query: Encoded, melodies: Encoded, number: int, tables: Tables, rows: Longs, gaps: Longs) -> int:
    """The score of one melody."""
    first, last = melodies.offsets[number], melodies.offsets[number + 1]
    if first == last or not len(query.pitches):
        return FARTHEST
    difference = np.int64(melodies.tempos[number]) - np.int64(query.tempos[0])
    best = FARTHEST
    for tempo in range(len(tables.tempo_prices)):
        if not is_needed(tempo, difference, tables.tempo_prices):
            continue
        shift = tempo_shift(tempo, difference)
        score = at_tempo(query, melodies, first, last, shift, tables, rows, gaps) - tables.tempo_prices[tempo]
        best = max(best, score)
    return best


@kernel
def at_tempo(
    query: Encoded, melodies: Encoded, first: int, last: int, shift: int, tables: Tables, rows: Longs, gaps: Longs
) -> Any:
    size, length = len(query.pitches), last - first
    role = 0 if size < length else (1 if size > length else 2)
    other = 1 if role == 0 else (0 if role == 1 else 2)
    pitches, values, intervals = melodies.pitches, melodies.values, melodies.intervals
    kinds, classes, labels = melodies.kinds, melodies.gaps, melodies.labels
    equals, nears, pitch_worth, is_equal = tables.equal, tables.near, tables.pitch, tables.is_equal
    contexts, kind_worth, label_worth = tables.contexts, tables.kinds, tables.labels
    openings, other_starts, other_ends = tables.openings, tables.starts[other], tables.ends[other]
    own_intervals, longest = query.intervals, tables.starts.shape[1] - 1
    zero = longs16()
    nothing = spread(FARTHEST, zero)
    best = nothing
    extension = spread(tables.extension, zero)
    for j in range(length + 1):
        store(rows, j * LANES, nothing)
        store(gaps, j * LANES, nothing)
    for i in range(size):
        opening = spread(openings[query.gaps[i]], zero)
        start, end = tables.starts[role, min(i, longest)], tables.ends[role, min(size - 1 - i, longest)]
        kind, pitch, label = kind_worth[query.kinds[i]], np.int64(query.pitches[i]), query.labels[i]
        value = np.int64(query.values[i]) + shift
        own = own_intervals[i]
        following = own_intervals[i + 1] if i + 1 < size else NO_INTERVAL
        if own == NO_INTERVAL:
            own = -NO_INTERVAL
        diagonal, before, skipped = nothing, nothing, nothing
        for j in range(length):
            at = first + j
            span: Any = min(abs(np.int64(values[at]) - value), 10)
            seen = 0
            if intervals[at] == own:
                seen = 1
            if j + 1 < length and intervals[at + 1] == following:
                seen += 2
            both = label_worth[label, labels[at]]
            equal = equals[span] + contexts[0, seen] + kind + kind_worth[kinds[at]] + both
            near = nears[span] + contexts[1, seen] + both
            turn = np.int64(pitches[at]) - pitch
            if turn < 0:
                turn += 12
            worth = where_equal(
                load(is_equal, turn * LANES, zero),
                zero,
                plus(load(pitch_worth, turn * LANES, zero), spread(near, zero)),
                spread(equal, zero),
            )
            here = higher(diagonal, spread(-start - other_starts[min(j, longest)], zero))
            pair = plus(here, worth)
            best = higher(best, minus(pair, spread(end + other_ends[min(length - 1 - j, longest)], zero)))
            above = load(rows, (j + 1) * LANES, zero)
            skipped = higher(minus(before, spread(openings[classes[at]], zero)), minus(skipped, extension))
            hanging = higher(minus(above, opening), minus(load(gaps, (j + 1) * LANES, zero), extension))
            store(gaps, (j + 1) * LANES, hanging)
            before = higher(pair, higher(skipped, hanging))
            diagonal = above
            store(rows, (j + 1) * LANES, before)
    return largest(plus(best, load(tables.lanes, 0, zero)))


@kernel
def self_scores(melodies: Encoded, tables: Tables, scores: Longs) -> None:
    """What each melody scores against itself, note on note: no alignment has to be searched for."""
    for number in range(len(scores)):
        first, last = melodies.offsets[number], melodies.offsets[number + 1]
        total = 0
        for at in range(first, last):
            seen = (1 if at > first else 0) + (2 if at + 1 < last else 0)
            label = melodies.labels[at]
            total += tables.equal[0] + tables.contexts[0, seen] + 2 * tables.kinds[melodies.kinds[at]]
            total += tables.labels[label, label]
        scores[number] = total
