"""The public face: a collection that can be filtered and searched, in one object.

The rooms behind it do not know each other's doors; this is where they meet.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from roslin.collection.chain import costs_of
from roslin.collection.filters import Filter, FilterReport, NearDuplicate, apply_filters, remove_near_duplicates
from roslin.collection.report import BuildReport
from roslin.collection.store import METADATA_COLUMNS, Store, chosen_places
from roslin.display.frames import FrameLibrary, frame
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError, CollectionError, NotationError, ReadingWarning, UnknownNameError, shortened
from roslin.matchers import DEFAULT_MATCHER, Explanation, Matcher, Roslin
from roslin.matchers import matcher as matcher_of
from roslin.matchers.modes import Mode
from roslin.melody import Melody
from roslin.notation import Source, is_path, records
from roslin.notation.query import has_readings, read_source, readings, surest
from roslin.notation.record import Voices
from roslin.represent.line import melodic_line
from roslin.run import Hit, Run
from roslin.search import Request, depended_on, search
from roslin.search.chance import Background, WholeCollection
from roslin.search.coinciding import has_certain
from roslin.search.work import Work
from roslin.types import Numbers, Progress

if TYPE_CHECKING:
    from roslin.collection import write
    from roslin.collection.sources import Sources
    from roslin.concordances.attribution import Identification


Query = Melody | Source
"""A melody, notation as text or bytes, or a file: a path, or the name of a file that is there."""

Within: TypeAlias = "Selection | str | Iterable[str] | Iterable[int] | Iterable[bool]"
"""A selection, ids, numbers of melodies, or a mask with a truth value for each melody of the collection."""

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
_ROWS_SHOWN = 5
_TITLES = "SELECT id, title FROM melodies WHERE id IN "
_WITHIN = "a selection, ids, numbers of melodies (each a whole number), or a mask (each True or False)"
_EXCLUDE = "ids of melodies, each a text"
_FRAME_COLUMNS = (*METADATA_COLUMNS, "note_count", "pitch_range", "max_interval", "duration_ratio")
_NEAR_DUPLICATES = "Identical with another, or part of it."
_SAME_RHYTHM = "Identical with another in exact rhythm, or part of it."


class WorkOptions(TypedDict, total=False):
    """How a search works; `Collection.search` describes each option."""

    threads: int
    seconds: float | None
    progress: Progress | None


class SearchOptions(WorkOptions, total=False):
    """What else a search can be asked for; `Collection.search` describes each option."""

    compare: str | None
    place: str | None
    key: str | None
    exclude: str | Iterable[str]
    radius: float | None


class Collection(Store):
    """Many melodies on disk, by id, by place and in slices; filtered, searched, and added to.

    >>> from tempfile import TemporaryDirectory
    >>> from roslin import load
    >>> folder = TemporaryDirectory()
    >>> collection = Collection.build(load("'4CDEC\\n'4CDEF\\n''4GFED"), f"{folder.name}/three.roslin")
    >>> collection[0], collection["melody-2"], len(collection[1:])
    (Melody('melody-1', 4 notes), Melody('melody-2', 4 notes), 2)
    >>> collection.search("'4DEFxD", "dp", k=2).ids
    ['melody-1', 'melody-2']
    >>> collection.explain("'4DEFxD", "melody-1", "emd").query
    Melody(None, 4 notes)
    >>> print(collection.report)
    3 melodies taken; 0 refused
    >>> collection.close(); folder.cleanup()
    """

    @classmethod
    def build(
        cls,
        sources: Sources,
        path: str | Path,
        *,
        strict: bool = False,
        voices: Voices = "apart",
        progress: write.BuildProgress | None = None,
        allow_damaged: bool = False,
        allow_smaller: bool = False,
    ) -> Collection:
        """Make a collection from files, folders and melodies, and open it. `report` then says what came of each file.

        With `voices` "together" a score is one melody of all its staves, otherwise each staff is a melody.
        One that is there already is replaced when the new one is complete. A source that is damaged, unknown or empty
        is a `SourceError`, unless `allow_damaged`; a new collection with less than 90% of the old one's melodies is a
        `SmallerError`, unless `allow_smaller`. Nothing is written then.
        """
        from roslin.collection import write

        write.build(
            sources, path, strict=strict, voices=voices, progress=progress, allow_damaged=allow_damaged,
            allow_smaller=allow_smaller,
        )  # fmt: skip
        return cls(path)

    def add(
        self,
        sources: Sources,
        *,
        strict: bool = False,
        voices: Voices = "apart",
        progress: write.BuildProgress | None = None,
        allow_damaged: bool = False,
        replace: bool = False,
    ) -> BuildReport:
        """Add files, folders and melodies; what came of them. Not while another thread searches.

        Other music or metadata under an id that is there already is a `ChangedError`; with `replace` it is replaced.

        >>> from tempfile import TemporaryDirectory
        >>> from roslin import load
        >>> with TemporaryDirectory() as folder, Collection.build([], f"{folder}/new.roslin") as collection:
        ...     print(collection.add(load("'4CDEC\\n'4CDEF")))
        ...     collection.remove("melody-1")
        ...     print(collection.ids())
        2 melodies taken; 0 refused
        1
        ['melody-2']
        """
        from roslin.collection import write

        self._check_open()
        report = write.add(
            sources, self.path, strict=strict, voices=voices, progress=progress, allow_damaged=allow_damaged,
            replace=replace,
        )  # fmt: skip
        self._reopen()
        return report

    def remove(
        self,
        ids: str | Sequence[str] = (),
        *,
        records: str | Sequence[str] = (),
        progress: write.BuildProgress | None = None,
    ) -> int:
        """Remove melodies by id, and all of catalogue records by number; how many are left.

        Where an id or a record is unknown, nothing is removed.
        """
        from roslin.collection import write

        self._check_open()
        wanted = [[each] if isinstance(each, str) else list(each) for each in (ids, records)]
        left = write.remove(wanted[0], self.path, records=wanted[1], progress=progress)
        self._reopen()
        return left

    def _reopen(self) -> None:
        before = self._connection
        self._open()
        before.close()
        self.__dict__.pop("id_ranks", None)  # kept from the state before

    def filter(self, *filters: Filter) -> Selection:
        """What passes all filters, one after the other; `roslin.filters` has them."""
        return Selection(self, apply_filters(self.connection, filters, len(self)), self.about["token"])

    def search(
        self,
        query: Query,
        matcher: str | Matcher = DEFAULT_MATCHER,
        k: int = 10,
        *,
        compare: str | None = None,
        place: str | None = None,
        key: str | None = None,
        within: Within | None = None,
        exclude: str | Iterable[str] = (),
        radius: float | None = None,
        **options: Unpack[WorkOptions],
    ) -> Run:
        """The k melodies most similar to the query, none beyond the radius.

        The query is a melody, notation as text, or a file with one melody. A `ReadingWarning` lists anything that had
        to be reinterpreted. A text that makes sense in two notations, such as `c4 e g c4`, is searched for in both, and
        note names without octaves in up to four readings. The list with the most certain first result is returned.
        Where nothing close is found for a text or a file, it is also searched for with its repeated notes as ties.
        `Run.remarks` shows how such a query was read. Each E is multiplied by the number of readings.

        `compare` ("both", "melody", "rhythm", "contour"), `place` ("anywhere", "start", "end", "whole") and `key`
        ("any", "written") are the modes of `roslin search`; a matcher that cannot do one is refused. Every matcher can
        compare beginnings: it cuts each melody to a little more than the query has.

        `within` limits the search to a selection, to ids, to numbers of melodies, or to a mask with a truth value for
        each melody. `exclude` is an id or several; an id that is not in the collection changes nothing, so that a query
        can be left out wherever it comes from. `threads` (1 by default) work at once. After `seconds` the search stops
        with the melodies compared by then (`Run.is_complete`, `Run.remarks`); where there are none, it is a
        `TimeLimitError`. `progress` receives the share that is done.

        The list of `roslin` is in the order of its evidence: every hit has the number of melodies expected to match as
        well by chance (`Hit.expected`) and a label (`Hit.meaning`), and `Run.matches` has the hits above chance. The
        list of any other matcher is in the order of its distances.
        """
        self._check_open()
        chosen, is_cut = Mode(compare, place, key).of(matcher_of(matcher))
        asked, work = self._readings(query), Work(**options)
        reach = np.inf if radius is None else radius
        request = Request(asked[0], chosen, k, self._within(within), _excluded(exclude), reach, is_cut)

        def searched(reading: Melody) -> Run:
            return search(replace(request, query=reading), self, work)

        if isinstance(query, Melody):
            run = searched(query)
        else:
            used, run, _ = surest(asked, searched)
            _warn(used)
        return run.with_titles(dict(self._in_chunks(_TITLES, run.ids)))

    def identify(
        self,
        source: Query | Sequence[Melody],
        *,
        within: Within | None = None,
        threads: int = 1,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> Identification:
        """Who the other sources of a tune say that it is by, the surest attribution first.

        The source is one melody or several, a file, notation or MARCXML as text, or the number of a record of the
        collection. Its own record is left out. `roslin.concordances.identify` says how several incipits count.
        """
        from roslin.concordances.identify import identify

        work = Work(threads, seconds, progress)
        return identify(self._incipits(source), self, within=self._within(within), work=work)

    def _within(self, within: Within | None) -> Numbers | None:
        """The numbers of the melodies that are meant, each once; None for all."""
        if within is None or isinstance(within, Selection):
            return within if within is None else within.numbers_in(self)
        given = [within] if isinstance(within, str) else _listed("within", within, _WITHIN)
        if isinstance(given, list) and all(isinstance(each, str) for each in given):
            try:
                return np.unique(self.numbers(given))
            except UnknownNameError as error:
                raise ArgumentError(f"within: {error}") from error
        chosen, melodies = _flags_or_places(given), counted(len(self), "melody", "melodies")
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self):
                raise ArgumentError(f"within: the mask has {counted(len(chosen), 'value')}, the collection {melodies}")
            return np.flatnonzero(chosen)
        outside = chosen[(chosen < 0) | (chosen >= len(self))]
        if len(outside):
            raise ArgumentError(f"within: there is no melody {outside[0]}; the collection has {melodies}, from 0 on")
        return np.unique(chosen.astype(np.int64))

    def _incipits(self, source: Query | Sequence[Melody]) -> list[Melody]:
        from roslin.concordances.identify import by_source, source_named

        if isinstance(source, Melody):
            return [source]
        if not isinstance(source, (str, bytes, os.PathLike)):
            given = list(source)
            if not all(isinstance(each, Melody) for each in given):
                kinds = "one melody or several, notation or MARCXML as text, or a file"
                raise ArgumentError(f"a source must be {kinds}; got {type(source).__name__}")
            return given
        if isinstance(source, str) and not is_path(source):
            sources = source_named(self, source.strip(), lambda: read_source(source))
        else:
            sources = by_source(read_source(source))
        if len(sources) > 1:
            named = ", ".join(list(sources)[:_ROWS_SHOWN])
            raise ArgumentError(f"one source is identified at a time; got {len(sources)}: {named} ...")
        (incipits,) = sources.values()
        return incipits

    def found_as(
        self,
        query: Query,
        candidate: str,
        matcher: str | Matcher = DEFAULT_MATCHER,
        *,
        seconds: float | None = None,
        readings: int = 1,
    ) -> Hit | None:
        """The melody with this id as a search of the whole collection finds it, without its rank.

        `readings` is of how many readings a query that is a melody is one. None where the matcher has no estimate of
        chance.
        """
        chosen, number, work = matcher_of(matcher), self.numbers([candidate]), Work(seconds=seconds)
        asked, count = self._query(query, chosen, work)
        if not isinstance(chosen, Roslin):
            return None
        whole = WholeCollection(Background.of(self), len(self))
        request = Request(asked, chosen, 1, whole=whole)

        def found(coinciding: bool, **changes: Any) -> Run:
            changed = replace(request, whole=whole._replace(coinciding=coinciding), **changes)
            return search(changed, self, Work(seconds=seconds))

        run = found(True, within=number)
        # A list has a melody of coinciding notes only if the alignment finds nothing certain.
        if len(run) and run[0].coincides and has_certain(found(False, exclude=frozenset([str(asked.id)]))):
            run = found(False, within=number)
        return run.times(count * readings)[0] if len(run) else None

    def expected(
        self, query: Query, candidate: str, matcher: str | Matcher = DEFAULT_MATCHER, *, seconds: float | None = None
    ) -> float | None:
        """The number of melodies of the collection expected to match as well by chance as the one with this id.

        None where the matcher has no estimate of chance.
        """
        hit = self.found_as(query, candidate, matcher, seconds=seconds)
        return None if hit is None else hit.expected

    def explain(
        self, query: Query, candidate: str | int | Melody, matcher: str | Matcher = DEFAULT_MATCHER
    ) -> Explanation:
        """Why a melody of the collection (its id or its place) is as near to the query as it is; or any other melody.

        A matcher whose distances depend on the other candidates sees the melody among the whole collection, as a search
        does. A query that can be read in several ways is read as the search reads it.
        """
        chosen = matcher_of(matcher)
        if isinstance(candidate, Melody):
            return chosen.explain(self._query(query, chosen)[0], [candidate])
        if not isinstance(self[candidate], Melody):
            raise ArgumentError(f"one melody is explained at a time: its id or its place; got {candidate!r}")
        number = self.numbers([candidate])[0] if isinstance(candidate, str) else candidate % len(self)
        asked, _ = self._query(query, chosen)
        among, places = depended_on(asked, self, chosen, np.array([number]))
        return chosen.explain(asked, among, int(places[0])).about(asked, self[int(number)])

    def _query(self, query: Query, chosen: Matcher, work: Work | None = None) -> tuple[Melody, int]:
        """The reading of a query that a search uses, and how many it has."""
        if isinstance(query, Melody):
            return query, 1
        found = self._readings(query)
        used, count = found[0], 1
        if isinstance(chosen, Roslin) and has_readings(found):
            used, _, count = surest(found, lambda reading: search(Request(reading, chosen), self, work))
        _warn(used)
        return used, count

    def _readings(self, query: Query) -> list[Melody]:
        try:
            return _read(query)
        except NotationError as error:
            if isinstance(query, str) and query in self:
                hint = f"is the id of a melody; to search for what is like it, ask for collection[{query!r}]"
                raise ArgumentError(f"{query!r} {hint}") from error
            raise

    def to_table(self, rows: int = _ROWS_SHOWN) -> Table:
        """The first melodies as a table: what is known about them, and the length of their line in notes."""
        columns = ("id", "title", "composer", "key", "metre", "notes")
        found = self.connection.execute(
            "SELECT id, title, composer, key, metre, note_count FROM melodies JOIN features USING (number) "
            "ORDER BY number LIMIT ?",
            (rows,),
        )
        (sources,) = self.connection.execute("SELECT count(DISTINCT source) FROM melodies").fetchone()
        numbers = (
            counted(len(self), "melody", "melodies"),
            counted(int(self.about["notes"]), "note"),
            counted(sources, "source"),
        )
        title = f"{self.path.name}: {', '.join(numbers)}"
        return Table(columns, tuple(dict(zip(columns, row, strict=True)) for row in found), title)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each melody, in the order of the collection."""
        return self._frame(np.arange(len(self)), library)

    def _frame(self, numbers: Numbers, library: FrameLibrary) -> Any:
        columns = ", ".join(("number", *_FRAME_COLUMNS))
        statement = f"SELECT {columns} FROM melodies JOIN features USING (number) WHERE number IN "  # noqa: S608
        rows = sorted(self._in_chunks(statement, numbers.tolist()), key=itemgetter(0))
        return frame({name: [row[k] for row in rows] for k, name in enumerate(_FRAME_COLUMNS, start=1)}, library)

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


def _listed(name: str, given: object, expected: str) -> list[Any] | npt.NDArray[Any]:
    if isinstance(given, np.ndarray) and given.ndim == 1:
        return given if given.dtype.kind in "biu" else given.tolist()
    if isinstance(given, (str, bytes, np.ndarray)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{name} must be {expected}; got {shortened(repr(given))}")
    return list(given)


def _flags_or_places(given: list[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A mask, or numbers of melodies."""
    if isinstance(given, np.ndarray):
        return given
    is_mask = isinstance(given[0], (bool, np.bool_))
    for each in given:
        is_flag = isinstance(each, (bool, np.bool_))
        if is_flag != is_mask or not (is_flag or isinstance(each, Integral)):
            raise ArgumentError(f"within must be {_WITHIN}; got {shortened(repr(each))}")
    return np.array(given, dtype=np.bool_ if is_mask else object)


def _excluded(given: str | Iterable[str]) -> frozenset[str]:
    """The ids to leave out."""
    if isinstance(given, Selection):
        return frozenset(given.ids)
    ids = [given] if isinstance(given, str) else _listed("exclude", given, _EXCLUDE)
    for id in ids:
        if not isinstance(id, str):
            raise ArgumentError(f"exclude must be {_EXCLUDE}; got {shortened(repr(id))}")
    return frozenset(ids)


def _read(query: Query) -> list[Melody]:
    """The melody that a query is, or the only one of a text or a file; of a text also the other that it may mean."""
    if isinstance(query, Melody):
        return [query]
    if not isinstance(query, (str, bytes, os.PathLike)):
        hint = "; of a list choose one, as in load(...)[0]" if isinstance(query, (list, tuple)) else ""
        raise ArgumentError(f"a query must be a melody, notation as text, or a file; got {type(query).__name__}{hint}")
    if isinstance(query, str) and not is_path(query):
        return readings(query)
    found = list(records(query))
    if len(found) != 1:
        what = "the text" if isinstance(query, bytes) else str(query)
        raise ArgumentError(f"{what} holds {len(found)} melodies; a query is one: choose it, as in load(...)[0]")
    return [found[0].melody_or_raise()]


def _warn(read: Melody) -> None:
    """A warning about anything in a text or a file that had to be reinterpreted."""
    if read.problems:
        warnings.warn(f"the query: {'; '.join(read.deviations)}", ReadingWarning, stacklevel=_caller())


def _caller() -> int:
    """How many calls up the line is that called Roslin, for warnings to point at."""
    level, calling = 1, sys._getframe(1)
    while calling.f_back is not None and calling.f_code.co_filename.startswith(_PACKAGE):
        level, calling = level + 1, calling.f_back
    return level


@dataclass(frozen=True, repr=False)
class Selection:
    """The melodies that passed a chain of filters, and what each step did. It is of one state of the collection.

    >>> from tempfile import TemporaryDirectory
    >>> from roslin import load
    >>> from roslin.collection.filters import pitch_range
    >>> folder = TemporaryDirectory()
    >>> collection = Collection.build(load("'4CDEC\\n'4CDEF\\n''4GFED"), f"{folder.name}/three.roslin")
    >>> selection = collection.filter(pitch_range(5, 5))
    >>> selection, selection[0], "melody-1" in selection
    (Selection('three.roslin', 2 of 3 melodies), Melody('melody-2', 4 notes), False)
    >>> print(selection)
    removed  percent  left  step
          0      0.0     3  All melodies.
          1     33.3     2  Pitch range exactly a perfect fourth (5 semitones).
    >>> selection.search("'4CDEC", "dp").ids
    ['melody-2', 'melody-3']
    >>> collection.close(); folder.cleanup()
    """

    collection: Collection
    report: FilterReport
    state: str
    near_duplicates: tuple[NearDuplicate, ...] = ()
    is_unique: bool = False  # near-duplicates have been looked for
    exact_rhythm: bool = False  # only what has the same rhythm counts as one

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Their numbers in the collection, ascending."""
        return self.numbers_in(self.collection)

    def numbers_in(self, collection: Collection) -> npt.NDArray[np.int64]:
        """Their numbers, if they are those of this collection as it is now."""
        if collection.about["token"] != self.state:
            is_own = collection.path == self.collection.path
            what = "the collection has changed since" if is_own else f"it is not of {collection.path}"
            raise CollectionError(f"the selection cannot be used: {what}; filter again")
        return self._numbers

    @cached_property
    def _numbers(self) -> npt.NDArray[np.int64]:
        left_out = [duplicate.number for duplicate in self.near_duplicates]
        numbers = np.setdiff1d(self.report.numbers, left_out, assume_unique=True).astype(np.int64)
        numbers.flags.writeable = False
        return numbers

    @property
    def ids(self) -> list[str]:
        """Their ids, in the order of the collection."""
        return self.collection.ids(self.numbers)

    def without_near_duplicates(self, exact_rhythm: bool = False) -> Selection:
        """Without melodies that are identical with another of the selection, or part of it (paper 002, section 3.1).

        Rhythm counts as longer, shorter or the same; with `exact_rhythm` in its proportions, so that rhythmic variants
        stay.
        """
        self.numbers_in(self.collection)
        durations = self._durations if exact_rhythm else None
        _, removed = remove_near_duplicates(self.collection.connection, self.report.numbers, durations)
        return replace(self, near_duplicates=tuple(removed), is_unique=True, exact_rhythm=exact_rhythm)

    def _durations(self, number: int) -> list[int]:
        """How long the notes of a melody's line last, in ticks."""
        lasting: list[int] = melodic_line(self.collection[number])["duration_ticks"].tolist()
        return lasting

    def also(self, *ways: Filter | Run) -> Selection:
        """With melodies that other ways find, whether the filters left them or not (paper 002, section 3.1).

        A way is a filter, such as `metadata("title", "Roslin")`, or the list of a search in this collection.
        `candidates` says by which way each melody came in.
        """
        self.numbers_in(self.collection)
        report = self.report
        for way in ways:
            if isinstance(way, Run):
                ids = [id for ranking in way.rankings.values() for id in ranking.ids]
                report = report.also(f"Found by {way.name}.", self.collection.numbers(ids))
            elif isinstance(way, Filter):
                report = report.also(way.sentence, apply_filters(self.collection.connection, [way]).passed)
            else:
                raise ArgumentError(f"a way to add melodies must be a filter or a run; got {type(way).__name__}")
        more = replace(self, report=report, near_duplicates=())
        return more.without_near_duplicates(self.exact_rhythm) if self.is_unique else more

    @property
    def candidates(self) -> Table:
        """The melodies with what they cost in each filter by editing distance, and by which way each came in."""
        numbers, connection = self.numbers, self.collection.connection
        rows: list[dict[str, Any]] = [
            {"id": melody.id, "title": melody.title, "composer": melody.composer, "why": why}
            for melody, why in zip(self, self.report.why(numbers), strict=True)
        ]
        names = list[str]()
        for cost in (step.filter.cost for step in self.report.steps if step.filter.cost is not None):
            again = sum(name.startswith(cost.name) for name in names)
            names.append(f"{cost.name} {again + 1}" if again else cost.name)
            for row, value in zip(rows, costs_of(connection, cost, numbers), strict=True):
                row[names[-1]] = value
        return Table(("id", "title", "composer", *names, "why"), tuple(rows), self._title)

    def search(
        self,
        query: Query,
        matcher: str | Matcher = DEFAULT_MATCHER,
        k: int = 10,
        **options: Unpack[SearchOptions],
    ) -> Run:
        """The k melodies of the selection that are most similar to the query; `Collection.search` says the rest."""
        return self.collection.search(query, matcher, k, within=self, **options)

    def __len__(self) -> int:
        return len(self.report.numbers) - len(self.near_duplicates)

    def __iter__(self) -> Iterator[Melody]:
        return self.collection.melodies(self.numbers)

    def __contains__(self, melody: object) -> bool:
        """Whether a melody with this id, or this very melody, is in the selection."""
        id = melody.id if isinstance(melody, Melody) else melody
        return melody in self.collection and int(self.collection.numbers([str(id)])[0]) in self.numbers

    @overload
    def __getitem__(self, which: str | SupportsIndex) -> Melody: ...

    @overload
    def __getitem__(self, which: slice) -> list[Melody]: ...

    def __getitem__(self, which: str | SupportsIndex | slice) -> Melody | list[Melody]:
        """The melody with an id or at a place, or the melodies of a slice."""
        numbers = self.numbers
        if isinstance(which, str):
            if which not in self:
                raise UnknownNameError("melody of the selection", which, [*self.collection.ids(numbers[:3]), "..."])
            return self.collection[which]
        places = chosen_places(which, len(self), "the selection")
        if isinstance(places, int):
            return self.collection[int(numbers[places])]
        return list(self.collection.melodies(numbers[places]))

    def to_table(self) -> Table:
        """What each step removed, of what was there before it, and left."""
        rows: list[dict[str, Any]] = [
            {"removed": 0, "percent": 0.0, "left": self.report.total, "step": "All melodies."},
            *(
                {
                    "removed": step.removed,
                    "percent": round(step.percent_removed, 1),
                    "left": step.left,
                    "step": step.sentence,
                }
                for step in self.report.steps
            ),
        ]
        rows += [
            {"added": way.added, "left": way.left, "step": f"Added: {way.sentence}"} for way in self.report.additions
        ]
        if self.is_unique:
            removed = len(self.near_duplicates)
            percent = round(100 * removed / max(1, len(self.report.numbers)), 1)
            sentence = _SAME_RHYTHM if self.exact_rhythm else _NEAR_DUPLICATES
            rows.append({"removed": removed, "percent": percent, "left": len(self), "step": sentence})
        added = ("added",) if self.report.additions else ()
        columns = ("removed", "percent", *added, "left", "step")
        return Table(columns, tuple({name: row.get(name) for name in columns} for row in rows), self._title)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each melody of the selection."""
        return self.collection._frame(self.numbers, library)

    @property
    def summary(self) -> str:
        """How many are left, and by which filters, in sentences."""
        steps = [step.sentence for step in self.report.steps]
        if self.is_unique:
            steps.append(f"Without what is {(_SAME_RHYTHM if self.exact_rhythm else _NEAR_DUPLICATES).lower()}")
        return " ".join((f"{self._title}.", *steps))

    @property
    def _title(self) -> str:
        return f"{len(self):,} of {counted(self.report.total, 'melody', 'melodies')}"

    def __repr__(self) -> str:
        return f"Selection({self.collection.path.name!r}, {self._title})"

    def __str__(self) -> str:
        return str(self.to_table())

    def _repr_html_(self) -> str:
        return self.to_table().to_html(digits=1)
