"""Numba kernels of `p1`, `p2` and `p3`: figures from notes, and what a query has in common with each candidate.

A figure is a number of segments (start, stop, pitch) in order of pitch, then of time. A point is a segment that stops
where it starts.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

__all__ = ["figures_of", "most_in_common", "whole_query"]

Numbers = npt.NDArray[np.int64]
Pitches = npt.NDArray[np.int16]
Flags = npt.NDArray[np.bool_]

_PITCHES = 128
# The table of moves is kept where it has at most so many cells; else the moves are sorted.
_CELLS = 65536


@nb.njit(cache=True, nogil=True)
def figures_of(
    onset: Numbers, duration: Numbers, pitch: Pitches, is_grace: Flags, offsets: Numbers, timed: bool
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """(starts, stops, pitches, offsets) of the figures of all melodies: segments if `timed`, else points.

    Notes of one pitch that touch or overlap become one segment, so that the time which they share counts once; notes
    in the same place become one point.
    """
    start, stop = np.empty(len(onset), np.int64), np.empty(len(onset), np.int64)
    pitches, bounds = np.empty(len(onset), np.int64), np.zeros(len(offsets), np.int64)
    place, rows = np.zeros(_PITCHES + 1, np.int64), np.empty(16, np.int64)
    count = 0
    for k in range(len(offsets) - 1):
        # Rows are in order of onset already: they only need to be dealt out by pitch.
        low, high, sounding = _PITCHES, -1, 0
        for row in range(offsets[k], offsets[k + 1]):
            if not is_grace[row] and (duration[row] > 0 or not timed):
                low, high, sounding = min(low, int(pitch[row])), max(high, int(pitch[row])), sounding + 1
                place[int(pitch[row]) + 1] += 1
        if sounding > len(rows):
            rows = np.empty(2 * sounding, np.int64)
        for p in range(low, high):
            place[p + 1] += place[p]
        for row in range(offsets[k], offsets[k + 1]):
            if not is_grace[row] and (duration[row] > 0 or not timed):
                rows[place[pitch[row]]] = row
                place[pitch[row]] += 1
        for p in range(low, high + 2):
            place[p] = 0
        for row in rows[:sounding]:
            end = onset[row] + duration[row] if timed else onset[row]
            if count > bounds[k] and pitches[count - 1] == pitch[row] and onset[row] <= stop[count - 1]:
                stop[count - 1] = max(stop[count - 1], end)
            else:
                start[count], stop[count], pitches[count] = onset[row], end, pitch[row]
                count += 1
        bounds[k + 1] = count
    return start[:count].copy(), stop[:count].copy(), pitches[:count].copy(), bounds


@nb.njit(cache=True, nogil=True)
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
                while place < end and (pitch[place] < high or (pitch[place] == high and time[place] < at)):
                    place += 1
                pointer[i] = place
                if place == end or time[place] != at or pitch[place] != high:
                    break
                found += 1
            if found == m:
                common[k] = m
                break
    return common


@nb.njit(cache=True, nogil=True)
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
    query_low, query_high = query_pitch[0], query_pitch[m - 1]
    query_grid = _grid(query_start, query_stop, 0, m, query_from, 0)
    mine, theirs = np.zeros(_PITCHES, np.int64), np.zeros(_PITCHES, np.int64)
    for i in range(m):
        mine[query_pitch[i]] += query_stop[i] - query_start[i]
    reach, cells = np.empty(2 * _PITCHES, np.int64), np.zeros(_CELLS, np.int32)
    a, b = np.empty(m, np.int64), np.empty(m, np.int64)
    s, e = np.empty(16, np.int64), np.empty(16, np.int64)
    for k in range(len(offsets) - 1):
        first, n = offsets[k], offsets[k + 1] - offsets[k]
        if n == 0:
            continue
        low, high = pitch[first], pitch[first + n - 1]
        rows = high - low + query_high - query_low + 1
        begin, over = start[first], stop[first]
        for j in range(first, first + n):
            begin, over = min(begin, start[j]), max(over, stop[j])
        # A shift is a time of the candidate from its beginning plus a time of the query back from its end; in the same
        # way, a transposition is the sum of two distances in pitch. So the cell of a pair is the sum of two numbers.
        grid = max(_grid(start, stop, first, first + n, begin, query_grid), 1)
        per_tick = 1.0 / grid
        columns = _steps(query_to - query_from + over - begin, per_tick) + 1
        for i in range(m):
            row = (query_high - query_pitch[i]) * columns
            a[i] = row + _steps(query_to - query_start[i], per_tick)
            b[i] = row + _steps(query_to - query_stop[i], per_tick)
        if n > len(s):
            s, e = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
        for j in range(n):
            row = (pitch[first + j] - low) * columns
            s[j] = row + _steps(start[first + j] - begin, per_tick)
            e[j] = row + _steps(stop[first + j] - begin, per_tick)

        if rows * columns > _CELLS:
            common[k] = _most_in_order(a, b, s[:n], e[:n], timed) * (grid if timed else 1)
        elif timed:
            for j in range(first, first + n):
                theirs[pitch[j]] += stop[j] - start[j]
            _fill_reach(mine, query_low, query_high, theirs, low, high, reach)
            theirs[low : high + 1] = 0
            common[k] = _longest(a, b, s, e, n, cells, rows, columns, reach, grid) * grid
            cells[: rows * columns] = 0
        else:
            best = np.int32(0)
            for j in range(n):
                for i in range(m):
                    cells[s[j] + a[i]] += 1
                    best = max(best, cells[s[j] + a[i]])
            common[k] = best
            cells[: rows * columns] = 0
    return common


@nb.njit(cache=True, nogil=True)
def _steps(ticks: int, per_tick: float) -> int:
    """Ticks, a multiple of the grid, in steps of the grid: a multiplication is far quicker than a division."""
    return int(ticks * per_tick + 0.5)


@nb.njit(cache=True, nogil=True)
def _grid(start: Numbers, stop: Numbers, first: int, end: int, origin: int, grid: int) -> int:
    """The greatest common divisor of `grid` and of all times from the origin."""
    for j in range(first, end):
        for value in (start[j] - origin, stop[j] - origin):
            if grid == 0 or value % grid != 0:
                while value != 0:
                    grid, value = value, grid % value
    return grid


@nb.njit(cache=True, nogil=True)
def _fill_reach(
    mine: Numbers, query_low: int, query_high: int, theirs: Numbers, low: int, high: int, reach: Numbers
) -> None:
    """What each transposition could reach: in each pitch, the lesser of what the two have of it."""
    for row in range(high - low + query_high - query_low + 1):
        up = row + low - query_high
        reach[row] = 0
        for p in range(max(query_low, low - up), min(query_high, high - up) + 1):
            reach[row] += min(mine[p], theirs[p + up])


@nb.njit(cache=True, nogil=True)
def _longest(
    a: Numbers,
    b: Numbers,
    s: Numbers,
    e: Numbers,
    n: int,
    bends: npt.NDArray[np.int32],
    rows: int,
    columns: int,
    reach: Numbers,
    grid: int,
) -> int:
    """The largest common time, in steps of the grid. `bends` is zero before.

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
            return best
        reach[row] = 0
        value, slope = 0, 0
        for cell in range(row * columns, (row + 1) * columns):
            value += slope
            slope += int(bends[cell])
            best = max(best, value)


@nb.njit(cache=True, nogil=True)
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
