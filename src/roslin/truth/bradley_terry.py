"""Bradley-Terry with ties: a strength for every candidate from preference votes (Davidson 1970).

With strengths s and a readiness to call it the same, v, a vote says i with a chance proportional to exp(s_i), j to
exp(s_j), and "the same" to v exp((s_i + s_j) / 2). Strengths are found by maximum likelihood with a weak prior (normal,
standard deviation 10), which keeps them finite where a candidate wins every vote. Pairs differ by the Wald test on the
difference of their strengths, and groups are made from these p-values as from those of ranks.

Candidates that no chain of comparisons links have no common scale: such votes are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError
from roslin.truth.grouping import Method, group_starts
from roslin.truth.model import Groups, Truth
from roslin.truth.preferences import QueryVotes, Vote, count_votes
from roslin.truth.rankings import Floats
from roslin.truth.ranktests import two_tailed

__all__ = ["Strengths", "bradley_terry", "group_votes", "vote_groups"]

_PRIOR = 10.0**-2  # 1 / variance
_ITERATIONS = 200
_LONGEST_STEP = 2.0
_PRECISION = 1e-8


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
        slope = (counts - total * chances).ravel() @ flat - _PRIOR * found
        mean = (chances[..., None] * design).sum(axis=0)
        information = (flat.T * (total * chances).ravel()) @ flat - (mean.T * total) @ mean + _PRIOR * np.eye(size + 1)
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
