"""Rankings of many queries, boiled down to hits: from lists of ids and from {id: score}.

Nothing here sorts a whole ranking when it need not: the rank of a document is the number of larger scores plus one, and
only the few judged documents are looked up. Tied scores keep the order in which the ranking gives them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.evaluate.hits import Floats, Hits, Ints, Judged, collect, judged
from roslin.truth.qrel import Truth

__all__ = ["Groups", "RankedIds", "hits_of", "in_order", "judge", "places", "takes_out"]

Groups = Sequence[Sequence[Hashable]]
RankedIds = Sequence[Hashable] | Mapping[Any, float] | npt.NDArray[Any]
_NOTHING = np.empty(0, dtype=np.int64)


def judge(truth: Truth) -> dict[str, Judged]:
    """Every query of a truth, ready to look documents up."""
    return {query: judged(truth[query], truth.gains(query), truth.nonrelevant(query), query) for query in truth}


def hits_of(truths: Mapping[str, Judged], rankings: Mapping[str, Any], queries: Iterable[str] | None = None) -> Hits:
    """Hits of a run: one ranking a query, best first, or {id: score}. A query that the run lacks finds nothing."""
    wanted = list(truths if queries is None else queries)
    found = [places(truths[query], rankings.get(query, ()), query) for query in wanted]
    return collect([truths[query] for query in wanted], found)


def places(truth: Judged, ranking: RankedIds, query: Hashable | None) -> tuple[int, Ints, Ints]:
    """Depth of a ranking, and rank and group of each judged document in it."""
    given = _checked(ranking)
    holds_query = takes_out(truth, query) and query in given
    if isinstance(given, Mapping):
        found = [id for id in truth.group_of if id in given]
        ranks = _ranks_by_score(given, [*found, query] if holds_query else found, query)
        if holds_query:
            ranks = ranks[:-1] - (ranks[:-1] > ranks[-1])
        depth = len(given) - holds_query
    else:
        kept = [id for id in given if id != query] if holds_query else given
        depth = len(kept)
        try:
            first = dict(zip(reversed(kept), range(depth, 0, -1), strict=True))
        except TypeError:
            raise _not_ids(given) from None
        found = [id for id in truth.group_of if id in first]
        ranks = np.array([first[id] for id in found], dtype=np.int64)
    return depth, ranks, np.array([truth.group_of[id] for id in found], dtype=np.int64)


def takes_out(truth: Judged, query: Hashable | None) -> bool:
    """Whether the query is to be taken out of its own ranking: always, unless it is in a group of the truth."""
    return query is not None and query not in truth.group_of


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
