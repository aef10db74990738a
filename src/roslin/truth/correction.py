"""Corrections for many tests at once: p-values of all pairs of one list, made larger so that fewer pass by luck."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from roslin.errors import UnknownNameError
from roslin.truth.rankings import Floats

__all__ = ["CORRECTIONS", "corrected_pairs"]


def _holm(p: Floats) -> Floats:
    """Holm's step-down: at most this share of lists has any false difference. `p` in rising order, last axis."""
    left = np.arange(p.shape[-1], 0, -1)
    larger: Floats = np.maximum.accumulate(p * left, axis=-1)
    return larger


def _benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's step-up: the share of false among found differences. `p` in rising order."""
    count = p.shape[-1]
    scaled = p * (count / np.arange(1, count + 1))
    smaller: Floats = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return smaller


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {"holm": _holm, "bh": _benjamini_hochberg}


def corrected_pairs(p: Floats, correction: str | None) -> Floats:
    """Corrected p-values of "earlier against later": only the upper triangle of (..., n, n) counts as tests.

    The lower triangle is mirrored from the upper, so that either order can be looked up.
    """
    if correction is None:
        return p
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)
    rows, columns = np.triu_indices(p.shape[-1], 1)
    tests = p[..., rows, columns]
    if not tests.shape[-1]:
        return p
    order = np.argsort(tests, axis=-1, kind="stable")
    found = np.minimum(1.0, CORRECTIONS[correction](np.take_along_axis(tests, order, axis=-1)))
    back = np.empty_like(found)
    np.put_along_axis(back, order, found, axis=-1)
    result = np.ones_like(p)
    result[..., rows, columns] = back
    result[..., columns, rows] = back
    return result
