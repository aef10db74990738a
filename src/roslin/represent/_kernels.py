"""Compiled loops. Arrays in, numbers out; imported only when one of them is called."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["weighted_edit_distance"]


@njit(cache=True)
def weighted_edit_distance(
    query: npt.NDArray[np.uint8],
    candidate: npt.NDArray[np.uint8],
    insertion: float,
    deletion: float,
    replacement: npt.NDArray[np.float64],
) -> float:
    """The cheapest way to turn `query` into `candidate`; `replacement[a, b]` is the cost of b in place of a."""
    row = np.empty(candidate.size + 1)
    row[0] = 0.0
    for j in range(candidate.size):
        row[j + 1] = row[j] + insertion
    for i in range(query.size):
        diagonal = row[0]
        row[0] += deletion
        for j in range(candidate.size):
            above = row[j + 1]
            best = diagonal + replacement[query[i], candidate[j]]
            if above + deletion < best:
                best = above + deletion
            if row[j] + insertion < best:
                best = row[j] + insertion
            row[j + 1] = best
            diagonal = above
    return float(row[candidate.size])
