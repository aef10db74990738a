"""A filter as a value, and chains of filters applied to a collection (Typke et al. 2007, section 3.1).

To what a chain leaves, melodies can be added by name (`Addition`): those of a title, or those that a search finds. The
authors of the paper did so, to limit the error of filters that are too strict.

A filter is a condition in SQL with bound parameters, and a sentence. It keeps the melodies for which the condition is
true. A melody that lacks the feature (too few notes) goes. Each step of a chain works on what the one before left and
reports how many it removed.

A condition speaks of the tables of schema.sql by name. It is asked of `features`, which has one row for each melody,
joined with the filter's own table where that is `strings`, `melodies` or `folded`. Conditions on `features` alone are
cheap: they are asked again, together, at every step. The result of any other filter is passed to the next step as a
JSON list. Nothing is written, not even a temporary table, so a read-only connection that other threads use is fine.

Near-duplicates among candidates are removed after a chain. Two incipits count as identical when they have the same
chromatic intervals and the same rhythm string, so that a transposition, another clef or another unit of notation makes
no difference (section 3.2.3: the instructions asked the experts to treat transpositions as identical). One is contained
in another when its intervals and its rhythm string, taken together, are an unbroken part of the other's. The rhythm
string only has longer, shorter or the same. To demand exact rhythm, pass `durations`, which gives the durations of a
melody's line in ticks: then they must also be in the same proportions. Melodies with fewer than two notes have no
intervals and are always kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from roslin.collection.filters.patterns import is_found
from roslin.display.text import counted
from roslin.errors import CollectionError, FilterError
from roslin.represent.edits import EditCosts, edit_distance_from
from roslin.types import Numbers

EDIT_DISTANCE = "roslin_edit_distance"  # SQL function (query, candidate, costs as text)
PATTERN = "roslin_pattern"  # SQL function (pattern, string of a melody, ...)

Parameter = str | int | float
Durations = Callable[[int], Sequence[int]]
_PIECE = 4  # letters; containers are looked up by pieces of at most this length


@dataclass(frozen=True, slots=True)
class Cost:
    """The number by which a filter decides, where it is one: what it is called, and SQL that speaks of `strings`."""

    name: str
    sql: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Filter:
    """One condition. `name` is the call that makes it, and `table` the table that `sql` uses."""

    name: str
    table: str
    sql: str
    parameters: tuple[Parameter, ...]
    sentence: str
    cost: Cost | None = None

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.sentence


def call_text(name: str, *arguments: object, **options: tuple[object, object]) -> str:
    """How to make a filter again, as text. An option is given as its value and its default."""
    named = [f"{option}={value!r}" for option, (value, default) in options.items() if value != default]
    return f"{name}({', '.join([*map(repr, arguments), *named])})"


@dataclass(frozen=True, slots=True)
class FilterStep:
    """The effect of one filter of a chain."""

    filter: Filter
    removed: int
    left: int

    @property
    def sentence(self) -> str:
        """The condition in words."""
        return self.filter.sentence

    @property
    def percent_removed(self) -> float:
        """The number of melodies that this step removed."""
        return 100 * self.removed / (self.removed + self.left) if self.removed else 0.0

    def __str__(self) -> str:
        percent = f"{self.percent_removed:.0f}%"
        if percent == "100%" and self.left:
            percent = "over 99%"
        if percent == "0%" and self.removed:
            percent = "under 1%"
        return f"{self.sentence} Removed {self.removed:,} ({percent}), {self.left:,} left."


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """A source of additional melodies: `numbers` are all that it found, and `added` is the number of new ones."""

    sentence: str
    numbers: Numbers
    added: int
    left: int

    def __str__(self) -> str:
        return f"{self.sentence} Found {len(self.numbers):,}, added {self.added:,}, {self.left:,} left."


@dataclass(frozen=True, slots=True, eq=False)
class FilterReport:
    """The melodies left by a chain of filters (`passed`, ascending), and those added; `numbers` has both."""

    total: int
    steps: tuple[FilterStep, ...]
    passed: Numbers
    additions: tuple[Addition, ...] = ()

    @property
    def numbers(self) -> Numbers:
        return reduce(np.union1d, (way.numbers for way in self.additions), self.passed)

    def also(self, sentence: str, numbers: Numbers) -> FilterReport:
        """The same with these melodies added. The sentence names their source."""
        before = self.numbers
        found = np.unique(np.asarray(numbers, dtype=np.int64))
        added = len(np.setdiff1d(found, before, assume_unique=True))
        return replace(self, additions=(*self.additions, Addition(sentence, found, added, len(before) + added)))

    def why(self, numbers: Numbers) -> list[str]:
        """The sources of each of these melodies, one sentence per source."""
        ways = [("Passed the filters.", self.passed), *((way.sentence, way.numbers) for way in self.additions)]
        came = [np.where(np.isin(numbers, found), sentence, "").tolist() for sentence, found in ways]
        return [" ".join(filter(None, sentences)) for sentences in zip(*came, strict=True)]

    def __str__(self) -> str:
        return "\n".join(
            [f"{counted(self.total, 'melody', 'melodies')}.", *map(str, self.steps), *map(str, self.additions)]
        )


def apply_filters(connection: sqlite3.Connection, filters: Sequence[Filter], total: int | None = None) -> FilterReport:
    """Apply filters one after the other. `total` is the size of the collection, if known."""
    for step in filters:
        if not isinstance(step, Filter):
            raise FilterError(f"a filter is made by roslin.filters, as in filters.pitch_range(12, 15); got {step!r}")
    try:
        if any(name in step.sql for step in filters for name in (EDIT_DISTANCE, PATTERN)):
            _register_functions(connection)
        if total is None:
            (total,) = connection.execute("SELECT count(*) FROM features").fetchone()
        return _apply(connection, filters, total)
    except sqlite3.DatabaseError as error:
        raise CollectionError(f"the collection cannot be filtered: {error}") from error


def costs_of(connection: sqlite3.Connection, cost: Cost, numbers: Numbers) -> list[float]:
    """The filter's number for each of these melodies, whether it passed or not."""
    _register_functions(connection)
    # Only words of our own are put together here; what people typed is bound.
    statement = (
        f"SELECT strings.number, {cost.sql} FROM json_each(?) AS wanted "  # noqa: S608
        "CROSS JOIN strings ON strings.number = wanted.value"
    )
    found = dict(connection.execute(statement, (*cost.parameters, json.dumps(numbers.tolist()))))
    return [float(found[number]) for number in numbers.tolist()]


def _apply(connection: sqlite3.Connection, filters: Sequence[Filter], total: int) -> FilterReport:
    steps: list[FilterStep] = []
    before, survivors = total, None
    waiting: list[Filter] = []
    for step in filters:
        waiting.append(step)
        if step.table == "features":
            left = _ask(connection, "count(*)", survivors, waiting)
        else:
            survivors, waiting = _ask(connection, _LIST, survivors, waiting), []
            left = survivors.count(",") + 1 if survivors != "[]" else 0
        steps.append(FilterStep(step, before - left, left))
        before = left
    if waiting or survivors is None:
        survivors = _ask(connection, _LIST, survivors, waiting)
    return FilterReport(total, tuple(steps), np.sort(np.array(json.loads(survivors), dtype=np.int64)))


_LIST = "json_group_array(features.number)"


def _ask(connection: sqlite3.Connection, wanted: str, survivors: str | None, filters: Sequence[Filter]) -> Any:
    """Ask for one value about the melodies that pass all these filters, out of a JSON list of survivors or of all."""
    source, parameters = "features", list[Parameter]()
    if survivors is not None:
        # A cross join fixes the order: go through the survivors, look up each.
        source = "json_each(?) AS survivor CROSS JOIN features ON features.number = survivor.value"
        parameters.append(survivors)
    for table in ("strings", "melodies", "folded"):
        if any(step.table == table for step in filters):
            source += f" JOIN {table} ON {table}.number = features.number"
    conditions = " AND ".join(f"({step.sql})" for step in filters) or "1"
    for step in filters:
        parameters += step.parameters
    # Only words of our own are put together here; what people typed is bound.
    statement = f"SELECT {wanted} FROM {source} WHERE {conditions}"  # noqa: S608
    return connection.execute(statement, parameters).fetchone()[0]


def _register_functions(connection: sqlite3.Connection) -> None:
    """Called once per connection, because SQLite refuses to replace a function during a read."""
    known = connection.execute("SELECT 1 FROM pragma_function_list WHERE name = ?", (EDIT_DISTANCE,)).fetchone()
    if known is None:
        connection.create_function(
            EDIT_DISTANCE, 3, lambda query, candidate, costs: _prepared(query, costs)(candidate), deterministic=True
        )
        connection.create_function(PATTERN, -1, is_found, deterministic=True)


def costs_as_text(costs: EditCosts) -> str:
    """Costs in the form in which the SQL function takes them."""
    return json.dumps(astuple(costs))


@lru_cache(maxsize=32)
def _prepared(query: str, costs: str) -> Callable[[str], float]:
    insertion, deletion, replacement, pairs = json.loads(costs)
    return edit_distance_from(query, EditCosts(insertion, deletion, replacement, tuple(map(tuple, pairs))))


# -- near-duplicates --------------------------------------------------------------------------------------------------


class NearDuplicate(NamedTuple):
    """A removed melody, the one that replaces it, and the reason: "identical" or "contained"."""

    number: int
    because_of: int
    reason: str


def remove_near_duplicates(
    connection: sqlite3.Connection, numbers: Iterable[int], durations: Durations | None = None
) -> tuple[Numbers, list[NearDuplicate]]:
    """The numbers that stay, ascending, and those that are removed.

    Of identical incipits, the one with the lowest number stays. A contained one is replaced by the longest incipit that
    contains it (of several, the one with the lowest number), which always stays.
    """
    wanted = [int(number) for number in numbers]
    letters = _letters(connection, wanted)
    for number in wanted:
        if number not in letters:
            raise FilterError(f"numbers must be those of melodies in the collection; got {number}")
    removed, kept = list[NearDuplicate](), list[int]()
    with_piece: dict[str, list[int]] = {}  # of those kept, longest first
    for number in sorted(letters, key=lambda number: (-len(letters[number]), number)):
        found = _container(number, letters, with_piece, durations) if letters[number] else None
        if found is not None:
            removed.append(found)
            continue
        kept.append(number)
        for piece in {piece for length in range(1, _PIECE + 1) for piece in _pieces(letters[number], length)}:
            with_piece.setdefault(piece, []).append(number)
    return np.array(sorted(kept), dtype=np.int64), sorted(removed)


def _letters(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, str]:
    """For each number one character for each pair of notes: interval and rhythm together."""
    rows = connection.execute(
        "SELECT strings.number, chromatic, rhythm FROM json_each(?) AS wanted "
        "CROSS JOIN strings ON strings.number = wanted.value",
        (json.dumps(numbers),),
    )
    return {
        number: "".join(chr(128 * "LS=".index(change) + ord(step)) for step, change in zip(steps, rhythm, strict=False))
        for number, steps, rhythm in rows
    }


def _container(
    number: int, letters: dict[int, str], with_piece: dict[str, list[int]], durations: Durations | None
) -> NearDuplicate | None:
    """The first melody that contains the letters of this one is among those with the rarest piece of them."""
    own = letters[number]
    for other in min((with_piece.get(piece, []) for piece in _pieces(own, _PIECE)), key=len):
        for start in _places(own, letters[other]):
            if durations is None or _same_proportions(durations(number), durations(other)[start:]):
                is_identical = len(own) == len(letters[other])
                return NearDuplicate(number, other, "identical" if is_identical else "contained")
    return None


def _pieces(letters: str, length: int) -> set[str]:
    """All pieces of this length, or the letters themselves where there are fewer."""
    return {letters[start : start + length] for start in range(max(len(letters) - length, 0) + 1)}


def _places(part: str, whole: str) -> Iterator[int]:
    start = whole.find(part)
    while start >= 0:
        yield start
        start = whole.find(part, start + 1)


def _same_proportions(part: Sequence[int], whole: Sequence[int]) -> bool:
    return all(int(a) * int(whole[0]) == int(b) * int(part[0]) for a, b in zip(part, whole, strict=False))
