"""How many more experts does a query need before two neighbours of its list separate?

From the ranks at hand the chance that a rank of the earlier candidate is below one of the later (ties half) is
estimated, and Noether's formula (1987) says how many ranks of each a Mann-Whitney test needs to find such a difference:
n = (z_alpha + z_power)^2 / (6 (chance - 1/2)^2). Two candidates with a chance of 1/2 never separate. The estimate is
as uncertain as the ranks it comes from: read it as an order of magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError
from roslin.truth.grouping import Method, groups_of
from roslin.truth.rankings import QueryRankings
from roslin.truth.ranktests import u_statistics

__all__ = ["Neighbours", "more_experts"]


@dataclass(frozen=True)
class Neighbours:
    """Two candidates next to each other: the p-value now, the chance of a smaller rank, and the ranks of each needed.

    `needed` and `more` are None where the ranks at hand show no difference in the order of the list.
    """

    first: str
    second: str
    p: float
    chance: float
    votes: int
    needed: int | None
    more: int | None


def more_experts(rankings: QueryRankings, method: Method | None = None, power: float = 0.8) -> list[Neighbours]:
    """Every pair of neighbours of a list. `votes` is the smaller number of ranks that the two have."""
    from scipy.special import ndtri

    if not 0 < power < 1:
        raise ArgumentError(f"power must lie between 0 and 1; got {power!r}")
    method = method or Method()
    grouped = groups_of(rankings, method)
    arranged = grouped.arranged
    above = u_statistics(arranged.ranks)
    counts = np.count_nonzero(~np.isnan(arranged.ranks), axis=0)
    quantiles = float(ndtri(1 - method.alpha / method.tails) + ndtri(power))
    result = []
    for k in range(len(arranged.documents) - 1):
        votes = int(min(counts[k], counts[k + 1]))
        chance = 1 - float(above[k, k + 1]) / float(counts[k] * counts[k + 1])
        needed = math.ceil(max(quantiles, 0.0) ** 2 / (6 * (chance - 0.5) ** 2)) if chance > 0.5 else None
        more = None if needed is None else max(0, needed - votes)
        p = float(grouped.pvalues[k, k + 1])
        first, second = arranged.documents[k : k + 2]
        result.append(Neighbours(first, second, p, chance, votes, needed, more))
    return result
