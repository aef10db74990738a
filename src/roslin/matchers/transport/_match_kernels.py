"""Numba kernel of `twv`: all matches of the segments of a query in a document.

A match is a row of numbers, in the order of the constants below: number of the segment, distance, where its first and
last onset lie in the document (quarters), transposition (in pitches) and tempo.
"""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.matchers.transport._arguments import Flags, SegmentedQuery
from roslin.transport._align_kernels import aligned_cost
from roslin.transport._arguments import TABLE, Array, Notes, Points, Rules, Workspace
from roslin.transport._bound_kernels import nearest
from roslin.transport._kernels import SLACK, charge_and_base

__all__ = [
    "COLUMNS",
    "DISTANCE",
    "END",
    "SAME",
    "SEGMENT",
    "START",
    "TEMPO",
    "TRANSPOSITION",
    "matches",
]

SEGMENT, DISTANCE, START, END, TRANSPOSITION, TEMPO = 0, 1, 2, 3, 4, 5
COLUMNS = 6
# Places and transpositions nearer than this are the same.
SAME = 1e-9
# Distances are rounded to so many parts of 1, as those of all matchers are (matchers/base.py).
_ROUNDING = 1e12
# How many matches there is room for at first, beyond twice what there was room for before.
_MORE_MATCHES = 16


@kernel
def _may_cost_at_most(budget: float, rows: Points, columns: Points, x: float, y: float, lead: int, ground: int) -> bool:
    """False where the rows, moved, each to its nearest column, cost more than the budget: no flow can cost less.

    As `rows_bound`, but a row is searched no further than what is left of the budget reaches.
    """
    rows_x, rows_y, rows_w, order = rows
    columns_x, columns_y, m = columns.x, columns.y, len(columns.x)
    for k in range(len(rows_x)):
        i = order[k]
        if rows_w[i] > 0.0:
            reach = budget / rows_w[i]
            apart = nearest(rows_x[i] + x, rows_y[i] + y, columns_x, columns_y, m, i + lead, reach, ground)
            if apart >= reach:
                return False
            budget -= rows_w[i] * apart
    return True


@kernel
def _mark_pitches(query: Points, levels: Array, budget: float, is_in_reach: Flags) -> None:
    """Whether the pitches alone, without regard to time, allow an alignment of query note i with a document's pitch."""
    _, query_y, query_w, order = query
    n = len(query_y)
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


@kernel
def _point_at(document: Points, x: float, y: float) -> int:
    """The number of the first point of a document at this place; -1 when there is none."""
    others_x, others_y = document.x, document.y
    low, high = 0, len(others_x)
    while low < high:
        middle = (low + high) // 2
        if others_x[middle] < x - SAME:
            low = middle + 1
        else:
            high = middle
    while low < len(others_x) and others_x[low] <= x + SAME:
        if abs(others_y[low] - y) <= SAME:
            return low
        low += 1
    return -1


@kernel
def _is_seen(query: Points, count: int, document: Points, dx: float, dy: float) -> bool:
    """Whether one of the query's first points, moved, lies on a point of the document: then that came before."""
    for i in range(count):  # noqa: SIM110 - kernels know no generators
        if _point_at(document, query.x[i] + dx, query.y[i] + dy) >= 0:
            return True
    return False


@kernel
def _lies_on(query: Points, document: Points, dx: float, dy: float) -> bool:
    """Whether every point of the query, moved, lies on a point of the document with room for it: then it costs nothing.

    A long document has thousands of places for a query of one note or two; none of them needs a flow to be found. Two
    points of the query on one of the document are left to the flow.
    """
    before = -1
    for i in range(len(query.x)):
        j = _point_at(document, query.x[i] + dx, query.y[i] + dy)
        if j <= before or document.weight[j] < query.weight[i]:
            return False
        before = j
    return True


@kernel
def matches(
    query: SegmentedQuery, document: Notes, table: Array, rules: Rules, radius: float, found: Array
) -> tuple[Array, int]:
    """All different coincidence alignments of the segments within the radius: (rows, how many of them count).

    In order of segments. `table` is that of a tonal ground distance, (128, notes), else (0, 0). `found` is where to
    write; what comes back is larger when there was no room.
    """
    query_notes, first, end, possible, unit, pitch_unit = query
    query_time, query_pitch, query_weight = query_notes
    time, pitch, weight = document
    ground = rules.ground
    count, m = 0, len(time)
    document_x, document_y, document_w = np.empty(m), np.empty(m), np.empty(m)
    there = Points(document_x, document_y, document_w, np.arange(m))
    longest = 1
    for s in range(len(first)):
        longest = max(longest, end[s] - first[s])
    lines, indices = np.empty((6, max(longest, m))), np.empty((4, max(longest, m)), np.int64)
    costs, flows = np.empty(longest * m), np.empty(longest * m)
    # The different pitches of the document, and which one each note has.
    levels = np.unique(pitch) * pitch_unit
    level = np.searchsorted(levels, pitch * pitch_unit)
    is_in_reach = np.empty((longest, len(levels)), np.bool_)
    for s in range(len(first)):
        if not possible[s] or m == 0:
            continue
        n = end[s] - first[s]
        begin = query_time[first[s]]
        query_x, query_y = np.empty(n), np.empty(n)
        for i in range(n):
            query_x[i] = (query_time[first[s] + i] - begin) / unit
            query_y[i] = query_pitch[first[s] + i] * pitch_unit
        query_w = query_weight[first[s] : end[s]]
        moving = Points(query_x, query_y, query_w, np.argsort(-query_w, kind="mergesort"))
        total_query = query_w.sum()
        if not total_query > 0.0:
            continue
        for tempo in rules.tempos:
            for j in range(m):
                document_x[j] = time[j] / unit / tempo
                document_y[j] = pitch[j] * pitch_unit
                document_w[j] = weight[j] / tempo if rules.scales_weights else weight[j]
            total_document = document_w.sum()
            if not total_document > 0.0:
                continue
            is_light, charge, base = charge_and_base(total_query, total_document, rules.missing)
            allowed = radius * base - charge
            if allowed < 0.0:
                continue
            budget = allowed + SLACK * (1.0 + allowed)
            shape = (m, n) if is_light else (n, m)
            work = Workspace(costs[: n * m].reshape(shape), flows[: n * m].reshape(shape), lines, indices, rules.stop)
            if ground != TABLE and not is_light:
                _mark_pitches(moving, levels, budget, is_in_reach)
            else:
                is_in_reach[:] = True
            for j in range(m):
                if rules.stop[0]:
                    return found, count
                for i in range(n):
                    if not is_in_reach[i, level[j]]:
                        continue
                    x, y = document_x[j] - query_x[i], document_y[j] - query_y[i]
                    if ground == TABLE:
                        is_near = True
                    elif is_light:
                        is_near = _may_cost_at_most(budget, there, moving, -x, -y, i - j, ground)
                    else:
                        is_near = _may_cost_at_most(budget, moving, there, x, y, j - i, ground)
                    if not is_near or _is_seen(moving, i, there, x, y):
                        continue
                    value = 0.0
                    if is_light or ground == TABLE or not _lies_on(moving, there, x, y):
                        value = aligned_cost(moving, there, x, y, allowed, ground, table, is_light, work)
                    value = np.rint((value + charge) / base * _ROUNDING) / _ROUNDING
                    if not value <= radius:
                        continue
                    if count == len(found):
                        larger = np.empty((2 * count + _MORE_MATCHES, COLUMNS))
                        larger[:count] = found
                        found = larger
                    start = x * unit * tempo
                    found[count, SEGMENT] = s
                    found[count, DISTANCE] = value
                    found[count, START] = start
                    found[count, END] = start + query_x[n - 1] * unit * tempo
                    found[count, TRANSPOSITION] = y / pitch_unit
                    found[count, TEMPO] = tempo
                    count += 1
    return found, count
