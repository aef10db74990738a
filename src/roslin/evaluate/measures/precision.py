"""Shares of what was found: precision, recall, F-measure, success (paper 003, section 2 and Table 2).

None of them sees the order of the groups or of the ranks, but for where a cutoff k lies.

Ties: precision, recall, R-precision and F are straight lines in TP, F being (1 + beta^2) TP / (beta^2 R + k), so the
expected value is the value at E[TP] = sum over hits of P(rank <= k). Success is 1 - P(no hit among the first k): only a
tie around rank k without a hit before it leaves that open. With n documents in the tie, h of them hits, m of its places
among the first k: P = (n - h)! (n - m)! / ((n - h - m)! n!).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.evaluate.hits import Floats, Hits, none_within, share
from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.measures.counts import Counting
from roslin.evaluate.rankings import Groups, RankedIds
from roslin.values.parameters import real, whole

__all__ = [
    "PND",
    "FMeasure",
    "Precision",
    "Recall",
    "Sensitivity",
    "Success",
    "f_measure",
    "precision",
    "precision_at_n",
    "recall",
    "sensitivity",
    "success",
]


@register
@dataclass(frozen=True, repr=False)
class Precision(Counting):
    """P is the relevant share of the list; P@k divides by k even when the list is shorter, as trec_eval does."""

    name: ClassVar[str] = "P"
    summary: ClassVar[str] = "Precision: the relevant share of the list, or of its first k ranks."

    def _values(self, hits: Hits) -> Floats:
        whole = self.seen(hits) if self.k is None else np.full(len(hits), float(self.k))
        return share(self.found(hits), whole)


@register
@dataclass(frozen=True, repr=False)
class Recall(Counting):
    """TP / (TP + FN)."""

    name: ClassVar[str] = "R"
    summary: ClassVar[str] = "Recall: the share of the relevant documents that was found."

    def _values(self, hits: Hits) -> Floats:
        return share(self.found(hits), hits.relevant.astype(np.float64))


@register
@dataclass(frozen=True, repr=False)
class Sensitivity(Recall):
    """The name of recall among those who classify."""

    name: ClassVar[str] = "Sensitivity"
    summary: ClassVar[str] = "Sensitivity: another name of recall."


@register
@dataclass(frozen=True, repr=False)
class FMeasure(Counting):
    """(1 + beta^2) P R / (beta^2 P + R), and 0 where nothing was found."""

    name: ClassVar[str] = "F"
    summary: ClassVar[str] = "F-measure: the harmonic mean of precision and recall."

    beta: float = real(1.0, above=0)

    def _values(self, hits: Hits) -> Floats:
        p, r = Precision(k=self.k)._values(hits), Recall(k=self.k)._values(hits)
        square = self.beta**2
        return share((1 + square) * p * r, square * p + r)


@register
@dataclass(frozen=True, repr=False)
class Success(Measure):
    """1 where at least one of the first k documents is relevant."""

    name: ClassVar[str] = "Success"
    summary: ClassVar[str] = "1 if a relevant document is among the first k, else 0."
    reference: ClassVar[str] = "trec_eval, success"

    k: int | None = whole(1, optional=True)

    @property
    def exact_in_ties(self) -> bool:
        """From the place of the first hit."""
        return True

    def _values(self, hits: Hits) -> Floats:
        found = np.minimum(hits.per_query(), 1.0)
        if self.k is None:
            return found
        first = hits.order_in_query() == 1
        sizes = zip(hits.tied[first], hits.hits_tied()[first], self.k - hits.before[first], strict=True)
        found[hits.query[first]] = [1.0 - _none(int(n), int(h), int(m)) for n, h, m in sizes]
        return found


def _none(size: int, hits: int, places: int) -> float:
    """The probability that no hit of a tie stands at its first so many places."""
    return float(none_within(size, hits, min(places, size))[-1]) if places > 0 else 1.0


@register
@dataclass(frozen=True, repr=False)
class PND(Measure):
    """Precision at rank n, the number of relevant documents: R-precision, where precision and recall are equal."""

    name: ClassVar[str] = "PND"
    also: ClassVar[tuple[str, ...]] = ("Rprec",)
    summary: ClassVar[str] = "Precision at n documents, n being the size of the truth (R-precision)."
    reference: ClassVar[str] = "MIREX 2005, symbolic melodic similarity"

    @property
    def exact_in_ties(self) -> bool:
        """A straight line in the hits in scope."""
        return True

    def _values(self, hits: Hits) -> Floats:
        relevant = hits.relevant
        return share(hits.per_query(hits.within(relevant[hits.query])), relevant.astype(np.float64))


def precision(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """The relevant share of the list, or of its first k ranks.

    >>> precision([["a", "b"]], ["a", "x", "y", "b"], k=2)
    0.5
    """
    return Precision(k=k)(groups, ranking)


def recall(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """The share of the relevant documents that is among the first k (all by default)."""
    return Recall(k=k)(groups, ranking)


def sensitivity(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """Another name of recall."""
    return Sensitivity(k=k)(groups, ranking)


def f_measure(groups: Groups, ranking: RankedIds, k: int | None = None, *, beta: float = 1.0) -> float:
    """The harmonic mean of precision and recall; a beta above 1 gives recall more weight."""
    return FMeasure(k=k, beta=beta)(groups, ranking)


def success(groups: Groups, ranking: RankedIds, k: int = 1) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return Success(k=k)(groups, ranking)


def precision_at_n(groups: Groups, ranking: RankedIds) -> float:
    """Precision at rank n, the number of relevant documents (PND of MIREX; R-precision)."""
    return PND()(groups, ranking)
