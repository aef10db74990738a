"""How many groups would pure noise give? The same procedure on shuffled rankings or votes, beside every grouping.

Each expert's ranks are dealt out anew among all candidates of the query, those left unranked included: nobody prefers
anything, and everybody still ranks as many as they did. The right number of groups is then 1. At alpha 0.25 the more
eager functions of paper 004 find several (Any-1 about 5 among 20 candidates), although their lists are the most
consistent: consistency alone does not say that a group is real.

A thousand shuffles are a million tests. Exact and permutation tests are done on shuffles only where both samples are
small (`ranktests`); for larger ones the asymptotic test, within 0.03 of them, stands in. Likewise the bootstrap of
Plackett-Luce is done to first order.

Preference votes are shuffled pair by pair: as many say "the same" as did, dealt out anew among all pairs that were
asked, and a coin decides every other vote. Segments end where a pair was not asked, and shuffled votes soon lead to
such pairs: what they say of segments is too few rather than too many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.truth.arrangement import arranged_order, counted_ranks, votes_needed
from roslin.truth.grouping import Grouped, Method, group_starts, groups_of
from roslin.truth.model import Groups
from roslin.truth.plackett_luce import FittedStrengths, plackett_luce, strength_groups
from roslin.truth.preferences import QueryVotes
from roslin.truth.rankings import Floats, QueryRankings

__all__ = ["NullGroups", "count_groups", "null_groups", "null_strengths", "null_votes"]

# Shuffles done at once, so that p-values of all pairs of 1,000 shuffles of 50 candidates take some 20 MB, not 800.
_AT_ONCE = 250


@dataclass(frozen=True, eq=False)
class NullGroups:
    """Groups found, and the number of groups in each shuffle."""

    found: int
    shuffled: npt.NDArray[np.int64]

    @property
    def mean(self) -> float:
        """How many groups noise gives on average."""
        return float(self.shuffled.mean())

    @property
    def p(self) -> float:
        """How often noise gives at least as many groups as were found; what was found counts as one shuffle."""
        return float((np.count_nonzero(self.shuffled >= self.found) + 1) / (len(self.shuffled) + 1))

    def sentence(self, what: str = "rankings") -> str:
        """Groups found beside groups of noise, in words."""
        found = f"{self.found} group{'' if self.found == 1 else 's'}"
        return f"{found}; shuffled {what} give {self.mean:.1f} (as many or more: p = {self.p:.2g})"


def null_groups(
    rankings: QueryRankings, method: Method, shuffles: int = 1000, seed: int = 2005, *, grouped: Grouped | None = None
) -> NullGroups:
    """Group the rankings of one query, unless they are `grouped`, and `shuffles` shuffled copies of them."""
    chance = _chance(shuffles, seed)
    counts = []
    for first in range(0, shuffles, _AT_ONCE):
        shape = (min(_AT_ONCE, shuffles - first), *rankings.ranks.shape)
        counts.append(count_groups(chance.permuted(np.broadcast_to(rankings.ranks, shape), axis=-1), method))
    return NullGroups(len((grouped or groups_of(rankings, method)).starts), np.concatenate(counts))


def _chance(shuffles: int, seed: int) -> np.random.Generator:
    if shuffles < 1:
        raise ArgumentError(f"shuffles must be at least 1; got {shuffles}")
    return np.random.default_rng(seed)


def null_strengths(
    rankings: QueryRankings, fitted: FittedStrengths, method: Method, shuffles: int = 100, seed: int = 2005
) -> NullGroups:
    """The groups of a Plackett-Luce fit, and those of `shuffles` shuffled copies of its rankings."""
    chance = _chance(shuffles, seed)
    counts = []
    for _ in range(shuffles):
        shuffled = replace(rankings, ranks=chance.permuted(rankings.ranks, axis=-1))
        each = plackett_luce(shuffled, method.unranked, len(fitted.bootstrap), quick=True)
        counts.append(len(strength_groups(each, method)))
    return NullGroups(len(strength_groups(fitted, method)), np.array(counts))


def null_votes(
    votes: QueryVotes, group: Callable[[QueryVotes], Groups], shuffles: int = 1000, seed: int = 2005
) -> NullGroups:
    """The groups that `group` makes of the votes of one query, and of `shuffles` shuffled copies of them."""
    chance = _chance(shuffles, seed)
    first, second = np.nonzero(np.triu(votes.compared))
    given = (votes.wins + votes.wins.T + votes.same)[first, second]
    same_in_all = int(votes.same[first, second].sum())
    counts = []
    for _ in range(shuffles):
        same, wins = np.zeros_like(votes.same), np.zeros_like(votes.wins)
        together = chance.multivariate_hypergeometric(given, same_in_all)
        for_first = chance.binomial(given - together, 0.5)
        same[first, second] = same[second, first] = together
        wins[first, second], wins[second, first] = for_first, given - together - for_first
        counts.append(len(group(replace(votes, wins=wins, same=same))))
    return NullGroups(len(group(votes)), np.array(counts))


def count_groups(ranks: Floats, method: Method) -> npt.NDArray[np.int64]:
    """The number of groups of many lists at once, for ranks of shape (lists, experts, documents)."""
    votes = np.count_nonzero(~np.isnan(ranks), axis=-2)
    enough = votes >= votes_needed(method.min_votes, ranks.shape[-2])
    # A candidate with too few votes goes to the end, where it cannot begin a group that counts.
    counted = np.where(enough[:, None, :], counted_ranks(ranks, method.unranked), np.nan)
    order = arranged_order(counted, votes, np.arange(ranks.shape[-1]))
    arranged = np.take_along_axis(counted, order[:, None, :], axis=-1)
    begins = group_starts(method.pvalues(arranged, quick=True) < method.alpha, method)
    within = np.arange(ranks.shape[-1]) < enough.sum(axis=-1)[:, None]
    counts: npt.NDArray[np.int64] = np.count_nonzero(begins & within, axis=-1)
    return counts
