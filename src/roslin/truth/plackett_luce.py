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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.arrangement import UNRANKED
from roslin.truth.grouping import Method, group_starts
from roslin.truth.model import Groups, Truth
from roslin.truth.rankings import Floats, QueryRankings, as_rankings
from roslin.truth.ranktests import two_tailed

__all__ = ["FittedStrengths", "group_by_strength", "plackett_luce", "strength_groups", "truth_of_strengths"]

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
