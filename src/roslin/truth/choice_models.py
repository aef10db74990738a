"""Groups and strengths from what experts chose: preference votes, by segments or Bradley-Terry, and rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.rows import refuse, table_rows
from roslin.truth.grouping import Method, group_starts
from roslin.truth.model import UNRANKED, Groups, Truth
from roslin.truth.rankings import QueryRankings
from roslin.truth.ranktests import two_tailed
from roslin.types import Floats

# -- preference votes, by segments -------------------------------------------------------------------------------------
#
# Urbano et al. (2010, SIGIR workshop on crowdsourcing) asked 10 workers for each pair that a kind of quicksort needed.
# All candidates are one segment. One of them, the pivot, is compared with the rest: clear winners go to a segment
# before it, clear losers to one after it, all others stay with it. Each segment continues with another pivot until none
# is left. The segments are the groups. The votes show which pairs were asked, so the sorting can be repeated: the pivot
# is the candidate whose pairs with all others of its segment were asked first, or the smaller id of the last two.
#
# A lead of 2 of 10 votes is clear by default, as in the published lists.


# A vote is for the first, for the second, or for neither.
ANSWERS = {"a": (1, 0, 0), "b": (0, 1, 0), "s": (0, 0, 1)}


@dataclass(frozen=True)
class Vote:
    """One answer: a (the first is more similar), b (the second), s (they are the same)."""

    query: str
    expert: str
    first: str
    second: str
    answer: str


@dataclass(frozen=True, eq=False)
class QueryVotes:
    """The votes of one query, counted. Shape (documents, documents).

    `wins[i, j]`: votes for i against j. `same[i, j]`: votes that they are the same. `asked[i, j]`: when the pair was
    first asked, counted from 1; 0 for never.
    """

    documents: tuple[str, ...]
    wins: npt.NDArray[np.int64]
    same: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]

    @property
    def compared(self) -> npt.NDArray[np.bool_]:
        flags: npt.NDArray[np.bool_] = self.asked > 0
        return flags

    @property
    def linked(self) -> list[list[str]]:
        """The documents in parts: inside a part a chain of comparisons links any two."""
        from scipy.sparse.csgraph import connected_components

        count, part = connected_components(self.compared, directed=False)
        return [[id for id, own in zip(self.documents, part, strict=True) if own == k] for k in range(count)]


def read_votes(path: str | Path, queries: Sequence[str] | None = None) -> list[Vote]:
    """Votes from a CSV with query, first, second, answer, and expert where known; or as Mechanical Turk exports them.

    An empty answer is no vote. Free text in other columns may be in any encoding. `queries`: only the votes of these.
    """
    path = Path(path)
    votes = []
    given: dict[tuple[str, str, frozenset[str]], int] = {}
    columns = ("query", "first", "second", "answer")
    for cells, line in table_rows(path, columns, ("expert",), other_encoding="cp1252"):
        query, first, second, answer = (str(cells[name]).strip() for name in columns)
        expert = str(cells.get("expert", "")).strip()
        place: dict[str, Any] = {"file": str(path), "line": line}
        for name, value in (("query", query), ("first", first), ("second", second)):
            if not value:
                raise refuse(f"no {name}", expected="a name", found="nothing", **place)
        if answer and answer not in ANSWERS:
            raise refuse("bad answer", expected=f"one of {', '.join(ANSWERS)}", found=answer, **place)
        if first == second:
            raise refuse("a candidate is compared with itself", expected="two candidates", found=first, **place)
        if answer:
            before = given.setdefault((query, expert, frozenset((first, second))), line) if expert else line
            if before != line:
                reason = (
                    f"expert {expert} compares {first} and {second} again for query {query} (first in line {before})"
                )
                raise refuse(reason, expected="one answer", **place)
            votes.append(Vote(query, expert, first, second, answer))
    if not votes:
        raise refuse("no votes", expected="at least one row with an answer", found="none", file=str(path))
    known = dict.fromkeys(vote.query for vote in votes)
    for query in queries or ():
        if query not in known:
            raise UnknownNameError("query", query, known)
    return [vote for vote in votes if vote.query in queries] if queries else votes


def count_votes(votes: Iterable[Vote]) -> dict[str, QueryVotes]:
    """The votes of each query, counted."""
    by_query: dict[str, list[Vote]] = {}
    for vote in votes:
        by_query.setdefault(vote.query, []).append(vote)
    return {query: _count(each) for query, each in by_query.items()}


def _count(votes: Sequence[Vote]) -> QueryVotes:
    documents = tuple(sorted({id for vote in votes for id in (vote.first, vote.second)}))
    place = {id: k for k, id in enumerate(documents)}
    wins, same, asked = (np.zeros((len(documents), len(documents)), dtype=np.int64) for _ in range(3))
    for number, vote in enumerate(votes, start=1):
        i, j = place[vote.first], place[vote.second]
        for_first, for_second, for_neither = ANSWERS[vote.answer]
        wins[i, j] += for_first
        wins[j, i] += for_second
        same[i, j] += for_neither
        same[j, i] += for_neither
        asked[i, j] = asked[j, i] = asked[i, j] or number
    return QueryVotes(documents, wins, same, asked)


def segment_votes(votes: Iterable[Vote], margin: int = 2) -> Truth:
    """A truth by segmented comparison. `margin`: the lead in votes from which one candidate counts as more similar."""
    if margin < 1:
        raise ArgumentError(f"margin must be at least 1; got {margin}")
    counted = count_votes(votes)
    groups = {query: segments(each, margin) for query, each in counted.items()}
    notes = [note for query, each in counted.items() for note in _uncompared(query, each, groups[query])]
    return Truth(groups, name="segments", notes=notes)


def segments(votes: QueryVotes, margin: int = 2) -> Groups:
    """The segments of one query, the most similar first."""
    found = _split(list(range(len(votes.documents))), votes, margin, frozenset())
    return tuple(tuple(votes.documents[k] for k in segment) for segment in found)


def _uncompared(query: str, votes: QueryVotes, groups: Groups) -> list[str]:
    """Remarks on segments that stayed whole although no participant compared their pairs."""
    place = {id: k for k, id in enumerate(votes.documents)}
    compared = votes.compared
    notes = []
    for group in groups:
        alone = [id for id in group if not any(compared[place[id], place[other]] for other in group)]
        if len(group) > 1 and alone:
            notes.append(f"query {query}: {alone[0]} is in a group of {len(group)} with none of which it was compared")
    return notes


def _split(segment: list[int], votes: QueryVotes, margin: int, used: frozenset[int]) -> list[list[int]]:
    pivot = _pivot(segment, votes, used)
    if pivot is None:
        return [segment] if segment else []
    lead = votes.wins[:, pivot] - votes.wins[pivot]
    before = [k for k in segment if lead[k] >= margin]
    after = [k for k in segment if lead[k] <= -margin]
    beside = [k for k in segment if abs(lead[k]) < margin]
    used |= {pivot}
    return [found for part in (before, beside, after) for found in _split(part, votes, margin, used)]


def _pivot(segment: list[int], votes: QueryVotes, used: frozenset[int]) -> int | None:
    """The candidate, not a pivot before, whose pairs with all others of the segment were asked the earliest."""
    asked = {k: [votes.asked[k, other] for other in segment if other != k] for k in segment if k not in used}
    able = {k: max(when) for k, when in asked.items() if when and min(when) > 0}
    return min(able, key=lambda k: (able[k], k)) if able else None


_PRIOR = 0.5


# -- rankings, by strengths: Plackett-Luce -----------------------------------------------------------------------------
#
# An expert picks the most similar candidate, each with a chance proportional to its strength, then the next of those
# left. An omitted candidate is below everything ranked (`last`), or is ignored (`drop`). Tied candidates are picked
# from the same set. A candidate without a rank has no strength. Strengths are found by maximum likelihood with a weak
# prior that keeps them finite: half a win and half a loss against a strength of 1.
#
# Uncertainty is a bootstrap over experts. With few experts it would be too certain, so no p-value is below 2^-n, the
# probability that n experts without a preference agree. An interval that would need a smaller one has no bounds.


@dataclass(frozen=True, eq=False)
class FittedStrengths:
    """Log strengths, mean 0, larger is more similar; `bootstrap` has the shape (resamples, documents).

    `judges[i, j]`: how many experts said something of i and j. `left_out`: candidates without a rank.
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
    """Every pick from two or more: its expert, and (picks, documents) what it was picked from and what was picked."""

    expert: npt.NDArray[np.int64]
    among: npt.NDArray[np.bool_]
    shares: Floats


def _picks(ranks: Floats, left_out_is_last: bool) -> _Picks:
    expert, item = np.nonzero(~np.isnan(ranks))
    rows = ranks[expert]
    among = (rows >= ranks[expert, item][:, None]) | (np.isnan(rows) & left_out_is_last)
    real = among.sum(axis=1) > 1
    return _Picks(expert[real], among[real], np.eye(ranks.shape[1])[item[real]])


def newton(
    slope_and_curve: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    *,
    longest: float = 2.0,
    enough: float = 1e-8,
    steps: int = 200,
) -> tuple[Floats, Floats]:
    """The highest point of a concave function by Newton's method, and the curve (the negative Hessian) before it.

    No step changes a value by more than `longest`. A step that changes none by `enough` is the last one.
    """
    place, curve = start, np.empty((len(start), len(start)))
    for _ in range(steps if len(start) else 0):
        slope, curve = slope_and_curve(place)
        step = np.linalg.solve(curve, slope)
        largest = np.abs(step).max()
        place = place + step * min(1.0, longest / max(float(largest), 1e-300))
        if largest < enough:
            break
    return place, curve


def choice_slope_and_curve(
    among: npt.NDArray[np.bool_], shares: Floats, weights: Floats, logs: Floats
) -> tuple[Floats, Floats]:
    """Slope and curve of the log likelihood of choices from sets, each set with a weight.

    `among` and `shares`, (sets, documents): the documents of a set, and the share of its choice that each got.
    """
    chances = _chances(among, logs)
    weighted = chances * weights[:, None]
    slope: Floats = (shares * weights[:, None]).sum(axis=0) - weighted.sum(axis=0)
    return slope, np.diag(weighted.sum(axis=0)) - weighted.T @ chances


def _chances(among: npt.NDArray[np.bool_], logs: Floats) -> Floats:
    weights = np.where(among, np.exp(logs - logs.max()), 0.0)
    chances: Floats = weights / weights.sum(axis=1, keepdims=True)
    return chances


def _fit(picks: _Picks, weights: Floats, start: Floats) -> Floats:
    """Log strengths at the maximum for these weights of the experts."""
    return newton(lambda logs: _slope_and_curve(picks, weights, logs), start)[0]


def _slope_and_curve(picks: _Picks, weights: Floats, logs: Floats) -> tuple[Floats, Floats]:
    slope, curve = choice_slope_and_curve(picks.among, picks.shares, weights[picks.expert], logs)
    against = 1 / (1 + np.exp(-logs))
    return slope + _PRIOR - 2 * _PRIOR * against, curve + np.diag(2 * _PRIOR * against * (1 - against))


def _one_step(picks: _Picks, whole: Floats, drawn: Floats) -> Floats:
    """The fit to each draw of experts, to first order: how each expert pulls, times how often they were drawn."""
    if not len(whole):
        return np.zeros((len(drawn), 0))
    pulls = np.zeros((drawn.shape[1], len(whole)))
    np.add.at(pulls, picks.expert, picks.shares - _chances(picks.among, whole))
    _, curve = _slope_and_curve(picks, np.ones(drawn.shape[1]), whole)
    stepped: Floats = whole + np.linalg.solve(curve, ((drawn - 1) @ pulls).T).T
    return stepped


def strength_groups(fitted: FittedStrengths | Strengths, method: Method) -> Groups:
    """Groups by falling strength, where the rule of `method` finds differences."""
    order = np.argsort(-fitted.values, kind="stable")
    less = fitted.less[np.ix_(order, order)]
    begins = group_starts((two_tailed(less) if method.tails == 2 else less) < method.alpha, method)
    parts = np.split(order, np.flatnonzero(begins)[1:])
    return tuple(tuple(fitted.documents[k] for k in part) for part in parts if len(part))


def truth_of_strengths(fitted: Mapping[str, FittedStrengths], method: Method) -> Truth:
    """The groups of every query. Candidates without a rank are judged not relevant."""
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


# -- preference votes, by strengths: Bradley-Terry with ties (Davidson 1970) -------------------------------------------
#
# With strengths s and a tendency v to call two candidates the same, a vote is for i with a probability proportional to
# exp(s_i), for j to exp(s_j), and for neither to v exp((s_i + s_j) / 2). Strengths are found by maximum likelihood with
# a weak prior (normal, standard deviation 10), which keeps them finite if a candidate wins every vote. Pairs differ by
# the Wald test on the difference of their strengths. Candidates without a chain of comparisons between them are
# refused.


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
    """Fit the model to the votes of one query."""
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

    def slope_and_information(found: Floats) -> tuple[Floats, Floats]:
        exponents = design @ found
        chances = np.exp(exponents - np.logaddexp.reduce(exponents, axis=0))
        slope = (counts - total * chances).ravel() @ flat - _PRIOR_WINS * found
        mean = (chances[..., None] * design).sum(axis=0)
        spread = (flat.T * (total * chances).ravel()) @ flat - (mean.T * total) @ mean
        return slope, spread + _PRIOR_WINS * np.eye(size + 1)

    found, information = newton(slope_and_information, np.zeros(size + 1))
    covariance: Floats = np.linalg.inv(information)[:size, :size].astype(np.float64)
    return Strengths(votes.documents, found[:size] - found[:size].mean(), covariance, float(found[size]))


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
        groups[query] = strength_groups(bradley_terry(counted), method)
    return Truth(groups, name=f"bradley-terry-{method.name}")
