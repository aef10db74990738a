"""Plackett-Luce: a strength for every candidate from partial rankings, and how far it depends on who was asked.

An expert picks the most similar candidate of those left, each with a chance proportional to its strength, then the
next. What was left out is below everything ranked (`last`), or says nothing (`drop`). Tied candidates are picked from
the same set. Strengths are found by maximum likelihood with a weak prior: half a win and half a loss against something
of strength 1, which keeps them finite. Uncertainty is a bootstrap over experts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.arrangement import UNRANKED
from roslin.truth.grouping import Method, group_starts
from roslin.truth.model import Truth
from roslin.truth.rankings import Floats, QueryRankings, as_rankings
from roslin.truth.ranktests import two_tailed

__all__ = ["FittedStrengths", "group_by_strength", "plackett_luce"]

_PRIOR = 0.5
_ITERATIONS = 200
_LONGEST_STEP = 2.0
_PRECISION = 1e-8


@dataclass(frozen=True, eq=False)
class FittedStrengths:
    """Log strengths, mean 0, larger is more similar; `bootstrap` has the shape (resamples, documents)."""

    documents: tuple[str, ...]
    values: Floats
    bootstrap: Floats

    def intervals(self, level: float = 0.95) -> Floats:
        """Percentile intervals, shape (documents, 2)."""
        shares = [(1 - level) / 2, (1 + level) / 2]
        bounds: Floats = np.quantile(self.bootstrap, shares, axis=0).T
        return bounds

    @property
    def less(self) -> Floats:
        """How often a resample does not put i before j: the one-tailed p-value of "i is more similar than j"."""
        ahead = self.bootstrap[:, :, None] > self.bootstrap[:, None, :]
        p: Floats = (np.count_nonzero(~ahead, axis=0) + 1) / (len(self.bootstrap) + 1)
        return p


def plackett_luce(
    rankings: QueryRankings, unranked: str = "last", resamples: int = 200, seed: int = 2005
) -> FittedStrengths:
    """Fit the model to one query, and to `resamples` draws of its experts with replacement."""
    if unranked not in UNRANKED:
        raise UnknownNameError("way to count unranked candidates", unranked, UNRANKED)
    if resamples < 1:
        raise ArgumentError(f"resamples must be at least 1; got {resamples}")
    people, size = rankings.ranks.shape
    chance = np.random.default_rng(seed)
    drawn = chance.multinomial(people, np.full(people, 1 / people), resamples).astype(np.float64)
    picks = _picks(rankings.ranks, unranked == "last")
    whole = _fit(picks, np.ones(people), np.zeros(size))
    resampled = np.array([_fit(picks, weights, whole) for weights in drawn])
    return FittedStrengths(rankings.documents, whole - whole.mean(), resampled - resampled.mean(axis=1, keepdims=True))


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
    weight = weights[picks.expert]
    wins = np.bincount(picks.item, weight, len(start)) + _PRIOR
    for _ in range(_ITERATIONS):
        chances = np.where(picks.among, np.exp(logs - logs.max()), 0.0)
        chances /= chances.sum(axis=1, keepdims=True)
        against = 1 / (1 + np.exp(-logs))
        weighted = chances * weight[:, None]
        expected = weighted.sum(axis=0)
        slope = wins - expected - 2 * _PRIOR * against
        curve = np.diag(expected + 2 * _PRIOR * against * (1 - against)) - weighted.T @ chances
        step = np.linalg.solve(curve, slope)
        logs = logs + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _PRECISION:
            break
    return logs


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
    method = Method(rule, tails, alpha)
    groups = {}
    for query, said in as_rankings(rows).items():
        fitted = plackett_luce(said, unranked, resamples, seed)
        order = np.argsort(-fitted.values, kind="stable")
        less = fitted.less[np.ix_(order, order)]
        begins = group_starts((two_tailed(less) if tails == 2 else less) < alpha, method)
        parts = np.split(order, np.flatnonzero(begins)[1:])
        groups[query] = [[said.documents[k] for k in part] for part in parts if len(part)]
    return Truth(groups, name=f"plackett-luce-{method.name}")
