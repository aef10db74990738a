"""Numba kernels of `p1`, `p2` and `p3`: figures from notes, and what a query has in common with each candidate.

A figure is a number of segments (start, stop, pitch), or of points, which are segments that stop where they start.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["most_in_common", "points_of", "segments_of", "whole_query"]

Numbers = npt.NDArray[np.int64]
Pitches = npt.NDArray[np.int16]
Flags = npt.NDArray[np.bool_]
Cells = npt.NDArray[np.int16] | npt.NDArray[np.int32]

_PITCHES = 128
# The table of moves is kept where it has at most so many cells; else the moves are sorted.
_CELLS = 65536
# So many pairs change a cell by at most twice their number, which fits into 16 bits.
_FEW_PAIRS = 2**14 - 1


@kernel
def points_of(onset: Numbers, pitch: Pitches, is_grace: Flags, offsets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """(times, pitches, offsets): the points of all melodies, in order of time, then of pitch, each place once."""
    times, pitches = np.empty(len(onset), np.int64), np.empty(len(onset), np.int64)
    bounds = np.zeros(len(offsets), np.int64)
    count = 0
    for k in range(len(offsets) - 1):
        chord = count  # where the notes of the present onset begin
        for row in range(offsets[k], offsets[k + 1]):
            if is_grace[row]:
                continue
            if count > chord and times[count - 1] != onset[row]:
                chord = count
            place = count
            while place > chord and pitches[place - 1] > pitch[row]:
                place -= 1
            if place > chord and pitches[place - 1] == pitch[row]:
                continue
            for other in range(count, place, -1):
                pitches[other] = pitches[other - 1]
            times[count], pitches[place] = onset[row], pitch[row]
            count += 1
        bounds[k + 1] = count
    return times[:count].copy(), pitches[:count].copy(), bounds


@kernel
def segments_of(
    onset: Numbers, duration: Numbers, pitch: Pitches, is_grace: Flags, offsets: Numbers
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """(starts, stops, pitches, offsets): the segments of all melodies, in order of pitch, then of time.

    Notes of one pitch that touch or overlap become one segment, so that the time which they share counts once.
    """
    start, stop = np.empty(len(onset), np.int64), np.empty(len(onset), np.int64)
    pitches, bounds = np.empty(len(onset), np.int64), np.zeros(len(offsets), np.int64)
    place, rows = np.zeros(_PITCHES + 1, np.int64), np.empty(16, np.int64)
    count = 0
    for k in range(len(offsets) - 1):
        # Rows are in order of onset already: they only need to be dealt out by pitch.
        low, high, sounding = _PITCHES, -1, 0
        for row in range(offsets[k], offsets[k + 1]):
            if not is_grace[row] and duration[row] > 0:
                low, high, sounding = min(low, int(pitch[row])), max(high, int(pitch[row])), sounding + 1
                place[int(pitch[row]) + 1] += 1
        if sounding > len(rows):
            rows = np.empty(2 * sounding, np.int64)
        for p in range(low, high):
            place[p + 1] += place[p]
        for row in range(offsets[k], offsets[k + 1]):
            if not is_grace[row] and duration[row] > 0:
                rows[place[pitch[row]]] = row
                place[pitch[row]] += 1
        for p in range(low, high + 2):
            place[p] = 0
        for row in rows[:sounding]:
            end = onset[row] + duration[row]
            if count > bounds[k] and pitches[count - 1] == pitch[row] and onset[row] <= stop[count - 1]:
                stop[count - 1] = max(stop[count - 1], end)
            else:
                start[count], stop[count], pitches[count] = onset[row], end, pitch[row]
                count += 1
        bounds[k + 1] = count
    return start[:count].copy(), stop[:count].copy(), pitches[:count].copy(), bounds


@kernel
def whole_query(query_time: Numbers, query_pitch: Numbers, time: Numbers, pitch: Numbers, offsets: Numbers) -> Numbers:
    """P1: the number of the query's points where one move takes all of them onto points of the candidate, else 0."""
    m = len(query_time)
    common = np.zeros(len(offsets) - 1, np.int64)
    pointer = np.empty(m, np.int64)
    for k in range(len(offsets) - 1):
        first, end = offsets[k], offsets[k + 1]
        pointer[:] = first
        for j in range(first, end - m + 1):
            # Moves grow with j, in the order of the points: no pointer has to go back.
            shift, up = time[j] - query_time[0], pitch[j] - query_pitch[0]
            found = 1
            for i in range(1, m):
                at, high = query_time[i] + shift, query_pitch[i] + up
                place = pointer[i]
                while place < end and (time[place] < at or (time[place] == at and pitch[place] < high)):
                    place += 1
                pointer[i] = place
                if place == end or time[place] != at or pitch[place] != high:
                    break
                found += 1
            if found == m:
                common[k] = m
                break
    return common


@kernel
def most_in_common(
    query_start: Numbers,
    query_stop: Numbers,
    query_pitch: Numbers,
    start: Numbers,
    stop: Numbers,
    pitch: Numbers,
    offsets: Numbers,
    timed: bool,
) -> Numbers:
    """P2: how many points coincide at the best move. P3 (`timed`): for how many ticks segments lie on each other.

    A move is a cell of a table, with a row for each transposition and a column for each shift on the grid of all times.
    P2: each pair of points adds one to a cell. P3: each pair of segments bends a line in four cells of a row.
    """
    common = np.zeros(len(offsets) - 1, np.int64)
    m = len(query_start)
    if m == 0:
        return common
    query_from, query_to = query_start.min(), query_stop.max()
    query_low, query_high = query_pitch.min(), query_pitch.max()
    query_grid = _grid(query_start, query_stop, 0, m, query_from, 0, timed)
    mine, theirs = np.zeros(_PITCHES, np.int64), np.zeros(_PITCHES, np.int64)
    for i in range(m):
        mine[query_pitch[i]] += query_stop[i] - query_start[i]
    reach = np.empty(2 * _PITCHES, np.int64)
    narrow, wide = np.zeros(_CELLS, np.int16), np.zeros(_CELLS, np.int32)
    a, b = np.empty(m, np.int64), np.empty(m, np.int64)
    s, e = np.empty(16, np.int64), np.empty(16, np.int64)
    for k in range(len(offsets) - 1):
        first, n = offsets[k], offsets[k + 1] - offsets[k]
        if n == 0:
            continue
        low, high = pitch[first], pitch[first]
        begin, over = start[first], stop[first]
        for j in range(first, first + n):
            low, high = min(low, pitch[j]), max(high, pitch[j])
            begin, over = min(begin, start[j]), max(over, stop[j])
        rows = high - low + query_high - query_low + 1
        # A shift is a time of the candidate from its beginning plus a time of the query back from its end; in the same
        # way, a transposition is the sum of two distances in pitch. So the cell of a pair is the sum of two numbers.
        grid = max(_grid(start, stop, first, first + n, begin, query_grid, timed), 1)
        per_tick = 1.0 / grid
        columns = _steps(query_to - query_from + over - begin, per_tick) + 1
        for i in range(m):
            row = (query_high - query_pitch[i]) * columns
            a[i] = row + _steps(query_to - query_start[i], per_tick)
            if timed:
                b[i] = row + _steps(query_to - query_stop[i], per_tick)
        if n > len(s):
            s, e = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
        for j in range(n):
            row = (pitch[first + j] - low) * columns
            s[j] = row + _steps(start[first + j] - begin, per_tick)
            if timed:
                e[j] = row + _steps(stop[first + j] - begin, per_tick)

        if rows * columns > _CELLS:
            common[k] = _most_in_order(a, b, s[:n], e[:n], timed) * (grid if timed else 1)
        elif timed:
            for j in range(first, first + n):
                theirs[pitch[j]] += stop[j] - start[j]
            _fill_reach(mine, query_low, query_high, theirs, low, high, reach)
            theirs[low : high + 1] = 0
            # To clear the table takes much of the time: cells are as narrow as the number of pairs allows.
            if m * n <= _FEW_PAIRS:
                common[k] = _longest(a, b, s, e, n, narrow, rows, columns, reach, grid) * grid
            else:
                common[k] = _longest(a, b, s, e, n, wide, rows, columns, reach, grid) * grid
        elif m * n <= _FEW_PAIRS:
            common[k] = _most_votes(a, s, n, narrow, rows * columns)
        else:
            common[k] = _most_votes(a, s, n, wide, rows * columns)
    return common


@kernel
def _steps(ticks: int, per_tick: float) -> int:
    """Ticks, a multiple of the grid, in steps of the grid: a multiplication is far quicker than a division."""
    return int(ticks * per_tick + 0.5)


@kernel
def _grid(start: Numbers, stop: Numbers, first: int, end: int, origin: int, grid: int, timed: bool) -> int:
    """The greatest common divisor of `grid` and of all times from the origin: starts and, if `timed`, stops."""
    for j in range(first, end):
        grid = _divisor(grid, start[j] - origin)
        if timed:
            grid = _divisor(grid, stop[j] - origin)
    return grid


@kernel
def _divisor(grid: int, value: int) -> int:
    """The greatest common divisor of two numbers, where the first mostly is it already."""
    if grid == 0 or value % grid != 0:
        while value != 0:
            grid, value = value, grid % value
    return grid


@kernel
def _fill_reach(
    mine: Numbers, query_low: int, query_high: int, theirs: Numbers, low: int, high: int, reach: Numbers
) -> None:
    """What each transposition could reach: in each pitch, the lesser of what the two have of it."""
    for row in range(high - low + query_high - query_low + 1):
        up = row + low - query_high
        reach[row] = 0
        for p in range(max(query_low, low - up), min(query_high, high - up) + 1):
            reach[row] += min(mine[p], theirs[p + up])


@kernel
def _most_votes(a: Numbers, s: Numbers, n: int, votes: Cells, size: int) -> int:
    """The largest number of pairs in a cell. `votes` is zero before and after."""
    best = 0
    for j in range(n):
        for i in range(len(a)):
            count = votes[s[j] + a[i]] + 1
            votes[s[j] + a[i]] = count
            best = max(best, count)
    votes[:size] = 0
    return best


@kernel
def _longest(
    a: Numbers,
    b: Numbers,
    s: Numbers,
    e: Numbers,
    n: int,
    bends: Cells,
    rows: int,
    columns: int,
    reach: Numbers,
    grid: int,
) -> int:
    """The largest common time, in steps of the grid. `bends` is zero before and after.

    Rows are swept in the order of what they could reach, until none could reach more than the best so far.
    """
    for j in range(n):
        for i in range(len(a)):
            bends[s[j] + b[i]] += 1
            bends[s[j] + a[i]] -= 1
            bends[e[j] + b[i]] -= 1
            bends[e[j] + a[i]] += 1
    best = 0
    while True:
        row = int(np.argmax(reach[:rows]))
        if reach[row] <= best * grid:
            bends[: rows * columns] = 0
            return best
        reach[row] = 0
        value, slope = 0, 0
        for cell in range(row * columns, (row + 1) * columns):
            value += slope
            slope += int(bends[cell])
            best = max(best, value)


@kernel
def _most_in_order(a: Numbers, b: Numbers, s: Numbers, e: Numbers, timed: bool) -> int:
    """The same for a table that would be too large: the cells that count are sorted, and swept from first to last.

    A line is back at zero at the end of its row, so that the rows can follow each other. The lowest bit of a turning
    point says whether the line bends downwards there.
    """
    turns = np.empty(len(a) * len(s) * (4 if timed else 1), np.int64)
    count = 0
    for j in range(len(s)):
        for i in range(len(a)):
            turns[count] = 2 * (s[j] + a[i]) + 1
            count += 1
            if timed:
                turns[count] = 2 * (s[j] + b[i])
                turns[count + 1] = 2 * (e[j] + b[i]) + 1
                turns[count + 2] = 2 * (e[j] + a[i])
                count += 3
    turns.sort()
    best, value, slope, last = 0, 0, 0, -1
    for turn in turns:
        cell = int(turn) >> 1
        if timed:
            value += slope * (cell - last)
            slope += 1 - 2 * (int(turn) & 1)
        else:
            value = value + 1 if cell == last else 1
        last = cell
        best = max(best, value)
    return best
