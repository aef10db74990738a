"""How sure a mean over queries is, and a difference between two runs.

Queries are the sample. `compare` tests pairs of runs (by `exchanges`) and describes the result in words. Every
random step has a fixed seed, so the same input gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from roslin.display.table import latex_text
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate.evaluation import Evaluation
from roslin.evaluate.exchanges import EXCHANGES, SEED, check_level, checked_rows, exchange_p, pair_tests, smallest_p
from roslin.evaluate.measures.base import Measure, Score, measure
from roslin.truth.ranktests import benjamini_hochberg, holm
from roslin.types import Floats

_DRAWS_AT_ONCE = 512
_MANY_QUERIES = 1_000  # beyond this the interval is nearly that of a normal distribution, and fewer draws do
_POWER = 0.8


def bootstrap_intervals(values: Floats, level: float = 0.95, resamples: int | None = None, seed: int = SEED) -> Floats:
    """Bootstrap intervals of means over queries. values: (..., n) without NaN; gives (..., 2).

    Too narrow for fewer than about 100 queries: tables show `mean_intervals`. Queries are drawn with replacement 10,000
    times, or 2,000 times for more than a thousand queries. All rows share the draws. The interval is corrected for bias
    and skewness (BCa, Efron 1987). Fewer than two queries, and equal values, have no interval (NaN).

    >>> bootstrap_intervals(np.array([0.5, 0.5, 0.5])).tolist()
    [nan, nan]
    """
    rows, shape = checked_rows(values, level)
    n = rows.shape[1]
    if n < 2:
        return np.full((*shape, 2), np.nan)
    draws = resamples or (10_000 if n <= _MANY_QUERIES else 2_000)
    means = _resampled_means(rows, draws, np.random.default_rng(seed))
    intervals = [_bca(row, drawn, level) for row, drawn in zip(rows, means, strict=True)]
    return np.array(intervals).reshape(*shape, 2)


def _resampled_means(rows: Floats, resamples: int, chance: np.random.Generator) -> Floats:
    """(rows, resamples) Means of the same draws of queries for every row."""
    n = rows.shape[1]
    blocks = []
    for start in range(0, resamples, _DRAWS_AT_ONCE):
        counts = chance.multinomial(n, np.full(n, 1.0 / n), size=min(_DRAWS_AT_ONCE, resamples - start))
        blocks.append(rows @ counts.T / n)
    return np.concatenate(blocks, axis=1)


def _bca(row: Floats, draws: Floats, level: float) -> tuple[float, float]:
    if np.ptp(row) == 0:
        return math.nan, math.nan
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


def permutation_test(values: Floats, others: Floats, permutations: int = EXCHANGES, seed: int = SEED) -> float:
    """Two-sided p of a paired permutation test: how often exchanging the two runs at random differs as much.

    Exact up to 16 queries that differ (every exchange is tried). For more, exchanges are random, and the observed one
    counts too.

    >>> permutation_test(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0]))
    0.25
    """
    return float(exchange_p(_paired(values, others)[None, :], permutations, seed)[0])


def _paired(values: Floats, others: Floats) -> Floats:
    first, second = np.asarray(values, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ArgumentError(f"both runs need one value per query; got {first.shape} and {second.shape}")
    difference = first - second
    if np.isnan(difference).any():
        raise ArgumentError("a value is NaN; omit queries without a value")
    return difference


def effect_size(values: Floats, others: Floats) -> float:
    """Cohen's d of paired values: the mean difference over its standard deviation, or 0 if there is no difference.

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
    values: Floats, others: Floats, *, level: float = 0.05, power: float = _POWER, comparisons: int = 1
) -> float:
    """The smallest true difference that this many queries would show in `power` of all cases, at this level (paired t).

    The level is divided by the number of `comparisons`. The value is infinite if no p can reach it. It describes the
    number of queries, not the runs.
    """
    difference = _paired(values, others)
    n = len(difference)
    if n < 2:
        return math.nan
    from scipy.special import stdtrit

    reached = smallest_p(n) < level / comparisons
    return _detectable(difference, float(stdtrit(n - 1, 1 - level / comparisons / 2)) if reached else math.inf, power)


def _detectable(difference: Floats, critical: float, power: float = _POWER) -> float:
    """The same for a t that must be exceeded."""
    if math.isinf(critical):
        return math.inf
    from scipy.special import stdtrit

    n = len(difference)
    return float((critical + stdtrit(n - 1, power)) * difference.std(ddof=1) / np.sqrt(n))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on one measure: `difference` is that of the means, system - other.

    `p`, `low` and `high` are for this pair alone; `p_max`, `low_all` and `high_all` hold for all pairs together. An
    interval excludes 0 exactly where its p is below 1 - `level`. `detectable` is at the level of all pairs.
    """

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
    p_max: float
    low_all: float
    high_all: float
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float
    level: float = 0.95

    @property
    def is_shown(self) -> bool:
        """Whether the difference is significant among all pairs."""
        return self.p_max < 1 - self.level

    @property
    def sentence(self) -> str:
        """The conclusion in plain words, with the p that holds for all pairs."""
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
        p = f"p = {self.p_max:.2g}" if self.p_max >= 0.001 else "p < 0.001"
        if self.is_shown:
            return f"{by}; with {self._queries} this is unlikely to be chance, {p}."
        if math.isinf(self.detectable):
            return f"{by}; {self._queries} {'is' if self.queries == 1 else 'are'} too few to show any difference, {p}."
        return f"{by}; with {self._queries} this could be chance, {p}."

    @property
    def _queries(self) -> str:
        return counted(self.queries, "query", "queries")


def compare(
    evaluation: Evaluation,
    measure_name: str | Measure | Score | None = None,
    level: float = 0.95,
    *,
    against: str | None = None,
) -> list[Comparison]:
    """Every pair of runs on one measure (the first by default), in the order of the evaluation.

    `against`: only the pairs with this run, for a planned comparison. Fewer pairs can show smaller differences. p is
    corrected for the number of pairs by Holm's method, by that of Benjamini and Hochberg, and by the largest t of all
    pairs.
    """
    check_level(level)
    if len(evaluation.systems) < 2:
        raise ArgumentError("a comparison needs at least two runs")
    if against is not None and against not in evaluation.systems:
        raise UnknownNameError("run", against, evaluation.systems)
    kind = evaluation.measures[0] if measure_name is None else measure(measure_name)
    name = repr(kind)
    rows = {}
    for system in evaluation.systems:
        by_query = evaluation.of(system, kind)
        rows[system] = np.array([by_query[query] for query in evaluation.queries if evaluation.truth[query]])
    pairs = list(combinations(evaluation.systems, 2))
    if against is not None:
        pairs = [(against, other) for other in evaluation.systems if other != against]
    differences = np.stack([rows[one] - rows[other] for one, other in pairs])
    found = pair_tests(differences, level, kind.largest)
    p_holm, p_bh = holm(found.p.tolist()), benjamini_hochberg(found.p.tolist())
    return [
        Comparison(
            measure=name,
            system=one,
            other=other,
            queries=differences.shape[1],
            difference=float(difference.mean()) if len(difference) else math.nan,
            low=float(found.intervals[k, 0]),
            high=float(found.intervals[k, 1]),
            p=float(found.p[k]),
            p_holm=p_holm[k],
            p_bh=p_bh[k],
            p_max=float(found.p_max[k]),
            low_all=float(found.intervals_all[k, 0]),
            high_all=float(found.intervals_all[k, 1]),
            effect=effect_size(rows[one], rows[other]),
            wins=int(np.count_nonzero(difference > 0)),
            ties=int(np.count_nonzero(difference == 0)),
            losses=int(np.count_nonzero(difference < 0)),
            detectable=_detectable(difference, found.critical) if len(difference) > 1 else math.nan,
            level=level,
        )
        for k, ((one, other), difference) in enumerate(zip(pairs, differences, strict=True))
    ]


# -- limits ------------------------------------------------------------------------------------------------------------
#
# A run that wins all n queries has p = 2 / 2^n, the smallest there is. With 11 queries that is 0.00098, and 0.27
# after Holm's correction for the 276 pairs of 24 runs: no difference can be shown. The test of all pairs together
# (`exchanges`) does not multiply by the number of pairs, and planned comparisons are fewer.


_PLANNED = "Fewer comparisons, planned before looking, show more: roslin evaluate --against NAME."


@dataclass(frozen=True, slots=True)
class Reach:
    """The differences that a number of queries can show among a number of pairs, before any result is known.

    `smallest_p` is that of a pair in which one run wins every query, and `smallest_holm` its value after Holm's
    correction. `detectable` is the smallest difference that the median pair would show in four of five cases (infinite
    if none).
    """

    measure: str
    queries: int
    pairs: int
    smallest_p: float
    smallest_holm: float
    shown: int
    detectable: float
    level: float = 0.95

    @property
    def sentence(self) -> str:
        """The smallest difference that these queries can show, and advice if they can show none."""
        alpha = 1 - self.level
        queries, pairs = counted(self.queries, "query", "queries"), counted(self.pairs, "pair")
        at = f"{100 * alpha:.3g}%"
        enough = f"{counted(needed_queries(alpha), 'query', 'queries')} are the fewest that can show any difference"
        if self.smallest_p >= alpha:
            return f"No difference can be shown at {at} with {queries}, whatever the results: {enough}."
        if math.isinf(self.detectable):
            return f"No pair of these {pairs} can be shown to differ at {at} with {queries}. {_PLANNED}"
        differ = "differs" if self.pairs == 1 else "differ"
        said = f"{self.shown} of {pairs} {differ} in {self.measure} at {at}, all pairs counted (p_max)."
        if self.smallest_holm >= alpha:
            said += (
                f" After Holm no pair could: the smallest p of {queries} is {self.smallest_p:.2g}, and "
                f"{self.smallest_holm:.2g} after the correction. {_PLANNED}"
            )
        return said


def needed_queries(alpha: float) -> int:
    """The fewest queries with which any difference can be shown.

    >>> needed_queries(0.05)
    6
    """
    return math.floor(1 - math.log2(alpha)) + 1


def reach(comparisons: Sequence[Comparison]) -> Reach:
    """The differences that these comparisons, all pairs of one metric, can show."""
    if not comparisons:
        raise ArgumentError("there are no comparisons to look at")
    first = comparisons[0]
    smallest = smallest_p(first.queries)
    return Reach(
        measure=first.measure,
        queries=first.queries,
        pairs=len(comparisons),
        smallest_p=smallest,
        smallest_holm=min(1.0, smallest * len(comparisons)),
        shown=sum(each.is_shown for each in comparisons),
        detectable=float(np.median([each.detectable for each in comparisons])),
        level=first.level,
    )


# -- letters -----------------------------------------------------------------------------------------------------------
#
# A table for a paper: a row for each run, a column for each measure. Every run has a letter. The letters at a
# value name the runs that are shown to be worse in this measure (`Comparison.is_shown`), and the best value of a
# column is bold. Measures that an empty list wins have no letters.


def letter(place: int) -> str:
    """The letter of a run, by its place from 0.

    >>> [letter(place) for place in (0, 25, 26, 53)]
    ['a', 'z', 'aa', 'bb']
    """
    sign = chr(ord("a") + place % 26)
    before = place // 26
    return sign if not before else chr(ord("a") + before - 1) + sign


def worse_than(evaluation: Evaluation, measure: Measure, level: float = 0.95) -> dict[str, list[str]]:
    """For each run, those that are shown to be worse than it."""
    worse: dict[str, list[str]] = {system: [] for system in evaluation.systems}
    if len(evaluation.systems) < 2 or measure.rewards_silence:
        return worse
    for each in compare(evaluation, measure, level):
        if each.is_shown:
            first_is_better = (each.difference > 0) == measure.larger_is_better
            better, other = (each.system, each.other) if first_is_better else (each.other, each.system)
            worse[better].append(other)
    return worse


def lettered_latex(evaluation: Evaluation, level: float = 0.95) -> str:
    """The table. It needs the package booktabs."""
    signs = {system: letter(place) for place, system in enumerate(evaluation.systems)}
    cells: dict[str, list[str]] = {system: [] for system in evaluation.systems}
    for m, each in enumerate(evaluation.measures):
        means = evaluation.means[:, m].tolist()
        known = [mean for mean in means if not math.isnan(mean)]
        best = (max if each.larger_is_better else min)(known, default=math.nan)
        worse = worse_than(evaluation, each, level)
        for system, mean in zip(evaluation.systems, means, strict=True):
            is_best = f"{mean:.3f}" == f"{best:.3f}" and not each.rewards_silence
            letters = [signs[other] for other in evaluation.systems if other in worse[system]]
            cells[system].append(_cell(mean, letters, is_best=is_best))
    rows = [f"{signs[system]} & {latex_text(system)} & {' & '.join(row)} \\\\" for system, row in cells.items()]
    names = " & ".join(latex_text(repr(measure)) for measure in evaluation.measures)
    queries, chance = counted(evaluation.counted.shape[2], "query", "queries"), f"{100 * (1 - level):.3g}%"
    return "\n".join(
        [
            f"% Means over {queries}; a letter: better than that run at {chance}, all pairs",
            f"\\begin{{tabular}}{{ll{'l' * len(evaluation.measures)}}}",
            "\\toprule",
            f" & run & {names} \\\\",
            "\\midrule",
            *rows,
            "\\bottomrule",
            "\\end{tabular}",
            "",
        ]
    )


def _cell(mean: float, letters: list[str], *, is_best: bool) -> str:
    if math.isnan(mean):
        return "--"
    number = f"{mean:.3f}".removeprefix("0") if abs(mean) < 1 else f"{mean:.3f}"
    shown = f"\\textbf{{{number}}}" if is_best else number
    separator = "," if any(len(each) > 1 for each in letters) else ""
    return f"{shown}$^{{{separator.join(letters)}}}$" if letters else shown
