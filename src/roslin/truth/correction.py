"""Corrections for many tests at once: p-values of all pairs of one list, made larger so that fewer pass by luck."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from roslin.errors import UnknownNameError
from roslin.truth.rankings import Floats

__all__ = ["CORRECTIONS", "corrected_pairs"]


def _holm(p: Floats, count: Floats) -> Floats:
    """Holm's step-down: at most this share of lists has any false difference. `p` in rising order, last axis."""
    left = np.maximum(count - np.arange(p.shape[-1]), 1)
    larger: Floats = np.maximum.accumulate(p * left, axis=-1)
    return larger


def _benjamini_hochberg(p: Floats, count: Floats) -> Floats:
    """Benjamini and Hochberg's step-up: the share of false among found differences. `p` in rising order."""
    scaled = p * count / np.arange(1, p.shape[-1] + 1)
    smaller: Floats = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return smaller


# A correction: rising p-values, and how many of them are tests (the others are infinite, at the end).
CORRECTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {"holm": _holm, "bh": _benjamini_hochberg}


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
    count = np.maximum(np.count_nonzero(np.isfinite(tests), axis=-1)[..., None], 1).astype(np.float64)
    order = np.argsort(tests, axis=-1, kind="stable")
    found = np.minimum(1.0, CORRECTIONS[correction](np.take_along_axis(tests, order, axis=-1), count))
    back = np.empty_like(found)
    np.put_along_axis(back, order, found, axis=-1)
    result = np.ones_like(p)
    result[..., rows, columns] = back
    result[..., columns, rows] = back
    return result
