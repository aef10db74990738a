"""Bradley-Terry with ties: a strength for every candidate from preference votes (Davidson 1970).

With strengths s and a readiness to call it the same, v, a vote says i with a chance proportional to exp(s_i), j to
exp(s_j), and "the same" to v exp((s_i + s_j) / 2). Strengths are found by maximum likelihood with a weak prior (normal,
standard deviation 10), which keeps them finite where a candidate wins every vote. Pairs differ by the Wald test on the
difference of their strengths, and groups are made from these p-values as from those of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from roslin.truth.grouping import Method, group_starts
from roslin.truth.model import Truth
from roslin.truth.preferences import QueryVotes, Vote, count_votes
from roslin.truth.rankings import Floats
from roslin.truth.ranktests import two_tailed

__all__ = ["Strengths", "bradley_terry", "group_votes"]

_PRIOR = 10.0**-2  # 1 / variance


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
    from scipy.optimize import minimize

    size = len(votes.documents)
    first, second = np.triu_indices(size, 1)
    counts = np.stack([votes.wins[first, second], votes.wins[second, first], votes.same[first, second]])
    total = counts.sum(axis=0)
    # How the exponent of each outcome (first, second, same) depends on the parameters (strengths, log v).
    rows = np.arange(len(first))
    design = np.zeros((3, len(first), size + 1))
    design[0, rows, first] = design[1, rows, second] = design[2, :, size] = 1.0
    design[2, rows, first] = design[2, rows, second] = 0.5

    def loss(parameters: Floats) -> tuple[float, Floats]:
        exponents = design @ parameters
        normal = np.logaddexp.reduce(exponents, axis=0)
        value = (total * normal).sum() - (counts * exponents).sum() + _PRIOR / 2 * parameters @ parameters
        residual = total * np.exp(exponents - normal) - counts
        return float(value), residual.ravel() @ design.reshape(-1, size + 1) + _PRIOR * parameters

    found = minimize(loss, np.zeros(size + 1), jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-13}).x
    exponents = design @ found
    chances = np.exp(exponents - np.logaddexp.reduce(exponents, axis=0))
    mean = np.einsum("op,opk->pk", chances, design)
    information = np.einsum("p,op,opk,opl->kl", total, chances, design, design, optimize=True)
    information += _PRIOR * np.eye(size + 1) - np.einsum("p,pk,pl->kl", total, mean, mean)
    covariance = np.linalg.inv(information)[:size, :size]
    return Strengths(votes.documents, found[:size] - found[:size].mean(), covariance, float(found[size]))


def group_votes(votes: Iterable[Vote], rule: str = "all", tails: int = 2, alpha: float = 0.25) -> Truth:
    """A truth from preference votes by Bradley-Terry with ties: by falling strength, groups by the rule."""
    method = Method(rule, tails, alpha)
    groups = {}
    for query, counted in count_votes(votes).items():
        fitted = bradley_terry(counted)
        order = np.argsort(-fitted.values, kind="stable")
        less = fitted.less[np.ix_(order, order)]
        begins = group_starts((two_tailed(less) if tails == 2 else less) < alpha, method)
        parts = np.split(order, np.flatnonzero(begins)[1:])
        groups[query] = [[counted.documents[k] for k in part] for part in parts]
    return Truth(groups, name=f"bradley-terry-{method.name}")
