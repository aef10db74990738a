"""What a ground truth is: for every query, groups of document ids, the most similar group first.

The order of groups is known, the order inside a group is not (paper 002, section 3.3). Three things may come with it:
a gain for each group (how much a document of it is worth; TREC qrels have it), the documents that were judged and
found not relevant (measures such as bpref count only these), and a name. `notes` says what a reader had to decide.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from roslin.display.frames import FrameLibrary, frame
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.rows import number

__all__ = ["Groups", "Truth", "check_groups"]

Groups = tuple[tuple[str, ...], ...]
_ROWS_SHOWN = 20


class Truth(Mapping[str, Groups]):
    """Maps a query to its groups. A value: nothing changes it.

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
        self._groups: dict[str, Groups] = {query: check_groups(each, query) for query, each in groups.items()}
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

    def __getitem__(self, query: str) -> Groups:
        return self._groups[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Truth):
            return NotImplemented
        return (
            self._groups == other._groups
            and all(self.gains(query) == other.gains(query) for query in self)
            and all(self.nonrelevant(query) == other.nonrelevant(query) for query in self)
        )

    __hash__ = None  # type: ignore[assignment]  # a mapping, as a dict

    def __repr__(self) -> str:
        documents = sum(len(group) for groups in self.values() for group in groups)
        return f"Truth({self.name!r}, {len(self)} queries, {documents} documents)"

    def only(self, queries: Sequence[str]) -> Truth:
        """Only these queries; one that is not there is an error that lists those that are."""
        for query in queries:
            if query not in self:
                raise UnknownNameError("query", query, self)
        kept = list(dict.fromkeys(queries))
        return Truth(
            {query: self[query] for query in kept},
            gains={query: self._gains[query] for query in kept if query in self._gains},
            nonrelevant={query: self._nonrelevant[query] for query in kept if query in self._nonrelevant},
            name=self.name,
            notes=self.notes,
        )

    def gains(self, query: str) -> tuple[float, ...]:
        """What a document of each group is worth; by default the last group 1, the one before it 2, and so on."""
        groups = self[query]
        return self._gains.get(query) or tuple(float(len(groups) - k) for k in range(len(groups)))

    def nonrelevant(self, query: str) -> tuple[str, ...] | None:
        """The documents that were judged and found not relevant; None where the truth does not say."""
        return self._nonrelevant.get(query)

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
        """(query, document, group), the most similar group 1, the judged and not relevant in group 0."""
        for query, groups in self.items():
            for group, ids in [*enumerate(groups, start=1), (0, self.nonrelevant(query) or ())]:
                yield from ((query, id, group) for id in ids)

    def to_table(self) -> Table:
        """A row for each query: how many groups and documents it has, and how many were judged not relevant.

        >>> print(Truth({"q": [["a", "b"], ["c"]]}, nonrelevant={"q": ["d"]}).to_table())
        query  groups  documents  not relevant
        q           2          3             1
        """
        columns = ("query", "groups", "documents", "not relevant")
        rows = []
        for query, groups in self.items():
            judged = self.nonrelevant(query)
            counts = len(groups), sum(map(len, groups)), None if judged is None else len(judged)
            rows.append(dict(zip(columns, (query, *counts), strict=True)))
        return Table(columns, tuple(rows), self.name)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of `judgements`: query, document, group. `read_truth` reads it back, without gains."""
        rows = list(self.judgements())
        columns = {name: [row[k] for row in rows] for k, name in enumerate(("query", "document", "group"))}
        return frame(columns, library)

    def __str__(self) -> str:
        return str(self.to_table()) if self else repr(self)

    def _repr_html_(self) -> str:
        table = self.to_table()
        if len(table.rows) > _ROWS_SHOWN:
            title = f"{self.name}: the first {_ROWS_SHOWN} of {counted(len(table.rows), 'query', 'queries')}"
            table = replace(table.first(_ROWS_SHOWN), title=title.removeprefix(": "))
        return table.to_html()


def check_groups(groups: Iterable[Iterable[str]], query: str = "") -> Groups:
    """The groups as tuples; an empty group, an id in two groups, or a text where a group should be is refused."""
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
