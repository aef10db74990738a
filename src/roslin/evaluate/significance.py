"""How sure a mean over queries is, and a difference between two systems.

Queries are the sample: they are drawn again (bootstrap) or have the two systems exchanged (permutation). Every random
step has a fixed seed, so the same input gives the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation
from roslin.evaluate.hits import Floats
from roslin.evaluate.measures.base import Measure, measure
from roslin.truth.correction import benjamini_hochberg, holm

__all__ = [
    "Comparison",
    "bootstrap_intervals",
    "compare",
    "effect_size",
    "minimum_detectable_difference",
    "permutation_test",
]

_SEED = 2005
_EXACT_UP_TO = 16  # 2^16 sign patterns are fewer than the random ones would have to be
_BLOCK = 512
_MANY_QUERIES = 1_000  # beyond this the interval is nearly that of a normal distribution, and fewer draws do
_CHANCE = 0.05
_ROUNDING = 1 - 1e-12  # the same numbers added up in another order must not fall below the sum


def bootstrap_intervals(values: Floats, level: float = 0.95, resamples: int | None = None, seed: int = _SEED) -> Floats:
    """Confidence intervals of means over queries. values: (..., n) without NaN; gives (..., 2).

    Queries are drawn with replacement: 10,000 times, or 2,000 beyond a thousand queries; all rows share the draws. The
    interval is corrected for bias and skewness (BCa, Efron 1987). Fewer than two queries have none: NaN.

    >>> bootstrap_intervals(np.array([0.5, 0.5, 0.5])).tolist()
    [0.5, 0.5]
    """
    if not 0 < level < 1:
        raise ArgumentError(f"level must lie between 0 and 1; got {level!r}")
    rows = np.asarray(values, dtype=np.float64)
    shape, n = rows.shape[:-1], rows.shape[-1]
    if np.isnan(rows).any():
        raise ArgumentError("a value is NaN; leave queries without a value out")
    if n < 2:
        return np.full((*shape, 2), np.nan)
    rows = rows.reshape(-1, n)
    draws = resamples or (10_000 if n <= _MANY_QUERIES else 2_000)
    means = _resampled_means(rows, draws, np.random.default_rng(seed))
    intervals = [_bca(row, drawn, level) for row, drawn in zip(rows, means, strict=True)]
    return np.array(intervals).reshape(*shape, 2)


def _resampled_means(rows: Floats, resamples: int, chance: np.random.Generator) -> Floats:
    """(rows, resamples) Means of the same draws of queries for every row."""
    n = rows.shape[1]
    blocks = []
    for start in range(0, resamples, _BLOCK):
        counts = chance.multinomial(n, np.full(n, 1.0 / n), size=min(_BLOCK, resamples - start))
        blocks.append(rows @ counts.T / n)
    return np.concatenate(blocks, axis=1)


def _bca(row: Floats, draws: Floats, level: float) -> tuple[float, float]:
    if np.ptp(row) == 0:
        return float(row[0]), float(row[0])
    normal = NormalDist()
    mean = row.mean()
    below = (np.count_nonzero(draws < mean) + np.count_nonzero(draws <= mean)) / (2 * len(draws))
    bias = normal.inv_cdf(min(max(below, 1 / len(draws)), 1 - 1 / len(draws)))
    away = mean - row  # the jackknife means differ from the mean by this, divided by n - 1
    skew = float((away**3).sum() / (6.0 * (away**2).sum() ** 1.5))
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(share)
        ends.append(normal.cdf(bias + z / (1 - skew * z)))
    low, high = np.quantile(draws, ends)
    return float(low), float(high)


def permutation_test(values: Floats, others: Floats, permutations: int = 20_000, seed: int = _SEED) -> float:
    """Two-sided p of a paired permutation test: how often exchanging the two systems at random differs as much.

    Exact up to 16 queries that differ (every exchange is tried); beyond that random ones, the given one counted too.

    >>> permutation_test(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0]))
    0.25
    """
    return _permutation_p(_paired(values, others)[None, :], permutations, seed)[0]


def _permutation_p(differences: Floats, permutations: int = 20_000, seed: int = _SEED) -> list[float]:
    """p for each row of differences, (pairs, n). Rows that are not exact share their random exchanges."""
    p = [_exact_p(row[row != 0]) for row in differences]
    open_rows = [k for k, value in enumerate(p) if value is None]
    if open_rows:
        rows = differences[open_rows]
        observed = np.abs(rows.sum(axis=1)) * _ROUNDING
        as_large = np.ones(len(open_rows))
        chance = np.random.default_rng(seed)
        for start in range(0, permutations, _BLOCK):
            signs = chance.integers(0, 2, (min(_BLOCK, permutations - start), rows.shape[1]), dtype=np.int8) * 2.0 - 1.0
            as_large += np.count_nonzero(np.abs(signs @ rows.T) >= observed, axis=0)
        for k, count in zip(open_rows, as_large, strict=True):
            p[k] = float(count / (permutations + 1))
    return [float(value) for value in p if value is not None]


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


def _paired(values: Floats, others: Floats) -> Floats:
    first, second = np.asarray(values, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ArgumentError(f"both systems need one value a query; got {first.shape} and {second.shape}")
    difference = first - second
    if np.isnan(difference).any():
        raise ArgumentError("a value is NaN; leave queries without a value out")
    return difference


def effect_size(values: Floats, others: Floats) -> float:
    """Cohen's d of paired values: mean difference over its standard deviation; 0 for no difference at all.

    >>> effect_size(np.array([2.0, 6.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    1.5
    """
    difference = _paired(values, others)
    if len(difference) < 2:
        return float("nan")
    spread = difference.std(ddof=1)
    if spread == 0:
        return 0.0 if difference[0] == 0 else float(np.copysign(np.inf, difference[0]))
    return float(difference.mean() / spread)


def minimum_detectable_difference(
    values: Floats, others: Floats, *, level: float = _CHANCE, power: float = 0.8
) -> float:
    """The smallest true difference that this many queries would show in `power` of all cases, at this level (paired t).

    It says what the number of queries can tell, not what these systems are worth.
    """
    difference = _paired(values, others)
    n = len(difference)
    if n < 2:
        return float("nan")
    from scipy.special import stdtrit

    spread = float(difference.std(ddof=1))
    return float((stdtrit(n - 1, 1 - level / 2) + stdtrit(n - 1, power)) * spread / np.sqrt(n))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on one measure: `difference` is that of the means, system - other."""

    measure: str
    system: str
    other: str
    queries: int
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    p_bh: float
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float

    @property
    def sentence(self) -> str:
        """What may be said, in plain words; the p is the one corrected after Holm."""
        if self.queries == 0:
            return f"There is no query by which {self.system} and {self.other} could be compared."
        if self.difference == 0:
            return f"{self.system} and {self.other} have the same {self.measure}, over {self._queries}."
        more, less = (self.system, self.other) if self.difference > 0 else (self.other, self.system)
        kind = measure(self.measure)
        ahead, behind = (more, less) if kind.larger_is_better else (less, more)
        by = f"{ahead} is ahead of {behind} by {abs(self.difference):.3f} in {self.measure}"
        if kind.rewards_silence:
            by = f"{more} has {abs(self.difference):.3f} more {self.measure} than {less} (an empty list would do best)"
        p = f"p = {self.p_holm:.2g}" if self.p_holm >= 0.001 else "p < 0.001"
        if self.p_holm < _CHANCE:
            return f"{by}; with {self._queries} this is unlikely to be chance, {p}."
        return f"{by}; with {self._queries} this could be chance, {p}."

    @property
    def _queries(self) -> str:
        return f"{self.queries} quer{'y' if self.queries == 1 else 'ies'}"


def compare(evaluation: Evaluation, measure_name: str | Measure | None = None, level: float = 0.95) -> list[Comparison]:
    """Every pair of systems on one measure (the first by default), in the order of the evaluation.

    p is corrected for the number of pairs, after Holm and after Benjamini and Hochberg.
    """
    if len(evaluation.systems) < 2:
        raise ArgumentError("a comparison needs at least two runs")
    name = repr(evaluation.measures[0] if measure_name is None else measure(measure_name))
    rows = {}
    for system in evaluation.systems:
        by_query = evaluation.of(system, name)
        rows[system] = np.array([by_query[query] for query in evaluation.queries if evaluation.truth[query]])
    pairs = list(combinations(evaluation.systems, 2))
    differences = np.stack([rows[one] - rows[other] for one, other in pairs])
    intervals = bootstrap_intervals(differences, level)
    p = _permutation_p(differences)
    return [
        Comparison(
            measure=name,
            system=one,
            other=other,
            queries=differences.shape[1],
            difference=float(difference.mean()) if len(difference) else float("nan"),
            low=float(low),
            high=float(high),
            p=raw,
            p_holm=by_holm,
            p_bh=by_bh,
            effect=effect_size(rows[one], rows[other]),
            wins=int(np.count_nonzero(difference > 0)),
            ties=int(np.count_nonzero(difference == 0)),
            losses=int(np.count_nonzero(difference < 0)),
            detectable=minimum_detectable_difference(rows[one], rows[other]),
        )
        for (one, other), difference, (low, high), raw, by_holm, by_bh in zip(
            pairs, differences, intervals, p, holm(p), benjamini_hochberg(p), strict=True
        )
    ]
