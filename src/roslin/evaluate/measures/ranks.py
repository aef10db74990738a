"""Measures from precision along the list: average precision, reciprocal rank, the break-even point.

Paper 003 prints rows under these names that are not the textbook's; the definitions that give its numbers were
recovered from the numbers, and are the variants called "serra".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.evaluate.hits import Floats, Hits, Ints, share
from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.measures.precision import PND
from roslin.evaluate.rankings import Groups, RankedIds
from roslin.values.parameters import choice, whole

__all__ = ["AP", "RR", "BreakEven", "average_precision", "break_even_point", "reciprocal_rank"]

_GRID = np.linspace(0.0, 1.0, 11)


@register
@dataclass(frozen=True, repr=False)
class AP(Measure):
    """Sum of the precision at each hit, divided by all relevant documents; `serra` divides by those that were found."""

    name: ClassVar[str] = "AP"
    also: ClassVar[tuple[str, ...]] = ("MAP",)
    summary: ClassVar[str] = "Average precision: precision at each relevant document; its mean over queries is MAP."
    reference: ClassVar[str] = "trec_eval, map; Serrà 2007, Table 2"

    variant: str = choice("trec", "trec", "serra")
    k: int | None = whole(None)

    @property
    def monotone(self) -> bool:
        """Not for a mean over the hits in scope alone: one that leaves the scope can raise it."""
        return self.variant == "trec" or self.k is None

    def _values(self, hits: Hits) -> Floats:
        keep = None if self.k is None else hits.rank <= self.k
        total = hits.per_query(hits.order_in_query() / hits.rank, keep)
        parts = hits.relevant.astype(np.float64) if self.variant == "trec" else hits.per_query(keep=keep)
        return share(total, parts)


@register
@dataclass(frozen=True, repr=False)
class RR(Measure):
    """1 / rank of the first hit; `serra` is the sum of 1 / rank over all hits, divided by the length of the list."""

    name: ClassVar[str] = "RR"
    also: ClassVar[tuple[str, ...]] = ("MRR",)
    summary: ClassVar[str] = "Reciprocal rank of the first relevant document; its mean over queries is MRR."
    reference: ClassVar[str] = "trec_eval, recip_rank; Serrà 2007, Table 2"

    variant: str = choice("first", "first", "serra")
    k: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        keep = np.ones(len(hits.rank), dtype=bool) if self.k is None else hits.rank <= self.k
        if self.variant == "first":
            return hits.per_query(1.0 / hits.rank, keep & (hits.order_in_query() == 1))
        length = hits.depth if self.k is None else np.minimum(hits.depth, self.k)
        return share(hits.per_query(1.0 / hits.rank, keep), length.astype(np.float64))


@register
@dataclass(frozen=True, repr=False)
class BreakEven(Measure):
    """Where precision equals recall: at rank R, so the textbook's value is R-precision.

    `serra` is a reading that gives all six printed values of paper 003, found among fifty: compatible, not proven. The
    points (j / R, precision at the j-th hit) are joined by straight lines, level before the first, falling to (1, 0)
    after the last; the value is the first recall of 0, 0.1, ... 1 at which precision is below recall.
    """

    name: ClassVar[str] = "BreakEven"
    summary: ClassVar[str] = "The break-even point of precision and recall."
    reference: ClassVar[str] = "Serrà 2007, Table 2"

    variant: str = choice("textbook", "textbook", "serra")

    @property
    def monotone(self) -> bool:
        """Not on a grid of recalls."""
        return self.variant == "textbook"

    def _values(self, hits: Hits) -> Floats:
        if self.variant == "textbook":
            return PND()._values(hits)
        first = np.searchsorted(hits.query, np.arange(len(hits) + 1))
        ranks = (hits.rank[first[q] : first[q + 1]] for q in range(len(hits)))
        return np.array([_grid_break_even(each, int(n)) for each, n in zip(ranks, hits.relevant, strict=True)])


def _grid_break_even(ranks: Ints, relevant: int) -> float:
    order = np.arange(1, len(ranks) + 1)
    recall = np.concatenate([order / max(relevant, 1), [1.0]])
    precision = np.concatenate([order / ranks, [0.0]])
    if len(ranks) == relevant:  # the last point already lies at recall 1
        recall, precision = recall[:-1], precision[:-1]
    below = np.interp(_GRID, recall, precision) < _GRID
    return float(_GRID[int(np.argmax(below))]) if below.any() else 1.0


def average_precision(groups: Groups, ranking: RankedIds, k: int | None = None, *, variant: str = "trec") -> float:
    """Average precision of one query.

    >>> average_precision([["a", "b"]], ["a", "x", "b"])
    0.8333333333333333
    """
    return AP(k=k, variant=variant)(groups, ranking)


def reciprocal_rank(groups: Groups, ranking: RankedIds, k: int | None = None, *, variant: str = "first") -> float:
    """1 / rank of the first relevant document, 0 if there is none.

    >>> reciprocal_rank([["a", "b"]], ["x", "b", "a"])
    0.5
    """
    return RR(k=k, variant=variant)(groups, ranking)


def break_even_point(groups: Groups, ranking: RankedIds, *, variant: str = "textbook") -> float:
    """The value at which precision equals recall."""
    return BreakEven(variant=variant)(groups, ranking)
