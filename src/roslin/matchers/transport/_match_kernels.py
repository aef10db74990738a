"""Numba kernel of `twv`: all matches of the segments of a query in a document.

A match is a row of numbers, in the order of the constants below: number of the segment, distance, where its first and
last onset lie in the document (quarters), transposition (in pitches) and tempo.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._align_kernels import aligned_cost
from roslin.transport._bound_kernels import nearest
from roslin.transport._kernels import SLACK, TABLE

__all__ = ["COLUMNS", "DISTANCE", "END", "SAME", "SEGMENT", "START", "TEMPO", "TRANSPOSITION", "matches"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SEGMENT, DISTANCE, START, END, TRANSPOSITION, TEMPO = 0, 1, 2, 3, 4, 5
COLUMNS = 6
# Places and transpositions nearer than this are the same.
SAME = 1e-9
_ROUNDING = 1e12


@nb.njit(cache=True, nogil=True)
def _may_cost_at_most(
    budget: float,
    rows_x: Array,
    rows_y: Array,
    rows_w: Array,
    order: Numbers,
    n: int,
    columns_x: Array,
    columns_y: Array,
    m: int,
    shift_x: float,
    shift_y: float,
    lead: int,
    ground: int,
) -> bool:
    """False where the rows, moved, each to its nearest column, cost more than the budget: no flow can cost less.

    As `rows_bound`, but a row is searched no further than what is left of the budget reaches.
    """
    for k in range(n):
        i = order[k]
        if rows_w[i] > 0.0:
            reach = budget / rows_w[i]
            apart = nearest(rows_x[i] + shift_x, rows_y[i] + shift_y, columns_x, columns_y, m, i + lead, reach, ground)
            if apart >= reach:
                return False
            budget -= rows_w[i] * apart
    return True


@nb.njit(cache=True, nogil=True)
def _mark_pitches(
    query_y: Array, query_w: Array, order: Numbers, n: int, levels: Array, budget: float, is_in_reach: Flags
) -> None:
    """Whether the pitches alone, without regard to time, allow an alignment of query note i with a document's pitch."""
    for i in range(n):
        for u in range(len(levels)):
            shift, left = levels[u] - query_y[i], budget
            for k in range(n):
                at, least = query_y[order[k]] + shift, np.inf
                for v in range(len(levels)):
                    least = min(least, abs(levels[v] - at))
                left -= query_w[order[k]] * least
                if left < 0.0:
                    break
            is_in_reach[i, u] = left >= 0.0


@nb.njit(cache=True, nogil=True)
def _is_seen(x: Array, y: Array, count: int, others_x: Array, others_y: Array, m: int, dx: float, dy: float) -> bool:
    """Whether one of the first `count` points, moved, lies on one of the others: then this alignment came before."""
    for i in range(count):
        at, low, high = x[i] + dx - SAME, 0, m
        while low < high:
            middle = (low + high) // 2
            if others_x[middle] < at:
                low = middle + 1
            else:
                high = middle
        while low < m and others_x[low] <= at + 2 * SAME:
            if abs(others_y[low] - y[i] - dy) <= SAME:
                return True
            low += 1
    return False


@nb.njit(cache=True, nogil=True)
def matches(
    query_time: Array,
    query_pitch: Array,
    query_weight: Array,
    first: Numbers,
    end: Numbers,
    possible: Flags,
    unit: float,
    time: Array,
    pitch: Array,
    weight: Array,
    semitone: float,
    tempos: Array,
    scales_weights: bool,
    missing: float,
    ground: int,
    table: Array,
    radius: float,
    found: Array,
) -> tuple[Array, int]:
    """All different coincidence alignments of the segments within the radius: (rows, how many of them count).

    Segments are points `first` to `end` of the query, in order; only the possible ones are looked for. `unit` is the
    query's unit of time in quarters. `table` is that of a tonal ground distance, else empty. `found` is where to write;
    what comes back is larger when there was no room.
    """
    count, m = 0, len(time)
    document_x, document_y, document_w = np.empty(m), np.empty(m), np.empty(m)
    document_order = np.arange(m)
    longest = 1
    for s in range(len(first)):
        longest = max(longest, end[s] - first[s])
    lines, indices = np.empty((8, max(longest, m))), np.empty((5, max(longest, m)), np.int64)
    costs, flows = np.empty(longest * m), np.empty(longest * m)
    # The different pitches of the document, and which one each note has.
    levels = np.unique(pitch) * semitone
    level = np.searchsorted(levels, pitch * semitone)
    is_in_reach = np.empty((longest, len(levels)), np.bool_)
    for s in range(len(first)):
        if not possible[s] or m == 0:
            continue
        n = end[s] - first[s]
        begin = query_time[first[s]]
        query_x, query_y = np.empty(n), np.empty(n)
        for i in range(n):
            query_x[i] = (query_time[first[s] + i] - begin) / unit
            query_y[i] = query_pitch[first[s] + i] * semitone
        query_w = query_weight[first[s] : end[s]]
        query_order = np.argsort(-query_w, kind="mergesort")
        total_query = query_w.sum()
        if not total_query > 0.0:
            continue
        for tempo in tempos:
            for j in range(m):
                document_x[j] = time[j] / unit / tempo
                document_y[j] = pitch[j] * semitone
                document_w[j] = weight[j] / tempo if scales_weights else weight[j]
            total_document = document_w.sum()
            if not total_document > 0.0:
                continue
            # What a document lighter than the segment costs: see transport/align.py on `missing`.
            is_light = total_document < total_query
            charge = (total_query - total_document) * missing if is_light and missing >= 0.0 else 0.0
            base = total_document if is_light and missing < 0.0 else total_query
            allowed = radius * base - charge
            if allowed < 0.0:
                continue
            budget = allowed + SLACK * (1.0 + allowed)
            shape = (m, n) if is_light else (n, m)
            cost, flow = costs[: n * m].reshape(shape), flows[: n * m].reshape(shape)
            if ground != TABLE and not is_light:
                _mark_pitches(query_y, query_w, query_order, n, levels, budget, is_in_reach)
            else:
                is_in_reach[:] = True
            for j in range(m):
                for i in range(n):
                    if not is_in_reach[i, level[j]]:
                        continue
                    shift_x, shift_y = document_x[j] - query_x[i], document_y[j] - query_y[i]
                    if ground == TABLE:
                        is_near = True
                    elif is_light:
                        is_near = _may_cost_at_most(
                            budget, document_x, document_y, document_w, document_order, m,
                            query_x, query_y, n, -shift_x, -shift_y, i - j, ground,
                        )  # fmt: skip
                    else:
                        is_near = _may_cost_at_most(
                            budget, query_x, query_y, query_w, query_order, n,
                            document_x, document_y, m, shift_x, shift_y, j - i, ground,
                        )  # fmt: skip
                    if not is_near:
                        continue
                    if _is_seen(query_x, query_y, i, document_x, document_y, m, shift_x, shift_y):
                        continue
                    value = aligned_cost(
                        query_x, query_y, query_w, n, document_x, document_y, document_w, m,
                        shift_x, shift_y, allowed, ground, table, is_light, cost, flow, lines, indices,
                    )  # fmt: skip
                    value = np.rint((value + charge) / base * _ROUNDING) / _ROUNDING
                    if not value <= radius:
                        continue
                    if count == len(found):
                        larger = np.empty((2 * count + 16, COLUMNS))
                        larger[:count] = found
                        found = larger
                    start = shift_x * unit * tempo
                    found[count, SEGMENT] = s
                    found[count, DISTANCE] = value
                    found[count, START] = start
                    found[count, END] = start + query_x[n - 1] * unit * tempo
                    found[count, TRANSPOSITION] = shift_y / semitone
                    found[count, TEMPO] = tempo
                    count += 1
    return found, count
