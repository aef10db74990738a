"""Numba kernel of `paths`: the cheapest path through a table, and the steps that it takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["cheapest_path"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BEGIN = -1


@kernel
def cheapest_path(
    costs: Array, rows: Numbers, columns: Numbers, before: Numbers, after: Numbers, starts: Flags, ends: Flags
) -> tuple[float, Numbers]:
    """(cost, path) of the cheapest path from a cell where it may start, in state 0, to one where it may end.

    A step of kind k goes `rows[k]` down and `columns[k]` to the right, from state `before[k]` to state `after[k]`, and
    costs `costs[k, i, j]` when it ends in cell (i, j). The path has a row (kind, i, j) for each step. Of equally cheap
    steps the first kind is taken.
    """
    kinds, height, width = costs.shape
    states = 1
    for kind in range(kinds):
        states = max(states, after[kind] + 1)
    best = np.full((states, height, width), np.inf)
    came = np.full((states, height, width), _BEGIN, np.int16)
    least, state, i_end, j_end = np.inf, 0, 0, 0
    for i in range(height):
        for j in range(width):
            if starts[i, j]:
                best[0, i, j] = 0.0
            for kind in range(kinds):
                a, b = i - rows[kind], j - columns[kind]
                if a >= 0 and b >= 0:
                    total = best[before[kind], a, b] + costs[kind, i, j]
                    if total < best[after[kind], i, j]:
                        best[after[kind], i, j] = total
                        came[after[kind], i, j] = kind
            for s in range(states):
                if ends[i, j] and best[s, i, j] < least:
                    least, state, i_end, j_end = best[s, i, j], s, i, j
    path = np.empty((height + width, 3), np.int64)
    count, i, j = 0, i_end, j_end
    while came[state, i, j] != _BEGIN:
        kind = came[state, i, j]
        path[count, 0], path[count, 1], path[count, 2] = kind, i, j
        count += 1
        state, i, j = before[kind], i - rows[kind], j - columns[kind]
    return least, path[:count][::-1].copy()
