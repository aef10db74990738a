"""Rankings of many queries, boiled down to hits: from lists of ids, from {id: score}, and from integer codes.

Nothing here sorts a whole ranking when it need not: the rank of a document is the number of larger scores plus one, and
only the few judged documents are looked up. Tied scores keep the order in which the ranking gives them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.evaluate.hits import NONRELEVANT, Floats, Hits, Ints, Judged, collect, hits_from_places, judged
from roslin.truth.qrel import Truth

__all__ = ["CodedTruth", "Groups", "Ranking", "hits_of", "hits_of_codes", "in_order", "judge", "places", "takes_out"]

Groups = Sequence[Sequence[Hashable]]
Ranking = Sequence[Hashable] | Mapping[Any, float] | npt.NDArray[Any]
_NOTHING = np.empty(0, dtype=np.int64)


def judge(truth: Truth) -> dict[str, Judged]:
    """Every query of a truth, ready to look documents up."""
    return {query: judged(truth[query], truth.gains(query), truth.nonrelevant(query), query) for query in truth}


def hits_of(truths: Mapping[str, Judged], rankings: Mapping[str, Any], queries: Iterable[str] | None = None) -> Hits:
    """Hits of a run: one ranking a query, best first, or {id: score}. A query that the run lacks finds nothing."""
    wanted = list(truths if queries is None else queries)
    found = [places(truths[query], rankings.get(query, ()), query) for query in wanted]
    return collect([truths[query] for query in wanted], found)


def places(truth: Judged, ranking: Ranking, query: Hashable | None) -> tuple[int, Ints, Ints]:
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


def in_order(ranking: Ranking, query: Hashable | None = None) -> list[Any]:
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


@dataclass(frozen=True, slots=True)
class CodedTruth:
    """A truth whose documents are whole numbers from 0: for those who have their data in arrays.

    query, document, gain: one row a judgement, (J,); queries count from 0. A gain above 0 is relevant, 0 is judged and
    not relevant, and below 0 is not judged, as in TREC qrels. Equal gains of a query are one group; the largest gain is
    the most similar group. A document is judged once for a query.
    """

    query: Ints
    document: Ints
    gain: Floats
    queries: int

    def __post_init__(self) -> None:
        if not len(self.query) == len(self.document) == len(self.gain):
            raise ArgumentError("query, document and gain must have the same length")
        if len(self.query) and (min(self.query.min(), self.document.min()) < 0 or self.query.max() >= self.queries):
            raise ArgumentError(
                f"codes must lie between 0 and {self.queries - 1} for queries, and from 0 for documents"
            )
        if not np.isfinite(self.gain).all():
            raise ArgumentError("a gain is NaN or infinite; expected a number")
        span = int(self.document.max(initial=0)) + 1
        pairs = np.sort(self.query * span + self.document)
        again = pairs[1:][pairs[1:] == pairs[:-1]]
        if len(again):
            query, document = divmod(int(again[0]), span)
            raise ArgumentError(f"document {document} is judged twice for query {query}; expected one judgement")


def hits_of_codes(truth: CodedTruth, documents: Ints, scores: Floats | None = None) -> Hits:
    """Hits from codes. documents: (Q, depth) whole numbers, best first, -1 where a ranking has ended.

    With `scores` of the same shape the documents may stand in any order; the largest score is first.
    Codes do not say which document is the query: leave it out of its ranking, unless the truth holds it.
    """
    if documents.ndim != 2 or len(documents) != truth.queries:
        raise ArgumentError(f"documents must have shape ({truth.queries}, depth); got {documents.shape}")
    if scores is not None and scores.shape != documents.shape:
        raise ArgumentError(f"scores must have the shape of the documents; got {scores.shape}")
    order = np.lexsort((-truth.gain, truth.query))
    order = order[truth.gain[order] >= 0]
    query, document, gain = truth.query[order], truth.document[order], truth.gain[order]
    label, offset, sizes, gains = _groups_of_codes(query, gain, truth.queries)
    # 0 in the table means not judged; labels are shifted by 2 so that not relevant (-1) is 1.
    table = np.zeros(int(max(document.max(initial=0), documents.max(initial=0))) + 1, dtype=np.int32)
    first = np.searchsorted(query, np.arange(truth.queries + 1))
    is_padded: list[bool] = np.asarray((documents < 0).any(axis=1)).tolist()
    found_rank, found_document, found_group = [], [], []
    for number in range(truth.queries):
        own = slice(first[number], first[number + 1])
        table[document[own]] = label[own] + 2
        row = documents[number]
        labels = table[row]
        if is_padded[number]:
            labels[row < 0] = 0
        columns = np.flatnonzero(labels)
        found_rank.append(_code_ranks(row, columns, None if scores is None else scores[number], is_padded[number]))
        found_document.append(row[columns])
        found_group.append(labels[columns] - 2)
        table[document[own]] = 0
    kept = _first_places(
        np.repeat(np.arange(truth.queries), [len(ranks) for ranks in found_rank]),
        *(np.concatenate([_NOTHING, *parts]).astype(np.int64) for parts in (found_rank, found_document, found_group)),
    )
    return hits_from_places(
        (documents >= 0).sum(axis=1),
        np.bincount(query[label == NONRELEVANT], minlength=truth.queries).astype(np.int64),
        offset,
        sizes,
        gains,
        *kept,
    )


def _code_ranks(row: Ints, columns: Ints, scores: Floats | None, is_padded: bool) -> Ints:
    if scores is None:
        return columns + 1
    used = np.where(row < 0, -np.inf, scores) if is_padded else scores
    ordered, own = np.sort(used), used[columns]
    if len(ordered) and np.isnan(ordered[-1]):  # NaN sorts last
        raise ArgumentError("a score is NaN; expected a number")
    not_above = np.searchsorted(ordered, own, side="right")
    ranks = len(used) - not_above + 1
    tied = np.flatnonzero(ordered[np.maximum(not_above - 2, 0)] == own) if len(used) > 1 else _NOTHING
    for k in tied[not_above[tied] > 1]:  # what is tied and stands before it in the row comes first
        ranks[k] += np.count_nonzero(used[: columns[k]] == own[k])
    return np.asarray(ranks, dtype=np.int64)


def _first_places(query: Ints, rank: Ints, document: Ints, group: Ints) -> tuple[Ints, Ints, Ints]:
    """Query, rank and group of each document found, without later copies of it."""
    order = np.lexsort((rank, query))
    key = query[order] * (document.max(initial=0) + 1) + document[order]
    first = order[np.unique(key, return_index=True)[1]]
    return query[first], rank[first], group[first]


def _groups_of_codes(query: Ints, gain: Floats, queries: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Label of each judgement (group in its query, or -1), and the groups of all queries as in `Hits`."""
    relevant = gain > 0
    new_query = np.concatenate([[True], query[1:] != query[:-1]])[: len(query)]
    opens = relevant & (new_query | np.concatenate([[True], gain[1:] != gain[:-1]])[: len(query)])
    offset = np.concatenate([[0], np.cumsum(np.bincount(query[opens], minlength=queries))]).astype(np.int64)
    absolute = np.cumsum(opens) - 1
    label = np.where(relevant, absolute - offset[query], NONRELEVANT)
    sizes = np.bincount(absolute[relevant], minlength=int(offset[-1])).astype(np.int64)
    return label, offset, sizes, gain[opens]
