"""The order of the candidates before they are grouped: by median rank, then mean (paper 002, section 3.3.1).

The papers stop there. A tie of both is settled by the number of votes (more first), then by id, so that the same
rankings give the same list. What an unranked candidate counts is a choice:

  drop   it does not count: samples differ in size (the papers)
  last   it counts as the last place: the number of candidates of the query, or the largest rank where that is more

The papers' choice has a hazard: a candidate that one expert ranked first and all others left out has median 1 and heads
the list. Such a candidate is called thin: one further down has more than twice its votes. `min_votes` leaves out
candidates that fewer experts ranked: a number of experts, or below 1 a share of the experts of the query.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.rankings import Floats, QueryRankings

__all__ = ["UNRANKED", "Arranged", "arrange", "arranged_order", "counted_ranks", "votes_needed"]


def _drop(ranks: Floats) -> Floats:
    return ranks


def _last(ranks: Floats) -> Floats:
    place = np.fmax.reduce(ranks, axis=(-2, -1), keepdims=True, initial=float(ranks.shape[-1]))
    return np.where(np.isnan(ranks), place, ranks)


UNRANKED: dict[str, Callable[[Floats], Floats]] = {"drop": _drop, "last": _last}


@dataclass(frozen=True, eq=False)
class Arranged:
    """The candidates of a query in order. `ranks` has the columns of `documents`, unranked ones as they count.

    `left_out` names the others, and `by_few` those among them that fewer than `needed` experts ranked.
    """

    query: str
    experts: tuple[str, ...]
    documents: tuple[str, ...]
    ranks: Floats
    votes: npt.NDArray[np.int64]
    left_out: tuple[str, ...]
    by_few: tuple[str, ...] = ()
    needed: int = 1

    @property
    def medians(self) -> Floats:
        """The median rank of each candidate."""
        return _statistics(self.ranks)[0]

    @property
    def means(self) -> Floats:
        """The mean rank of each candidate."""
        return _statistics(self.ranks)[1]

    @property
    def thin(self) -> tuple[int, ...]:
        """Positions of candidates that stand high by few votes: a later one has more than twice as many.

        None where every expert's ranks count for every candidate.
        """
        if not np.isnan(self.ranks).any():
            return ()
        most_below = np.maximum.accumulate(self.votes[::-1])[::-1]
        return tuple(np.flatnonzero(2 * self.votes < most_below).tolist())

    def sample(self, position: int) -> Floats:
        """The ranks of the candidate at this position, from 0."""
        ranks = self.ranks[:, position]
        return ranks[~np.isnan(ranks)]


def votes_needed(min_votes: float, experts: int) -> int:
    """How many of so many experts must have ranked a candidate: `min_votes` of them, or below 1 this share of them.

    >>> votes_needed(5, 30), votes_needed(0.25, 30), votes_needed(0.25, 3)
    (5, 8, 1)
    """
    if not min_votes > 0:
        raise ArgumentError(f"min_votes must be at least 1; got {min_votes} (a share of the experts is above 0)")
    if min_votes > 1 and min_votes != int(min_votes):
        raise ArgumentError(f"min_votes must be a whole number, or a share of the experts below 1; got {min_votes}")
    return int(min_votes) if min_votes >= 1 else max(1, math.ceil(min_votes * experts))


def arrange(rankings: QueryRankings, unranked: str = "drop", min_votes: float = 1) -> Arranged:
    """Put the candidates in order. Those with fewer votes than `min_votes` are left out, and named in `left_out`."""
    needed = votes_needed(min_votes, len(rankings.experts))
    ranks = counted_ranks(rankings.ranks, unranked)
    votes = np.count_nonzero(~np.isnan(rankings.ranks), axis=0)
    kept = np.flatnonzero(votes >= needed)
    names = np.array(rankings.documents, dtype=object)
    by_id = np.empty(len(names), dtype=np.int64)
    by_id[np.argsort(names, kind="stable")] = np.arange(len(names))
    order = kept[arranged_order(ranks[:, kept], votes[kept], by_id[kept])]
    return Arranged(
        rankings.query,
        rankings.experts,
        tuple(names[order].tolist()),
        ranks[:, order],
        votes[order],
        tuple(id for id, count in zip(rankings.documents, votes, strict=True) if count < needed),
        tuple(id for id, count in zip(rankings.documents, votes, strict=True) if 0 < count < needed),
        needed,
    )


def counted_ranks(ranks: Floats, unranked: str) -> Floats:
    """Ranks of shape (..., experts, documents) with unranked candidates as they count."""
    if unranked not in UNRANKED:
        raise UnknownNameError("way to count unranked candidates", unranked, UNRANKED)
    return UNRANKED[unranked](ranks)


def arranged_order(ranks: Floats, votes: npt.NDArray[np.int64], by_id: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in order, for ranks of shape (..., experts, documents); a candidate without votes comes last."""
    medians, means = _statistics(ranks)
    keys = np.broadcast_arrays(by_id, -votes, means, medians)
    order: npt.NDArray[np.int64] = np.lexsort(keys, axis=-1)
    return order


def _statistics(ranks: Floats) -> tuple[Floats, Floats]:
    """Medians and means over experts; infinity where there is no rank. Sorting puts NaN last, which np.nanmedian,
    many times slower, does not use.
    """
    counts = np.count_nonzero(~np.isnan(ranks), axis=-2)
    if ranks.shape[-2] == 0:
        return np.full(counts.shape, np.inf), np.full(counts.shape, np.inf)
    ordered = np.sort(ranks, axis=-2)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0)[..., None, :] // 2, axis=-2)[..., 0, :]
    high = np.take_along_axis(ordered, counts[..., None, :] // 2 % ranks.shape[-2], axis=-2)[..., 0, :]
    medians = np.where(counts > 0, (low + high) / 2, np.inf)
    means = np.where(counts > 0, np.nansum(ranks, axis=-2) / np.maximum(counts, 1), np.inf)
    return medians, means
