"""Corrections for many tests at once: p-values, made larger so that fewer pass by luck.

`holm` and `benjamini_hochberg` take the p-values of any tests, `corrected_pairs` those of all pairs of one list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from roslin.errors import UnknownNameError
from roslin.truth.rankings import Floats

__all__ = ["CORRECTIONS", "benjamini_hochberg", "corrected_pairs", "holm"]


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected so that any false claim among all is held at the level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    return list(map(float, _corrected(np.array(p, dtype=np.float64), _holm)))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """p-values corrected so that the share of false claims among those made is held (Benjamini & Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    return list(map(float, _corrected(np.array(p, dtype=np.float64), _benjamini_hochberg)))


def _holm(p: Floats, count: Floats) -> Floats:
    """The step-down of Holm; `p` in rising order along the last axis."""
    left = np.maximum(count - np.arange(p.shape[-1]), 1)
    larger: Floats = np.maximum.accumulate(p * left, axis=-1)
    return larger


def _benjamini_hochberg(p: Floats, count: Floats) -> Floats:
    """The step-up of Benjamini and Hochberg; `p` in rising order along the last axis."""
    scaled = p * count / np.arange(1, p.shape[-1] + 1)
    smaller: Floats = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return smaller


# A correction: rising p-values, and how many of them are tests (the others are infinite, at the end).
Correction = Callable[[Floats, Floats], Floats]
CORRECTIONS: dict[str, Correction] = {"holm": _holm, "bh": _benjamini_hochberg}


def _corrected(p: Floats, correction: Correction) -> Floats:
    """Corrected p-values along the last axis, in their own order. An infinite one stands for no test."""
    count = np.maximum(np.count_nonzero(np.isfinite(p), axis=-1)[..., None], 1).astype(np.float64)
    order = np.argsort(p, axis=-1, kind="stable")
    found = np.minimum(1.0, correction(np.take_along_axis(p, order, axis=-1), count))
    back = np.empty_like(found)
    np.put_along_axis(back, order, found, axis=-1)
    return back


def corrected_pairs(p: Floats, correction: str | None, votes: npt.NDArray[np.int64] | None = None) -> Floats:
    """Corrected p-values of "earlier against later": only the upper triangle of (..., n, n) counts as tests.

    The lower triangle is mirrored from the upper, so that either order can be looked up. `votes`, shape (..., n): a
    candidate without any takes part in no test.
    """
    if correction is None:
        return p
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)
    rows, columns = np.triu_indices(p.shape[-1], 1)
    tests = p[..., rows, columns]
    if not tests.shape[-1]:
        return p
    if votes is not None:
        tests = np.where((votes[..., rows] > 0) & (votes[..., columns] > 0), tests, np.inf)
    corrected = _corrected(tests, CORRECTIONS[correction])
    result = np.ones_like(p)
    result[..., rows, columns] = corrected
    result[..., columns, rows] = corrected
    return result
