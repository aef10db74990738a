"""Is a difference between two runs chance? One pair, and many pairs at once.

One pair: Student's t of the n paired differences, with its interval. But k queries that differ, all to one side, happen
by chance in 2 / 2^k of all cases, whatever the shape of the data: no p is smaller than that.

Many pairs: if runs are equally good, it is chance whose value is whose, so the signs of all differences of a query
may be turned round. This is done to all pairs at once, in all 2^n ways for up to 16 queries, or in 20,000 random ones
with a fixed seed, and the largest |z| of all pairs is noted, z = sum(d) / |d|. p_max is the share of ways in which it
is at least the |z| of the pair (Westfall & Young 1993, single step). Pairs that resemble each other cost little, so it
finds more than Holm's correction. z grows with t, t² = z² (n - 1) / (n - z²), so `critical` is a t. The intervals of
all pairs together are as wide as the larger of it and Student's quantile for each of this many pairs makes them.

An interval excludes 0 exactly where its p is below 1 - level. It is stretched to 0 where fewer queries differ than this
needs (6 at 95%), and ends at 0 where the test excludes it but the interval would not. Equal differences are no
certainty: n queries that are alike leave room for others, a share of up to Wilson's bound for nothing seen in n, which
may have any value; on the same side of 0 if p is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.tolerances import RECOMPUTED, REORDERED
from roslin.types import Floats

SEED = 2005
EXCHANGES = 20_000
_EXACT_UP_TO = 16  # 2^16 ways are not many more than the random ones
_SIGNS_AT_ONCE = 512
_ROUNDING = 1 - REORDERED  # the same numbers added up in another order must not fall below the sum
_JUST_BESIDE_0 = 1e-12


@dataclass(frozen=True, slots=True)
class PairTests:
    """For each of k pairs: p and interval (k, 2) of the pair alone, p and interval that hold for all pairs together.

    `critical` is the t that a pair must exceed among all. It is infinite if no pair can.
    """

    p: Floats
    intervals: Floats
    p_max: Floats
    intervals_all: Floats
    critical: float


def pair_tests(
    differences: Floats, level: float = 0.95, limit: float = np.inf, exchanges: int = EXCHANGES
) -> PairTests:
    """The tests for rows of differences, (pairs, n), of a measure with values from 0 to `limit`."""
    pairs, n = differences.shape
    if n < 2:
        unknown = np.full((pairs, 2), np.nan)
        return PairTests(np.ones(pairs), unknown, np.ones(pairs), unknown, np.inf)
    from scipy.special import stdtrit

    p = student_p(differences)
    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    intervals = _intervals(differences, quantile, p, level, limit, _unseen_share(n, level))
    if pairs == 1:
        return PairTests(p, intervals, p, intervals, quantile if 2.0 ** (1 - n) < 1 - level else np.inf)
    critical, p_max = _of_all(differences, 1 - level, exchanges)
    of_each = 1 - (1 - level) / pairs
    wide = max(critical, float(stdtrit(n - 1, (1 + of_each) / 2)))
    together = _intervals(differences, wide, p_max, level, limit, _unseen_share(n, of_each))
    return PairTests(p, intervals, p_max, together, critical)


def student_p(differences: Floats) -> Floats:
    """Two-sided p of Student's t for each row of differences, (pairs, n), but at least 2 / 2^k with k that differ."""
    from scipy.special import stdtr

    n = differences.shape[1]
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    equal = np.ptp(differences, axis=1) == 0
    t = np.where(equal, np.inf, np.abs(mean) * np.sqrt(n) / np.where(equal, 1.0, spread))
    differing = np.count_nonzero(differences, axis=1)
    return np.asarray(np.maximum(2 * stdtr(n - 1, -t), np.minimum(1.0, 2.0 ** (1.0 - differing))), dtype=np.float64)


def smallest_p(queries: int) -> float:
    """The smallest p that this many queries can give."""
    return min(1.0, 2.0 ** (1 - queries))


def exchange_p(differences: Floats, exchanges: int = EXCHANGES, seed: int = SEED) -> Floats:
    """The share of exchanges with as large a sum, for each row of differences, (pairs, n).

    Exact for up to 16 queries that differ. Other rows share their random exchanges.
    """
    p = [_exact_p(row[row != 0]) for row in differences]
    left = [k for k, value in enumerate(p) if value is None]
    if left:
        rows = differences[left]
        observed = np.abs(rows.sum(axis=1)) * _ROUNDING
        as_large = np.ones(len(left))
        for signs in _random_signs(rows.shape[1], exchanges, seed):
            as_large += np.count_nonzero(np.abs(signs @ rows.T) >= observed, axis=0)
        for k, count in zip(left, as_large, strict=True):
            p[k] = float(count / (exchanges + 1))
    return np.array(p, dtype=np.float64)


def _exact_p(difference: Floats) -> float | None:
    """p from all exchanges of queries that differ; None where these are too many."""
    if not len(difference):
        return 1.0
    if len(difference) > _EXACT_UP_TO:
        return None
    sums = np.zeros(1)
    for each in difference:
        sums = np.concatenate([sums + each, sums - each])
    return float(np.count_nonzero(np.abs(sums) >= abs(difference.sum()) * _ROUNDING) / len(sums))


def _of_all(rows: Floats, alpha: float, exchanges: int) -> tuple[float, Floats]:
    """The t that a pair must exceed among all pairs, and p_max of each."""
    n = rows.shape[1]
    size = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(size > 0, size, 1.0)[:, None]
    largest = np.sort(np.concatenate([np.abs(signs @ unit.T).max(axis=1) for signs in _signs(n, exchanges)]))
    z = np.abs(unit.sum(axis=1)) * _ROUNDING
    p_max = (len(largest) - np.searchsorted(largest, z, side="left")) / len(largest)
    may_be_larger = int(np.ceil(alpha * len(largest) - RECOMPUTED)) - 1
    if may_be_larger < 1:
        return np.inf, p_max
    needed = float(largest[-1 - may_be_larger])
    is_too_large = needed * needed >= n * (1 - RECOMPUTED)
    return np.inf if is_too_large else needed * np.sqrt((n - 1) / (n - needed * needed)), p_max


def _signs(n: int, exchanges: int) -> Iterator[Floats]:
    """(up to 512, n) Blocks of +1 and -1: the ways to exchange, the given one among them.

    Turning everything round changes no |sum|: where all ways are tried, the last query stays as it is.
    """
    if n > _EXACT_UP_TO:
        yield np.ones((1, n), dtype=np.float64)
        yield from _random_signs(n, exchanges, SEED)
        return
    for start in range(0, 2 ** (n - 1), _SIGNS_AT_ONCE):
        ways = np.arange(start, min(start + _SIGNS_AT_ONCE, 2 ** (n - 1)))[:, None]
        yield np.asarray(1 - 2 * ((ways >> np.arange(n)) & 1), dtype=np.float64)


def _random_signs(n: int, exchanges: int, seed: int) -> Iterator[Floats]:
    chance = np.random.default_rng(seed)
    for start in range(0, exchanges, _SIGNS_AT_ONCE):
        coins = chance.integers(0, 2, (min(_SIGNS_AT_ONCE, exchanges - start), n), dtype=np.int8)
        yield coins * np.float64(2) - 1


def _intervals(rows: Floats, critical: float, p: Floats, level: float, limit: float, share: float) -> Floats:
    """mean +- critical standard errors, made to exclude 0 exactly where p is below 1 - level, within the limits.

    `share`: that of queries of another kind, where all differences are equal.
    """
    n = rows.shape[1]
    means, spreads, is_equal = rows.mean(axis=1), rows.std(axis=1, ddof=1), np.ptp(rows, axis=1) == 0
    found = []
    for mean, spread, equal, shown in zip(means.tolist(), spreads.tolist(), is_equal, p < 1 - level, strict=True):
        if np.isinf(critical):
            low, high = -limit, limit
        elif equal:
            ends = (0.0, limit) if mean > 0 and shown else (-limit, 0.0) if shown else (-limit, limit)
            low, high = (mean * (1 - share) + share * end for end in ends)
        else:
            half = critical * spread / math.sqrt(n)
            low, high = mean - half, mean + half
        if not shown:
            low, high = min(low, 0.0), max(high, 0.0)
        elif mean > 0:
            low = max(low, min(_JUST_BESIDE_0, mean / 2))
        else:
            high = min(high, max(-_JUST_BESIDE_0, mean / 2))
        found.append((max(low, -limit), min(high, limit)))
    return np.array(found)


def _unseen_share(n: int, level: float) -> float:
    """How large the share of queries of another kind may be, if n were drawn and none of them was among these.

    >>> round(_unseen_share(11, 0.95), 3), round(_unseen_share(300, 0.95), 4)
    (0.259, 0.0126)
    """
    square = NormalDist().inv_cdf((1 + level) / 2) ** 2
    return square / (n + square)


# -- intervals ---------------------------------------------------------------------------------------------------------
#
# Confidence intervals of means over queries, chosen by simulation (dev/measurements/inference.md).
#
# A mean m of n values between 0 and 1 is not equally uncertain in both directions: near 1 there is no room above it.
# The interval holds every mean µ with
#     (m - µ)² <= q² f µ (1 - µ) / n,    f = (S / (m (1 - m)) + 1) / n,
# where q is a quantile of Student's t and S the sum of squares around m. f says how much less the values vary than yes
# and no would. The 1 represents a query unlike all others that was not drawn: lists that nearly always do well fail
# rarely, and then altogether. So equal values never give an interval without width. For values that are all 0 or 1, f =
# 1 and q is a quantile of the normal distribution: the interval of Wilson (1927).
#
# Where a measure has no upper limit it is Student's interval, and equal values have none: NaN.


def mean_intervals(values: npt.ArrayLike, level: float = 0.95, upper: npt.ArrayLike = 1.0) -> Floats:
    """Confidence intervals of means over queries. values: (..., n) without NaN; gives (..., 2).

    `upper`, one for all rows or one for each, is the largest possible value. The smallest is 0. Rows with a value
    outside these are treated as unlimited. Fewer than two queries have no interval (NaN).

    >>> mean_intervals([1.0, 1.0, 0.0, 1.0]).round(3).tolist(), mean_intervals([0.5, 0.5, 0.5]).round(3).tolist()
    ([0.301, 0.954], [0.09, 0.91])
    """
    rows, shape = checked_rows(values, level)
    if rows.shape[1] < 2:
        return np.full((*shape, 2), np.nan)
    limits = np.broadcast_to(np.asarray(upper, dtype=np.float64), shape).reshape(-1)
    found = [_interval(row, level, limit) for row, limit in zip(rows, limits.tolist(), strict=True)]
    return np.array(found).reshape(*shape, 2)


def checked_rows(values: npt.ArrayLike, level: float) -> tuple[Floats, tuple[int, ...]]:
    """(..., n) values as rows, (rows, n), and the shape before the last axis. NaN and a wrong level are refused."""
    check_level(level)
    found = np.asarray(values, dtype=np.float64)
    if np.isnan(found).any():
        raise ArgumentError("a value is NaN; omit queries without a value")
    shape = found.shape[:-1]
    return found.reshape(math.prod(shape), found.shape[-1]), shape


def _interval(row: Floats, level: float, limit: float) -> tuple[float, float]:
    if np.isfinite(limit):
        row = np.where(np.isclose(row, limit, rtol=REORDERED, atol=0), limit, row)  # sums of shares may be just above 1
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
    """Where (share - µ)² = h µ (1 - µ). Both ends of it, with the share between them in spite of rounding."""
    middle, root = 2 * share + h, math.sqrt(h * (h + 4 * share * (1 - share)))
    low, high = (middle - root) / (2 + 2 * h), (middle + root) / (2 + 2 * h)
    return max(0.0, min(share, low)), min(1.0, max(share, high))


def _student(n: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2))


def check_level(level: float) -> None:
    """Refuse a level of confidence outside 0 to 1."""
    if not 0 < level < 1:
        raise ArgumentError(f"level must be between 0 and 1; got {level!r}")
