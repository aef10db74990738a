"""Binary preference (Serrà 2007, equation 1): how many documents judged not relevant precede each relevant one.

Documents without a judgement do not change the value. R relevant documents, N judged not relevant, n of these before a
hit:

  bpref       1/R sum (1 - min(n, R) / min(R, N))         trec: trec_eval 8 and later
              1/R sum (1 - min(n, R) / R)                 2004: the text of Buckley and Voorhees
              1/R sum (1 - n / R)                         serra: not capped, so it can be negative
              1/R sum (1 - min(n, m) / m), m = min(R, N in the list)   old: trec_eval before 8
  bpref_10    the same with 10 + R in place of R
  bpref_star  1/R sum (1 - n / (A + R))                   A: length of the list

Ties: of the m documents judged not relevant in the tie of a hit, 0, 1, ... m precede it, each number with the
same probability. So n is b + u, with b before the tie and u even on 0 ... m: E[n] = b + m / 2, and capped at c
  E[min(n, c)] = (j b + j (j - 1) / 2 + (m + 1 - j) c) / (m + 1),   j = min(max(c - b, 0), m + 1)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.rankings import Groups, Hits, RankedIds
from roslin.types import Floats, Numbers
from roslin.values.parameters import choice, whole

_VARIANTS = ("trec", "2004", "serra", "old")


@dataclass(frozen=True, repr=False)
class _Capped(Measure):
    """The forms that differ in what they divide by; `added` is 0 or 10."""

    added: ClassVar[int] = 0
    exact_in_ties = True

    variant: str = choice("trec", *_VARIANTS)

    def _values(self, hits: Hits) -> Floats:
        scale = hits.relevant + self.added
        others = {
            "trec": np.where(hits.nonrelevant < 0, scale, hits.nonrelevant),
            "old": hits.nonrelevant_found,
        }.get(self.variant, scale)
        divisor = np.maximum(np.minimum(scale, others), 1)[hits.query]
        if self.variant == "serra":
            before = _before(hits)
        else:
            before = _capped(hits, divisor if self.variant == "old" else scale[hits.query])
        return hits.per_query(1.0 - before / divisor) / np.maximum(hits.relevant, 1)


def _before(hits: Hits) -> Floats:
    """(H,) Documents judged not relevant before each hit, or how many are to be expected."""
    return hits.nonrelevant_before + hits.nonrelevant_tied / 2


def _capped(hits: Hits, most: Numbers) -> Floats:
    """(H,) The same, where no more than `most` count."""
    begin, among = hits.nonrelevant_before, hits.nonrelevant_tied
    below = np.clip(most - begin, 0, among + 1)
    total = below * begin + below * (below - 1) / 2 + (among + 1 - below) * most
    return np.asarray(total / (among + 1), dtype=np.float64)


@register
class Bpref(_Capped):
    """Binary preference, by default as trec_eval computes it."""

    name = "bpref"
    summary = "Binary preference: relevant documents before those judged not relevant."
    reference = "Buckley & Voorhees 2004; Serrà 2007, Table 2"


@register
class Bpref10(_Capped):
    """For queries with very few relevant documents: the scale is at least ten."""

    name = "bpref_10"
    also = ("bpref-10",)
    summary = "bpref-10: binary preference with 10 + R in place of R."
    reference = "Buckley & Voorhees 2004; Serrà 2007, Table 2"
    added: ClassVar[int] = 10

    variant: str = choice("2004", *_VARIANTS)


@register
class BprefStar(Measure):
    """bpref* of Serrà (2007). `length` is the A of the paper where lists may be shorter than asked for."""

    name = "bpref_star"
    also = ("bpref*",)
    summary = "bpref*: binary preference with the length of the list added to R."
    reference = "Serrà 2007, equation 1"
    exact_in_ties = True

    length: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        length = hits.depth if self.length is None else np.full(len(hits), self.length)
        scale = (length + hits.relevant)[hits.query]
        return hits.per_query(1.0 - _before(hits) / scale) / np.maximum(hits.relevant, 1)


def bpref(
    groups: Groups, ranking: RankedIds, *, nonrelevant: Iterable[Hashable] | None = None, variant: str = "trec"
) -> float:
    """Binary preference. `nonrelevant`: documents judged not relevant (None: every document in no group).

    >>> bpref([["r1", "r2"]], ["r1", "n", "r2", "unknown"], nonrelevant=["n", "m"])
    0.75
    """
    return Bpref(variant=variant)(groups, ranking, nonrelevant=nonrelevant)


def bpref_10(
    groups: Groups, ranking: RankedIds, *, nonrelevant: Iterable[Hashable] | None = None, variant: str = "2004"
) -> float:
    """bpref-10: binary preference with 10 + R in place of R."""
    return Bpref10(variant=variant)(groups, ranking, nonrelevant=nonrelevant)


def bpref_star(
    groups: Groups, ranking: RankedIds, *, nonrelevant: Iterable[Hashable] | None = None, length: int | None = None
) -> float:
    """bpref* of Serrà (2007), equation 1.

    >>> bpref_star([["r1", "r2"]], ["r1", "n", "r2", "m"])
    0.9166666666666667
    """
    return BprefStar(length=length)(groups, ranking, nonrelevant=nonrelevant)
