"""Measures of graded relevance: cumulated gain, expected reciprocal rank, rank-biased precision.

A document of group j is worth the gain of that group: by default the last group 1, the one before it 2, and so on. That
choice is arbitrary, and so is the discount; Typke et al. (2006), section 4 objects to both, and
docs/concepts/measures/relevance.md shows two lists that change places when the logarithm does.

Ties: DCG and RBP add up what each hit gives, so they add up E[discount(rank)] over the ranks that a hit may have
(McSherry & Najork 2008); the best possible list has no ties. For ERR let g(m) be the probability that the reader
continues after m places of a tie of n documents: the mean over all choices of m documents of the product of 1 -
satisfies. With h hits, i of them among the m,
  g(m) = sum_i C(h, i) C(n - h, m - i) / C(n, m) s_i,   s_i: the mean over all choices of i hits of that product
and the tie gives the sum over its places of (g(m - 1) - g(m)) / (t + m), times the probability of reaching it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.rankings import Groups, Hits, RankedIds, share
from roslin.types import Floats, Numbers
from roslin.values.parameters import choice, real, whole

_LARGEST_EXPONENT = 1_000


def _power(gain: Floats) -> Floats:
    """2^gain, where that is a number that a computer has."""
    if gain.max(initial=0) > _LARGEST_EXPONENT:
        raise ArgumentError(f"a gain of {gain.max():g} is too large for 2^gain; expected at most {_LARGEST_EXPONENT}")
    return np.exp2(gain)


_GAINS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda gain: gain,
    "exp": lambda gain: _power(gain) - 1.0,
    "binary": lambda gain: (gain > 0).astype(np.float64),
}


def _serra(rank: Numbers, base: float) -> Floats:  # noqa: ARG001
    """1, then 1 / ln(rank) without adding 1: rank 2 weighs more than rank 1, as in the printed table."""
    return np.where(rank == 1, 1.0, 1.0 / np.log(np.maximum(rank, 2)))


_DISCOUNTS: dict[str, Callable[[Numbers, float], Floats]] = {
    "log": lambda rank, base: np.log(base) / np.log(rank + 1.0),
    "jarvelin": lambda rank, base: 1.0 / np.maximum(1.0, np.log(rank) / np.log(base)),
    "serra": _serra,
}


@dataclass(frozen=True, repr=False)
class _Discounted(Measure):
    """gain: linear, exp (2^gain - 1) or binary. discount: log (1 / log(rank + 1)), jarvelin (1 up to the rank `base`,
    then 1 / log(rank)), both to `base`, or serra, which has its own."""

    exact_in_ties = True

    gain: str = choice("linear", *_GAINS)
    discount: str = choice("log", *_DISCOUNTS)
    base: float = real(2.0, above=1)
    k: int | None = whole(None)

    @property
    def monotone(self) -> bool:
        """Not where rank 2 weighs more than rank 1."""
        return self.discount != "serra"

    def collected(self, hits: Hits) -> Floats:
        """(Q,) Discounted gain of the list."""
        k = math.inf if self.k is None else self.k
        discount = hits.expected(lambda rank: np.where(rank <= k, _DISCOUNTS[self.discount](rank, self.base), 0.0))
        return hits.per_query(_GAINS[self.gain](hits.group_gain)[hits.group] * discount)

    def ideal(self, hits: Hits) -> Floats:
        """(Q,) Discounted gain of the best list: all relevant documents, most similar group first."""
        of_query = np.repeat(np.arange(len(hits)), hits.relevant)
        gain = np.repeat(_GAINS[self.gain](hits.group_gain), hits.group_size)
        start = np.cumsum(hits.relevant) - hits.relevant
        rank = np.arange(1, len(gain) + 1) - np.repeat(start, hits.relevant)
        worth = gain * _DISCOUNTS[self.discount](rank, self.base)
        if self.k is not None:
            worth = np.where(rank <= self.k, worth, 0.0)
        return np.bincount(of_query, worth, minlength=len(hits)).astype(np.float64)


@register
class DCG(_Discounted):
    """Discounted cumulated gain. `DCG(gain='binary', discount='serra')` is the row of Serrà (2007)."""

    name = "DCG"
    summary = "Discounted cumulated gain: what the list is worth, later ranks less."
    reference = "Järvelin & Kekäläinen 2002; Serrà 2007, Table 2"
    largest = math.inf
    _values = _Discounted.collected


@register
class NDCG(_Discounted):
    """DCG divided by that of the best possible list."""

    name = "nDCG"
    summary = "DCG as a share of the best possible list's."
    reference = "Järvelin & Kekäläinen 2002"

    def _values(self, hits: Hits) -> Floats:
        return share(self.collected(hits), self.ideal(hits))


@register
class ERR(Measure):
    """Expected reciprocal rank: a document of gain g satisfies with probability (2^g - 1) / 2^top.

    `top` is the largest gain of the scale; by default the largest in the truth of the query.
    """

    name = "ERR"
    summary = "Expected reciprocal rank of the document that satisfies."
    reference = "Chapelle et al. 2009"
    exact_in_ties = True

    top: float | None = real(None, above=0)
    k: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        of_query = np.repeat(np.arange(len(hits)), np.diff(hits.group_offset))
        top = np.zeros(len(hits))
        np.maximum.at(top, of_query, hits.group_gain)
        if self.top is not None:
            if top.max(initial=0) > self.top:
                raise ArgumentError(f"{self!r}: the truth has a gain of {top.max():g}, above the top")
            top[:] = self.top
        satisfies = (_power(hits.group_gain[hits.group]) - 1.0) / _power(top[hits.query])
        value = np.zeros(len(hits))
        going_on = np.ones(len(hits))
        k = math.inf if self.k is None else self.k
        if hits.has_ties:
            return _err_of_ties(hits, satisfies, k)
        order = hits.order_in_query()
        in_scope = hits.rank <= k
        for place in range(1, int(order.max(initial=0)) + 1):  # the j-th hits of all queries at once
            now = np.flatnonzero((order == place) & in_scope)
            query = hits.query[now]
            value[query] += going_on[query] * satisfies[now] / hits.rank[now]
            going_on[query] *= 1.0 - satisfies[now]
        return value


def _err_of_ties(hits: Hits, satisfies: Floats, k: float) -> Floats:
    """(Q,) ERR, tie by tie. A hit without ties is a tie of one."""
    value, going_on = np.zeros(len(hits)), np.ones(len(hits))
    edges = hits.tie_edges()
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        query, before, size = int(hits.query[first]), int(hits.before[first]), int(hits.tied[first])
        after = _going_on(size, 1.0 - satisfies[first:last])
        ranks = before + np.arange(1, size + 1)
        value[query] += going_on[query] * float((-np.diff(after) / ranks)[ranks <= k].sum())
        going_on[query] *= after[-1]
    return value


def _going_on(size: int, goes_on: Floats) -> Floats:
    """(size + 1,) The probability of going on after 0, 1, ... places of a tie, given that of each of its hits."""
    means = np.ones(1)  # the mean product over all choices of 0, 1, ... of the hits so far
    chance = np.zeros((size + 1, 1))  # that this many of these are among the first places
    chance[:, 0] = 1.0
    places = np.arange(size + 1)
    for number, each in enumerate(goes_on.tolist()):
        of = np.arange(number + 2) / (number + 1)
        means = np.append(means, 0.0) * (1 - of) + np.insert(means, 0, 0.0) * each * of
        # The next hit takes one of the places that the others leave.
        taken = (places[:, None] - np.arange(number + 1)) / (size - number)
        taken = np.clip(taken, 0.0, 1.0)
        chance = np.pad(chance * (1 - taken), ((0, 0), (0, 1))) + np.pad(chance * taken, ((0, 0), (1, 0)))
    return np.asarray(chance @ means, dtype=np.float64)


@register
class RBP(Measure):
    """Rank-biased precision: the reader continues to the next rank with probability p."""

    name = "RBP"
    summary = "Rank-biased precision: relevant ranks, each weighing p times the one before."
    reference = "Moffat & Zobel 2008"
    exact_in_ties = True

    p: float = real(0.8, above=0, below=1)
    k: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        k = math.inf if self.k is None else self.k
        return (1.0 - self.p) * hits.per_query(hits.expected(lambda rank: (rank <= k) * self.p ** (rank - 1.0)))


def dcg(
    groups: Groups,
    ranking: RankedIds,
    k: int | None = None,
    *,
    gains: Sequence[float] | None = None,
    gain: str = "linear",
    discount: str = "log",
    base: float = 2.0,
) -> float:
    """Discounted cumulated gain of one query. `gains` has the gain of a document of each group."""
    return DCG(gain=gain, discount=discount, base=base, k=k)(groups, ranking, gains=gains)


def ndcg(
    groups: Groups,
    ranking: RankedIds,
    k: int | None = None,
    *,
    gains: Sequence[float] | None = None,
    gain: str = "linear",
    discount: str = "log",
    base: float = 2.0,
) -> float:
    """DCG divided by that of the best possible list.

    >>> ndcg([["a"], ["b"]], ["a", "b", "x"])
    1.0
    """
    return NDCG(gain=gain, discount=discount, base=base, k=k)(groups, ranking, gains=gains)


def err(
    groups: Groups,
    ranking: RankedIds,
    k: int | None = None,
    *,
    gains: Sequence[float] | None = None,
    top: float | None = None,
) -> float:
    """Expected reciprocal rank of one query.

    >>> err([["a"]], ["x", "a"])
    0.25
    """
    return ERR(top=top, k=k)(groups, ranking, gains=gains)


def rbp(groups: Groups, ranking: RankedIds, k: int | None = None, *, p: float = 0.8) -> float:
    """Rank-biased precision of one query.

    >>> rbp([["a"]], ["x", "a"], p=0.5)
    0.25
    """
    return RBP(p=p, k=k)(groups, ranking)
