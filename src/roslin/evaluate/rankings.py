"""Rankings of many queries, boiled down to hits: from lists of ids, from {id: score}, and from runs.

Nothing here sorts a whole ranking when it need not: the rank of a document is the number of larger scores plus one, and
only the few judged documents are looked up. In lists and {id: score} tied scores keep the order of the input.
For runs there are three rules (`TIES`):
  expected  tied documents may stand in any order, and a measure gives its mean over all orders
  given     they stand as the run has them
  trec      they stand as trec_eval sorts them: scores as numbers of 32 bits, of equal ones the larger id first

A document with the id of its query is the query itself only where queries are documents of the collection. Nobody but
the user knows that, hence two rules (`SAME_ID`): drop takes it out of the ranking, unless it is in a group of the
truth; keep leaves it, as any other document.
"""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.evaluate.hits import Floats, Hits, Ints, Judged, JudgedPlaces, collect, judged
from roslin.run import Ranking, Run
from roslin.truth.model import Truth

__all__ = [
    "SAME_ID",
    "TIES",
    "Groups",
    "RankedIds",
    "hits_of",
    "hits_of_run",
    "in_order",
    "in_trec_order",
    "judge",
    "places",
    "without",
]

TIES = ("expected", "given", "trec")
SAME_ID = ("keep", "drop")

Groups = Sequence[Sequence[Hashable]]
RankedIds = Sequence[Hashable] | Mapping[Any, float] | npt.NDArray[Any]
_NOTHING = np.empty(0, dtype=np.int64)


def judge(truth: Truth, same_id: str = "keep") -> dict[str, Judged]:
    """Every query of a truth, ready to look documents up."""
    is_dropped = same_id == "drop"
    return {
        query: judged(truth[query], truth.gains(query), truth.nonrelevant(query), query if is_dropped else None)
        for query in truth
    }


def hits_of(truths: Mapping[str, Judged], rankings: Mapping[str, Any], queries: Iterable[str] | None = None) -> Hits:
    """Hits of rankings as they are given: one a query, best first, or {id: score}; where one is lacking, none."""
    wanted = list(truths if queries is None else queries)
    found = [places(truths[query], rankings.get(query, ()), query) for query in wanted]
    return collect([truths[query] for query in wanted], found)


def hits_of_run(truths: Mapping[str, Judged], run: Run, *, expected: bool) -> Hits:
    """Hits of a run; `expected`: with equal scores tied, else in the order that the run has."""
    nothing = Ranking("", ())
    found = []
    for query, truth in truths.items():
        ranking = run.rankings.get(query, nothing)
        found.append(_tied_places(truth, ranking) if expected else places(truth, ranking.ids, query))
    return collect(list(truths.values()), found)


def places(truth: Judged, ranking: RankedIds, query: Hashable | None = None) -> JudgedPlaces:
    """Where each judged document stands in a ranking. The query is named in errors only."""
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


def _ranks_by_score(ranking: Mapping[Any, float], wanted: Sequence[Hashable], query: Hashable | None) -> Ints:
    scores = _scores(ranking, query)
    ordered = np.sort(scores)
    if not wanted:
        return _NOTHING
    own = np.array([ranking[id] for id in wanted], dtype=np.float64)
    not_above = np.searchsorted(ordered, own, side="right")
    ranks = len(ordered) - not_above + 1
    if np.all(not_above - np.searchsorted(ordered, own, side="left") == 1):
        return np.asarray(ranks, dtype=np.int64)
    place = {id: position for position, id in enumerate(ranking)}
    order = np.empty(len(scores), dtype=np.int64)
    order[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return order[[place[id] for id in wanted]]
