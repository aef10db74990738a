"""How far a list agrees with the truth as another list: average overlap, rank-biased overlap, compatibility.

The truth has ties: the documents of a group share a place. The list has none. Corsi & Urbano 2024 give three views:

  a   the order is not known: a document of a group that fills places t to b counts min(1, (d - t + 1) / (b - t + 1))
      at depth d >= t, which is the mean over all orders of the group
  b   the same, divided by the root of what each list shares with itself, so that a list with ties agrees with itself
  w   the documents are equal: the whole group is in at depth t, and agreement is 2 X / (documents in truth and list)

Where the list has ties too, values are expected ones over the orders of these. The overlap at depth d is a sum over
hits of their weight times P(rank <= d), and AO and RBO are straight lines in it. Compatibility adds up a function of
the j-th hit of each group: of h hits of a group in a tie of n documents, the j-th is at place x with probability C(x -
1, j - 1) C(n - x, h - j) / C(n, h).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from roslin.evaluate.measures.adr import ADR
from roslin.evaluate.measures.base import Measure, register
from roslin.evaluate.rankings import Groups, Hits, RankedIds, share
from roslin.types import Floats, Numbers
from roslin.values.parameters import choice, flag, real, whole

_TIES = ("a", "b", "w")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A list and the truth of its query, as two lists: the second has groups."""

    before: Numbers  # (hits,) places in the list: documents before the tie of the hit, and in it
    tied: Numbers  # (hits,)
    group: Numbers  # (hits,) groups in the truth, from 0
    sizes: Numbers  # (groups,)
    length: int  # of the list

    def weights(self, ties: str, depth: int) -> Floats:
        """(groups, depth) What a document of each group counts among the first 1, 2, ... places of the truth."""
        before = (np.cumsum(self.sizes) - self.sizes)[:, None]
        due = np.arange(1, depth + 1) - before
        if ties == "w":
            return (due > 0).astype(np.float64)
        return np.clip(due / self.sizes[:, None], 0.0, 1.0)

    def shared(self, weights: Floats) -> Floats:
        """(depth,) What list and truth have in common among their first 1, 2, ... places."""
        depth = np.arange(1, weights.shape[1] + 1)
        seen = np.clip((depth - self.before[:, None]) / self.tied[:, None], 0.0, 1.0)
        return np.asarray((weights[self.group] * seen).sum(axis=0), dtype=np.float64)

    def scale(self, ties: str, weights: Floats) -> Floats:
        """(depth,) What they could have in common: divided by it, what they share becomes agreement."""
        places = np.arange(1.0, weights.shape[1] + 1)
        if ties == "w":
            return np.asarray((self.sizes @ weights + places) / 2, dtype=np.float64)
        if ties == "b":
            return np.sqrt((self.sizes @ weights**2) * places)
        return places


def _pairs(hits: Hits) -> Iterator[_Pair]:
    edges = np.searchsorted(hits.query, np.arange(len(hits) + 1))
    for query in range(len(hits)):
        own = slice(edges[query], edges[query + 1])
        first, last = hits.group_offset[query], hits.group_offset[query + 1]
        groups, sizes = hits.group[own] - first, hits.group_size[first:last]
        yield _Pair(hits.before[own], hits.tied[own], groups, sizes, int(hits.depth[query]))


@register
class AO(Measure):
    """Mean over depths 1 ... n (or k) of the agreement of the two lists."""

    name = "AO"
    summary = "Average overlap of the list with the truth, as lists with ties."
    reference = "Fagin et al. 2003; Corsi & Urbano 2024"
    exact_in_ties = True

    ties: str = choice("a", *_TIES)
    k: int | None = whole(None)

    @property
    def monotone(self) -> bool:
        """Only where each document has its own weight."""
        return self.ties == "a"

    def _values(self, hits: Hits) -> Floats:
        result = np.zeros(len(hits))
        for query, (pair, depth) in enumerate(zip(_pairs(hits), ADR(k=self.k).limits(hits), strict=True)):
            if depth:
                weights = pair.weights(self.ties, int(depth))
                result[query] = (pair.shared(weights) / pair.scale(self.ties, weights)).mean()
        return result


@register
class RBO(Measure):
    """Rank-biased overlap, extrapolated beyond the ends of both lists (Webber et al. 2010, equation 32)."""

    name = "RBO"
    summary = "Rank-biased overlap of the list with the truth, extrapolated."
    reference = "Webber, Moffat & Zobel 2010; Corsi & Urbano 2024"
    monotone = False  # not proven for the extrapolated part
    exact_in_ties = True

    p: float = real(0.9, above=0, below=1)
    ties: str = choice("a", *_TIES)

    def _values(self, hits: Hits) -> Floats:
        return np.array([_extrapolated(pair, self.ties, self.p) for pair in _pairs(hits)])


def _extrapolated(pair: _Pair, ties: str, p: float) -> float:
    """Webber's sum. Of what the shorter list does not show, as much agrees as of what it shows."""
    relevant = int(pair.sizes.sum())
    short, long = sorted((relevant, pair.length))
    if not short:
        return 0.0
    places = np.arange(1.0, long + 1)
    weights = pair.weights(ties, long)
    shared, scale = pair.shared(weights), pair.scale(ties, weights)
    beyond = slice(short, long)
    if relevant == short:  # what follows the truth has no ties
        scale[beyond] = places[beyond]
    at_end = shared[short - 1] / scale[short - 1]
    unseen = np.ones(long - short)
    if ties != "a" and relevant == long:  # a document of the truth that the list lacks may count in part
        lacking = (pair.sizes - np.bincount(pair.group, minlength=len(pair.sizes)))[:, None] * (weights[:, beyond] > 0)
        unseen = (lacking * weights[:, beyond]).sum(axis=0) / np.maximum(lacking.sum(axis=0), 1)
    assumed = shared.copy()
    assumed[beyond] += at_end * (places[beyond] - short) * unseen
    head = float((assumed / scale * p ** (places - 1)).sum())
    last = (shared[-1] + at_end * (long - short)) / long
    return float((1 - p) * head + last * p**long)


@register
class Compatibility(Measure):
    """The largest rank-biased overlap with any list that keeps the order of the groups, over the largest possible."""

    name = "Compat"
    summary = "Compatibility: rank-biased overlap with the nearest ideal list."
    reference = "Clarke, Vtyurina & Smucker 2021"
    monotone = False  # not proven: the ideal list changes with the list
    exact_in_ties = True

    p: float = real(0.95, above=0, below=1)
    normalise: bool = flag(True)

    def _values(self, hits: Hits) -> Floats:
        relevant = hits.relevant
        depth = np.maximum(hits.depth, relevant)
        deepest = int(depth.max(initial=0))
        places = np.arange(1, deepest + 1)
        weight = np.concatenate([[0.0], np.cumsum(self.p ** (places - 1.0) / places)])
        # The nearest ideal list has each group's documents in the order of the list.
        order = np.lexsort((hits.rank, hits.group))
        in_group = np.empty(len(order), dtype=np.int64)
        in_group[order] = np.arange(len(order)) - np.searchsorted(hits.group[order], hits.group[order])
        due = hits.group_start[hits.group] + in_group + 1
        both = np.maximum(hits.rank, due)
        worth = weight[depth[hits.query]] - weight[both - 1]
        for at in np.flatnonzero(hits.tied > 1):
            ranks, chance = _places_in_tie(hits, int(at), order)
            worth[at] = weight[depth[hits.query[at]]] - float(chance @ weight[np.maximum(ranks, due[at]) - 1])
        score = hits.per_query(worth)
        if not self.normalise:
            return np.asarray(score * (1 - self.p) / np.maximum(1 - self.p**depth, 1e-300), dtype=np.float64)
        # An ideal list shares min(d, R) documents with itself at depth d.
        powers = np.concatenate([[0.0], np.cumsum(self.p ** (places - 1.0))])
        ideal = powers[relevant] + relevant * (weight[depth] - weight[relevant])
        return share(score, ideal.astype(np.float64))


def _places_in_tie(hits: Hits, at: int, order: Numbers) -> tuple[Numbers, Floats]:
    """The ranks that a tied hit may have as the j-th of its group there, and the probability of each."""
    alike = order[(hits.group[order] == hits.group[at]) & (hits.before[order] == hits.before[at])]
    j, h, n = int(np.flatnonzero(alike == at)[0]) + 1, len(alike), int(hits.tied[at])
    ways = [math.comb(x - 1, j - 1) * math.comb(n - x, h - j) / math.comb(n, h) for x in range(1, n + 1)]
    return hits.before[at] + np.arange(1, n + 1), np.array(ways)


def average_overlap(groups: Groups, ranking: RankedIds, k: int | None = None, *, ties: str = "a") -> float:
    """Average overlap of one list with the truth.

    >>> average_overlap([[1], [2, 3]], [2, 3, 1])
    0.5
    """
    return AO(ties=ties, k=k)(groups, ranking)


def rank_biased_overlap(groups: Groups, ranking: RankedIds, *, p: float = 0.9, ties: str = "a") -> float:
    """Rank-biased overlap of one list with the truth. With groups of one document, it compares two plain lists.

    >>> rank_biased_overlap([["a"], ["b"], ["c"]], ["a", "b", "c"])
    1.0
    """
    return RBO(p=p, ties=ties)(groups, ranking)


def compatibility(groups: Groups, ranking: RankedIds, *, p: float = 0.95) -> float:
    """Compatibility of one list with the truth.

    >>> compatibility([["a", "b"], ["c"]], ["b", "a", "c", "x"])
    1.0
    """
    return Compatibility(p=p)(groups, ranking)
