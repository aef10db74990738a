"""Numba kernels of alignment: the best of all coincidence alignments of a query with one document.

Frame of everything here: the query's. Query points are (X, Y) in scaled units; a document is brought to the query's
tempo by dividing its times (and its weights, when they are lengths) by the tempo factor. An alignment (i, j) puts query
point i exactly on document point j. All times are sorted.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._bound_kernels import apart, centre, centre_shifts, pair_bound, second_bound
from roslin.transport._kernels import SLACK, TABLE, partial_transport

__all__ = ["align_document", "align_documents", "aligned_cost"]

Array = npt.NDArray[np.float64]

# Shifts that differ less are the same shift, rounded differently.
SAME = 1e-11
# More than rounding can change in a centre.
WITHIN = 1e-6
# More than rounding can change in a distance, or a bound that was added up in another order.
ROUNDED = 1e-7


@nb.njit(cache=True, nogil=True)
def aligned_cost(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    n: int,
    document_x: Array,
    document_y: Array,
    document_w: Array,
    m: int,
    shift_x: float,
    shift_y: float,
    limit: float,
    ground: int,
    table: Array,
    is_light: bool,
    cost: Array,
    flow: Array,
    lines: Array,
    indices: npt.NDArray[np.int64],
) -> float:
    """Least cost (not divided by weight) of moving the lighter set, with the query shifted; infinite above `limit`.

    With a table, pitches are its indices, and stay within it.
    """
    for i in range(n):
        x, y = query_x[i] + shift_x, query_y[i] + shift_y
        for j in range(m):
            dx = abs(x - document_x[j])
            if ground == TABLE:
                dy = table[min(max(int(y + 0.5), 0), 127), int(document_y[j])]
                away = np.sqrt(dx * dx + dy * dy)
            else:
                away = apart(dx, y - document_y[j], ground)
            if is_light:
                cost[j, i] = away
            else:
                cost[i, j] = away
    if is_light:
        value, is_optimal = partial_transport(m, n, cost, document_w, query_w, limit, flow, lines, indices)
    else:
        value, is_optimal = partial_transport(n, m, cost, query_w, document_w, limit, flow, lines, indices)
    return value if is_optimal else np.inf


@nb.njit(cache=True, nogil=True)
def align_document(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    query_order: npt.NDArray[np.int64],
    time: Array,
    pitch: Array,
    weight: Array,
    time_unit: float,
    pitch_unit: float,
    tempos: Array,
    scales_weights: bool,
    missing: float,
    ground: int,
    table: Array,
    limit: float,
    counts: npt.NDArray[np.int64],
) -> tuple[float, float, float, float]:
    """(distance, shift in time, shift in pitch, tempo) of the best coincidence alignment, if at most `limit`.

    Infinite when there is none. Of equal alignments the first wins, in the order of tempos, document points, query
    points. `missing` is the cost of a unit of query weight that finds no partner because the document is lighter; below
    0, it costs nothing and the distance is divided by the document's weight. `counts[0]` grows by the EMDs solved.
    """
    n, m = len(query_x), len(time)
    best, best_x, best_y, best_tempo = np.inf, 0.0, 0.0, 0.0
    if n == 0 or m == 0:
        return best, best_x, best_y, best_tempo
    costs, flows = np.empty(n * m), np.empty(n * m)
    lines, indices = np.empty((6, max(n, m))), np.empty((4, max(n, m)), np.int64)
    document_x, document_y, document_w = np.empty(m), np.empty(m), np.empty(m)
    document_order = np.arange(m)
    pieces = np.empty((2, 2 * max(n, m)))
    bounds, shifts_x, shifts_y = np.empty(n * m), np.empty(n * m), np.empty(n * m)
    pairs = np.empty(n * m, np.int64)
    rising = np.argsort(query_y, kind="mergesort")
    query_rising, query_rising_w = query_y[rising], query_w[rising]
    total_query = query_w.sum()
    if not total_query > 0.0:
        return best, best_x, best_y, best_tempo
    for tempo in tempos:
        for j in range(m):
            document_x[j] = time[j] * time_unit / tempo
            document_y[j] = pitch[j] * pitch_unit
            document_w[j] = weight[j] / tempo if scales_weights else weight[j]
        total_document = document_w.sum()
        if not total_document > 0.0:
            continue
        is_light, lighter = total_document < total_query, min(total_document, total_query)
        shape = (m, n) if is_light else (n, m)
        cost, flow = costs.reshape(shape), flows.reshape(shape)
        # value = (cost + charge) / base
        charge = (total_query - total_document) * missing if is_light and missing >= 0.0 else 0.0
        base = total_document if is_light and missing < 0.0 else total_query
        allowed = min(best, limit) * base - charge
        budget = allowed + SLACK * (1.0 + charge + abs(allowed))
        if budget < 0.0:
            continue
        if ground != TABLE and budget == np.inf:
            # Nothing is known yet: the first notes on each other are as good a limit as any.
            budget = aligned_cost(
                query_x, query_y, query_w, n, document_x, document_y, document_w, m,
                document_x[0] - query_x[0], document_y[0] - query_y[0], np.inf, ground, table, is_light,
                cost, flow, lines, indices,
            )  # fmt: skip
            budget += SLACK * (1.0 + charge + budget)
        first_x, last_x, first_y, last_y = -np.inf, np.inf, -np.inf, np.inf
        if ground != TABLE and is_light:
            centre_x = centre(document_x, document_w, m, total_document, False)
            centre_y = centre(document_y, document_w, m, total_document, False)
            first_x, last_x = centre_shifts(centre_x, True, query_x, query_w, n, total_document, budget)
            first_y, last_y = centre_shifts(centre_y, True, query_rising, query_rising_w, n, total_document, budget)
        elif ground != TABLE:
            centre_x = centre(query_x, query_w, n, total_query, False)
            centre_y = centre(query_y, query_w, n, total_query, False)
            by_pitch = np.argsort(document_y, kind="mergesort")
            rising_y, rising_w = document_y[by_pitch], document_w[by_pitch]
            first_x, last_x = centre_shifts(centre_x, False, document_x, document_w, m, total_query, budget)
            first_y, last_y = centre_shifts(centre_y, False, rising_y, rising_w, m, total_query, budget)
        left = 0
        for j in range(m):
            for i in range(n):
                x, y = document_x[j] - query_x[i], document_y[j] - query_y[i]
                if x < first_x - WITHIN or x > last_x + WITHIN or y < first_y - WITHIN or y > last_y + WITHIN:
                    continue
                bound = 0.0
                if ground != TABLE:
                    bound = pair_bound(
                        query_x, query_y, query_w, query_order, document_x, document_y, document_w, document_order, m,
                        i, j, is_light, budget, ground,
                    )  # fmt: skip
                    if bound > budget:
                        continue
                # A good alignment puts many notes on each other: all of them give the same shifts.
                is_known = False
                for k in range(left):
                    is_known |= abs(shifts_x[k] - x) <= SAME and abs(shifts_y[k] - y) <= SAME
                if not is_known:
                    shifts_x[left], shifts_y[left], bounds[left], pairs[left] = x, y, bound, j * n + i
                    left += 1
        best_place = left
        for _ in range(left):
            # The most promising alignment first: the better the best so far, the sooner the others are given up.
            place = 0
            for k in range(1, left):
                if bounds[k] < bounds[place]:
                    place = k
            allowed = min(best, limit) * base - charge
            allowed += SLACK * (1.0 + charge + abs(allowed))
            if bounds[place] > allowed:
                break
            bounds[place] = np.inf
            if ground != TABLE:
                back = second_bound(
                    query_x, query_y, query_w, document_x, document_y, document_w, m, pairs[place] % n,
                    pairs[place] // n, is_light, lighter, ground, pieces,
                )  # fmt: skip
                if back > allowed:
                    continue
            shift_x, shift_y = shifts_x[place], shifts_y[place]
            counts[0] += 1
            value = aligned_cost(
                query_x, query_y, query_w, n, document_x, document_y, document_w, m,
                shift_x, shift_y, allowed, ground, table, is_light, cost, flow, lines, indices,
            )  # fmt: skip
            value = (value + charge) / base
            is_equal = abs(value - best) <= SLACK and best_tempo == tempo
            if value <= limit and (place < best_place if is_equal else value < best):
                best, best_x, best_y, best_tempo, best_place = min(value, best), shift_x, shift_y, tempo, place
    return best, best_x, best_y, best_tempo


@nb.njit(cache=True, nogil=True)
def align_documents(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    query_order: npt.NDArray[np.int64],
    time: Array,
    pitch: Array,
    weight: Array,
    offsets: npt.NDArray[np.int64],
    time_unit: float,
    pitch_unit: float,
    tempos: Array,
    scales_weights: bool,
    missing: float,
    ground: int,
    bounds: Array,
    best: Array,
) -> Array:
    """(documents, 2): the distance of each, as far as it may be among the best, and how many EMDs that took.

    `bounds` are lower bounds on the distances; `best` the best distances so far, rising. Both are used to leave out
    what is farther than the last of the best, and `best` is kept up to date. An empty `best` leaves nothing out.
    """
    found = np.empty((len(bounds), 2))
    no_table, counts = np.empty((0, 0)), np.zeros(1, np.int64)
    for k in range(len(bounds)):
        limit = best[-1] * (1.0 + ROUNDED) + ROUNDED if len(best) else np.inf
        found[k, 0], found[k, 1] = np.inf, 0.0
        if bounds[k] > limit:
            continue
        start, end, before = offsets[k], offsets[k + 1], counts[0]
        distance = align_document(
            query_x, query_y, query_w, query_order, time[start:end], pitch[start:end], weight[start:end],
            time_unit, pitch_unit, tempos, scales_weights, missing, ground, no_table, limit, counts,
        )[0]  # fmt: skip
        found[k, 0], found[k, 1] = distance, counts[0] - before
        if len(best) and distance < best[-1]:
            place = len(best) - 1
            while place > 0 and best[place - 1] > distance:
                best[place] = best[place - 1]
                place -= 1
            best[place] = distance
    return found
