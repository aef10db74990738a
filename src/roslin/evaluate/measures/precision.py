"""Shares of what was found: precision, recall, F-measure, success (Serrà 2007, section 2 and Table 2).

None of them depends on the order of the groups or, apart from the cutoff k, of the ranks.

Ties: precision, recall, R-precision and F are straight lines in TP, F being (1 + beta^2) TP / (beta^2 R + k), so the
expected value is the value at E[TP] = sum over hits of P(rank <= k). Success is 1 - P(no hit among the first k): only a
tie around rank k without a hit before it leaves that open. With n documents in the tie, h of them hits, m of its places
among the first k: P = (n - h)! (n - m)! / ((n - h - m)! n!).
"""

from __future__ import annotations

import math

import numpy as np

from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.measures.counts import Counting
from roslin.evaluate.rankings import Groups, Hits, RankedIds, none_within, share
from roslin.types import Floats, Numbers
from roslin.values.parameters import choice, real, whole


@register
class Precision(Counting):
    """P is the relevant share of the list; P@k divides by k even when the list is shorter, as trec_eval does."""

    name = "P"
    summary = "Precision: the relevant share of the list, or of its first k ranks."

    def _values(self, hits: Hits) -> Floats:
        whole = self.seen(hits) if self.k is None else np.full(len(hits), float(self.k))
        return share(self.found(hits), whole)


@register
class Recall(Counting):
    """TP / (TP + FN)."""

    name = "R"
    summary = "Recall: the share of the relevant documents that was found."

    def _values(self, hits: Hits) -> Floats:
        return share(self.found(hits), hits.relevant.astype(np.float64))


@register
class Sensitivity(Recall):
    """The name of recall among those who classify."""

    name = "Sensitivity"
    summary = "Sensitivity: another name of recall."


@register
class FMeasure(Counting):
    """(1 + beta^2) P R / (beta^2 P + R), and 0 where nothing was found."""

    name = "F"
    summary = "F-measure: the harmonic mean of precision and recall."

    beta: float = real(1.0, above=0)

    def _values(self, hits: Hits) -> Floats:
        p, r = Precision(k=self.k)._values(hits), Recall(k=self.k)._values(hits)
        square = self.beta**2
        return share((1 + square) * p * r, square * p + r)


@register
class Success(Measure):
    """1 where at least one of the first k documents is relevant."""

    name = "Success"
    summary = "1 if a relevant document is among the first k, else 0."
    reference = "trec_eval, success"
    exact_in_ties = True

    k: int | None = whole(1, optional=True)

    def _values(self, hits: Hits) -> Floats:
        found = np.minimum(hits.per_query(), 1.0)
        if self.k is None:
            return found
        first = hits.order_in_query() == 1
        sizes = zip(hits.tied[first], hits.hits_tied()[first], self.k - hits.before[first], strict=True)
        found[hits.query[first]] = [1.0 - _none(int(n), int(h), int(m)) for n, h, m in sizes]
        return found


def _none(size: int, hits: int, places: int) -> float:
    """The probability that none of the first `places` of a tie is a hit."""
    return float(none_within(size, hits, min(places, size))[-1]) if places > 0 else 1.0


@register
class PND(Measure):
    """Precision at rank n, the number of relevant documents: R-precision, where precision and recall are equal."""

    name = "PND"
    also = ("Rprec",)
    summary = "Precision at n documents, n being the size of the truth (R-precision)."
    reference = "MIREX 2005, symbolic melodic similarity"
    exact_in_ties = True

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
    """The harmonic mean of precision and recall. A beta above 1 gives recall more weight."""
    return FMeasure(k=k, beta=beta)(groups, ranking)


def success(groups: Groups, ranking: RankedIds, k: int = 1) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return Success(k=k)(groups, ranking)


def precision_at_n(groups: Groups, ranking: RankedIds) -> float:
    """Precision at rank n, the number of relevant documents (PND of MIREX; R-precision)."""
    return PND()(groups, ranking)


# -- ranks -------------------------------------------------------------------------------------------------------------
#
# Measures from precision along the list: average precision, reciprocal rank, the break-even point.
#
# Serrà (2007) prints rows under these names that are not the textbook's; the definitions that give its numbers were
# recovered from the numbers, and are the variants called "serra".
#
# Ties, with t documents and p hits before a tie of n documents, h of them hits:
#   AP   McSherry & Najork 2008: a hit is at each place x = 1 ... n with probability 1/n, and each of the x - 1 places
#        before it holds another hit with probability (h - 1) / (n - 1), so that it gives
#          1/n sum_x (p + 1 + (x - 1) (h - 1) / (n - 1)) / (t + x)           over the ranks t + x that count
#        For the mean over the hits in scope (`serra` with k), j of the h hits fall on the m places of the tie that are
#        in scope with probability C(m, j) C(n - m, h - j) / C(n, h); the sum is that of a tie of m documents and j
#        hits.
#   RR   the first hit is at place x with probability C(n - x, h - 1) / C(n, h): sum_x P(x) / (t + x)
#   the sum of 1 / rank over all hits is the sum of its expected parts; R-precision as in `precision`.
#   The break-even point on a grid has no formula.


_GRID = np.linspace(0.0, 1.0, 11)


@register
class AP(Measure):
    """Sum of the precision at each hit, divided by all relevant documents; `serra` divides by those that were found."""

    name = "AP"
    also = ("MAP",)
    summary = "Average precision: precision at each relevant document; its mean over queries is MAP."
    reference = "trec_eval, map; Serrà 2007, Table 2"
    exact_in_ties = True

    variant: str = choice("trec", "trec", "serra")
    k: int | None = whole(None)

    @property
    def monotone(self) -> bool:
        """Not for a mean over the hits in scope alone: one that leaves the scope can raise it."""
        return self.variant == "trec" or self.k is None

    def _values(self, hits: Hits) -> Floats:
        k = math.inf if self.k is None else self.k
        first, among = hits.hits_before() + 1, hits.hits_tied() - 1
        density = among / np.maximum(hits.tied - 1, 1)  # of other hits, at the places before a hit in its tie
        begin = first - density * (hits.before + 1)
        parts = begin * hits.expected(lambda rank: (rank <= k) / rank) + density * hits.within(_whole(k, hits))
        total = hits.per_query(parts)
        if self.variant == "trec":
            return share(total, hits.relevant.astype(np.float64))
        mean = share(total, hits.per_query(hits.within(_whole(k, hits))))
        across = np.flatnonzero((hits.before < k) & (hits.before + hits.tied > k))
        for query in np.unique(hits.query[across]):
            mean[query] = _mean_in_scope(hits, int(query), int(k), parts)
        return mean


def _whole(k: float, hits: Hits) -> int:
    """A cutoff that is a number of ranks: all of them, where there is none."""
    return int(hits.depth.max(initial=0)) if k == math.inf else int(k)


def _mean_in_scope(hits: Hits, query: int, k: int, parts: Floats) -> float:
    """The mean of the precision at the hits among the first k, where rank k is in a tie that has some."""
    own = hits.query == query
    inside = own & (hits.before + hits.tied <= k)
    at = int(np.flatnonzero(own & (hits.before < k) & ~inside)[0])
    t, n, h = int(hits.before[at]), int(hits.tied[at]), int(hits.hits_tied()[at])
    m, p = k - t, int(hits.hits_before()[at])
    places = np.arange(1, m + 1)
    value = 0.0
    for j in range(max(0, h - (n - m)), min(h, m) + 1):
        if p + j:
            chance = math.comb(m, j) * math.comb(n - m, h - j) / math.comb(n, h)
            each = (p + 1 + (places - 1) * (j - 1) / max(m - 1, 1)) / (t + places)
            value += chance * (float(parts[inside].sum()) + j * float(each.mean())) / (p + j)
    return value


@register
class RR(Measure):
    """1 / rank of the first hit; `serra` is the sum of 1 / rank over all hits, divided by the length of the list."""

    name = "RR"
    also = ("MRR",)
    summary = "Reciprocal rank of the first relevant document; its mean over queries is MRR."
    reference = "trec_eval, recip_rank; Serrà 2007, Table 2"
    exact_in_ties = True

    variant: str = choice("first", "first", "serra")
    k: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        k = math.inf if self.k is None else self.k
        if self.variant == "first":
            return hits.per_query(_first_reciprocal(hits, k), hits.order_in_query() == 1)
        length = hits.depth if self.k is None else np.minimum(hits.depth, self.k)
        return share(hits.per_query(hits.expected(lambda rank: (rank <= k) / rank)), length.astype(np.float64))


def _first_reciprocal(hits: Hits, k: float) -> Floats:
    """(H,) 1 / rank of the first hit of a tie if that is not beyond k, or what is to be expected of it."""
    values = np.where(hits.rank <= k, 1.0 / hits.rank, 0.0)
    for at in np.flatnonzero((hits.tied > 1) & (hits.order_in_query() == 1)):
        tied, before = int(hits.tied[at]), int(hits.before[at])
        ranks = before + np.arange(1, tied + 1)
        chance = -np.diff(none_within(tied, int(hits.hits_tied()[at]), tied))
        values[at] = float((chance / ranks)[ranks <= k].sum())
    return values


@register
class BreakEven(Measure):
    """Where precision equals recall: at rank R, so the textbook's value is R-precision.

    `serra` is a reading that gives all six printed values of Serrà (2007), found among fifty: compatible, not proven.
    The points (j / R, precision at the j-th hit) are joined by straight lines, level before the first, falling to (1,
    0) after the last. The value is the first recall of 0, 0.1, ... 1 at which precision is below recall.
    """

    name = "BreakEven"
    summary = "The break-even point of precision and recall."
    reference = "Serrà 2007, Table 2"

    variant: str = choice("textbook", "textbook", "serra")

    @property
    def monotone(self) -> bool:
        """Not on a grid of recalls."""
        return self.variant == "textbook"

    @property
    def exact_in_ties(self) -> bool:
        return self.variant == "textbook"

    def _values(self, hits: Hits) -> Floats:
        if self.variant == "textbook":
            return PND()._values(hits)
        first = np.searchsorted(hits.query, np.arange(len(hits) + 1))
        ranks = (hits.rank[first[q] : first[q + 1]] for q in range(len(hits)))
        return np.array([_grid_break_even(each, int(n)) for each, n in zip(ranks, hits.relevant, strict=True)])


def _grid_break_even(ranks: Numbers, relevant: int) -> float:
    order = np.arange(1, len(ranks) + 1)
    recall = np.concatenate([order / max(relevant, 1), [1.0]])
    precision = np.concatenate([order / ranks, [0.0]])
    if len(ranks) == relevant:  # the last point already has recall 1
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
