"""Numba kernels of alignment: the best of all coincidence alignments of a query with one document.

Frame of everything here: the query's. Query points are (X, Y) in scaled units; a document is brought to the query's
tempo by dividing its times (and its weights, when they are lengths) by the tempo factor. An alignment (i, j) puts query
point i exactly on document point j. All times are sorted.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._kernels import CITYBLOCK, SLACK, TABLE, partial_transport

__all__ = [
    "ROUNDED",
    "align_document",
    "align_documents",
    "aligned_cost",
    "centre_shifts",
    "nearest",
    "pair_bound",
    "rows_bound",
]

Array = npt.NDArray[np.float64]

# Shifts that differ less are the same shift, rounded differently.
SAME = 1e-11
# More than rounding can change in a centre.
WITHIN = 1e-6
# More than rounding can change in a distance, or a bound that was added up in another order.
ROUNDED = 1e-7


@nb.njit(cache=True, nogil=True, inline="always")
def _apart(dx: float, dy: float, ground: int) -> float:
    return dx + abs(dy) if ground == CITYBLOCK else np.sqrt(dx * dx + dy * dy)


@nb.njit(cache=True, nogil=True, inline="always")
def _last_before(x: float, columns_x: Array, m: int, guess: int) -> int:
    """The last of m times that is not after x, -1 if there is none. Looks outwards from `guess`."""
    k = min(max(guess, 0), m - 1)
    while k < m - 1 and columns_x[k + 1] <= x:
        k += 1
    while k >= 0 and columns_x[k] > x:
        k -= 1
    return k


@nb.njit(cache=True, nogil=True)
def nearest(
    x: float, y: float, columns_x: Array, columns_y: Array, m: int, guess: int, cap: float, ground: int
) -> float:
    """Distance from (x, y) to the nearest of m points, at most `cap`. Looks outwards from `guess`, near x in time."""
    k = _last_before(x, columns_x, m, guess)
    best = cap
    before = k
    while before >= 0:
        dx = x - columns_x[before]
        if dx >= best:
            break
        best = min(best, _apart(dx, y - columns_y[before], ground))
        before -= 1
    after = k + 1
    while after < m:
        dx = columns_x[after] - x
        if dx >= best:
            break
        best = min(best, _apart(dx, y - columns_y[after], ground))
        after += 1
    return best


@nb.njit(cache=True, nogil=True)
def _shipping(
    x: float, y: float, w: float, columns_x: Array, columns_y: Array, columns_w: Array, m: int, guess: int, ground: int
) -> float:
    """The least cost of weight w at (x, y): to the nearest column as far as that has room, the rest to the second."""
    k = _last_before(x, columns_x, m, guess)
    first, second, room = np.inf, np.inf, 0.0
    before, after = k, k + 1
    while before >= 0 or after < m:
        back = x - columns_x[before] if before >= 0 else np.inf
        ahead = columns_x[after] - x if after < m else np.inf
        if min(back, ahead) >= (first if room >= w else second):
            break
        if back <= ahead:
            column, dx = before, back
            before -= 1
        else:
            column, dx = after, ahead
            after += 1
        apart = _apart(dx, y - columns_y[column], ground)
        if apart < first:
            first, second, room = apart, first, columns_w[column]
        elif apart < second:
            second = apart
    if room >= w or second == np.inf:
        return w * first
    return room * first + (w - room) * second


@nb.njit(cache=True, nogil=True)
def rows_bound(
    rows_x: Array,
    rows_y: Array,
    rows_w: Array,
    order: npt.NDArray[np.int64],
    n: int,
    columns_x: Array,
    columns_y: Array,
    columns_w: Array,
    m: int,
    shift_x: float,
    shift_y: float,
    lead: int,
    budget: float,
    ground: int,
) -> float:
    """What all rows cost, moved by the shift, if each had the columns for itself: no flow can cost less.

    Rows are taken in `order`; stops when the sum exceeds the budget. `lead` is how far the index of a column is ahead
    of that of the row it lies near.
    """
    total = 0.0
    for k in range(n):
        i = order[k]
        total += _shipping(
            rows_x[i] + shift_x, rows_y[i] + shift_y, rows_w[i], columns_x, columns_y, columns_w, m, i + lead, ground
        )
        if total > budget:
            break
    return total


@nb.njit(cache=True, nogil=True)
def pair_bound(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    query_order: npt.NDArray[np.int64],
    document_x: Array,
    document_y: Array,
    document_w: Array,
    document_order: npt.NDArray[np.int64],
    m: int,
    i: int,
    j: int,
    is_light: bool,
    budget: float,
    ground: int,
) -> float:
    """`rows_bound` of the lighter set, with query point i on document point j."""
    x, y = document_x[j] - query_x[i], document_y[j] - query_y[i]
    if is_light:
        return rows_bound(
            document_x, document_y, document_w, document_order, m,
            query_x, query_y, query_w, len(query_x), -x, -y, i - j, budget, ground,
        )  # fmt: skip
    return rows_bound(
        query_x, query_y, query_w, query_order, len(query_x),
        document_x, document_y, document_w, m, x, y, j - i, budget, ground,
    )  # fmt: skip


@nb.njit(cache=True, nogil=True, inline="always")
def _centre(values: Array, weights: Array, m: int, amount: float, is_from_end: bool) -> float:
    """The centre of so much weight, taken from one end."""
    left, total = amount, 0.0
    for k in range(m):
        j = m - 1 - k if is_from_end else k
        taken = min(weights[j], left)
        total += taken * values[j]
        left -= taken
        if left <= 0.0:
            break
    return total / amount


@nb.njit(cache=True, nogil=True, inline="always")
def centre_shifts(
    centre: float, is_light: bool, heavier: Array, heavier_w: Array, m: int, amount: float, budget: float
) -> tuple[float, float]:
    """Between which shifts the query may lie, along one axis; the m values of the heavier melody are sorted on it.

    `centre` is that of the lighter melody, of weight `amount`; with `is_light`, that is the document. The matched part
    of the heavier melody has its centre between that of its first weight and that of its last; moving the lighter
    melody costs at least its weight times the distance of the centres.
    """
    first, last = _centre(heavier, heavier_w, m, amount, False), _centre(heavier, heavier_w, m, amount, True)
    if is_light:
        return centre - last - budget / amount, centre - first + budget / amount
    return first - centre - budget / amount, last - centre + budget / amount


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
                apart = np.sqrt(dx * dx + dy * dy)
            else:
                apart = _apart(dx, y - document_y[j], ground)
            if is_light:
                cost[j, i] = apart
            else:
                cost[i, j] = apart
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
    bounds, shifts_x, shifts_y = np.empty(n * m), np.empty(n * m), np.empty(n * m)
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
        is_light = total_document < total_query
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
            centre_x = np.dot(document_x, document_w) / total_document
            centre_y = np.dot(document_y, document_w) / total_document
            first_x, last_x = centre_shifts(centre_x, True, query_x, query_w, n, total_document, budget)
            first_y, last_y = centre_shifts(centre_y, True, query_rising, query_rising_w, n, total_document, budget)
        elif ground != TABLE:
            centre_x, centre_y = np.dot(query_x, query_w) / total_query, np.dot(query_y, query_w) / total_query
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
                    shifts_x[left], shifts_y[left], bounds[left] = x, y, bound
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
