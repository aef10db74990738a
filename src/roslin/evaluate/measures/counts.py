"""Measures that count: what was found and what was not (Serrà 2007, section 2 and Table 2).

None of them sees the order of the groups or of the ranks; with a cutoff k they look at the first k ranks only. Those
that count true negatives need the size of the collection, with the query itself in it, as in the paper (2054 songs).

Ties: every value is a straight line in TP, the hits among the first k ranks, because all other sums of cells are fixed.
So the expected value is the value at E[TP] = sum over hits of P(rank <= k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.measures.base import Measure, count, register
from roslin.evaluate.rankings import Groups, Hits, RankedIds, share
from roslin.types import Floats
from roslin.values.parameters import choice, whole

TABLE_2 = "Serrà 2007, Table 2"
_MOST_DOCUMENTS = 10**12


@dataclass(frozen=True, repr=False)
class Counting(Measure):
    """The four cells of the table of confusion, for the first k ranks or for the whole list."""

    reference = TABLE_2
    exact_in_ties = True

    k: int | None = whole(None)

    def found(self, hits: Hits) -> Floats:
        """(Q,) Relevant documents in scope: true positives, or how many are to be expected."""
        return hits.per_query(None if self.k is None else hits.within(self.k))

    def seen(self, hits: Hits) -> Floats:
        """(Q,) Ranks in scope that hold a document."""
        return (hits.depth if self.k is None else np.minimum(hits.depth, self.k)).astype(np.float64)

    def wrong(self, hits: Hits) -> Floats:
        """(Q,) Ranks in scope that hold nothing relevant: false positives."""
        return self.seen(hits) - self.found(hits)

    def missed(self, hits: Hits) -> Floats:
        """(Q,) Relevant documents not in scope: false negatives."""
        return hits.relevant - self.found(hits)


@register
class TP(Counting):
    """True positives."""

    name = "TP"
    summary = "True positives: relevant documents in the list."
    largest = math.inf
    _values = Counting.found


@register
class FP(Counting):
    """False positives. A repeated id is one more."""

    name = "FP"
    summary = "False positives: ranks of the list that hold nothing relevant."
    largest = math.inf
    larger_is_better = False
    rewards_silence = True
    _values = Counting.wrong


@register
class FN(Counting):
    """False negatives."""

    name = "FN"
    summary = "False negatives: relevant documents that the list lacks."
    largest = math.inf
    larger_is_better = False
    _values = Counting.missed


@dataclass(frozen=True, repr=False)
class _OfCollection(Counting):
    """A measure that needs `size`, the number of documents in the collection."""

    size: int = whole(0, most=_MOST_DOCUMENTS)

    def __post_init__(self) -> None:
        if self.size == 0:
            raise ArgumentError(f"{self.name} needs the size of the collection, as in {self.name}(size=2054)")
        super().__post_init__()

    def rejected(self, hits: Hits) -> Floats:
        """(Q,) True negatives."""
        negatives = self.size - self.seen(hits) - self.missed(hits)
        if negatives.min(initial=0) < 0:
            raise ArgumentError(f"{self!r}: a list and its truth hold more than {self.size} documents")
        return negatives


@register
class TN(_OfCollection):
    """True negatives."""

    name = "TN"
    summary = "True negatives: documents of the collection that are rightly left out."
    largest = math.inf
    rewards_silence = True
    _values = _OfCollection.rejected


@register
class Accuracy(_OfCollection):
    """(TP + TN) / size."""

    name = "Accuracy"
    summary = "The share of the collection that is rightly in the list or rightly not."

    def _values(self, hits: Hits) -> Floats:
        return (self.found(hits) + self.rejected(hits)) / self.size


@register
class Specificity(_OfCollection):
    """TN / (TN + FP); `variant='serra'` is the row of that name in Serrà (2007): TN / (TN + FN)."""

    name = "Specificity"
    summary = "The share of what is not relevant that is left out."

    variant: str = choice("textbook", "textbook", "serra")

    @property
    def rewards_silence(self) -> bool:
        """In the textbook's form: what shows nothing shows nothing wrong."""
        return self.variant == "textbook"

    def _values(self, hits: Hits) -> Floats:
        tn = self.rejected(hits)
        return share(tn, tn + (self.missed(hits) if self.variant == "serra" else self.wrong(hits)))


@register
class Fallout(_OfCollection):
    """FP / (FP + TN)."""

    name = "Fallout"
    summary = "The share of what is not relevant that is in the list."
    larger_is_better = False
    rewards_silence = True

    def _values(self, hits: Hits) -> Floats:
        fp = self.wrong(hits)
        return share(fp, fp + self.rejected(hits))


# -- the same by name, for one query ----------------------------------------------------------------------------------


def true_positives(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """Relevant documents among the first k (all by default)."""
    return count(TP(k=k)(groups, ranking))


def false_positives(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """Ranks among the first k without a relevant document."""
    return count(FP(k=k)(groups, ranking))


def false_negatives(groups: Groups, ranking: RankedIds, k: int | None = None) -> float:
    """Relevant documents that are not among the first k."""
    return count(FN(k=k)(groups, ranking))


def true_negatives(groups: Groups, ranking: RankedIds, size: int, k: int | None = None) -> float:
    """Documents of a collection of this size that are neither relevant nor among the first k."""
    return count(TN(k=k, size=size)(groups, ranking))


def accuracy(groups: Groups, ranking: RankedIds, size: int, k: int | None = None) -> float:
    """(TP + TN) / size."""
    return Accuracy(k=k, size=size)(groups, ranking)


def specificity(
    groups: Groups, ranking: RankedIds, size: int, k: int | None = None, *, variant: str = "textbook"
) -> float:
    """TN / (TN + FP), or TN / (TN + FN) as `variant="serra"`."""
    return Specificity(k=k, size=size, variant=variant)(groups, ranking)


def fallout(groups: Groups, ranking: RankedIds, size: int, k: int | None = None) -> float:
    """FP / (FP + TN)."""
    return Fallout(k=k, size=size)(groups, ranking)
