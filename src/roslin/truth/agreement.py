"""Do the experts agree, and who does not? Kendall's W, Krippendorff's alpha, outliers, the check of attention.

W is about the order of all candidates: those that an expert left out share the mean of the places that are left. Alpha
(ordinal) is about the ranks as given: what was left out is missing. Both are 1 for perfect agreement; noise gives about
1 / experts for W and 0 for alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from roslin.truth.rankings import QueryRankings, Rankings
from roslin.types import Floats

_FAR = 3.0  # how many deviations below the median expert make an outlier
_MAD_TO_SIGMA = 1.4826


def kendall_w(rankings: QueryRankings) -> float:
    """Kendall's coefficient of concordance, corrected for ties: 0 to 1. NaN for fewer than two of either."""
    ranks = _places(rankings.ranks)
    people, items = ranks.shape
    if people < 2 or items < 2:
        return float("nan")
    sums = ranks.sum(axis=0)
    spread = float(((sums - sums.mean()) ** 2).sum())
    ties = sum(float((counts**3 - counts).sum()) for counts in (np.unique(row, return_counts=True)[1] for row in ranks))
    most = people**2 * (items**3 - items) / 12 - people * ties / 12
    return spread / most if most > 0 else float("nan")


def _places(ranks: Floats) -> Floats:
    """Each expert's ranks as places 1 to n; ties, and candidates left out, share the mean of theirs."""
    from scipy.stats import rankdata

    if not ranks.size:
        return ranks
    places: Floats = rankdata(np.where(np.isnan(ranks), np.inf, ranks), axis=1)
    return places


def krippendorff_alpha(rankings: QueryRankings) -> float:
    """Krippendorff's alpha for ordinal data: candidates are units, experts are observers. NaN where nothing varies."""
    ranks = rankings.ranks
    values, codes = np.unique(ranks[~np.isnan(ranks)], return_inverse=True)
    counts = np.zeros((ranks.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(ranks))[1], codes), 1)
    counts = counts[counts.sum(axis=1) > 1]  # a rank alone in its unit can be compared with none
    sizes = counts.sum(axis=1, keepdims=True)
    coincidences = (counts / (sizes - 1)).T @ counts - np.diag((counts / (sizes - 1)).sum(axis=0))
    totals = coincidences.sum(axis=1)
    up_to = np.cumsum(totals) - totals / 2
    distance = (up_to[:, None] - up_to) ** 2
    expected = float((np.outer(totals, totals) * distance).sum())
    if not expected > 0:
        return float("nan")
    return 1 - float(totals.sum() - 1) * float((coincidences * distance).sum()) / expected


@dataclass(frozen=True)
class Expert:
    """How one expert agrees with the others: the mean rank correlation with their mean order, over `queries` queries.

    `z` says how far that is above chance, in standard deviations. An outlier is more than three deviations below the
    median expert. A deviation is the scaled median deviation of all experts, and at least what chance alone does to
    an agreement over as many candidates: with a handful of candidates nobody can be told to be one.
    """

    expert: str
    queries: int
    agreement: float
    z: float
    outlier: bool


def experts(rankings: Rankings) -> list[Expert]:
    """Every expert, the least agreeing first. Who judged nothing that can be compared has no agreement (NaN)."""
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in rankings.experts}
    for each in rankings.values():
        if len(each.experts) < 2:
            continue
        places = _places(each.ranks)
        total = places.sum(axis=0)
        for name, own in zip(each.experts, places, strict=True):
            correlation = _correlation(own, total - own)
            if correlation == correlation:
                found[name].append((correlation, len(own)))
    means = {name: float(np.mean([r for r, _ in pairs])) if pairs else float("nan") for name, pairs in found.items()}
    known = np.array([value for value in means.values() if value == value])
    middle = float(np.median(known)) if len(known) else 0.0
    usual = _MAD_TO_SIGMA * float(np.median(np.abs(known - middle))) if len(known) else 0.0
    result = []
    for name, pairs in found.items():
        # Without agreement a rank correlation of n items has the variance 1 / (n - 1), with or without ties.
        by_chance = math.sqrt(sum(1 / (n - 1) for _, n in pairs)) / len(pairs) if pairs else float("nan")
        outlier = bool(means[name] < middle - _FAR * max(usual, by_chance))
        result.append(Expert(name, len(pairs), means[name], means[name] / by_chance, outlier))
    return sorted(result, key=lambda expert: (expert.agreement != expert.agreement, expert.agreement))


def _correlation(own: Floats, others: Floats) -> float:
    """Spearman's rank correlation; NaN where either does not vary."""
    from scipy.stats import rankdata

    first, second = own - own.mean(), rankdata(others)
    second = second - second.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size > 1e-12 else float("nan")


@dataclass(frozen=True)
class Attention:
    """How often an expert put the query first (alone or tied) where it was among its own candidates."""

    expert: str
    shown: int
    passed: int

    @property
    def failed(self) -> bool:
        """Whether the expert put the query first in fewer than half of the checks."""
        return 2 * self.passed < self.shown


def attention(rankings: Rankings) -> list[Attention]:
    """The attention check of paper 002, section 3.2.4, for everybody who had one."""
    shown: dict[str, list[bool]] = {}
    for query, each in rankings.items():
        if query not in each.documents:
            continue
        own = each.ranks[:, each.documents.index(query)]
        best = np.nanmin(np.where(np.isnan(each.ranks), np.inf, each.ranks), axis=1)
        for name, passed in zip(each.experts, own == best, strict=True):
            shown.setdefault(name, []).append(bool(passed))
    return [Attention(name, len(flags), sum(flags)) for name, flags in shown.items()]


def careless(rankings: Rankings) -> tuple[str, ...]:
    """The experts who failed the check of attention, in the order of the rows."""
    return tuple(each.expert for each in attention(rankings) if each.failed)


def attentive(rankings: Rankings) -> Rankings:
    """The same rankings without the experts who failed the check of attention, in all queries.

    Where at least two thirds of the experts failed, the check itself is in doubt, and all experts stay. So do all
    experts of rankings without a check.
    """
    checks = attention(rankings)
    failed = {each.expert for each in checks if each.failed}
    if not failed or 3 * len(failed) >= 2 * len(checks):
        return rankings
    tables = []
    for each in rankings.values():
        rows = [row for row, name in enumerate(each.experts) if name not in failed]
        experts_left = tuple(each.experts[row] for row in rows)
        tables.append(QueryRankings(each.query, experts_left, each.documents, each.ranks[rows]))
    return Rankings(tables, rankings.name)
