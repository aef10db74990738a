"""Hits of rankings: from lists of ids, from {id: score}, and from runs.

The rank of a document is the number of larger scores plus one, and only judged documents are looked up, so rankings are
rarely sorted. In lists and {id: score}, tied scores keep the order of the input. For runs there are three rules
(`TIES`):
  expected  tied documents may be in any order, and a measure gives its mean over all orders
  given     in the order of the run
  trec      as trec_eval sorts them: scores as numbers of 32 bits, of equal ones the larger id first

A document with the id of its query is the query itself only where queries are documents of the collection. Only the
user knows that, so there are two rules (`SAME_ID`): drop takes it out of the ranking, unless it is in a group of the
truth; keep leaves it, as any other document.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.run import Ranking, Run
from roslin.truth.model import Truth
from roslin.types import Floats, Numbers

TIES = ("expected", "given", "trec")
SAME_ID = ("keep", "drop")

Groups = Sequence[Sequence[Hashable]]
RankedIds = Sequence[Hashable] | Mapping[Any, float] | npt.NDArray[Any]
_NO_NUMBERS = np.empty(0, dtype=np.int64)


def judge(truth: Truth, same_id: str = "keep") -> dict[str, Judged]:
    """Every query of a truth, ready to look documents up."""
    is_dropped = same_id == "drop"
    return {
        query: judged(truth[query], truth.gains(query), truth.nonrelevant(query), query if is_dropped else None)
        for query in truth
    }


def hits_of(truths: Mapping[str, Judged], rankings: Mapping[str, Any]) -> Hits:
    """Hits of one ranking per query, best first, or {id: score}. A query without a ranking has none."""
    found = [places(truth, rankings.get(query, ()), query) for query, truth in truths.items()]
    return collect(list(truths.values()), found)


def hits_of_run(truths: Mapping[str, Judged], run: Run, *, expected: bool) -> Hits:
    """Hits of a run. `expected`: equal scores are tied, and not in the order of the run."""
    nothing = Ranking("", ())
    found = []
    for query, truth in truths.items():
        ranking = run.rankings.get(query, nothing)
        found.append(_tied_places(truth, ranking) if expected else places(truth, ranking.ids, query))
    return collect(list(truths.values()), found)


def places(truth: Judged, ranking: RankedIds, query: Hashable | None = None) -> JudgedPlaces:
    """The place of each judged document in a ranking."""
    given = _checked(ranking)
    itself = truth.taken_out
    holds_query = itself is not None and itself in given
    if isinstance(given, Mapping):
        found = [id for id in truth.group_of if id in given]
        ranks = _ranks_by_score(given, [*found, itself] if holds_query else found, query)
        if holds_query:
            ranks = ranks[:-1] - (ranks[:-1] > ranks[-1])
        depth = len(given) - holds_query
    else:
        kept = [id for id in given if id != itself] if holds_query else given
        depth = len(kept)
        try:
            first = dict(zip(reversed(kept), range(depth, 0, -1), strict=True))
        except TypeError:
            raise _not_ids(given) from None
        found = [id for id in truth.group_of if id in first]
        ranks = np.array([first[id] for id in found], dtype=np.int64)
    groups = np.array([truth.group_of[id] for id in found], dtype=np.int64)
    return JudgedPlaces(depth, ranks, groups, ranks - 1, np.ones_like(ranks))


def _tied_places(truth: Judged, ranking: Ranking) -> JudgedPlaces:
    """The places of a list in which equal values are tied. A copy in the same tie fills a place as an unjudged one."""
    alone = places(truth, ranking.ids)
    if ranking.values is None or not len(alone.rank):
        return alone
    values = np.asarray(ranking.values, dtype=np.float64)
    if truth.taken_out is not None and alone.depth < len(values):
        values = values[[id != truth.taken_out for id in ranking.ids]]
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    tie = np.searchsorted(begins, alone.rank - 1, side="right") - 1
    before = begins[tie]
    tied = np.append(begins, len(values))[tie + 1] - before
    return JudgedPlaces(alone.depth, before + 1, alone.group, before, tied)


def in_trec_order(run: Run) -> Run:
    """The run as trec_eval sorts it: by score as a number of 32 bits, then by id, the larger first."""
    rising = run.kind in ("distance", "rank")
    lists = []
    for ranking in run.rankings.values():
        if ranking.values is None:
            lists.append(ranking)
            continue
        with np.errstate(over="ignore"):
            scores = np.asarray(ranking.values, dtype=np.float64).astype(np.float32)
        keys = list(zip((-scores if rising else scores).tolist(), ranking.ids, strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        lists.append(_chosen(ranking, order))
    return Run(lists, name=run.name, kind=run.kind)


def without(ranking: Ranking, id: str) -> Ranking:
    """The list without a document."""
    if id not in ranking.ids:
        return ranking
    return _chosen(ranking, [place for place, each in enumerate(ranking.ids) if each != id])


def _chosen(ranking: Ranking, order: Sequence[int]) -> Ranking:
    values, expected = ranking.values, ranking.expected
    return replace(
        ranking,
        ids=tuple(ranking.ids[k] for k in order),
        values=None if values is None else tuple(values[k] for k in order),
        expected=None if expected is None else tuple(expected[k] for k in order),
        ranks=None,
    )


def in_order(ranking: RankedIds, query: Hashable | None = None) -> list[Any]:
    """The ids of a ranking, best first; tied scores keep their order. The query is named in errors only."""
    given = _checked(ranking)
    ids = list(given)
    if not isinstance(given, Mapping):
        if not all(isinstance(id, Hashable) for id in ids):
            raise _not_ids(given)
        return ids
    return [ids[k] for k in np.argsort(-_scores(given, query), kind="stable")]


def _checked(ranking: Any) -> Sequence[Hashable] | Mapping[Any, float]:
    if isinstance(ranking, np.ndarray):
        ranking = ranking.tolist()
    if isinstance(ranking, (str, bytes)):
        raise ArgumentError(f"a ranking must be a list of ids; got the text {ranking!r}")
    if not isinstance(ranking, (Sequence, Mapping)):
        raise ArgumentError(f"a ranking must be a list of ids or {{id: score}}; got {reprlib.repr(ranking)}")
    return ranking


def _not_ids(ranking: Any) -> ArgumentError:
    return ArgumentError(f"a ranking must be a list of ids; got {reprlib.repr(ranking)}")


def _scores(ranking: Mapping[Any, float], query: Hashable | None) -> Floats:
    of_query = "" if query is None else f"query {query!r}: "
    try:
        scores = np.fromiter(ranking.values(), np.float64, len(ranking))
    except (TypeError, ValueError):
        raise ArgumentError(f"{of_query}every score must be a number") from None
    if np.isnan(scores).any():
        bad = next(id for id, score in ranking.items() if score != score)
        raise ArgumentError(f"{of_query}the score of {bad!r} is NaN; expected a number")
    return scores


def _ranks_by_score(ranking: Mapping[Any, float], wanted: Sequence[Hashable], query: Hashable | None) -> Numbers:
    scores = _scores(ranking, query)
    ordered = np.sort(scores)
    if not wanted:
        return _NO_NUMBERS
    own = np.array([ranking[id] for id in wanted], dtype=np.float64)
    not_above = np.searchsorted(ordered, own, side="right")
    ranks = len(ordered) - not_above + 1
    if np.all(not_above - np.searchsorted(ordered, own, side="left") == 1):
        return np.asarray(ranks, dtype=np.int64)
    place = {id: position for position, id in enumerate(ranking)}
    order = np.empty(len(scores), dtype=np.int64)
    order[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return order[[place[id] for id in wanted]]


# -- hits --------------------------------------------------------------------------------------------------------------
#
# The input of every measure: the places of the relevant documents in the rankings of many queries, in flat arrays. No
# measure looks at any other document of a ranking.
#
# The papers leave these rules open. They hold for every measure: only the first place of a repeated id counts; the
# query is taken out of its ranking unless it is in a group (`judge`); a ranking shorter than the truth finds nothing at
# the missing ranks.
#
# Ties. `before` documents come before a hit for certain. Among the `tied` documents that follow, one of them the hit,
# every order is equally likely, and a measure gives its expected value. Without ties, before = rank - 1 and tied = 1:
#
#   P(rank <= k)  (k - before) / tied, between 0 and 1                        `within`
#   E[f(rank)]    (f(before + 1) + ... + f(before + tied)) / tied             `expected`
#   P(x > i)      (n - h)! (n - i)! / ((n - h - i)! n!)                       `none_within`
#                 with h hits among n tied documents, the first of them at place x of the tie
#
# Shapes: Q queries, G groups of all queries one after the other, H hits ordered by query and rank, in a tie by group.


NONRELEVANT = -1


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
        """The number of documents judged not relevant. -1: every document in no group was."""
        return -1 if self.closed else len(self.group_of) - sum(self.sizes)


@dataclass(frozen=True, slots=True)
class JudgedPlaces:
    """Where the judged documents of one query were found, in any order."""

    depth: int
    rank: Numbers
    group: Numbers
    before: Numbers  # documents before its tie
    tied: Numbers  # documents of that tie; 1 where it is not tied


@dataclass(frozen=True, slots=True)
class Hits:
    """Relevant documents in the rankings of Q queries. Ranks count from 1, groups of a query from 0."""

    depth: Numbers  # (Q,) ranks in the ranking, without the query itself
    nonrelevant: Numbers  # (Q,) documents judged not relevant; -1 where every document outside the groups was
    group_offset: Numbers  # (Q + 1,) where the groups of a query begin in the next two
    group_size: Numbers  # (G,)
    group_gain: Floats  # (G,)
    query: Numbers  # (H,) which query, from 0
    rank: Numbers  # (H,)
    group: Numbers  # (H,) which group, as an index into group_size
    nonrelevant_before: Numbers  # (H,) documents judged not relevant before its tie
    nonrelevant_found: Numbers  # (Q,) documents judged not relevant in the ranking
    before: Numbers  # (H,) documents before the tie of the hit
    tied: Numbers  # (H,) documents of its tie: 1 where it is not tied
    nonrelevant_tied: Numbers  # (H,) documents judged not relevant in its tie

    def __len__(self) -> int:
        return len(self.depth)

    @property
    def relevant(self) -> Numbers:
        """(Q,) How many documents are relevant: n of Typke et al. (2006), R of others."""
        total = np.concatenate([[0], np.cumsum(self.group_size)])
        return np.asarray(total[self.group_offset[1:]] - total[self.group_offset[:-1]], dtype=np.int64)

    @property
    def group_start(self) -> Numbers:
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

    def order_in_query(self) -> Numbers:
        """(H,) 1 for the first hit of a query, 2 for its second ..."""
        first = np.searchsorted(self.query, self.query)
        return np.asarray(np.arange(len(self.query)) - first + 1, dtype=np.int64)

    # -- ties -------------------------------------------------------------------------------------------------------

    @property
    def has_ties(self) -> bool:
        """Whether the rank of any hit is open."""
        return bool(self.tied.max(initial=1) > 1)

    def within(self, k: int | Numbers) -> Floats:
        """(H,) The probability that a hit is among the first k; k is one number, or one per hit."""
        return np.clip((k - self.before) / self.tied, 0.0, 1.0)

    def expected(self, of_rank: Callable[[Numbers], Floats]) -> Floats:
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

    def tie_edges(self) -> Numbers:
        """(T + 1,) Where the ties begin among the hits, those of one document too, and the number of hits."""
        if not len(self.query):
            return np.zeros(1, dtype=np.int64)
        is_new = (np.diff(self.query) != 0) | (np.diff(self.before) != 0)
        return np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(self.query)]]).astype(np.int64)

    def hits_before(self) -> Numbers:
        """(H,) Hits of the same query before the tie of the hit."""
        edges = self.tie_edges()
        return np.repeat(self.order_in_query()[edges[:-1]] - 1, np.diff(edges))

    def hits_tied(self) -> Numbers:
        """(H,) Hits in the tie of the hit, itself one of them."""
        sizes = np.diff(self.tie_edges())
        return np.repeat(sizes, sizes)


def none_within(size: int, hits: int, deepest: int) -> Floats:
    """(deepest + 1,) For 0, 1, ... places of a tie: the probability that none of its hits is among them."""
    places = np.arange(min(deepest, size))
    chance = np.cumprod(np.maximum(size - hits - places, 0) / (size - places))
    return np.concatenate([[1.0], chance, np.zeros(max(deepest - size, 0))])


def drawn(hits: Hits, random: np.random.Generator) -> Hits:
    """The same hits with a random order of every tie."""
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


def _untied(hits: Hits, rank: Numbers, worse: Numbers) -> Hits:
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
        np.concatenate([_NO_NUMBERS, *(getattr(each, name) for each in places)])
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
