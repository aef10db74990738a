"""How many more experts does a query need before two neighbours of its list separate?

The experts at hand stand for all that could be asked: so many of them are drawn, with replacement, a few hundred times,
and each time the test of the method is done. The smallest number of experts for which the test finds the difference in
the order of the list often enough (the power) is looked for, to within a tenth. Experts who leave candidates out do so
in the draws as well, so the answer counts experts, not ranks. It is as uncertain as the ranks at hand: read it as an
order of magnitude. A correction for many tests is left out of account, and makes more experts needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from roslin.errors import ArgumentError
from roslin.truth.grouping import Method, groups_of
from roslin.truth.rankings import Floats, QueryRankings
from roslin.truth.ranktests import pairwise_less, u_statistics

__all__ = ["MOST_EXPERTS", "Neighbours", "more_experts"]

MOST_EXPERTS = 300
_DRAWS = 200
_STEP = 1.1


@dataclass(frozen=True)
class Neighbours:
    """Two candidates next to each other: the p-value now, the chance of a smaller rank (ties half), and the experts.

    `experts` were asked, `needed` is how many should be. Two that differ already need no more. `needed` and `more` are
    None where not even MOST_EXPERTS like these would do, and where a single rank says nothing about others.
    """

    first: str
    second: str
    p: float
    chance: float
    experts: int
    needed: int | None
    more: int | None


def more_experts(
    rankings: QueryRankings, method: Method | None = None, power: float = 0.8, seed: int = 2005
) -> list[Neighbours]:
    """Every pair of neighbours of a list."""
    if not 0 < power < 1:
        raise ArgumentError(f"power must lie between 0 and 1; got {power!r}")
    if seed < 0:
        raise ArgumentError(f"seed must be 0 or more; got {seed}")
    method = replace(method or Method(), correction=None)
    grouped = groups_of(rankings, method)
    arranged = grouped.arranged
    above = u_statistics(arranged.ranks)
    counts = np.count_nonzero(~np.isnan(arranged.ranks), axis=0)
    asked = len(rankings.experts)
    result = []
    for k in range(len(arranged.documents) - 1):
        first, second = arranged.documents[k : k + 2]
        p = float(grouped.pvalues[k, k + 1])
        chance = 1 - float(above[k, k + 1]) / float(counts[k] * counts[k + 1])
        needed: int | None = asked if p < method.alpha else None
        if needed is None and min(counts[k : k + 2]) > 1:
            needed = _needed(arranged.ranks[:, k : k + 2], method, power, seed)
        more = None if needed is None else needed - asked
        result.append(Neighbours(first, second, p, chance, asked, needed, more))
    return result


def _needed(ranks: Floats, method: Method, power: float, seed: int) -> int | None:
    """The smallest number of experts above those at hand with this power, to within a tenth."""
    few, many = len(ranks) + 1, max(MOST_EXPERTS, 2 * len(ranks))
    if _power(ranks, many, method, seed) < power:
        return None
    while many > math.ceil(few * _STEP):
        middle = round(math.sqrt(few * many))
        if _power(ranks, middle, method, seed) < power:
            few = middle + 1
        else:
            many = middle
    return many


def _power(ranks: Floats, experts: int, method: Method, seed: int) -> float:
    """How often so many experts, drawn from those at hand, tell the first candidate from the second."""
    drawn = np.random.default_rng(seed).integers(len(ranks), size=(_DRAWS, experts))
    less = pairwise_less(ranks[drawn], method.test, quick=True)[:, 0, 1]
    return float(np.mean(np.minimum(1.0, method.tails * less) < method.alpha))
