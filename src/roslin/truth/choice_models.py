"""Plackett-Luce: a strength for every candidate from partial rankings, and how far it depends on who was asked.

An expert picks the most similar candidate of those left, each with a chance proportional to its strength, then the
next. What was left out is below everything ranked (`last`), or says nothing (`drop`). Tied candidates are picked from
the same set. A candidate that nobody ranked has no strength. Strengths are found by maximum likelihood with a weak
prior: half a win and half a loss against something of strength 1, which keeps them finite.

Uncertainty is a bootstrap over experts. Few experts are alike in every resample, so the bootstrap alone would be sure
of what a single one said. That n experts put one candidate before another has a probability of 2^-n where nobody
prefers either: no p-value is below that, and an interval that would need a smaller one has no bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.grouping import Grouped, Method, group_starts, groups_of
from roslin.truth.model import UNRANKED, Groups, Truth, arranged_order, counted_ranks, votes_needed
from roslin.truth.preferences import QueryVotes, Vote, count_votes
from roslin.truth.rankings import QueryRankings, as_rankings
from roslin.truth.ranktests import two_tailed
from roslin.types import Floats

_PRIOR = 0.5
_ITERATIONS = 200
_LONGEST_STEP = 2.0
_PRECISION = 1e-8


@dataclass(frozen=True, eq=False)
class FittedStrengths:
    """Log strengths, mean 0, larger is more similar; `bootstrap` has the shape (resamples, documents).

    `judges[i, j]`: how many experts said something of i and j. `left_out`: candidates that nobody ranked.
    """

    documents: tuple[str, ...]
    values: Floats
    bootstrap: Floats
    judges: npt.NDArray[np.int64]
    left_out: tuple[str, ...]

    def intervals(self, level: float = 0.95) -> Floats:
        """Percentile intervals, shape (documents, 2); infinite where there are too few experts for this level."""
        tail = (1 - level) / 2
        bounds: Floats = np.quantile(self.bootstrap, [tail, 1 - tail], axis=0).T
        others = ~np.eye(len(self.documents), dtype=bool)
        least = 0.5 ** self.judges.max(axis=1, where=others, initial=0)
        return np.where((least <= tail)[:, None], bounds, [-np.inf, np.inf])

    @property
    def less(self) -> Floats:
        """How often a resample does not put i before j: the one-tailed p-value of "i is more similar than j"."""
        behind = np.count_nonzero(self.bootstrap[:, :, None] <= self.bootstrap[:, None, :], axis=0)
        p: Floats = np.maximum((behind + 1) / (len(self.bootstrap) + 1), 0.5**self.judges)
        return p


def plackett_luce(
    rankings: QueryRankings, unranked: str = "last", resamples: int = 200, seed: int = 2005, *, quick: bool = False
) -> FittedStrengths:
    """Fit the model to one query, and to `resamples` draws of its experts with replacement.

    `quick`, for thousands of fits: each draw is one step of Newton's method away from the fit to all experts.
    """
    if unranked not in UNRANKED:
        raise UnknownNameError("way to count unranked candidates", unranked, UNRANKED)
    if resamples < 1:
        raise ArgumentError(f"resamples must be at least 1; got {resamples}")
    votes = np.count_nonzero(~np.isnan(rankings.ranks), axis=0)
    documents = tuple(id for id, count in zip(rankings.documents, votes, strict=True) if count)
    left_out = tuple(id for id, count in zip(rankings.documents, votes, strict=True) if not count)
    ranks = rankings.ranks[:, votes > 0]
    ranked = (~np.isnan(ranks)).astype(np.int64)
    people, size = ranks.shape
    chance = np.random.default_rng(seed)
    drawn = chance.multinomial(people, np.full(people, 1 / people), resamples).astype(np.float64)
    picks = _picks(ranks, unranked == "last")
    whole = _fit(picks, np.ones(people), np.zeros(size))
    bootstrap = _one_step(picks, whole, drawn) if quick else np.array([_fit(picks, each, whole) for each in drawn])
    judges = people - (1 - ranked).T @ (1 - ranked) if unranked == "last" else ranked.T @ ranked
    centre = bootstrap.mean(axis=1, keepdims=True) if size else 0.0
    return FittedStrengths(documents, whole - (whole.mean() if size else 0.0), bootstrap - centre, judges, left_out)


@dataclass(frozen=True, eq=False)
class _Picks:
    """Every pick from two or more: who made it, what was picked, and what it was picked from (picks, documents)."""

    expert: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    among: npt.NDArray[np.bool_]


def _picks(ranks: Floats, left_out_is_last: bool) -> _Picks:
    expert, item = np.nonzero(~np.isnan(ranks))
    rows = ranks[expert]
    among = (rows >= ranks[expert, item][:, None]) | (np.isnan(rows) & left_out_is_last)
    real = among.sum(axis=1) > 1
    return _Picks(expert[real], item[real], among[real])


def _fit(picks: _Picks, weights: Floats, start: Floats) -> Floats:
    """Log strengths at the maximum for these weights of the experts, by Newton's method; the problem is concave."""
    logs = start
    for _ in range(_ITERATIONS if len(start) else 0):
        chances = _chances(picks, logs)
        slope, curve = _slope_and_curve(picks, weights, logs, chances)
        step = np.linalg.solve(curve, slope)
        logs = logs + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _PRECISION:
            break
    return logs


def _chances(picks: _Picks, logs: Floats) -> Floats:
    """The chance of every candidate in every pick."""
    weights = np.where(picks.among, np.exp(logs - logs.max()), 0.0)
    chances: Floats = weights / weights.sum(axis=1, keepdims=True)
    return chances


def _slope_and_curve(picks: _Picks, weights: Floats, logs: Floats, chances: Floats) -> tuple[Floats, Floats]:
    weight = weights[picks.expert]
    against = 1 / (1 + np.exp(-logs))
    weighted = chances * weight[:, None]
    expected = weighted.sum(axis=0)
    slope = np.bincount(picks.item, weight, len(logs)) + _PRIOR - expected - 2 * _PRIOR * against
    curve = np.diag(expected + 2 * _PRIOR * against * (1 - against)) - weighted.T @ chances
    return slope, curve


def _one_step(picks: _Picks, whole: Floats, drawn: Floats) -> Floats:
    """The fit to each draw of experts, to first order: how each expert pulls, times how often they were drawn."""
    if not len(whole):
        return np.zeros((len(drawn), 0))
    chances = _chances(picks, whole)
    pulls = np.zeros((drawn.shape[1], len(whole)))
    np.add.at(pulls, (picks.expert, picks.item), 1.0)
    np.subtract.at(pulls, picks.expert, chances)
    _, curve = _slope_and_curve(picks, np.ones(drawn.shape[1]), whole, chances)
    stepped: Floats = whole + np.linalg.solve(curve, ((drawn - 1) @ pulls).T).T
    return stepped


def strength_groups(fitted: FittedStrengths, method: Method) -> Groups:
    """Groups by falling strength, where the rule of `method` finds differences."""
    order = np.argsort(-fitted.values, kind="stable")
    less = fitted.less[np.ix_(order, order)]
    begins = group_starts((two_tailed(less) if method.tails == 2 else less) < method.alpha, method)
    parts = np.split(order, np.flatnonzero(begins)[1:])
    return tuple(tuple(fitted.documents[k] for k in part) for part in parts if len(part))


def truth_of_strengths(fitted: Mapping[str, FittedStrengths], method: Method) -> Truth:
    """The groups of every query. What nobody ranked is judged not relevant."""
    return Truth(
        {query: strength_groups(each, method) for query, each in fitted.items()},
        nonrelevant={query: each.left_out for query, each in fitted.items()},
        name=f"plackett-luce-{method.name}",
        notes=[note for query, each in fitted.items() for note in _notes(query, each, method)],
    )


def _notes(query: str, fitted: FittedStrengths, method: Method) -> list[str]:
    most = int(fitted.judges.max(initial=0))
    if len(fitted.documents) > 1 and min(1.0, method.tails * 0.5**most) >= method.alpha:
        return [f"query {query}: {most} expert{'' if most == 1 else 's'} cannot tell candidates apart"]
    return [] if fitted.documents else [f"query {query}: nobody ranked any candidate; its list is empty"]


def group_by_strength(
    rows: Iterable[Any],
    rule: str = "all",
    tails: int = 2,
    alpha: float = 0.25,
    *,
    unranked: str = "last",
    resamples: int = 200,
    seed: int = 2005,
) -> Truth:
    """A truth by Plackett-Luce: by falling strength; two candidates differ where the bootstrap interval of the
    difference of their strengths, at level 1 - alpha for two tails, leaves out 0.
    """
    fitted = {query: plackett_luce(said, unranked, resamples, seed) for query, said in as_rankings(rows).items()}
    return truth_of_strengths(fitted, Method(rule, tails, alpha, unranked=unranked))


# -- bradley terry -----------------------------------------------------------------------------------------------------
#
# Bradley-Terry with ties: a strength for every candidate from preference votes (Davidson 1970).
#
# With strengths s and a readiness to call it the same, v, a vote says i with a chance proportional to exp(s_i), j to
# exp(s_j), and "the same" to v exp((s_i + s_j) / 2). Strengths are found by maximum likelihood with a weak prior
# (normal, standard deviation 10), which keeps them finite where a candidate wins every vote. Pairs differ by the Wald
# test on the difference of their strengths, and groups are made from these p-values as from those of ranks.
#
# Candidates that no chain of comparisons links have no common scale: such votes are refused.


_PRIOR_WINS = 10.0**-2  # 1 / variance


@dataclass(frozen=True, eq=False)
class Strengths:
    """Strengths of the documents, mean 0, larger is more similar; their covariance; and log v."""

    documents: tuple[str, ...]
    values: Floats
    covariance: Floats
    log_same: float

    @property
    def less(self) -> Floats:
        """p-values of "i is more similar than j", one-tailed, shape (documents, documents)."""
        from scipy.special import ndtr

        variance = np.diag(self.covariance)
        spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.covariance, 0))
        gap = self.values - self.values[:, None]
        p: Floats = ndtr(np.divide(gap, spread, out=np.full(gap.shape, np.inf), where=spread > 0))
        return p


def bradley_terry(votes: QueryVotes) -> Strengths:
    """Fit the model to the votes of one query, by Newton's method; the problem is convex."""
    size = len(votes.documents)
    first, second = np.nonzero(np.triu(votes.compared))
    counts = np.stack([votes.wins[first, second], votes.wins[second, first], votes.same[first, second]])
    total = counts.sum(axis=0)
    # How the exponent of each outcome (first, second, same) depends on the parameters (strengths, log v).
    rows = np.arange(len(first))
    design = np.zeros((3, len(first), size + 1))
    design[0, rows, first] = design[1, rows, second] = design[2, :, size] = 1.0
    design[2, rows, first] = design[2, rows, second] = 0.5
    flat = design.reshape(-1, size + 1)
    found = np.zeros(size + 1)
    for _ in range(_ITERATIONS):
        exponents = design @ found
        chances = np.exp(exponents - np.logaddexp.reduce(exponents, axis=0))
        slope = (counts - total * chances).ravel() @ flat - _PRIOR_WINS * found
        mean = (chances[..., None] * design).sum(axis=0)
        information = (
            (flat.T * (total * chances).ravel()) @ flat - (mean.T * total) @ mean + _PRIOR_WINS * np.eye(size + 1)
        )
        step = np.linalg.solve(information, slope)
        found = found + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _PRECISION:
            break
    covariance = np.linalg.inv(information)[:size, :size]
    return Strengths(votes.documents, found[:size] - found[:size].mean(), covariance, float(found[size]))


def vote_groups(votes: QueryVotes, method: Method) -> Groups:
    """Groups by falling strength, where the rule of `method` finds differences."""
    fitted = bradley_terry(votes)
    order = np.argsort(-fitted.values, kind="stable")
    less = fitted.less[np.ix_(order, order)]
    begins = group_starts((two_tailed(less) if method.tails == 2 else less) < method.alpha, method)
    return tuple(tuple(votes.documents[k] for k in part) for part in np.split(order, np.flatnonzero(begins)[1:]))


def group_votes(votes: Iterable[Vote], rule: str = "all", tails: int = 2, alpha: float = 0.25) -> Truth:
    """A truth from preference votes by Bradley-Terry with ties: by falling strength, groups by the rule."""
    method = Method(rule, tails, alpha)
    groups = {}
    for query, counted in count_votes(votes).items():
        one, *others = counted.linked
        if others:
            apart = f"{one[0]} and {others[0][0]}"
            reason = f"no chain of comparisons links {apart}, so there is no common scale for Bradley-Terry"
            raise ArgumentError(f"query {query}: {reason}")
        groups[query] = vote_groups(counted, method)
    return Truth(groups, name=f"bradley-terry-{method.name}")


# -- null --------------------------------------------------------------------------------------------------------------
#
# How many groups would pure noise give? The same procedure on shuffled rankings or votes, beside every grouping.
#
# Each expert's ranks are dealt out anew among all candidates of the query, those left unranked included: nobody prefers
# anything, and everybody still ranks as many as they did. The right number of groups is then 1. At alpha 0.25 the more
# eager functions of paper 004 find several (Any-1 about 5 among 20 candidates), although their lists are the most
# consistent: consistency alone does not say that a group is real.
#
# A thousand shuffles are a million tests. Exact and permutation tests are done on shuffles only where both samples are
# small (`ranktests`); for larger ones the asymptotic test, within 0.03 of them, stands in. Likewise the bootstrap of
# Plackett-Luce is done to first order.
#
# Preference votes are shuffled pair by pair: as many say "the same" as did, dealt out anew among all pairs that were
# asked, and a coin decides every other vote. Segments end where a pair was not asked, and shuffled votes soon lead to
# such pairs: what they say of segments is too few rather than too many.


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
