"""What every measure is computed from: where the relevant documents stand in the rankings of many queries.

A ranking of a thousand documents holds a few relevant ones, and no measure here looks at anything else. So rankings are
boiled down once to their hits, in flat arrays over all queries, and each measure is a few array operations on these.

Rules that hold for every measure (the papers leave them open):
  - a repeated id is a wasted rank: only its first place counts;
  - the query itself is taken out of its ranking, unless it is in a group of the truth;
  - a ranking shorter than the truth finds nothing at the missing ranks.

Shapes: Q queries, G groups of all queries one after the other, H hits ordered by query and rank.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Hits", "Ints", "Judged", "collect", "judged", "share"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NONRELEVANT = -1


@dataclass(frozen=True, slots=True)
class Judged:
    """The truth of one query, ready to look documents up: each judged id with its group, from 0 (-1: not relevant).

    `closed` means that nothing is unjudged: every document that is in no group counts as judged and not relevant.
    """

    group_of: dict[Hashable, int]
    sizes: tuple[int, ...]
    gains: tuple[float, ...]
    closed: bool

    @property
    def nonrelevant(self) -> int:
        """How many documents were judged not relevant; -1 where every other one was."""
        return -1 if self.closed else len(self.group_of) - sum(self.sizes)


@dataclass(frozen=True, slots=True)
class Hits:
    """Relevant documents in the rankings of Q queries. Ranks count from 1, groups of a query from 0."""

    depth: Ints  # (Q,) ranks in the ranking, without the query itself
    nonrelevant: Ints  # (Q,) documents judged not relevant; -1 where every document outside the groups was
    group_offset: Ints  # (Q + 1,) where the groups of a query begin in the next two
    group_size: Ints  # (G,)
    group_gain: Floats  # (G,)
    query: Ints  # (H,) which query, from 0
    rank: Ints  # (H,)
    group: Ints  # (H,) which group, as an index into group_size
    nonrelevant_before: Ints  # (H,) documents judged not relevant at smaller ranks
    nonrelevant_found: Ints  # (Q,) documents judged not relevant in the ranking

    def __len__(self) -> int:
        return len(self.depth)

    @property
    def relevant(self) -> Ints:
        """(Q,) How many documents are relevant: n of paper 000, R of others."""
        total = np.concatenate([[0], np.cumsum(self.group_size)])
        return np.asarray(total[self.group_offset[1:]] - total[self.group_offset[:-1]], dtype=np.int64)

    @property
    def group_start(self) -> Ints:
        """(G,) How many documents the groups before this one hold, in the same query."""
        total = np.concatenate([[0], np.cumsum(self.group_size)])
        first = np.repeat(self.group_offset[:-1], np.diff(self.group_offset))
        return np.asarray(total[:-1] - total[first], dtype=np.int64)

    def per_query(
        self, weights: npt.NDArray[np.floating] | None = None, keep: npt.NDArray[np.bool_] | None = None
    ) -> Floats:
        """(Q,) The sum of weights (one a hit; 1 by default) over the hits of each query."""
        query = self.query if keep is None else self.query[keep]
        if weights is not None and keep is not None:
            weights = weights[keep]
        return np.bincount(query, weights, minlength=len(self)).astype(np.float64)

    def order_in_query(self) -> Ints:
        """(H,) 1 for the first hit of a query, 2 for its second ..."""
        first = np.searchsorted(self.query, self.query)
        return np.asarray(np.arange(len(self.query)) - first + 1, dtype=np.int64)


def judged(
    groups: Sequence[Sequence[Hashable]],
    gains: Sequence[float] | None = None,
    nonrelevant: Iterable[Hashable] | None = None,
    query: Hashable | None = None,
) -> Judged:
    """Make the truth of one query ready. The groups must have been checked (`roslin.truth.qrel.check_groups`).

    A query that was judged not relevant to itself is left out: it is taken out of the ranking too.
    """
    group_of: dict[Hashable, int] = {id: number for number, group in enumerate(groups) for id in group}
    if nonrelevant is not None:
        for id in nonrelevant:
            if query is None or id != query:
                group_of.setdefault(id, NONRELEVANT)
    worth = tuple(map(float, gains)) if gains is not None else tuple(float(len(groups) - k) for k in range(len(groups)))
    return Judged(group_of, tuple(map(len, groups)), worth, nonrelevant is None)


def collect(truths: Sequence[Judged], places: Sequence[tuple[int, Ints, Ints]]) -> Hits:
    """Hits from (depth, ranks, groups) of each query: all judged documents that were found, in any order."""
    counts = [len(truth.sizes) for truth in truths]
    offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    query = np.repeat(np.arange(len(places)), [len(ranks) for _, ranks, _ in places])
    rank = np.concatenate([np.empty(0, np.int64), *(ranks for _, ranks, _ in places)])
    group = np.concatenate([np.empty(0, np.int64), *(groups for _, _, groups in places)])
    nonrelevant = np.array([truth.nonrelevant for truth in truths], dtype=np.int64)
    depth = np.array([depth for depth, _, _ in places], dtype=np.int64)
    return hits_from_places(
        depth,
        nonrelevant,
        offset,
        np.array([size for truth in truths for size in truth.sizes], dtype=np.int64),
        np.array([gain for truth in truths for gain in truth.gains], dtype=np.float64),
        query,
        rank,
        group,
    )


def hits_from_places(
    depth: Ints,
    nonrelevant: Ints,
    group_offset: Ints,
    group_size: Ints,
    group_gain: Floats,
    query: Ints,
    rank: Ints,
    group: Ints,
) -> Hits:
    """Hits from flat arrays of the judged documents found: ordered here by rank, and told from the not relevant."""
    span = int(rank.max(initial=0)) + 1
    order = np.argsort(query * span + rank, kind="stable")
    query, rank, group = query[order], rank[order], group[order]
    is_hit = group != NONRELEVANT
    bad_found = np.bincount(query[~is_hit], minlength=len(depth)).astype(np.int64)
    bad = np.cumsum(~is_hit)
    before_query = np.concatenate([[0], bad])[np.searchsorted(query, query)]
    counted = (bad - before_query)[is_hit]
    query, rank, group = query[is_hit], rank[is_hit], group[is_hit]
    hits = Hits(
        depth,
        nonrelevant,
        group_offset,
        group_size,
        group_gain,
        query,
        rank,
        group + group_offset[query],
        np.asarray(counted, dtype=np.int64),
        bad_found,
    )
    # Where nothing is unjudged, whatever is no hit is not relevant.
    closed = nonrelevant < 0
    every_other = rank - hits.order_in_query()
    hits.nonrelevant_before[closed[query]] = every_other[closed[query]]
    hits.nonrelevant_found[closed] = (depth - np.bincount(query, minlength=len(depth)))[closed]
    return hits


def share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)
