"""Numba kernels of alignment: the best of all coincidence alignments of a query with one document.

Frame of everything here: the query's. Query points are (X, Y) in scaled units; a document is brought to the query's
tempo by dividing its times (and its weights, when they are lengths) by the tempo factor. An alignment (i, j) puts query
point i exactly on document point j. All times are sorted.
"""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.transport._arguments import TABLE, Array, Frame, Notes, Numbers, Pair, Points, Rules, Workspace
from roslin.transport._bound_kernels import (
    apart,
    centre,
    centre_shifts,
    crossing_bound,
    levels_of,
    pair_bound,
    second_bound,
)
from roslin.transport._kernels import SLACK, budget_of, charge_and_base, partial_transport

__all__ = ["align_document", "align_documents", "aligned_cost", "bring"]

# Shifts that differ less are the same shift, rounded differently.
SAME = 1e-11
# More than rounding can change in a centre.
WITHIN = 1e-6
# More than rounding can change in a distance, or a bound that was added up in another order.
ROUNDED = 1e-7
# Shifts are rounded to such parts of a unit to look for equal ones; pitches turn the place by so much.
_PER_UNIT = 720.0
_TURNED = 7919.0
# The highest pitch that a table knows.
_HIGHEST = 127


@kernel(inline="always")
def table_row(pitch: float) -> int:
    """The row of a table for a pitch that was moved: the nearest there is."""
    return min(max(int(pitch + 0.5), 0), _HIGHEST)


@kernel
def bring(document: Notes, frame: Frame, rules: Rules, tempo: float, points: Points) -> float:
    """Fill in the points of a document in the query's frame, played so many times as fast. Their weight."""
    time, pitch, weight = document
    x, y, w = points.x, points.y, points.weight
    total = 0.0
    for j in range(len(time)):
        x[j] = time[j] * frame.time_unit / tempo
        y[j] = pitch[j] * frame.pitch_unit
        w[j] = weight[j] / tempo if rules.scales_weights else weight[j]
        total += w[j]
    return total


@kernel
def aligned_cost(
    query: Points,
    document: Points,
    x: float,
    y: float,
    limit: float,
    ground: int,
    table: Array,
    is_light: bool,
    work: Workspace,
) -> float:
    """Least cost (not divided by weight) of moving the lighter set, the query moved by (x, y); infinite above `limit`.

    With a table, it has a row for each pitch, and pitches stay within it; a column for each note of the document.
    """
    query_x, query_y, document_x, document_y, cost = query.x, query.y, document.x, document.y, work.cost
    n, m = len(query_x), len(document_x)
    for i in range(n):
        moved_x, moved_y = query_x[i] + x, query_y[i] + y
        for j in range(m):
            dx = abs(moved_x - document_x[j])
            if ground == TABLE:
                dy = table[table_row(moved_y), j]
                away = np.sqrt(dx * dx + dy * dy)
            else:
                away = apart(dx, moved_y - document_y[j], ground)
            if is_light:
                cost[j, i] = away
            else:
                cost[i, j] = away
    if is_light:
        value, is_optimal = partial_transport(m, n, document.weight, query.weight, limit, work)
    else:
        value, is_optimal = partial_transport(n, m, query.weight, document.weight, limit, work)
    return value if is_optimal else np.inf


@kernel
def _is_known(x: float, y: float, seen: Array) -> bool:
    """Whether these shifts were asked about before. `seen` has more rows, a power of 2 of them, than there are shifts.

    A row is looked for from a place that the shifts themselves say, rounded, to the next that is free. Shifts that are
    the same but for rounding may be taken for different ones: that costs time and changes nothing.
    """
    last = len(seen) - 1
    place = int(np.rint(x * _PER_UNIT) + _TURNED * np.rint(y * _PER_UNIT)) & last
    while seen[place, 0] < np.inf:
        if abs(seen[place, 0] - x) <= SAME and abs(seen[place, 1] - y) <= SAME:
            return True
        place = (place + 1) & last
    seen[place, 0], seen[place, 1] = x, y
    return False


@kernel
def align_document(pair: Pair, limit: float, counts: Numbers) -> tuple[float, float, float, float]:
    """(distance, shift in time, shift in pitch, tempo) of the best coincidence alignment, if at most `limit`.

    Infinite when there is none. Of equal alignments the first wins, in the order of tempos, document points, query
    points. `counts[0]` grows by the EMDs solved.
    """
    query, rules, ground, table = pair.query, pair.rules, pair.rules.ground, pair.table
    query_x, query_y = query.x, query.y
    n, m = len(query_x), len(pair.document.time)
    best, best_x, best_y, best_tempo = np.inf, 0.0, 0.0, 0.0
    if n == 0 or m == 0:
        return best, best_x, best_y, best_tempo
    costs, flows = np.empty(n * m), np.empty(n * m)
    lines, indices = np.empty((6, max(n, m))), np.empty((4, max(n, m)), np.int64)
    document_x, document_y, document_w = np.empty(m), np.empty(m), np.empty(m)
    document = Points(document_x, document_y, document_w, np.arange(m))
    pieces = np.empty((2, 2 * max(n, m)))
    bounds, shifts_x, shifts_y = np.empty(n * m), np.empty(n * m), np.empty(n * m)
    pairs = np.empty(n * m, np.int64)
    places = 1
    while places < 2 * n * m:
        places *= 2
    seen = np.empty((places, 2))
    query_levels, query_levels_w, query_level = levels_of(query_y, query.weight)
    total_query = query.weight.sum()
    if not total_query > 0.0:
        return best, best_x, best_y, best_tempo
    for tempo in rules.tempos:
        total_document = bring(pair.document, pair.frame, rules, tempo, document)
        if not total_document > 0.0:
            continue
        is_light, charge, base = charge_and_base(total_query, total_document, rules.missing)
        lighter = min(total_document, total_query)
        shape = (m, n) if is_light else (n, m)
        work = Workspace(costs.reshape(shape), flows.reshape(shape), lines, indices, rules.stop)
        budget = budget_of(min(best, limit), charge, base, SLACK)
        least = charge / base  # no alignment at this tempo is nearer
        if budget < 0.0 or best <= least:
            continue
        if ground != TABLE and budget == np.inf:
            # Nothing is known yet: the first notes on each other are as good a limit as any.
            x, y = document_x[0] - query_x[0], document_y[0] - query_y[0]
            budget = aligned_cost(query, document, x, y, np.inf, ground, table, is_light, work)
            budget += SLACK * (1.0 + charge + budget)
        first_x, last_x, first_y, last_y = -np.inf, np.inf, -np.inf, np.inf
        levels, levels_w, level = levels_of(document_y, document_w)
        if ground != TABLE and is_light:
            centre_x = centre(document_x, document_w, m, total_document, False)
            centre_y = centre(document_y, document_w, m, total_document, False)
            first_x, last_x = centre_shifts(centre_x, True, query_x, query.weight, n, total_document, budget)
            first_y, last_y = centre_shifts(
                centre_y, True, query_levels, query_levels_w, len(query_levels), total_document, budget
            )
        elif ground != TABLE:
            centre_x = centre(query_x, query.weight, n, total_query, False)
            centre_y = centre(query_y, query.weight, n, total_query, False)
            first_x, last_x = centre_shifts(centre_x, False, document_x, document_w, m, total_query, budget)
            first_y, last_y = centre_shifts(centre_y, False, levels, levels_w, len(levels), total_query, budget)
        # Which pitch of the query may lie on which of the document: that is one transposition for many pairs of notes.
        is_in_reach = np.ones((len(levels), len(query_levels)), np.bool_)
        if ground != TABLE:
            for v in range(len(levels)):
                for u in range(len(query_levels)):
                    y = levels[v] - query_levels[u]
                    if is_light:
                        bound = crossing_bound(levels, levels_w, query_levels, query_levels_w, -y)
                    else:
                        bound = crossing_bound(query_levels, query_levels_w, levels, levels_w, y)
                    is_in_reach[v, u] = bound <= budget
        left = 0
        seen[:] = np.inf
        for j in range(m):
            if rules.stop[0]:
                break
            for i in range(n):
                if not is_in_reach[level[j], query_level[i]]:
                    continue
                x, y = document_x[j] - query_x[i], document_y[j] - query_y[i]
                if x < first_x - WITHIN or x > last_x + WITHIN or y < first_y - WITHIN or y > last_y + WITHIN:
                    continue
                # A good alignment puts many notes on each other: all of them give the same shifts.
                if _is_known(x, y, seen):
                    continue
                bound = 0.0
                if ground != TABLE:
                    bound = pair_bound(query, document, i, j, is_light, budget, ground)
                    if bound > budget:
                        continue
                shifts_x[left], shifts_y[left], bounds[left], pairs[left] = x, y, bound, j * n + i
                left += 1
        best_place = left
        # The most promising alignment first: the better the best so far, the sooner the others are given up.
        for place in np.argsort(bounds[:left], kind="mergesort"):
            allowed = budget_of(min(best, limit), charge, base, SLACK)
            if bounds[place] > allowed or rules.stop[0]:
                break
            if best_tempo == tempo and place > best_place and best <= least + SLACK:
                continue  # none can be nearer, and of equal ones the first wins
            if ground != TABLE:
                i, j = pairs[place] % n, pairs[place] // n
                if second_bound(query, document, i, j, is_light, lighter, ground, pieces) > allowed:
                    continue
            shift_x, shift_y = shifts_x[place], shifts_y[place]
            counts[0] += 1
            value = aligned_cost(query, document, shift_x, shift_y, allowed, ground, table, is_light, work)
            value = (value + charge) / base
            is_equal = abs(value - best) <= SLACK and best_tempo == tempo
            if value <= limit and (place < best_place if is_equal else value < best):
                best, best_x, best_y, best_tempo, best_place = min(value, best), shift_x, shift_y, tempo, place
    return best, best_x, best_y, best_tempo


@kernel
def align_documents(
    query: Points, documents: Notes, offsets: Numbers, frame: Frame, rules: Rules, bounds: Array, best: Array
) -> Array:
    """(documents, 2): the distance of each, as far as it may be among the best, and how many EMDs that took.

    Document k has the notes `offsets[k]` to `offsets[k + 1]`; the ground distance has no table. `bounds` are lower
    bounds on the distances; `best` the best distances so far, rising. Both are used to leave out what is farther than
    the last of the best, and `best` is kept up to date. An empty `best` leaves nothing out.
    """
    found = np.empty((len(bounds), 2))
    no_table, counts = np.empty((0, 0)), np.zeros(1, np.int64)
    for k in range(len(bounds)):
        limit = best[-1] * (1.0 + ROUNDED) + ROUNDED if len(best) else np.inf
        found[k, 0], found[k, 1] = np.inf, 0.0
        if bounds[k] > limit or rules.stop[0]:
            continue
        start, end, before = offsets[k], offsets[k + 1], counts[0]
        document = Notes(documents.time[start:end], documents.pitch[start:end], documents.weight[start:end])
        distance = align_document(Pair(query, document, frame, rules, no_table), limit, counts)[0]
        found[k, 0], found[k, 1] = distance, counts[0] - before
        if len(best) and distance < best[-1]:
            place = len(best) - 1
            while place > 0 and best[place - 1] > distance:
                best[place] = best[place - 1]
                place -= 1
            best[place] = distance
    return found
