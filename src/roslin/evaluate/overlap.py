"""How far a list agrees with the truth as another list: average overlap, rank-biased overlap, compatibility.

The truth has ties: the documents of a group share a place. A document of a group that fills places t to b counts at
depth d, on average over all orders of the group, as min(1, (d - t + 1) / (b - t + 1)) once d >= t (Corsi & Urbano 2024,
the form they call a). The list has no ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.adr import ADR
from roslin.evaluate.base import Measure, one_of, register
from roslin.evaluate.hits import Floats, Hits, Ints, share
from roslin.evaluate.rankings import Groups, Ranking

__all__ = [
    "AO",
    "RBO",
    "Compatibility",
    "average_overlap",
    "compatibility",
    "rank_biased_overlap",
]


def _shared(rank: Ints, first: Ints, last: Ints, depth: int) -> Floats:
    """(depth,) How many documents the first 1, 2, ... places of list and truth share, on average over the ties."""
    places = np.arange(1, depth + 1)
    in_truth = np.clip((places - first[:, None] + 1) / (last - first + 1)[:, None], 0.0, 1.0)
    return np.asarray((in_truth * (places >= rank[:, None])).sum(axis=0), dtype=np.float64)


def _each(hits: Hits) -> Iterator[tuple[int, Ints, Ints, Ints, Ints]]:
    """For each query: its number, and of its hits the rank and the first and last place of their group; group sizes."""
    start = hits.group_start
    edges = np.searchsorted(hits.query, np.arange(len(hits) + 1))
    for query in range(len(hits)):
        own = slice(edges[query], edges[query + 1])
        group = hits.group[own]
        sizes = hits.group_size[hits.group_offset[query] : hits.group_offset[query + 1]]
        yield query, hits.rank[own], start[group] + 1, start[group] + hits.group_size[group], sizes


@register
@dataclass(frozen=True, repr=False)
class AO(Measure):
    """Mean over depths 1 ... n (or k) of the share that the two lists have in common.

    ties: `a` averages over all orders of a group; `b` divides by the root of what each list shares with itself,
    so that a tie met by nothing costs something; `w` lets a whole group in where it begins.
    """

    name: ClassVar[str] = "AO"
    summary: ClassVar[str] = "Average overlap of the list with the truth, as lists with ties."
    reference: ClassVar[str] = "Fagin et al. 2003; Corsi & Urbano 2024"

    ties: str = "a"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "ties", ("a", "b", "w"))

    @property
    def monotone(self) -> bool:
        """Only where each document has its own weight."""
        return self.ties == "a"

    def _values(self, hits: Hits) -> Floats:
        limits = ADR(k=self.k).limits(hits)
        result = np.zeros(len(hits))
        for query, rank, first, last, sizes in _each(hits):
            depth = int(limits[query])
            if depth:
                result[query] = _AGREEMENT[self.ties](rank, first, last, sizes, depth).mean()
        return result


def _average(rank: Ints, first: Ints, last: Ints, sizes: Ints, depth: int) -> Floats:  # noqa: ARG001
    return _shared(rank, first, last, depth) / np.arange(1, depth + 1)


def _with_itself(rank: Ints, first: Ints, last: Ints, sizes: Ints, depth: int) -> Floats:
    places = np.arange(1, depth + 1)
    ends = np.cumsum(sizes)
    weight = np.clip((places - (ends - sizes)[:, None]) / sizes[:, None], 0.0, 1.0)
    own = np.sqrt((sizes[:, None] * weight**2).sum(axis=0))
    return np.asarray(_shared(rank, first, last, depth) / (own * np.sqrt(places)), dtype=np.float64)


def _whole_groups(rank: Ints, first: Ints, last: Ints, sizes: Ints, depth: int) -> Floats:  # noqa: ARG001
    places = np.arange(1, depth + 1)
    ends = np.cumsum(sizes)
    in_truth = (sizes[:, None] * (places > (ends - sizes)[:, None])).sum(axis=0)
    shared = ((places >= first[:, None]) & (places >= rank[:, None])).sum(axis=0)
    return np.asarray(2.0 * shared / (in_truth + places), dtype=np.float64)


_AGREEMENT = {"a": _average, "b": _with_itself, "w": _whole_groups}


@register
@dataclass(frozen=True, repr=False)
class RBO(Measure):
    """Rank-biased overlap, extrapolated beyond the ends of both lists (Webber et al. 2010, equation 32)."""

    name: ClassVar[str] = "RBO"
    summary: ClassVar[str] = "Rank-biased overlap of the list with the truth, extrapolated."
    reference: ClassVar[str] = "Webber, Moffat & Zobel 2010; Corsi & Urbano 2024"

    p: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise ArgumentError(f"RBO: p must lie between 0 and 1; got {self.p!r}")

    @property
    def monotone(self) -> bool:
        """Not proven for the extrapolated part."""
        return False

    def _values(self, hits: Hits) -> Floats:
        relevant = hits.relevant
        result = np.zeros(len(hits))
        for query, rank, first, last, _ in _each(hits):
            short, long = sorted((int(relevant[query]), int(hits.depth[query])))
            if short:
                result[query] = _extrapolated(_shared(rank, first, last, long), short, self.p)
        return result


def _extrapolated(shared: Floats, short: int, p: float) -> float:
    long = len(shared)
    places = np.arange(1, long + 1)
    at_short, at_long = shared[short - 1], shared[-1]
    weights = p**places
    head = float((shared / places * weights).sum())
    beyond = places[short:]
    tail = float((at_short * (beyond - short) / (short * beyond) * weights[short:]).sum())
    last = (at_long - at_short) / long + at_short / short
    return float((1 - p) / p * (head + tail) + last * p**long)


@register
@dataclass(frozen=True, repr=False)
class Compatibility(Measure):
    """The largest rank-biased overlap with any list that keeps the order of the groups, over the largest possible."""

    name: ClassVar[str] = "Compat"
    summary: ClassVar[str] = "Compatibility: rank-biased overlap with the nearest ideal list."
    reference: ClassVar[str] = "Clarke, Vtyurina & Smucker 2021"

    p: float = 0.95
    normalise: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise ArgumentError(f"Compat: p must lie between 0 and 1; got {self.p!r}")

    @property
    def monotone(self) -> bool:
        """Not proven: the ideal list changes with the list."""
        return False

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
        both = np.maximum(hits.rank, hits.group_start[hits.group] + in_group + 1)
        score = hits.per_query(weight[depth[hits.query]] - weight[both - 1])
        if not self.normalise:
            return np.asarray(score * (1 - self.p) / np.maximum(1 - self.p**depth, 1e-300), dtype=np.float64)
        # An ideal list shares min(d, R) documents with itself at depth d.
        powers = np.concatenate([[0.0], np.cumsum(self.p ** (places - 1.0))])
        ideal = powers[relevant] + relevant * (weight[depth] - weight[relevant])
        return share(score, ideal.astype(np.float64))


def average_overlap(groups: Groups, ranking: Ranking, k: int | None = None, *, ties: str = "a") -> float:
    """Average overlap of one list with the truth.

    >>> average_overlap([[1], [2, 3]], [2, 3, 1])
    0.5
    """
    return AO(ties=ties, k=k)(groups, ranking)


def rank_biased_overlap(groups: Groups, ranking: Ranking, *, p: float = 0.9) -> float:
    """Rank-biased overlap of one list with the truth; groups of one document each compare two plain lists.

    >>> rank_biased_overlap([["a"], ["b"], ["c"]], ["a", "b", "c"])
    1.0
    """
    return RBO(p=p)(groups, ranking)


def compatibility(groups: Groups, ranking: Ranking, *, p: float = 0.95) -> float:
    """Compatibility of one list with the truth.

    >>> compatibility([["a", "b"], ["c"]], ["b", "a", "c", "x"])
    1.0
    """
    return Compatibility(p=p)(groups, ranking)
