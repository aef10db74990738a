"""Numba kernels of the matchers by n-grams: down the lists of melodies of an inverted index (represent/grams.py)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["shared_grams", "weighted_grams"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@kernel
def shared_grams(
    starts: Numbers, stops: Numbers, melodies: npt.NDArray[np.int32], counts: npt.NDArray[np.int32], number: int
) -> Array:
    """The distance of `us` to each of so many melodies. Query gram k is in `melodies[starts[k] : stops[k]]`.

    `counts`, the number of grams of each melody, is empty where only the query's number counts.
    """
    grams = len(starts)
    distances = np.ones(number)
    shared = np.zeros(number, np.int32)
    for k in range(grams):
        for place in range(starts[k], stops[k]):
            shared[melodies[place]] += 1
    # Most melodies share nothing: only those in the lists are looked at again.
    for k in range(grams):
        for place in range(starts[k], stops[k]):
            d = melodies[place]
            total = grams + counts[d] if len(counts) else 2 * grams
            distances[d] = (total - 2 * shared[d]) / total
    return distances


@kernel
def weighted_grams(
    starts: Numbers,
    stops: Numbers,
    weights: Array,
    melodies: npt.NDArray[np.int32],
    times: npt.NDArray[np.uint16],
    norms: Array,
) -> Array:
    """The cosine of the query of `orio` with each melody, 0 for one without grams.

    Query gram k is in `melodies[starts[k] : stops[k]]`, so many `times`; `weights[k]` is its weight in the query, over
    the query's norm, times its rarity.
    """
    cosines = np.zeros(len(norms))
    for k in range(len(starts)):
        for place in range(starts[k], stops[k]):
            weight = weights[k]
            if times[place] > 1:
                weight *= 1.0 + np.log(np.float64(times[place]))
            cosines[melodies[place]] += weight
    for d in range(len(norms)):
        if norms[d] > 0.0:
            cosines[d] /= norms[d]
    return cosines
