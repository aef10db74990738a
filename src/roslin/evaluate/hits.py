"""What every measure is computed from: where the relevant documents stand in the rankings of many queries.

A ranking of a thousand documents holds a few relevant ones, and no measure here looks at anything else. So rankings are
boiled down once to their hits, in flat arrays over all queries, and each measure is a few array operations on these.

Rules that hold for every measure (the papers leave them open):
  - a repeated id is a wasted rank: only its first place counts;
  - where the query is a document of the collection, it is taken out of its ranking, unless it is in a group of the
    truth (`roslin.evaluate.rankings.judge` is told);
  - a ranking shorter than the truth finds nothing at the missing ranks.

Ties. A hit may share its place with others: of `before` documents it is known that they come first, and among the
`tied` documents that follow, the hit itself one of them, every order is as likely as any other. A measure then gives
its expected value. A hit with a rank of its own has before = rank - 1 and tied = 1, so one formula does for both:
  P(rank <= k)    = (k - before) / tied, between 0 and 1                          `within`
  E[f(rank)]      = (f(before + 1) + ... + f(before + tied)) / tied               `expected`
Of n tied documents h are hits: the place x of the first of them, counted from the tie's own beginning, has
  P(x > i)        = (n - h)! (n - i)! / ((n - h - i)! n!)                         `none_within`

Shapes: Q queries, G groups of all queries one after the other, H hits ordered by query and rank, in a tie by group.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

__all__ = [
    "Floats",
    "Hits",
    "Ints",
    "Judged",
    "JudgedPlaces",
    "collect",
    "drawn",
    "in_extreme_order",
    "judged",
    "none_within",
    "share",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NONRELEVANT = -1
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Judged:
    """The truth of one query, ready to look documents up: each judged id with its group, from 0 (-1: not relevant).

    `closed` means that nothing is unjudged: every document that is in no group counts as judged and not relevant.
    `taken_out` is the id that is taken out of the ranking: that of the query, where it is a document of the collection
    and in no group.
    """

    group_of: dict[Hashable, int]
    sizes: tuple[int, ...]
    gains: tuple[float, ...]
    closed: bool
    taken_out: Hashable | None = None

    @property
    def nonrelevant(self) -> int:
        """How many documents were judged not relevant; -1 where every other one was."""
        return -1 if self.closed else len(self.group_of) - sum(self.sizes)


@dataclass(frozen=True, slots=True)
class JudgedPlaces:
    """Where the judged documents of one query were found, in any order."""

    depth: int
    rank: Ints
    group: Ints
    before: Ints  # documents before the tie that it stands in
    tied: Ints  # documents of that tie; 1 where it has a rank of its own


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
    nonrelevant_before: Ints  # (H,) documents judged not relevant at smaller ranks, without those of its own tie
    nonrelevant_found: Ints  # (Q,) documents judged not relevant in the ranking
    before: Ints  # (H,) documents before the tie of the hit
    tied: Ints  # (H,) documents of its tie: 1 where it has a rank of its own
    nonrelevant_tied: Ints  # (H,) documents judged not relevant in its tie

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

    # -- ties -------------------------------------------------------------------------------------------------------

    @property
    def has_ties(self) -> bool:
        """Whether the rank of any hit is open."""
        return bool(self.tied.max(initial=1) > 1)

    def within(self, k: int | Ints) -> Floats:
        """(H,) The probability that a hit stands among the first k; k is one number, or one a hit."""
        return np.clip((k - self.before) / self.tied, 0.0, 1.0)

    def expected(self, of_rank: Callable[[Ints], Floats]) -> Floats:
        """(H,) The mean of a function of the rank over all ranks that a hit may have."""
        values = np.asarray(of_rank(self.rank), dtype=np.float64)
        open = np.flatnonzero(self.tied > 1)
        if len(open):
            before, tied = self.before[open], self.tied[open]
            deepest = int((before + tied).max())
            total = np.concatenate([[0.0], np.cumsum(of_rank(np.arange(1, deepest + 1)))])
            values = values.copy()
            values[open] = (total[before + tied] - total[before]) / tied
        return values

    def tie_edges(self) -> Ints:
        """(T + 1,) Where the ties begin among the hits, those of one document too, and the number of hits."""
        if not len(self.query):
            return np.zeros(1, dtype=np.int64)
        is_new = (np.diff(self.query) != 0) | (np.diff(self.before) != 0)
        return np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(self.query)]]).astype(np.int64)

    def hits_before(self) -> Ints:
        """(H,) Hits of the same query before the tie of the hit."""
        edges = self.tie_edges()
        return np.repeat(self.order_in_query()[edges[:-1]] - 1, np.diff(edges))

    def hits_tied(self) -> Ints:
        """(H,) Hits in the tie of the hit, itself one of them."""
        sizes = np.diff(self.tie_edges())
        return np.repeat(sizes, sizes)


def none_within(size: int, hits: int, deepest: int) -> Floats:
    """(deepest + 1,) For 0, 1, ... places of a tie: the probability that none of its hits stands among them."""
    places = np.arange(min(deepest, size))
    chance = np.cumprod(np.maximum(size - hits - places, 0) / (size - places))
    return np.concatenate([[1.0], chance, np.zeros(max(deepest - size, 0))])


def drawn(hits: Hits, random: np.random.Generator) -> Hits:
    """The same hits with one order of every tie, drawn by chance; nothing is tied any more."""
    rank, worse = hits.rank.copy(), hits.nonrelevant_before.copy()
    edges = hits.tie_edges()
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if hits.tied[first] > 1:
            count, bad = last - first, int(hits.nonrelevant_tied[first])
            places = random.permutation(int(hits.tied[first]))[: count + bad]
            rank[first:last] = hits.before[first] + 1 + places[:count]
            worse[first:last] += (places[None, count:] < places[:count, None]).sum(axis=1)
    return _untied(hits, rank, worse)


def in_extreme_order(hits: Hits, *, best: bool) -> Hits:
    """The same hits with every tie in its best or worst order: groups, then what does not count, then not relevant."""
    edges = hits.tie_edges()
    place = np.arange(len(hits.rank)) - np.repeat(edges[:-1], np.diff(edges))
    if best:
        return _untied(hits, hits.before + 1 + place, hits.nonrelevant_before)
    return _untied(hits, hits.before + hits.tied - place, hits.nonrelevant_before + hits.nonrelevant_tied)


def _untied(hits: Hits, rank: Ints, worse: Ints) -> Hits:
    order = np.lexsort((rank, hits.query))
    rank = rank[order]
    return replace(
        hits,
        rank=rank,
        group=hits.group[order],
        nonrelevant_before=worse[order],
        before=rank - 1,
        tied=np.ones_like(rank),
        nonrelevant_tied=np.zeros_like(rank),
    )


def judged(
    groups: Sequence[Sequence[Hashable]],
    gains: Sequence[float] | None = None,
    nonrelevant: Iterable[Hashable] | None = None,
    query: Hashable | None = None,
) -> Judged:
    """Make the truth of one query ready. The groups must have been checked (`roslin.truth.qrel.check_groups`).

    `query` is its id where it is a document of the collection, and so taken out of the ranking. A query that was judged
    not relevant to itself is left out of the judgements too.
    """
    group_of: dict[Hashable, int] = {id: number for number, group in enumerate(groups) for id in group}
    if nonrelevant is not None:
        for id in nonrelevant:
            if query is None or id != query:
                group_of.setdefault(id, NONRELEVANT)
    worth = tuple(map(float, gains)) if gains is not None else tuple(float(len(groups) - k) for k in range(len(groups)))
    taken_out = None if query in group_of else query
    return Judged(group_of, tuple(map(len, groups)), worth, nonrelevant is None, taken_out)


def collect(truths: Sequence[Judged], places: Sequence[JudgedPlaces]) -> Hits:
    """Hits from the places of each query: all judged documents that were found, in any order."""
    counts = [len(truth.sizes) for truth in truths]
    offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = [len(each.rank) for each in places]
    query = np.repeat(np.arange(len(places)), found)
    flat = (
        np.concatenate([_NOTHING, *(getattr(each, name) for each in places)])
        for name in ("rank", "group", "before", "tied")
    )
    rank, group, before, tied = flat
    # By place; in a tie by group, so that nothing depends on the order in which the ranking happens to have it.
    order = np.lexsort((np.where(tied > 1, group, rank), before, query))
    query, rank, group, before, tied = (each[order] for each in (query, rank, group, before, tied))
    depth = np.array([each.depth for each in places], dtype=np.int64)
    is_hit = group != NONRELEVANT
    bad = np.concatenate([[0], np.cumsum(~is_hit)])
    key = query * (int(before.max(initial=0)) + 1) + before
    tie_first, tie_end = np.searchsorted(key, key), np.searchsorted(key, key, side="right")
    bad_before = bad[tie_first] - bad[np.searchsorted(query, query)]
    bad_tied = bad[tie_end] - bad[tie_first]
    bad_found = np.bincount(query[~is_hit], minlength=len(places))
    hits = Hits(
        depth,
        np.array([truth.nonrelevant for truth in truths], dtype=np.int64),
        offset,
        np.array([size for truth in truths for size in truth.sizes], dtype=np.int64),
        np.array([gain for truth in truths for gain in truth.gains], dtype=np.float64),
        query[is_hit],
        rank[is_hit],
        (group + offset[query])[is_hit],
        bad_before[is_hit].astype(np.int64),
        bad_found.astype(np.int64),
        before[is_hit],
        tied[is_hit],
        bad_tied[is_hit].astype(np.int64),
    )
    # Where nothing is unjudged, whatever is no hit is not relevant.
    closed = hits.nonrelevant < 0
    of_closed = closed[hits.query]
    hits.nonrelevant_before[of_closed] = (hits.before - hits.hits_before())[of_closed]
    hits.nonrelevant_tied[of_closed] = (hits.tied - hits.hits_tied())[of_closed]
    hits.nonrelevant_found[closed] = (depth - np.bincount(hits.query, minlength=len(places)))[closed]
    return hits


def share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)
