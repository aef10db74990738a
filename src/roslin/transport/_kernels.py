"""Numba kernels of the transportation distances: arrays in, arrays out.

The problem solved is one-sided: every row (a point of the lighter set) ships its whole supply, no column receives more
than its capacity.

    minimise sum c_ij f_ij   with   sum_j f_ij = a_i,   sum_i f_ij <= b_j,   f_ij >= 0
    dual:    sum a_i u_i + sum b_j v_j   with   u_i + v_j <= c_ij,   v_j <= 0

Method: each row first ships to its cheapest column as far as there is room; what is left over goes along shortest paths
(Dijkstra over reduced costs), one row at a time. The value of the dual only grows on the way and never exceeds the
optimum, so a caller who asks only for values up to a `limit` can be told early that there is none.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

__all__ = ["CITYBLOCK", "EUCLIDEAN", "GROUNDS", "TABLE", "emd_pairs", "ground_matrix", "partial_transport", "workspace"]

Array = npt.NDArray[np.float64]

EUCLIDEAN, CITYBLOCK, TABLE = 0, 1, 2
GROUNDS = {"euclidean": EUCLIDEAN, "cityblock": CITYBLOCK}

# A bound must exceed the limit by more than rounding can explain before anything is given up.
SLACK = 1e-9


@nb.njit(cache=True, nogil=True)
def workspace(rows: int, columns: int) -> tuple[Array, Array, Array, npt.NDArray[np.int64]]:
    """Cost matrix, flow matrix, ten lines of numbers and five of indices, for problems up to this size."""
    longest = max(rows, columns)
    return (
        np.empty((rows, columns)),
        np.empty((rows, columns)),
        np.empty((8, longest)),
        np.empty((5, longest), np.int64),
    )


@nb.njit(cache=True, nogil=True)
def partial_transport(
    n: int,
    m: int,
    cost: Array,
    supply: Array,
    capacity: Array,
    limit: float,
    flow: Array,
    lines: Array,
    indices: npt.NDArray[np.int64],
) -> tuple[float, bool]:
    """(least total cost, True), or (a bound above `limit`, False). `flow[:n, :m]` is filled in.

    The supplies of the n rows must not exceed the capacities of the m columns in sum (rounding aside: what finds no
    room any more is shipped nowhere).
    """
    u, v, left, room = lines[0], lines[1], lines[2], lines[3]
    distance, row_distance = lines[4], lines[5]
    from_row, is_done, via_column, visited, row_seen = indices[0], indices[1], indices[2], indices[3], indices[4]
    abandon = limit + SLACK * (1.0 + abs(limit))
    for j in range(m):
        v[j] = 0.0
        room[j] = capacity[j]
    dual = 0.0
    for i in range(n):
        best, least = 0, cost[i, 0]
        for j in range(1, m):
            if cost[i, j] < least:
                best, least = j, cost[i, j]
        u[i] = least
        left[i] = supply[i]
        from_row[i] = best  # kept for a moment: where the row ships first
        dual += supply[i] * least
    if dual > abandon:
        return dual, False
    for i in range(n):
        for j in range(m):
            flow[i, j] = 0.0
        j = from_row[i]
        shipped = min(left[i], room[j])
        if shipped > 0.0:
            flow[i, j] = shipped
            left[i] -= shipped
            room[j] -= shipped
    for i in range(n):
        while left[i] > 0.0:
            # Dijkstra from row i to the nearest column with room. Reduced costs are never negative.
            for r in range(n):
                row_seen[r] = 0
            row_seen[i] = 1
            row_distance[i] = 0.0
            visited[0] = i
            seen = 1
            for j in range(m):
                distance[j] = cost[i, j] - u[i] - v[j]
                from_row[j] = i
                is_done[j] = 0
            target = -1
            reach = 0.0
            while True:
                nearest, reach = -1, np.inf
                for j in range(m):
                    if is_done[j] == 0 and distance[j] < reach:
                        nearest, reach = j, distance[j]
                if nearest < 0:
                    break
                if room[nearest] > 0.0:
                    target = nearest
                    break
                is_done[nearest] = 1
                for r in range(n):
                    if row_seen[r] == 0 and flow[r, nearest] > 0.0:
                        row_seen[r] = 1
                        row_distance[r] = reach
                        via_column[r] = nearest
                        visited[seen] = r
                        seen += 1
                        base = reach - u[r]
                        for j in range(m):
                            if is_done[j] == 0:
                                through = base + cost[r, j] - v[j]
                                if through < distance[j]:
                                    distance[j] = through
                                    from_row[j] = r
            if target < 0:
                break  # no room anywhere: only rounding is left of this row
            for k in range(seen):
                r = visited[k]
                u[r] += reach - row_distance[r]
                dual += supply[r] * (reach - row_distance[r])
            for j in range(m):
                if is_done[j] == 1:
                    v[j] -= reach - distance[j]
                    dual -= capacity[j] * (reach - distance[j])
            if dual > abandon:
                return dual, False
            shipped = min(left[i], room[target])
            j, r = target, from_row[target]
            while r != i:
                j = via_column[r]
                shipped = min(shipped, flow[r, j])
                r = from_row[j]
            j = target
            while True:
                r = from_row[j]
                flow[r, j] += shipped
                if r == i:
                    break
                j = via_column[r]
                flow[r, j] -= shipped
            left[i] -= shipped
            room[target] -= shipped
    total = 0.0
    for i in range(n):
        for j in range(m):
            if flow[i, j] > 0.0:
                total += flow[i, j] * cost[i, j]
    return total, True


@nb.njit(cache=True, nogil=True)
def ground_matrix(time_a: Array, pitch_a: Array, time_b: Array, pitch_b: Array, ground: int, out: Array) -> None:
    """Distances between all points of A (rows) and of B (columns)."""
    for i in range(len(time_a)):
        for j in range(len(time_b)):
            dx, dy = abs(time_a[i] - time_b[j]), abs(pitch_a[i] - pitch_b[j])
            out[i, j] = dx + dy if ground == CITYBLOCK else np.sqrt(dx * dx + dy * dy)


@nb.njit(cache=True, nogil=True)
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
    cost, flow, lines, indices = workspace(most, most)
    supply, capacity = np.empty(most), np.empty(most)
    distances = np.empty(count)
    for k in range(count):
        a, b = slice(offsets_a[k], offsets_a[k + 1]), slice(offsets_b[k], offsets_b[k + 1])
        total_a, total_b = weights_a[a].sum(), weights_b[b].sum()
        if total_a <= total_b:
            rows, row_weights, columns, column_weights = points_a[a], weights_a[a], points_b[b], weights_b[b]
        else:
            rows, row_weights, columns, column_weights = points_b[b], weights_b[b], points_a[a], weights_a[a]
        n, m = len(rows), len(columns)
        least, most_weight = min(total_a, total_b), max(total_a, total_b)
        for i in range(n):
            supply[i] = row_weights[i] / least if proportional else row_weights[i]
        for j in range(m):
            capacity[j] = column_weights[j] / most_weight if proportional else column_weights[j]
        ground_matrix(rows[:, 0], rows[:, 1], columns[:, 0], columns[:, 1], ground, cost)
        value, _ = partial_transport(n, m, cost, supply, capacity, np.inf, flow, lines, indices)
        distances[k] = value if proportional else value / least
    return distances
