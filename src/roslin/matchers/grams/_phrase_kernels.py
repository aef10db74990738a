"""Numba kernels of `rismonline`. `extra` is how many fewer symbols than notes a line has: its last symbols are none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["bigram_distances", "phrase_distances"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@kernel
def phrase_distances(query: Numbers, symbols: Numbers, offsets: Numbers, extra: int) -> Array:
    """1 - q / d for lines of d symbols that hold the q symbols of the query in a row, else 1."""
    q = len(query)
    distances = np.ones(len(offsets) - 1)
    if q == 0:
        return distances
    for k in range(len(offsets) - 1):
        end = offsets[k + 1] - extra
        for first in range(offsets[k], end - q + 1):
            same = 0
            while same < q and symbols[first + same] == query[same]:
                same += 1
            if same == q:
                d = end - offsets[k]
                distances[k] = (d - q) / d
                break
    return distances


@kernel
def bigram_distances(query: Numbers, symbols: Numbers, offsets: Numbers, extra: int) -> Array:
    """1 - s / (d + q - s) for q pairs of neighbours in the query, d in the line, s in both."""
    q = len(query) - 1
    distances = np.ones(len(offsets) - 1)
    if q < 1:
        return distances
    # Each different pair of the query, and how often it comes.
    first, second, times = np.empty(q, np.int64), np.empty(q, np.int64), np.zeros(q, np.int64)
    different = 0
    for i in range(q):
        pair = 0
        while pair < different and (first[pair] != query[i] or second[pair] != query[i + 1]):
            pair += 1
        if pair == different:
            first[pair], second[pair] = query[i], query[i + 1]
            different += 1
        times[pair] += 1
    for k in range(len(offsets) - 1):
        d = offsets[k + 1] - extra - offsets[k] - 1
        shared = 0
        for pair in range(different):
            found = 0
            for i in range(offsets[k], offsets[k] + d):
                found += symbols[i] == first[pair] and symbols[i + 1] == second[pair]
            shared += min(found, times[pair])
        if d > 0:
            distances[k] = (d + q - 2 * shared) / (d + q - shared)
    return distances
