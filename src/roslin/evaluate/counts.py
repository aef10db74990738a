"""Measures that count: what was found and what was not (paper 003, section 2 and Table 2).

None of them sees the order of the groups or of the ranks; with a cutoff k they look at the first k ranks only. Those
that count true negatives need the size of the collection, with the query itself in it, as in the paper (2054 songs).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.base import Measure, one_of, register
from roslin.evaluate.hits import Floats, Hits
from roslin.evaluate.rankings import Ranking

__all__ = [
    "FN",
    "FP",
    "PND",
    "TN",
    "TP",
    "Accuracy",
    "FMeasure",
    "Fallout",
    "Precision",
    "Recall",
    "Sensitivity",
    "Specificity",
    "Success",
    "accuracy",
    "f_measure",
    "fallout",
    "false_negatives",
    "false_positives",
    "precision",
    "precision_at_n",
    "recall",
    "sensitivity",
    "share",
    "specificity",
    "success",
    "true_negatives",
    "true_positives",
]

_TABLE_2 = "Serrà 2007, Table 2"


def share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)


@dataclass(frozen=True, repr=False)
class _Counting(Measure):
    """The four cells of the table of confusion, for the first k ranks or for the whole list."""

    reference: ClassVar[str] = _TABLE_2

    k: int | None = None

    def found(self, hits: Hits) -> Floats:
        """(Q,) Relevant documents in scope: true positives."""
        return hits.per_query(keep=None if self.k is None else hits.rank <= self.k)

    def seen(self, hits: Hits) -> Floats:
        """(Q,) Ranks in scope that hold a document."""
        return (hits.depth if self.k is None else np.minimum(hits.depth, self.k)).astype(np.float64)

    def missed(self, hits: Hits) -> Floats:
        """(Q,) Relevant documents not in scope: false negatives."""
        return hits.relevant - self.found(hits)


@register
@dataclass(frozen=True, repr=False)
class TP(_Counting):
    """True positives."""

    name: ClassVar[str] = "TP"
    summary: ClassVar[str] = "True positives: relevant documents in the list."

    def _values(self, hits: Hits) -> Floats:
        return self.found(hits)


@register
@dataclass(frozen=True, repr=False)
class FP(_Counting):
    """False positives; a repeated id is one more."""

    name: ClassVar[str] = "FP"
    summary: ClassVar[str] = "False positives: ranks of the list that hold nothing relevant."
    larger_is_better: ClassVar[bool] = False

    def _values(self, hits: Hits) -> Floats:
        return self.seen(hits) - self.found(hits)


@register
@dataclass(frozen=True, repr=False)
class FN(_Counting):
    """False negatives."""

    name: ClassVar[str] = "FN"
    summary: ClassVar[str] = "False negatives: relevant documents that the list lacks."
    larger_is_better: ClassVar[bool] = False

    def _values(self, hits: Hits) -> Floats:
        return self.missed(hits)


@dataclass(frozen=True, repr=False)
class _OfCollection(_Counting):
    """A measure that needs `size`, the number of documents in the collection."""

    size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.size, int) or self.size < 1:
            raise ArgumentError(f"{self.name} needs the size of the collection, as in {self.name}(size=2054)")

    def rejected(self, hits: Hits) -> Floats:
        """(Q,) True negatives."""
        negatives = self.size - self.seen(hits) - self.missed(hits)
        if negatives.min(initial=0) < 0:
            raise ArgumentError(f"{self!r}: a list and its truth hold more than {self.size} documents")
        return negatives

    def _values(self, hits: Hits) -> Floats:
        found, seen = self.found(hits), self.seen(hits)
        return self._of_cells(found, seen - found, self.missed(hits), self.rejected(hits))

    @abstractmethod
    def _of_cells(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats: ...


@register
@dataclass(frozen=True, repr=False)
class TN(_OfCollection):
    """True negatives."""

    name: ClassVar[str] = "TN"
    summary: ClassVar[str] = "True negatives: documents of the collection that are rightly left out."

    def _of_cells(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:  # noqa: ARG002
        return tn


@register
@dataclass(frozen=True, repr=False)
class Accuracy(_OfCollection):
    """(TP + TN) / size."""

    name: ClassVar[str] = "Accuracy"
    summary: ClassVar[str] = "The share of the collection that is rightly in the list or rightly not."

    def _of_cells(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:  # noqa: ARG002
        return (tp + tn) / self.size


@register
@dataclass(frozen=True, repr=False)
class Specificity(_OfCollection):
    """TN / (TN + FP); `variant='serra'` is the row of that name in paper 003: TN / (TN + FN)."""

    name: ClassVar[str] = "Specificity"
    summary: ClassVar[str] = "The share of what is not relevant that is left out."

    variant: str = "textbook"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "variant", ("textbook", "serra"))

    def _of_cells(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:  # noqa: ARG002
        return share(tn, tn + (fn if self.variant == "serra" else fp))


@register
@dataclass(frozen=True, repr=False)
class Fallout(_OfCollection):
    """FP / (FP + TN)."""

    name: ClassVar[str] = "Fallout"
    summary: ClassVar[str] = "The share of what is not relevant that is in the list."
    larger_is_better: ClassVar[bool] = False

    def _of_cells(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:  # noqa: ARG002
        return share(fp, fp + tn)


@register
@dataclass(frozen=True, repr=False)
class Precision(_Counting):
    """P is the relevant share of the list; P@k divides by k even when the list is shorter, as trec_eval does."""

    name: ClassVar[str] = "P"
    summary: ClassVar[str] = "Precision: the relevant share of the list, or of its first k ranks."

    def _values(self, hits: Hits) -> Floats:
        whole = self.seen(hits) if self.k is None else np.full(len(hits), float(self.k))
        return share(self.found(hits), whole)


@register
@dataclass(frozen=True, repr=False)
class Recall(_Counting):
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
class FMeasure(_Counting):
    """(1 + beta^2) P R / (beta^2 P + R), and 0 where nothing was found."""

    name: ClassVar[str] = "F"
    summary: ClassVar[str] = "F-measure: the harmonic mean of precision and recall."

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.beta > 0:
            raise ArgumentError(f"F: beta must be above 0; got {self.beta!r}")

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

    k: int | None = 1

    def _values(self, hits: Hits) -> Floats:
        keep = None if self.k is None else hits.rank <= self.k
        return np.minimum(hits.per_query(keep=keep), 1.0)

    def __repr__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


@register
@dataclass(frozen=True, repr=False)
class PND(Measure):
    """Precision at rank n, the number of relevant documents: R-precision, where precision and recall are equal."""

    name: ClassVar[str] = "PND"
    summary: ClassVar[str] = "Precision at n documents, n being the size of the truth (R-precision)."
    reference: ClassVar[str] = "MIREX 2005, symbolic melodic similarity"

    def _values(self, hits: Hits) -> Floats:
        relevant = hits.relevant
        return share(hits.per_query(keep=hits.rank <= relevant[hits.query]), relevant.astype(np.float64))


# -- the same by name, for one query ----------------------------------------------------------------------------------

Groups = Sequence[Sequence[Hashable]]


def true_positives(groups: Groups, ranking: Ranking, k: int | None = None) -> int:
    """Relevant documents among the first k (all by default)."""
    return int(TP(k=k)(groups, ranking))


def false_positives(groups: Groups, ranking: Ranking, k: int | None = None) -> int:
    """Ranks among the first k that hold nothing relevant."""
    return int(FP(k=k)(groups, ranking))


def false_negatives(groups: Groups, ranking: Ranking, k: int | None = None) -> int:
    """Relevant documents that are not among the first k."""
    return int(FN(k=k)(groups, ranking))


def true_negatives(groups: Groups, ranking: Ranking, size: int, k: int | None = None) -> int:
    """Documents of a collection of this size that are neither relevant nor among the first k."""
    return int(TN(k=k, size=size)(groups, ranking))


def accuracy(groups: Groups, ranking: Ranking, size: int, k: int | None = None) -> float:
    """(TP + TN) / size."""
    return Accuracy(k=k, size=size)(groups, ranking)


def specificity(
    groups: Groups, ranking: Ranking, size: int, k: int | None = None, *, variant: str = "textbook"
) -> float:
    """TN / (TN + FP), or TN / (TN + FN) as `variant="serra"`."""
    return Specificity(k=k, size=size, variant=variant)(groups, ranking)


def fallout(groups: Groups, ranking: Ranking, size: int, k: int | None = None) -> float:
    """FP / (FP + TN)."""
    return Fallout(k=k, size=size)(groups, ranking)


def precision(groups: Groups, ranking: Ranking, k: int | None = None) -> float:
    """The relevant share of the list, or of its first k ranks.

    >>> precision([["a", "b"]], ["a", "x", "y", "b"], k=2)
    0.5
    """
    return Precision(k=k)(groups, ranking)


def recall(groups: Groups, ranking: Ranking, k: int | None = None) -> float:
    """The share of the relevant documents that is among the first k (all by default)."""
    return Recall(k=k)(groups, ranking)


def sensitivity(groups: Groups, ranking: Ranking, k: int | None = None) -> float:
    """Another name of recall."""
    return Sensitivity(k=k)(groups, ranking)


def f_measure(groups: Groups, ranking: Ranking, k: int | None = None, *, beta: float = 1.0) -> float:
    """The harmonic mean of precision and recall; a beta above 1 gives recall more weight."""
    return FMeasure(k=k, beta=beta)(groups, ranking)


def success(groups: Groups, ranking: Ranking, k: int = 1) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return Success(k=k)(groups, ranking)


def precision_at_n(groups: Groups, ranking: Ranking) -> float:
    """Precision at rank n, the number of relevant documents (PND of MIREX; R-precision)."""
    return PND()(groups, ranking)
