"""Numba kernels of the transportation distances: arrays in, arrays out.

The problem solved is one-sided: every row (a point of the lighter set) ships its whole supply, no column receives more
than its capacity.

    minimise sum c_ij f_ij   with   sum_j f_ij = a_i,   sum_i f_ij <= b_j,   f_ij >= 0
    dual:    sum a_i u_i + sum b_j v_j   with   u_i + v_j <= c_ij,   v_j <= 0

Method: each row first ships to its cheapest column as far as there is room; what is left over goes along shortest paths
(Dijkstra over reduced costs), one row at a time. One search serves several shipments: when a shipment fills its column
and empties no path, the search goes on from that column instead of starting again. The value of the dual only grows on
the way and never exceeds the optimum, so a caller who asks only for values up to a `limit` can be told early that there
is none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.transport._arguments import CITYBLOCK, Array, Workspace

__all__ = [
    "SLACK",
    "budget_of",
    "charge_and_base",
    "emd_pairs",
    "ground_matrix",
    "partial_transport",
    "workspace",
]

# A bound must exceed the limit by more than rounding can explain before anything is given up.
SLACK = 1e-9
# Columns are padded to a multiple of this: what a loop over them does at a time with the widest registers.
_BLOCK = 32
# What is left of a weight, as a share of all weight, when only rounding is left of it.
_CRUMB = 1e-15


@kernel(inline="always")
def charge_and_base(query_weight: float, document_weight: float, missing: float) -> tuple[bool, float, float]:
    """(is the document lighter, charge, base): the distance is (cost of the flow + charge) / base.

    Query weight that finds no partner, because the document is lighter than the query, costs `missing` a unit: that is
    the charge; then the base is the query's weight. A `missing` below 0 stands for the paper's rule: it costs nothing,
    and the base is the weight that was moved, which is that of the lighter of the two.
    """
    is_light = document_weight < query_weight
    charge = (query_weight - document_weight) * missing if is_light and missing >= 0.0 else 0.0
    return is_light, charge, document_weight if is_light and missing < 0.0 else query_weight


@kernel(inline="always")
def budget_of(distance: float, charge: float, base: float, slack: float) -> float:
    """What a flow may cost for this distance, and a little more, so that no bound exceeds it by rounding alone."""
    budget = distance * base - charge
    return budget + slack * (1.0 + charge + abs(budget))


@kernel
def workspace(rows: int, columns: int) -> Workspace:
    """Room for problems up to this size, which are solved however long that takes."""
    longest = max(rows, columns)
    return Workspace(
        np.empty((rows, columns)),
        np.empty((rows, columns)),
        np.empty((6, longest)),
        np.empty((4, longest), np.int64),
        np.zeros(1, np.bool_),
    )


@kernel
def _relax(
    m: int,
    cost: Array,
    row: int,
    base: float,
    price: Array,
    distance: Array,
    from_row: npt.NDArray[np.int64],
) -> None:
    """Shorten the way to every column over this row. Without branches, so that it is done several columns at a time."""
    for j in range(m):
        through = base + cost[row, j] - price[j]
        old = distance[j]
        is_shorter = through < old
        distance[j] = through if is_shorter else old
        from_row[j] = row if is_shorter else from_row[j]


@kernel(inline="always")
def _closest(m: int, distance: Array) -> tuple[float, int]:
    """(least distance, its column). Four columns at a time: one chain of comparisons would wait for itself."""
    least_0, least_1, least_2, least_3 = np.inf, np.inf, np.inf, np.inf
    at_0, at_1, at_2, at_3 = 0, 0, 0, 0
    for k in range((m + 3) // 4):
        one, two, three, four = distance[4 * k], distance[4 * k + 1], distance[4 * k + 2], distance[4 * k + 3]
        at_0 = k if one < least_0 else at_0
        least_0 = one if one < least_0 else least_0
        at_1 = k if two < least_1 else at_1
        least_1 = two if two < least_1 else least_1
        at_2 = k if three < least_2 else at_2
        least_2 = three if three < least_2 else least_2
        at_3 = k if four < least_3 else at_3
        least_3 = four if four < least_3 else least_3
    low, low_at = (least_1, 4 * at_1 + 1) if least_1 < least_0 else (least_0, 4 * at_0)
    high, high_at = (least_3, 4 * at_3 + 3) if least_3 < least_2 else (least_2, 4 * at_2 + 2)
    return (high, high_at) if high < low else (low, low_at)


@kernel
def partial_transport(
    n: int, m: int, supply: Array, capacity: Array, limit: float, work: Workspace
) -> tuple[float, bool]:
    """(least total cost, True), or (a bound above `limit`, False). Then `work.flow[:n, :m]` is filled in.

    `work.cost[:n, :m]` are the costs. The supplies of the n rows must not exceed the capacities of the m columns in sum
    (rounding aside: what finds no room any more is shipped nowhere).
    """
    cost, flow, lines, indices, stop = work
    u, v, left, room = lines[0], lines[1], lines[2], lines[3]
    row_distance, done_distance = lines[4], lines[5]
    done, via_column, seen, is_seen = indices[0], indices[1], indices[2], indices[3]
    abandon = limit + SLACK * (1.0 + abs(limit))
    for j in range(m):
        v[j] = 0.0
        room[j] = capacity[j]
    dual, crumb, is_settled = 0.0, 0.0, True
    for i in range(n):
        best, least = 0, cost[i, 0]
        for j in range(1, m):
            if cost[i, j] < least:
                best, least = j, cost[i, j]
        u[i] = least
        left[i] = supply[i]
        seen[i] = best  # kept for a moment: where the row ships first
        room[best] -= supply[i]
        is_settled &= room[best] >= 0.0
        dual += supply[i] * least
        crumb += supply[i]
    if dual > abandon:
        return dual, False
    for i in range(n):
        for j in range(m):
            flow[i, j] = 0.0
    if is_settled:
        for i in range(n):
            flow[i, seen[i]] = supply[i]
        return dual, True
    for j in range(m):
        room[j] = capacity[j]
    crumb *= _CRUMB
    # Lines of the search, padded by columns that are never reached.
    width = (m + _BLOCK - 1) // _BLOCK * _BLOCK
    padded = np.empty((n + 2, width))
    distance, price = padded[n], padded[n + 1]
    for j in range(m, width):
        distance[j], price[j] = np.inf, 0.0
    # holders[j, :held] are the rows that ship to column j; held is kept at n.
    holders = np.empty((m, n + 1), np.int64)
    from_row = np.empty(width, np.int64)  # who reached a column
    for j in range(m):
        holders[j, n] = 0
    for i in range(n):
        is_seen[i] = 0
        for j in range(m):
            padded[i, j] = cost[i, j]
        for j in range(m, width):
            padded[i, j] = np.inf
        j = seen[i]
        shipped = min(left[i], room[j])
        if shipped > crumb:
            flow[i, j] = shipped
            left[i] -= shipped
            room[j] -= shipped
            holders[j, holders[j, n]] = i
            holders[j, n] += 1
    for i in range(n):
        while left[i] > crumb:
            if stop[0]:
                return np.inf, False
            # Dijkstra from row i to the nearest columns with room. Reduced costs are never negative. A column that is
            # done has an infinite distance and price, so that nothing shortens the way to it again.
            for j in range(m):
                price[j] = v[j]
                distance[j] = cost[i, j] - u[i] - v[j]
                from_row[j] = i
            seen[0], is_seen[i], row_distance[i] = i, 1, 0.0
            rows_seen, columns_done = 1, 0
            reach = 0.0
            while True:
                closest, at = _closest(m, distance)
                if closest == np.inf:
                    left[i] = 0.0  # no room anywhere: only rounding is left of this row
                    break
                reach = closest
                if room[at] > crumb:
                    shipped = min(left[i], room[at])
                    r = from_row[at]
                    while r != i:
                        j = via_column[r]
                        shipped = min(shipped, flow[r, j])
                        r = from_row[j]
                    left[i] -= shipped
                    room[at] -= shipped
                    is_cut = False
                    j = at
                    while True:
                        r = from_row[j]
                        if flow[r, j] == 0.0:
                            holders[j, holders[j, n]] = r
                            holders[j, n] += 1
                        flow[r, j] += shipped
                        if r == i:
                            break
                        j = via_column[r]
                        flow[r, j] -= shipped
                        if flow[r, j] <= crumb:
                            flow[r, j] = 0.0
                            is_cut = True
                            held = holders[j, n] - 1
                            holders[j, n] = held
                            k = 0
                            while holders[j, k] != r:
                                k += 1
                            holders[j, k] = holders[j, held]
                    if is_cut or left[i] <= crumb or room[at] > crumb:
                        break
                done[columns_done], done_distance[columns_done] = at, reach
                columns_done += 1
                distance[at], price[at] = np.inf, -np.inf
                for k in range(holders[at, n]):
                    r = holders[at, k]
                    if is_seen[r] == 0:
                        seen[rows_seen], is_seen[r], row_distance[r], via_column[r] = r, 1, reach, at
                        rows_seen += 1
                        _relax(width, padded, r, reach - u[r], price, distance, from_row)
            for k in range(rows_seen):
                r = seen[k]
                is_seen[r] = 0
                u[r] += reach - row_distance[r]
                dual += supply[r] * (reach - row_distance[r])
            for k in range(columns_done):
                j = done[k]
                v[j] -= reach - done_distance[k]
                dual -= capacity[j] * (reach - done_distance[k])
            if dual > abandon:
                return dual, False
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += flow[i, j] * cost[i, j]
    return total, True


@kernel
def ground_matrix(
    n: int, m: int, time_a: Array, pitch_a: Array, time_b: Array, pitch_b: Array, ground: int, out: Array
) -> None:
    """Distances between the first n points of A (rows) and the first m of B (columns)."""
    for i in range(n):
        time, pitch = time_a[i], pitch_a[i]
        if ground == CITYBLOCK:
            for j in range(m):
                out[i, j] = abs(time - time_b[j]) + abs(pitch - pitch_b[j])
        else:
            for j in range(m):
                dx, dy = time - time_b[j], pitch - pitch_b[j]
                out[i, j] = np.sqrt(dx * dx + dy * dy)


@kernel
def _gather(points: Array, weights: Array, start: int, end: int, out: Array) -> float:
    """Fill in the lines time, pitch and weight of one set; its weight."""
    total = 0.0
    for i in range(start, end):
        out[0, i - start], out[1, i - start], out[2, i - start] = points[i, 0], points[i, 1], weights[i]
        total += weights[i]
    return total


@kernel
def emd_pairs(
    points_a: Array,
    weights_a: Array,
    offsets_a: npt.NDArray[np.int64],
    points_b: Array,
    weights_b: Array,
    offsets_b: npt.NDArray[np.int64],
    ground: int,
    proportional: bool,
) -> Array:
    """The distance of pair after pair: points `offsets_a[k]:offsets_a[k+1]` of A with those of B."""
    count = len(offsets_a) - 1
    most = 1
    for k in range(count):
        most = max(most, offsets_a[k + 1] - offsets_a[k], offsets_b[k + 1] - offsets_b[k])
    work = workspace(most, most)
    # Time, pitch and weight of the lighter set and of the other, each in one piece of memory.
    rows, columns = np.empty((3, most)), np.empty((3, most))
    distances = np.empty(count)
    for k in range(count):
        total_a = _gather(points_a, weights_a, offsets_a[k], offsets_a[k + 1], rows)
        total_b = _gather(points_b, weights_b, offsets_b[k], offsets_b[k + 1], columns)
        n, m = offsets_a[k + 1] - offsets_a[k], offsets_b[k + 1] - offsets_b[k]
        lighter, other, least, largest = rows, columns, total_a, total_b
        if total_b < total_a:
            lighter, other, least, largest, n, m = columns, rows, total_b, total_a, m, n
        if proportional:
            for i in range(n):
                lighter[2, i] /= least
            for j in range(m):
                other[2, j] /= largest
            least = 1.0
        ground_matrix(n, m, lighter[0], lighter[1], other[0], other[1], ground, work.cost)
        value, _ = partial_transport(n, m, lighter[2], other[2], np.inf, work)
        distances[k] = value / least
    return distances
