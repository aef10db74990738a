"""A ground truth: for every query, groups of document ids, the most similar group first.

The order of groups is known, the order inside a group is not (Typke et al. 2007, section 3.3). Three things may come
with it: a gain for each group (how much a document of it is worth; TREC qrels have it), the documents that were judged
and found not relevant (measures such as bpref count only these), and a name. `notes` has the decisions of its reader.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.display.table import FrameLibrary, Table, frame
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.rows import number
from roslin.truth.rankings import ByQuery, QueryRankings
from roslin.types import Floats

Groups = tuple[tuple[str, ...], ...]
_QUERIES_SHOWN = 20


class Truth(ByQuery[Groups]):
    """Maps a query to its groups. It is immutable.

    >>> truth = Truth({"q": [["a", "b"], ["c"]]})
    >>> truth["q"]
    (('a', 'b'), ('c',))
    >>> truth.gains("q")
    (2.0, 1.0)
    """

    def __init__(
        self,
        groups: Mapping[str, Iterable[Iterable[str]]],
        *,
        gains: Mapping[str, Sequence[float]] | None = None,
        nonrelevant: Mapping[str, Iterable[str]] | None = None,
        name: str = "",
        notes: Sequence[str] = (),
    ):
        self.name = name
        self.notes = tuple(notes)
        self._of = {query: check_groups(each, query) for query, each in groups.items()}
        self._gains = {query: tuple(map(float, each)) for query, each in (gains or {}).items()}
        self._nonrelevant = {query: tuple(dict.fromkeys(each)) for query, each in (nonrelevant or {}).items()}
        for query, each in self._gains.items():
            if len(each) != len(self[query]):
                raise ArgumentError(f"query {query!r}: {len(each)} gains for {len(self[query])} groups")
            if list(each) != sorted(each, reverse=True) or any(not 0 < gain < math.inf for gain in each):
                raise ArgumentError(f"query {query!r}: gains must be above 0 and not rise; got {list(each)}")
        for query, ids in self._nonrelevant.items():
            both = set(ids).intersection(id for group in self[query] for id in group)
            if both:
                raise ArgumentError(f"query {query!r}: {min(both)!r} is both in a group and judged not relevant")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Truth):
            return NotImplemented
        return (
            self._of == other._of
            and all(self.gains(query) == other.gains(query) for query in self)
            and all(self.nonrelevant(query) == other.nonrelevant(query) for query in self)
        )

    __hash__ = None  # type: ignore[assignment]  # a mapping, as a dict

    def __repr__(self) -> str:
        documents = sum(len(group) for groups in self.values() for group in groups)
        return f"Truth({self.name!r}, {counted(len(self), 'query', 'queries')}, {counted(documents, 'document')})"

    def only(self, queries: Sequence[str]) -> Truth:
        """Only these queries. A missing one raises an error that lists the existing ones."""
        kept = self.known(queries)
        return Truth(
            {query: self[query] for query in kept},
            gains={query: self._gains[query] for query in kept if query in self._gains},
            nonrelevant={query: self._nonrelevant[query] for query in kept if query in self._nonrelevant},
            name=self.name,
            notes=self.notes,
        )

    def gains(self, query: str) -> tuple[float, ...]:
        """The gain of a document of each group. The default is 1 for the last group, 2 for the one before ..."""
        groups = self[query]
        return self._gains.get(query) or tuple(float(len(groups) - k) for k in range(len(groups)))

    def nonrelevant(self, query: str) -> tuple[str, ...] | None:
        """The documents that were judged not relevant. None if the truth does not list them."""
        return self._nonrelevant.get(query)

    def judged(self, query: str) -> set[str]:
        """The documents in its groups, and those that were judged not relevant."""
        return {*(id for group in self[query] for id in group), *(self.nonrelevant(query) or ())}

    @classmethod
    def from_relevance(
        cls, relevance: Mapping[str, Mapping[str, float]], *, name: str = "", notes: Sequence[str] = ()
    ) -> Truth:
        """From {query: {document: relevance}}, as TREC qrels, pytrec_eval, ir_measures and ranx have it."""
        groups, gains, nonrelevant = {}, {}, {}
        for query, judged in relevance.items():
            by_gain: dict[float, list[str]] = defaultdict(list)
            for id, value in judged.items():
                by_gain[number(value, f"relevance of {id!r} for query {query!r}")].append(id)
            gains[query] = sorted((gain for gain in by_gain if gain > 0), reverse=True)
            groups[query] = [by_gain[gain] for gain in gains[query]]
            nonrelevant[query] = by_gain.get(0.0, [])
        return cls(groups, gains=gains, nonrelevant=nonrelevant, name=name, notes=notes)

    def judgements(self) -> Iterator[tuple[str, str, int]]:
        """(query, document, group). Group 1 is the most similar, and group 0 was judged not relevant."""
        for query, groups in self.items():
            for group, ids in [*enumerate(groups, start=1), (0, self.nonrelevant(query) or ())]:
                yield from ((query, id, group) for id in ids)

    def to_table(self) -> Table:
        """A row for each query, with its numbers of groups, documents, and documents judged not relevant.

        >>> print(Truth({"q": [["a", "b"], ["c"]]}, nonrelevant={"q": ["d"]}).to_table())
        query  groups  documents  not relevant
        q           2          3             1
        """
        columns = ("query", "groups", "documents", "not relevant")
        rows = []
        for query, groups in self.items():
            judged = self.nonrelevant(query)
            counts = len(groups), sum(map(len, groups)), None if judged is None else len(judged)
            rows.append((query, *counts))
        return Table.of(columns, rows, self.name)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of `judgements`: query, document, group. `read_truth` reads it back, without gains."""
        rows = list(self.judgements())
        columns = {name: [row[k] for row in rows] for k, name in enumerate(("query", "document", "group"))}
        return frame(columns, library)

    def __str__(self) -> str:
        return str(self.to_table()) if self else repr(self)

    def _repr_html_(self) -> str:
        table = self.to_table()
        if len(table.rows) > _QUERIES_SHOWN:
            title = f"{self.name}: the first {_QUERIES_SHOWN} of {counted(len(table.rows), 'query', 'queries')}"
            table = replace(table.first(_QUERIES_SHOWN), title=title.removeprefix(": "))
        return table.to_html()


def check_groups(groups: Iterable[Iterable[str]], query: str = "") -> Groups:
    """The groups as tuples. An empty group, an id in two groups, or a text where a group should be is refused."""
    of_query = f"query {query!r}: " if query else ""
    if isinstance(groups, (str, bytes)):
        raise ArgumentError(f"{of_query}the truth must be a list of groups of ids; got a text")
    if not isinstance(groups, Iterable):
        raise ArgumentError(f"{of_query}the truth must be a list of groups of ids; got {groups!r}")
    checked = []
    for group in groups:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise ArgumentError(f"{of_query}a group must be a list of ids; got {group!r}")
        checked.append(tuple(group))
    seen: set[str] = set()
    for position, group in enumerate(checked, start=1):
        if not group:
            raise ArgumentError(f"{of_query}group {position} is empty; every group must hold at least one id")
        for id in group:
            try:
                is_new = id not in seen
            except TypeError:
                raise ArgumentError(f"{of_query}an id must be a text or a number; got {id!r}") from None
            if not is_new:
                raise ArgumentError(f"{of_query}{id!r} is in the truth twice; an id must be in one group only")
            seen.add(id)
    return tuple(checked)


# -- arrangement -------------------------------------------------------------------------------------------------------
#
# The order of the candidates before they are grouped: by median rank, then mean (Typke et al. 2007, section 3.3.1).
#
# The papers stop there. A tie of both is settled by the number of votes (more first), then by id, so that the same
# rankings give the same list. The rank of an unranked candidate is a choice:
#
#   drop   it does not count: samples differ in size (the papers)
#   last   it counts as the last place: the number of candidates of the query, or the largest rank where that is more
#
# The papers' choice has a hazard: a candidate that one expert ranked first and all others left out has median 1 and
# heads the list. Such a candidate is called thin: one further down has more than twice its votes. `min_votes` leaves
# out candidates that fewer experts ranked: a number of experts, or below 1 a share of the experts of the query.


def _drop(ranks: Floats) -> Floats:
    return ranks


def _last(ranks: Floats) -> Floats:
    place = np.fmax.reduce(ranks, axis=(-2, -1), keepdims=True, initial=float(ranks.shape[-1]))
    return np.where(np.isnan(ranks), place, ranks)


UNRANKED: dict[str, Callable[[Floats], Floats]] = {"drop": _drop, "last": _last}


@dataclass(frozen=True, eq=False)
class Arranged:
    """The candidates of a query in order. `ranks` has the columns of `documents`, unranked ones as they count.

    `left_out` names the others, and `by_few` those among them that fewer than `needed` experts ranked.
    """

    query: str
    experts: tuple[str, ...]
    documents: tuple[str, ...]
    ranks: Floats
    votes: npt.NDArray[np.int64]
    left_out: tuple[str, ...]
    by_few: tuple[str, ...] = ()
    needed: int = 1

    @property
    def medians(self) -> Floats:
        """The median rank of each candidate."""
        return _statistics(self.ranks)[0]

    @property
    def means(self) -> Floats:
        """The mean rank of each candidate."""
        return _statistics(self.ranks)[1]

    @property
    def thin(self) -> tuple[int, ...]:
        """Positions of candidates that rank high with few votes: a later one has more than twice as many.

        None where every expert's ranks count for every candidate.
        """
        if not np.isnan(self.ranks).any():
            return ()
        most_below = np.maximum.accumulate(self.votes[::-1])[::-1]
        return tuple(np.flatnonzero(2 * self.votes < most_below).tolist())

    def sample(self, position: int) -> Floats:
        """The ranks of the candidate at this position, from 0."""
        ranks = self.ranks[:, position]
        return ranks[~np.isnan(ranks)]


def votes_needed(min_votes: float, experts: int) -> int:
    """The number of experts that must have ranked a candidate: `min_votes`, or below 1 this share of them.

    >>> votes_needed(5, 30), votes_needed(0.25, 30), votes_needed(0.25, 3)
    (5, 8, 1)
    """
    if not min_votes > 0:
        raise ArgumentError(f"min_votes must be at least 1; got {min_votes} (a share of the experts is above 0)")
    if min_votes > 1 and min_votes != int(min_votes):
        raise ArgumentError(f"min_votes must be a whole number, or a share of the experts below 1; got {min_votes}")
    return int(min_votes) if min_votes >= 1 else max(1, math.ceil(min_votes * experts))


def arrange(rankings: QueryRankings, unranked: str = "drop", min_votes: float = 1) -> Arranged:
    """Put the candidates in order. Those with fewer votes than `min_votes` are left out, and named in `left_out`."""
    needed = votes_needed(min_votes, len(rankings.experts))
    ranks = counted_ranks(rankings.ranks, unranked)
    votes = np.count_nonzero(~np.isnan(rankings.ranks), axis=0)
    kept = np.flatnonzero(votes >= needed)
    names = np.array(rankings.documents, dtype=object)
    by_id = np.empty(len(names), dtype=np.int64)
    by_id[np.argsort(names, kind="stable")] = np.arange(len(names))
    order = kept[arranged_order(ranks[:, kept], votes[kept], by_id[kept])]
    return Arranged(
        rankings.query,
        rankings.experts,
        tuple(names[order].tolist()),
        ranks[:, order],
        votes[order],
        tuple(id for id, count in zip(rankings.documents, votes, strict=True) if count < needed),
        tuple(id for id, count in zip(rankings.documents, votes, strict=True) if 0 < count < needed),
        needed,
    )


def counted_ranks(ranks: Floats, unranked: str) -> Floats:
    """Ranks of shape (..., experts, documents) with unranked candidates as they count."""
    if unranked not in UNRANKED:
        raise UnknownNameError("way to count unranked candidates", unranked, UNRANKED)
    return UNRANKED[unranked](ranks)


def arranged_order(ranks: Floats, votes: npt.NDArray[np.int64], by_id: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in order, for ranks of shape (..., experts, documents). A candidate without votes comes last."""
    medians, means = _statistics(ranks)
    keys = np.broadcast_arrays(by_id, -votes, means, medians)
    order: npt.NDArray[np.int64] = np.lexsort(keys, axis=-1)
    return order


def _statistics(ranks: Floats) -> tuple[Floats, Floats]:
    """Medians and means over experts; infinity where there is no rank. Sorting puts NaN last, which np.nanmedian,
    many times slower, does not use.
    """
    counts = np.count_nonzero(~np.isnan(ranks), axis=-2)
    if ranks.shape[-2] == 0:
        return np.full(counts.shape, np.inf), np.full(counts.shape, np.inf)
    ordered = np.sort(ranks, axis=-2)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0)[..., None, :] // 2, axis=-2)[..., 0, :]
    high = np.take_along_axis(ordered, counts[..., None, :] // 2 % ranks.shape[-2], axis=-2)[..., 0, :]
    medians = np.where(counts > 0, (low + high) / 2, np.inf)
    means = np.where(counts > 0, np.nansum(ranks, axis=-2) / np.maximum(counts, 1), np.inf)
    return medians, means
