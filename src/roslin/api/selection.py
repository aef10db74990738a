"""Selections: the melodies that filters leave, and the ways in which a search can be limited to some melodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from roslin.collection.filters import Filter, FilterReport, NearDuplicate, apply_filters, remove_near_duplicates
from roslin.collection.filters.chain import costs_of
from roslin.collection.store import chosen_places
from roslin.display.table import FrameLibrary, Table
from roslin.display.text import counted
from roslin.errors import ArgumentError, CollectionError, UnknownNameError, shortened
from roslin.matchers import DEFAULT_MATCHER, Matcher
from roslin.melody import Melody
from roslin.notation import Source
from roslin.represent.line import melodic_line
from roslin.run import Run
from roslin.types import Numbers, Progress

if TYPE_CHECKING:
    from roslin.api.collection import Collection

Query = Melody | Source
"""A melody, notation as text or bytes, or a file: a path, or the name of a file that is there."""

Within: TypeAlias = "Selection | str | Iterable[str] | Iterable[int] | Iterable[bool]"
"""A selection, ids, numbers of melodies, or a mask with a truth value for each melody of the collection."""

_WITHIN = "a selection, ids, numbers of melodies (each a whole number), or a mask (each True or False)"
_EXCLUDE = "ids of melodies, each a text"
_NEAR_DUPLICATES = "Identical with another, or part of it."
_SAME_RHYTHM = "Identical with another in exact rhythm, or part of it."


class WorkOptions(TypedDict, total=False):
    """The options of work that takes long; `Collection.search` describes them."""

    threads: int
    seconds: float | None
    progress: Progress | None


class SearchOptions(WorkOptions, total=False):
    """The options of a search; `Collection.search` describes them."""

    compare: str | None
    place: str | None
    key: str | None
    exclude: str | Iterable[str]
    radius: float | None


@dataclass(frozen=True, repr=False)
class Selection:
    """The melodies that passed a chain of filters, and the effect of each step. It belongs to one state of the
    collection.

    >>> from tempfile import TemporaryDirectory
    >>> from roslin import Collection, load
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
    def numbers(self) -> Numbers:
        """Their numbers in the collection, ascending."""
        return self.numbers_in(self.collection)

    def numbers_in(self, collection: Collection) -> Numbers:
        """Their numbers, if the collection has not changed since."""
        if collection.about["token"] != self.state:
            is_own = collection.path == self.collection.path
            what = "the collection has changed since" if is_own else f"it is not of {collection.path}"
            raise CollectionError(f"the selection cannot be used: {what}; filter again")
        return self._numbers

    @cached_property
    def _numbers(self) -> Numbers:
        removed = [duplicate.number for duplicate in self.near_duplicates]
        numbers = np.setdiff1d(self.report.numbers, removed, assume_unique=True).astype(np.int64)
        numbers.flags.writeable = False
        return numbers

    @property
    def ids(self) -> list[str]:
        """Their ids, in the order of the collection."""
        return self.collection.ids(self.numbers)

    def without_near_duplicates(self, exact_rhythm: bool = False) -> Selection:
        """Without melodies that are identical with another of the selection, or part of it (Typke et al. 2007, 3.1).

        Rhythm counts as longer, shorter or the same. With `exact_rhythm` its proportions count, so that rhythmic
        variants stay.
        """
        self.numbers_in(self.collection)
        durations = self._durations if exact_rhythm else None
        _, removed = remove_near_duplicates(self.collection.connection, self.report.numbers, durations)
        return replace(self, near_duplicates=tuple(removed), is_unique=True, exact_rhythm=exact_rhythm)

    def _durations(self, number: int) -> list[int]:
        return list(melodic_line(self.collection[number])["duration_ticks"].tolist())

    def also(self, *ways: Filter | Run) -> Selection:
        """With additional melodies, even if the filters removed them (Typke et al. 2007, section 3.1).

        Each source of additional melodies is a filter, such as `metadata("title", "Roslin")`, or the list of a search
        in this collection. `candidates` names the source of each melody.
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
        """The melodies with their costs in each filter by editing distance, and the source of each."""
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
        self, query: Query, matcher: str | Matcher = DEFAULT_MATCHER, k: int = 10, **options: Unpack[SearchOptions]
    ) -> Run:
        """The k melodies of the selection most similar to the query; `Collection.search` describes the options."""
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
        """How many melodies each step received, removed and left."""
        rows: list[dict[str, Any]] = [
            {"removed": 0, "percent": 0.0, "left": self.report.total, "step": "All melodies."}
        ]
        for step in self.report.steps:
            percent = round(step.percent_removed, 1)
            rows.append({"removed": step.removed, "percent": percent, "left": step.left, "step": step.sentence})
        for way in self.report.additions:
            rows.append({"added": way.added, "left": way.left, "step": f"Added: {way.sentence}"})
        if self.is_unique:
            removed = len(self.near_duplicates)
            percent = round(100 * removed / max(1, len(self.report.numbers)), 1)
            sentence = _SAME_RHYTHM if self.exact_rhythm else _NEAR_DUPLICATES
            rows.append({"removed": removed, "percent": percent, "left": len(self), "step": sentence})
        added = ("added",) if self.report.additions else ()
        columns = ("removed", "percent", *added, "left", "step")
        shown = tuple({name: row.get(name) for name in columns} for row in rows)
        return Table(columns, shown, self._title, coarse=("percent",))

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each melody of the selection."""
        return self.collection.frame_of(self.numbers, library)

    @property
    def summary(self) -> str:
        """The filters and the number of melodies left, in sentences."""
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


# -- limits of a search -----------------------------------------------------------------------------------------------


def numbers_within(collection: Collection, within: Within | None) -> Numbers | None:
    """The numbers of the melodies that are meant, each once; None for all."""
    if within is None or isinstance(within, Selection):
        return within if within is None else within.numbers_in(collection)
    given = [within] if isinstance(within, str) else _listed("within", within, _WITHIN)
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        try:
            return np.unique(collection.numbers(given))
        except UnknownNameError as error:
            raise ArgumentError(f"within: {error}") from error
    chosen, melodies = _flags_or_places(given), counted(len(collection), "melody", "melodies")
    if chosen.dtype == np.bool_:
        if len(chosen) != len(collection):
            raise ArgumentError(f"within: the mask has {counted(len(chosen), 'value')}, the collection {melodies}")
        return np.flatnonzero(chosen)
    outside = chosen[(chosen < 0) | (chosen >= len(collection))]
    if len(outside):
        raise ArgumentError(f"within: there is no melody {outside[0]}; the collection has {melodies}, numbered from 0")
    return np.unique(chosen.astype(np.int64))


def _listed(name: str, given: object, expected: str) -> list[Any] | npt.NDArray[Any]:
    if isinstance(given, np.ndarray) and given.ndim == 1:
        return given if given.dtype.kind in "biu" else given.tolist()
    if isinstance(given, (str, bytes, np.ndarray)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{name} must be {expected}; got {shortened(repr(given))}")
    return list(given)


def _flags_or_places(given: list[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    if isinstance(given, np.ndarray):
        return given
    is_mask = isinstance(given[0], (bool, np.bool_))
    for each in given:
        is_flag = isinstance(each, (bool, np.bool_))
        if is_flag != is_mask or not (is_flag or isinstance(each, Integral)):
            raise ArgumentError(f"within must be {_WITHIN}; got {shortened(repr(each))}")
    return np.array(given, dtype=np.bool_ if is_mask else object)


def ids_excluded(given: str | Iterable[str]) -> frozenset[str]:
    """The ids to leave out."""
    if isinstance(given, Selection):
        return frozenset(given.ids)
    ids = [given] if isinstance(given, str) else _listed("exclude", given, _EXCLUDE)
    for id in ids:
        if not isinstance(id, str):
            raise ArgumentError(f"exclude must be {_EXCLUDE}; got {shortened(repr(id))}")
    return frozenset(ids)
