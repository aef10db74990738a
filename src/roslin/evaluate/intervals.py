"""Confidence intervals of means over queries, chosen by simulation (docs/measurements/inference.md).

A mean m of n values between 0 and 1 is not equally uncertain in both directions: near 1 there is no room above it. The
interval holds every mean µ with
    (m - µ)² <= q² f µ (1 - µ) / n,    f = (S / (m (1 - m)) + 1) / n,
where q is a quantile of Student's t and S the sum of squares around m. f says how much less the values vary than yes
and no would. The 1 stands for a query unlike all others that was not drawn: lists that nearly always do well fail
rarely, and then altogether. So equal values never give an interval without width. For values that are all 0 or 1, f = 1
and q is a quantile of the normal distribution: the interval of Wilson (1927).

Where a measure has no upper limit it is Student's interval, and equal values have none: NaN.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.evaluate.hits import Floats

__all__ = ["check_level", "mean_intervals"]


def mean_intervals(values: npt.ArrayLike, level: float = 0.95, upper: npt.ArrayLike = 1.0) -> Floats:
    """Confidence intervals of means over queries. values: (..., n) without NaN; gives (..., 2).

    `upper`, one for all rows or one for each: the largest value there can be; the smallest is 0. Rows with a value
    outside are taken as unlimited. Fewer than two queries have no interval: NaN.

    >>> mean_intervals([1.0, 1.0, 0.0, 1.0]).round(3).tolist(), mean_intervals([0.5, 0.5, 0.5]).round(3).tolist()
    ([0.301, 0.954], [0.09, 0.91])
    """
    check_level(level)
    rows = np.asarray(values, dtype=np.float64)
    shape, n = rows.shape[:-1], rows.shape[-1]
    if np.isnan(rows).any():
        raise ArgumentError("a value is NaN; leave queries without a value out")
    if n < 2:
        return np.full((*shape, 2), np.nan)
    limits = np.broadcast_to(np.asarray(upper, dtype=np.float64), shape).reshape(-1)
    found = [_interval(row, level, limit) for row, limit in zip(rows.reshape(-1, n), limits.tolist(), strict=True)]
    return np.array(found).reshape(*shape, 2)


def _interval(row: Floats, level: float, limit: float) -> tuple[float, float]:
    if np.isfinite(limit):
        row = np.where(np.isclose(row, limit, rtol=1e-12, atol=0), limit, row)  # sums of shares may be just above 1
    n, mean = len(row), float(row.mean())
    squares = float(((row - mean) ** 2).sum())
    if not (np.isfinite(limit) and (row >= 0).all() and (row <= limit).all()):
        half = _student(n, level) * np.sqrt(squares / (n - 1) / n) if np.ptp(row) else np.nan
        return mean - half, mean + half
    if ((row == 0) | (row == limit)).all():
        low, high = _wilson(mean / limit, NormalDist().inv_cdf((1 + level) / 2) ** 2 / n)
    else:
        narrower = (squares / (mean * (limit - mean)) + 1) / n
        low, high = _wilson(mean / limit, _student(n, level) ** 2 * narrower / n)
    return limit * low, limit * high


def _wilson(share: float, h: float) -> tuple[float, float]:
    """Where (share - µ)² = h µ (1 - µ); both ends of it, with the share between them in spite of rounding."""
    middle, root = 2 * share + h, math.sqrt(h * (h + 4 * share * (1 - share)))
    low, high = (middle - root) / (2 + 2 * h), (middle + root) / (2 + 2 * h)
    return max(0.0, min(share, low)), min(1.0, max(share, high))


def _student(n: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2))


def check_level(level: float) -> None:
    """A level of confidence lies between 0 and 1."""
    if not 0 < level < 1:
        raise ArgumentError(f"level must lie between 0 and 1; got {level!r}")
