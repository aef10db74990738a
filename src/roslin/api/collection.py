"""The public collection: built, filtered, searched and explained in one object."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from roslin.api.selection import Query, Selection, Within, WorkOptions, ids_excluded, numbers_within
from roslin.collection.filters import Filter, apply_filters
from roslin.collection.report import BuildReport
from roslin.collection.store import METADATA_COLUMNS, Store
from roslin.deadline import Work
from roslin.display.table import FrameLibrary, Table, frame
from roslin.display.text import counted
from roslin.errors import ArgumentError, NotationError, ReadingWarning
from roslin.matchers import DEFAULT_MATCHER, Explanation, Matcher
from roslin.matchers import matcher as matcher_of
from roslin.matchers.base import Mode
from roslin.melody import Melody
from roslin.notation import is_path, records
from roslin.notation.record import Voices
from roslin.run import Hit, Run
from roslin.search import Request, depended_on, for_collections, search
from roslin.search.agreement import has_certain
from roslin.search.chance import Background, WholeCollection
from roslin.types import Numbers, Progress

if TYPE_CHECKING:
    from roslin.collection import write
    from roslin.collection.sources import Sources
    from roslin.collection.update import UpdateReport
    from roslin.concordances.identify import Identification


_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_ROWS_SHOWN = 5
_TITLES = "SELECT id, title FROM melodies WHERE id IN "
_FRAME_COLUMNS = (*METADATA_COLUMNS, "note_count", "pitch_range", "max_interval", "duration_ratio")


class Collection(Store):
    """A collection of melodies on disk. Melodies are chosen by id, place or slice, filtered, searched and added.

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
        """Make a collection from files, folders and melodies, and open it. `report` then has the outcome of each file.

        With `voices` "together" a score is one melody of all its staves. By default each staff is a melody. An existing
        collection is replaced when the new one is complete. A damaged, unknown or empty source raises `SourceError`,
        unless `allow_damaged`. A new collection with less than 90% of the old one's melodies raises `SmallerError`,
        unless `allow_smaller`. Nothing is written then.
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
        """Add files, folders and melodies, and return the outcome. No other thread may search meanwhile.

        Other music or metadata under an existing id raises `ChangedError`. With `replace`, it is replaced.

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

    def update(
        self,
        sources: Sources,
        *,
        complete: bool = False,
        strict: bool = False,
        progress: write.BuildProgress | None = None,
        allow_damaged: bool = False,
        allow_smaller: bool = False,
    ) -> UpdateReport:
        """Apply the changes of a catalogue's export, record by record. No other thread may search meanwhile.

        Records that the export marks as deleted are removed; with `complete`, also those that it lacks.
        """
        from roslin.collection.update import update

        self._check_open()
        report = update(
            sources, self.path, complete=complete, strict=strict, progress=progress, allow_damaged=allow_damaged,
            allow_smaller=allow_smaller,
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
        """Remove melodies by id, or all melodies of catalogue records by number, and return how many are left.

        If an id or a record is unknown, nothing is removed.
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
        for name in ("id_ranks", "has_rhythm"):  # kept from the state before
            self.__dict__.pop(name, None)

    def filter(self, *filters: Filter) -> Selection:
        """The melodies that pass all filters of `roslin.filters`, one after the other."""
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
        note names without octaves in up to four readings. The list with the most certain first result is returned. If
        nothing close is found for a text or a file, Roslin also searches for it with repeated notes as ties.
        `Run.remarks` shows how such a query was read. Each E is multiplied by the number of readings.

        `compare` ("both", "melody", "rhythm", "contour"), `place` ("anywhere", "start", "end", "whole") and `key`
        ("any", "written") are the modes of `roslin search`. A matcher that cannot do one is refused. Every matcher can
        compare beginnings: it cuts each melody to a little more than the query has.

        `within` limits the search to a selection, to ids, to numbers of melodies, or to a mask with a truth value for
        each melody. `exclude` is an id or several ids, which need not be in the collection. `threads` (1 by default)
        work at once. After `seconds` the search returns the results found by then (`Run.is_complete`, `Run.remarks`),
        or raises `TimeLimitError` if there are none. `progress` receives the share that is done.

        The list of `roslin` is in the order of its evidence: every hit has the number of melodies expected to match as
        well by chance (`Hit.expected`) and a label (`Hit.meaning`), and `Run.matches` has the hits above chance. The
        list of any other matcher is in the order of its distances.
        """
        self._check_open()
        chosen, is_cut = Mode(compare, place, key).of(matcher_of(matcher))
        asked, work = self._readings(query), Work(**options)
        reach = np.inf if radius is None else radius
        request = Request(asked[0], chosen, k, numbers_within(self, within), ids_excluded(exclude), reach, is_cut)

        def searched(reading: Melody) -> Run:
            return search(replace(request, query=reading), self, work)

        if isinstance(query, Melody):
            run = searched(query)
        else:
            from roslin.notation.query import surest

            used, run, _ = surest(asked, searched, self.__getitem__)
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
        """The composers named by other sources of the same tune, the most certain attribution first.

        The source is one melody or several, a file, notation or MARCXML as text, or the number of a record of the
        collection. Its own record is left out. `roslin.concordances.identify` describes how several incipits count.
        """
        from roslin.concordances.identify import identify

        work = Work(threads, seconds, progress)
        return identify(self._incipits(source), self, within=numbers_within(self, within), work=work)

    def _incipits(self, source: Query | Sequence[Melody]) -> list[Melody]:
        from roslin.concordances.identify import by_source, source_named
        from roslin.notation.query import read_source

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
        """The result that a search of the whole collection would give for the melody with this id, without its rank.

        `readings` is the number of readings of a query that is already a melody. None if chance is not estimated.
        """
        chosen, number, work = matcher_of(matcher), self.numbers([candidate]), Work(seconds=seconds)
        asked, count = self._query(query, chosen, work)
        if not chosen.estimates_chance:
            return None
        chosen = for_collections(chosen, asked, [self])
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
        """The number of melodies expected to match as well by chance as the one with this id; None if not estimated."""
        hit = self.found_as(query, candidate, matcher, seconds=seconds)
        return None if hit is None else hit.expected

    def explain(
        self, query: Query, candidate: str | int | Melody, matcher: str | Matcher = DEFAULT_MATCHER
    ) -> Explanation:
        """Why a melody of the collection (its id or its place), or any other melody, matches the query.

        A matcher whose distances depend on the other candidates sees the melody among the whole collection, as a search
        does. A query that can be read in several ways is read as the search reads it.
        """
        chosen = matcher_of(matcher)
        if isinstance(candidate, Melody):
            asked = self._query(query, chosen)[0]
            return for_collections(chosen, asked, [self]).explain(asked, [candidate])
        if not isinstance(self[candidate], Melody):
            raise ArgumentError(f"one melody is explained at a time: its id or its place; got {candidate!r}")
        number = self.numbers([candidate])[0] if isinstance(candidate, str) else candidate % len(self)
        asked, _ = self._query(query, chosen)
        chosen = for_collections(chosen, asked, [self])
        among, places = depended_on(asked, self, chosen, np.array([number]))
        return chosen.explain(asked, among, int(places[0])).about(asked, self[int(number)])

    def _query(self, query: Query, chosen: Matcher, work: Work | None = None) -> tuple[Melody, int]:
        """The reading of a query that a search uses, and how many it has."""
        if isinstance(query, Melody):
            return query, 1
        from roslin.notation.query import has_readings, surest

        found = self._readings(query)
        used, count = found[0], 1
        if chosen.estimates_chance and has_readings(found):
            used, _, count = surest(
                found, lambda reading: search(Request(reading, chosen), self, work), self.__getitem__
            )
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
        """The first melodies as a table of their metadata and numbers of notes."""
        columns = ("id", "title", "composer", "key", "metre", "notes")
        found = self.connection.execute(
            "SELECT id, title, composer, key, metre, note_count FROM melodies JOIN features USING (number) "
            "ORDER BY number LIMIT ?",
            (rows,),
        )
        (sources,) = self.connection.execute("SELECT count(DISTINCT source) FROM melodies").fetchone()
        size = f"{counted(len(self), 'melody', 'melodies')}, {counted(int(self.about['notes']), 'note')}"
        title = f"{self.path.name}: {size}, {counted(sources, 'source')}"
        return Table(columns, tuple(dict(zip(columns, row, strict=True)) for row in found), title)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each melody, in the order of the collection."""
        return self.frame_of(np.arange(len(self)), library)

    def frame_of(self, numbers: Numbers, library: FrameLibrary) -> Any:
        """A data frame with these melodies."""
        columns = ", ".join(("number", *_FRAME_COLUMNS))
        statement = f"SELECT {columns} FROM melodies JOIN features USING (number) WHERE number IN "  # noqa: S608
        rows = sorted(self._in_chunks(statement, numbers.tolist()), key=itemgetter(0))
        return frame({name: [row[k] for row in rows] for k, name in enumerate(_FRAME_COLUMNS, start=1)}, library)

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


def _read(query: Query) -> list[Melody]:
    """The melody that a query is, or the only one of a text or a file; of a text also the other that it may mean."""
    if isinstance(query, Melody):
        return [query]
    if not isinstance(query, (str, bytes, os.PathLike)):
        hint = "; of a list choose one, as in load(...)[0]" if isinstance(query, (list, tuple)) else ""
        raise ArgumentError(f"a query must be a melody, notation as text, or a file; got {type(query).__name__}{hint}")
    if isinstance(query, str) and not is_path(query):
        from roslin.notation.query import readings

        return readings(query)
    found = list(records(query))
    if len(found) != 1:
        what = "the text" if isinstance(query, bytes) else str(query)
        raise ArgumentError(f"{what} holds {len(found)} melodies; a query is one: choose it, as in load(...)[0]")
    return [found[0].melody_or_raise()]


def _warn(read: Melody) -> None:
    if read.problems:
        warnings.warn(f"the query: {'; '.join(read.deviations)}", ReadingWarning, stacklevel=_caller())


def _caller() -> int:
    """How many calls up the line is that called Roslin, for warnings to point at."""
    level, calling = 1, sys._getframe(1)
    while calling.f_back is not None and calling.f_code.co_filename.startswith(_PACKAGE):
        level, calling = level + 1, calling.f_back
    return level
