"""`Run` and its parts: a `Ranking` for each query, a `Hit` for each line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np

from roslin.display.table import FrameLibrary, Table
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.run import writing
from roslin.run.meaning import BY_CHANCE, PERHAPS, SAME_NOTES, coinciding_words, headline_of, meaning_of

Kind = Literal["distance", "score", "rank", "order"]
# The titles of documents, or a function that looks them up; None for those without.
Titles = Mapping[str, str | None] | Callable[[Sequence[str]], Sequence[str | None]]

_KINDS = ("distance", "score", "rank", "order")
_RISING = ("distance", "rank")  # the smallest value is the best
_HITS_SHOWN = 20
# Of a ranking: one entry for each document.
_COLUMNS = ("ids", "values", "expected", "ranks", "distances", "same", "coincides")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of a ranked list. Ranks count from 1; `value` is None where the run has an order only.

    `expected` is the number of melodies expected to match as well by chance, if estimated. The list is then in the
    order of this number, and the value is the evidence, its negative logarithm to base 10. `same` is the number of
    notes that agree exactly, if these are all notes of the query or of the melody, else 0. `coincides`: the melody was
    found by notes that coincide in time. `title` is the title of the melody, in a run from a collection.
    """

    query: str
    rank: int
    id: str
    value: float | None = None
    kind: Kind = "order"
    expected: float | None = None
    near: float | None = field(default=None, repr=False)
    same: int = 0
    coincides: bool = False
    title: str | None = field(default=None, compare=False, repr=False)

    @property
    def meaning(self) -> str:
        """The label, or an empty text if chance is not estimated."""
        return SAME_NOTES if self.same else "" if self.expected is None else meaning_of(self.expected)

    @property
    def is_above_chance(self) -> bool:
        """Whether fewer than one chance match is expected or all notes agree; True if chance is not estimated."""
        return self.expected is None or self.expected <= BY_CHANCE or self.same > 0

    @property
    def distance(self) -> float:
        """The distance, in a list of a search or a run that has distances."""
        return self._measured("distance") if self.near is None else self.near

    @property
    def score(self) -> float:
        """The score, in a run that has scores."""
        return self._measured("score")

    def _measured(self, wanted: str) -> float:
        if self.value is None or self.kind != wanted:
            what = ", only an order" if self.value is None else f"; it has {self.kind}s"
            raise ArgumentError(f"the run has no {wanted}s{what}")
        return self.value


@dataclass(frozen=True, slots=True)
class Ranking:
    """The list for one query, best first. `values` are of the kind of the run, or None if it has only an order.

    `seconds` is the time of the search. `refusal` is the reason if a system refused the query, whose list is then
    empty. `is_cut_in_a_tie`: the first omitted document is tied with the last of the list. `expected` are the numbers
    of chance matches, `remarks` are sentences for the user. `unfinished` is the part that was compared when the time
    limit was reached, empty for a complete list. `ranks` are given where the list was chosen from a longer one, in
    which its documents have these ranks. `distances` are given where the values are something else, `same` and
    `coincides` as for `Hit`. `agreeing` is the number of all melodies searched that have every note of the query.
    """

    query: str
    ids: tuple[str, ...]
    values: tuple[float, ...] | None = None
    seconds: float | None = None
    refusal: str = ""
    is_cut_in_a_tie: bool = False
    expected: tuple[float, ...] | None = None
    remarks: tuple[str, ...] = ()
    unfinished: str = ""
    ranks: tuple[int, ...] | None = None
    distances: tuple[float, ...] | None = None
    same: tuple[int, ...] | None = None
    agreeing: int = 0
    coincides: tuple[bool, ...] | None = None

    @property
    def places_coinciding(self) -> list[int]:
        """The ranks of the documents that were found by coinciding notes."""
        ranks = self.ranks or range(1, len(self.ids) + 1)
        return [rank for rank, coincides in zip(ranks, self.coincides or (), strict=False) if coincides]

    @property
    def tied(self) -> int:
        """The number of documents that share their value with another of the list."""
        return sum(count for count in Counter(self.values or ()).values() if count > 1)


class Run:
    """Ranked lists by query.

    >>> run = Run({"q": {"a": 0.9, "b": 0.5}}, name="mine", kind="distance")
    >>> run.ids, run[0].distance
    (['b', 'a'], 0.5)
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[str] | Mapping[str, float] | Ranking] | Iterable[Ranking],
        *,
        name: str = "run",
        kind: Kind | None = None,
        titles: Titles | None = None,
        remarks: Sequence[str] = (),
    ):
        if kind is not None and kind not in _KINDS:
            raise UnknownNameError("kind of run", str(kind), _KINDS)
        given = rankings if isinstance(rankings, Mapping) else {each.query: each for each in rankings}
        has_values = any(
            isinstance(each, Mapping) or (isinstance(each, Ranking) and each.values is not None)
            for each in given.values()
        )
        self.name = name
        self.kind: Kind = kind or ("score" if has_values else "order")
        self.rankings: dict[str, Ranking] = {query: self._ranking(query, each) for query, each in given.items()}
        self._titles = titles
        self._remarks = tuple(remarks)

    def _ranking(self, query: str, given: Any) -> Ranking:
        if isinstance(given, Ranking):
            return given
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if isinstance(given, Mapping):
            pairs = ((id, checked_value(value, self.kind, id, query)) for id, value in given.items())
            return _ordered(query, pairs, self.kind)
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            expected = f"a list of ids or {{id: {self.kind}}}"
            raise ArgumentError(f"query {query!r}: a ranking must be {expected}; got {given!r}")
        return Ranking(query, tuple(given))

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, float]], *, name: str = "run", kind: Kind = "score") -> Self:
        """From (query, document, value). Their order decides between equal values. A document may occur twice."""
        by_query: dict[str, list[tuple[str, float]]] = {}
        for query, document, value in rows:
            by_query.setdefault(query, []).append((document, value))
        return cls([_ordered(query, pairs, kind) for query, pairs in by_query.items()], name=name, kind=kind)

    @classmethod
    def joined(cls, runs: Sequence[Run], *, name: str | None = None) -> Self:
        """The lists of several runs of one system as one run. Their queries must differ."""
        if not runs:
            raise ArgumentError("no run is given; give at least one")
        for kind in {run.kind for run in runs}:
            if kind != runs[0].kind:
                raise ArgumentError(f"runs of {runs[0].kind}s and of {kind}s cannot be joined")
        twice = [query for query, count in Counter(query for run in runs for query in run.queries).items() if count > 1]
        if twice:
            raise ArgumentError(f"two of the runs to join have lists for query {twice[0]!r}")
        rankings = [ranking for run in runs for ranking in run.rankings.values()]
        remarks = [said for run in runs for said in run._remarks]
        return cls(rankings, name=name or runs[0].name, kind=runs[0].kind, titles=runs[0]._titles, remarks=remarks)

    # -- what it holds --------------------------------------------------------------------------------------------

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries, in the order of the run."""
        return tuple(self.rankings)

    @property
    def query(self) -> str:
        """The one query of the run."""
        return self._only.query

    @property
    def ids(self) -> list[str]:
        """The documents found for the one query, best first."""
        return list(self._only.ids)

    @property
    def _only(self) -> Ranking:
        if len(self.rankings) != 1:
            some = next(iter(self.rankings), "query")
            raise ArgumentError(f"the run has {len(self.rankings)} queries; choose one of them: run['{some}']")
        return next(iter(self.rankings.values()))

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The documents found for each query, best first."""
        return {query: ranking.ids for query, ranking in self.rankings.items()}

    def ranking(self, query: str) -> tuple[str, ...]:
        """The documents found for a query, best first, or none if the run lacks the query."""
        return self.rankings[query].ids if query in self.rankings else ()

    def values(self, query: str) -> tuple[float, ...] | None:
        """The distances, scores or ranks of a list. None if the run has only an order, or lacks the query."""
        return self.rankings[query].values if query in self.rankings else None

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Every line of every list."""
        titles = self.titles
        return tuple(
            Hit(query, rank, id, value, self.kind, expected, near, same, coincides, titles.get(id))
            for query, ranking in self.rankings.items()
            for rank, id, value, expected, near, same, coincides in zip(
                ranking.ranks or range(1, len(ranking.ids) + 1),
                ranking.ids,
                ranking.values or [None] * len(ranking.ids),
                ranking.expected or [None] * len(ranking.ids),
                ranking.distances or [None] * len(ranking.ids),
                ranking.same or [0] * len(ranking.ids),
                ranking.coincides or [False] * len(ranking.ids),
                strict=True,
            )
        )

    @property
    def has_meaning(self) -> bool:
        """Whether chance is estimated."""
        return any(ranking.expected is not None for ranking in self.rankings.values())

    @property
    def has_distances(self) -> bool:
        """Whether every result has a distance."""
        return self.kind == "distance" or any(ranking.distances is not None for ranking in self.rankings.values())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for the user: the rhythm was ignored, a file has documents twice."""
        of_lists = (
            each
            for ranking in self.rankings.values()
            for each in (ranking.unfinished, *ranking.remarks, coinciding_words(ranking.places_coinciding))
        )
        return tuple(filter(None, dict.fromkeys((*self._remarks, *of_lists))))

    @property
    def is_complete(self) -> bool:
        """Whether everything was compared. If not, `remarks` name the part that was."""
        return not any(ranking.unfinished for ranking in self.rankings.values())

    @property
    def matches(self) -> Self:
        """The results above chance (`Hit.is_above_chance`), with their ranks.

        >>> run = Run([Ranking("q", ("a", "b"), (0.2, 0.7), expected=(0.001, 30.0))], kind="distance")
        >>> run.matches.ids, run.is_close
        (['a'], True)
        """
        return self._with([_beyond_chance(ranking) for ranking in self.rankings.values()])

    @property
    def above_line(self) -> int:
        """The number of results up to the last one above chance (`Hit.is_above_chance`)."""
        return max((place for place, hit in enumerate(self.hits, start=1) if hit.is_above_chance), default=0)

    @property
    def is_close(self) -> bool:
        """Whether chance hardly explains a result, or it agrees on all notes; True if chance is not estimated."""
        return not self.has_meaning or self.headline == headline_of(0.0)

    @property
    def headline(self) -> str:
        """The headline of the list, or an empty text if chance is not estimated.

        >>> Run([Ranking("q", ("a",), (0.5,), expected=(0.3,))]).headline
        'Possible matches'
        """
        if not self.has_meaning:
            return ""
        expected = [each for ranking in self.rankings.values() for each in ranking.expected or ()]
        has_same = any(ranking.agreeing for ranking in self.rankings.values())
        # An incipit of four notes with which the query begins is not what was looked for; one of twelve is.
        has_same |= any(hit.same and (hit.expected or 0.0) <= PERHAPS for hit in self.hits)
        return headline_of(min(expected, default=math.inf), has_same=has_same)

    def __len__(self) -> int:
        return sum(len(ranking.ids) for ranking in self.rankings.values())

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __contains__(self, query: object) -> bool:
        return query in self.rankings

    @overload
    def __getitem__(self, which: int) -> Hit: ...

    @overload
    def __getitem__(self, which: slice | str) -> Self: ...

    def __getitem__(self, which: int | slice | str) -> Hit | Self:
        """The hit at a place, the first hits of every list, or the list of one query."""
        if isinstance(which, str):
            if which not in self.rankings:
                raise UnknownNameError("query of the run", which, [*self.queries[:_HITS_SHOWN]])
            return self._with([self.rankings[which]])
        if isinstance(which, slice):
            if which.start or which.step not in (None, 1):
                raise ArgumentError(f"a run can be cut only from its first rank on, as in run[:10]; got {which}")
            return self._with([_only(each, range(len(each.ids))[which]) for each in self.rankings.values()])
        return self.hits[which]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        return (self.name, self.kind, self.rankings) == (other.name, other.kind, other.rankings)

    def __getstate__(self) -> dict[str, Any]:
        """Titles are looked up now: the collection stays where it is."""
        return self.__dict__ | {"_titles": self.titles}

    __hash__ = None  # type: ignore[assignment]  # compared by what it holds, which may be much

    def named(self, name: str) -> Self:
        """The same lists under another name."""
        return self._with(name=name)

    def with_remarks(self, remarks: Iterable[str]) -> Self:
        """The same lists, with more remarks."""
        return self._with(remarks=(*self._remarks, *remarks))

    def times(self, readings: int) -> Self:
        """The best of the lists of several readings of a query. Chance matches are multiplied by their number.

        >>> Run([Ranking("q", ("a",), (2.0,), expected=(0.01,))], kind="score").times(10)[0].expected
        0.1
        """
        if readings == 1:
            return self
        rankings = []
        for ranking in self.rankings.values():
            if ranking.expected is not None and ranking.values is not None:
                expected = tuple(readings * each for each in ranking.expected)
                values = tuple(each - math.log10(readings) for each in ranking.values)
                ranking = replace(ranking, expected=expected, values=values)
            rankings.append(ranking)
        return self._with(rankings)

    def with_titles(self, titles: Titles) -> Self:
        """The same lists, with the titles of their documents."""
        return self._with(titles=titles)

    def only(self, queries: Iterable[str]) -> Self:
        """The lists of these queries. Queries that the run lacks are omitted."""
        wanted = set(queries)
        return self._with([ranking for query, ranking in self.rankings.items() if query in wanted])

    def _with(self, rankings: Iterable[Ranking] | None = None, **changes: Any) -> Self:
        same = {"name": self.name, "kind": self.kind, "titles": self._titles, "remarks": self._remarks}
        return type(self)(self.rankings if rankings is None else rankings, **same | changes)

    # -- how it shows itself --------------------------------------------------------------------------------------

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of the documents, if the run comes from a collection that has them."""
        ids = list(dict.fromkeys(id for ranking in self.rankings.values() for id in ranking.ids))
        if self._titles is None:
            return {}
        known = [self._titles.get(id) for id in ids] if isinstance(self._titles, Mapping) else self._titles(ids)
        return {id: title for id, title in zip(ids, known, strict=True) if title}

    def to_table(self) -> Table:
        """The results as a table: query (if there are several), rank, distance or score, chance, document, title."""
        columns = [
            *(["query"] if len(self.rankings) != 1 else []),
            "rank",
            *(["distance"] if self.has_distances else [self.kind] if self.kind == "score" else []),
            *(["expected", "meaning"] if self.has_meaning else []),
            "document",
            *(["title"] if self.titles else []),
        ]
        rows = [
            {
                "query": hit.query,
                **({"distance": hit.distance} if self.has_distances else {self.kind: hit.value}),
                "expected": hit.expected,
                "meaning": hit.meaning,
                "document": hit.id,
                "title": hit.title,
                "rank": hit.rank,
            }
            for hit in self.hits
        ]
        return Table(tuple(columns), tuple(rows), self.name)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame with a row for each result."""
        table = self.to_table()
        columns = table.columns if "query" in table.columns else ("query", *table.columns)
        return replace(table, columns=columns).to_frame(library)

    def __str__(self) -> str:
        return str(self.to_table()) if len(self) else f"{self!r}: nothing was found"

    def __repr__(self) -> str:
        queries = f"query {self.query!r}" if len(self.rankings) == 1 else f"{len(self.rankings)} queries"
        return f"Run({self.name!r}, {queries}, {len(self)} hits)"

    def _repr_html_(self) -> str:
        table = self.to_table()
        if len(table.rows) > _HITS_SHOWN:
            title = f"{self.name}: the first {_HITS_SHOWN} of {len(table.rows)} hits"
            table = replace(table, rows=table.rows[:_HITS_SHOWN], title=title)
        return table.to_html()

    # -- how it is written ----------------------------------------------------------------------------------------

    def to_trec(self) -> str:
        """A TREC run. Its scores must fall from rank to rank, so distances and ranks become negative."""
        return writing.trec(self)

    def to_csv(self) -> str:
        """CSV with the columns query, rank, document, and distance or score where the run has them."""
        return writing.comma_separated(self)

    def to_json(self) -> str:
        """JSON with everything that `read_run` needs to give the same run."""
        return writing.json_text(self)

    def write(self, path: str | Path) -> None:
        """Write a file in the form of its suffix: .run, .trec or .txt, .csv, .json, .parquet (compressed: .run.gz)."""
        writing.write(self, Path(path))


def _ordered(query: str, pairs: Iterable[tuple[str, float]], kind: Kind) -> Ranking:
    """The list of one query, best first; equal values keep their order."""
    sign = 1.0 if kind in _RISING else -1.0
    best_first = sorted(pairs, key=lambda pair: sign * pair[1])
    return Ranking(query, tuple(id for id, _ in best_first), tuple(value for _, value in best_first))


def _only(ranking: Ranking, places: Sequence[int]) -> Ranking:
    columns = {name: each for name in _COLUMNS if (each := getattr(ranking, name)) is not None}
    changed: dict[str, Any] = {name: tuple(each[place] for place in places) for name, each in columns.items()}
    return replace(ranking, **changed)


def _beyond_chance(ranking: Ranking) -> Ranking:
    if ranking.expected is None:
        return ranking
    same = ranking.same or (0,) * len(ranking.ids)
    both = enumerate(zip(ranking.expected, same, strict=True))
    chosen = [place for place, (expected, notes) in both if expected <= BY_CHANCE or notes]
    if chosen != list(range(len(chosen))) and not ranking.ranks:
        ranking = replace(ranking, ranks=tuple(range(1, len(ranking.ids) + 1)))
    return _only(ranking, chosen)


def checked_value(value: Any, kind: str, id: str, query: str) -> float:
    """A value as a number. The error for any other value names the document and the query."""
    where = f"query {shortened(query)!r}: the {kind} of {shortened(str(id))!r}"
    try:
        exact = float(value)
    except (OverflowError, TypeError, ValueError):
        raise ArgumentError(f"{where} must be a number; got {shortened(str(value))!r}") from None
    if math.isnan(exact):
        raise ArgumentError(f"{where} is NaN; expected a number")
    return exact
