"""A distance taken apart: what it starts from, and what each step adds to it or, below 0, takes off it.

`Matcher.account` gives one; `start` and the costs of all steps add up to the distance. What a step is, depends on the
`kind` of the matcher:

    alignment   things of both melodies side by side, or of one alone; a thing is a note, or a few that are compared as
                one: `edits` finds the cheapest way, for every matcher that edits
    grams       a run that both melodies have, at all its places
    places      notes that coincide, or sound together, after one move of the whole query
    sum         a measure among several; `within` is the account of the one that weighs most

Notes are rows of the note tables. The rules are those of the matcher, the path through them is found here a second
time, one step after the other: the kernels of the matchers keep no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from roslin.melody import Melody
from roslin.represent.intervals import interval_name
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed

__all__ = [
    "Account",
    "Begins",
    "Edits",
    "Ends",
    "Flags",
    "Rows",
    "Step",
    "Way",
    "both_lines",
    "edits",
    "in_words",
    "runs",
    "side_by_side",
    "successive",
    "together",
]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Rows = tuple[int, ...]
Begins = Literal["corner", "top", "anywhere"]
Ends = Literal["corner", "bottom", "anywhere", "inside"]

# The cells of the table of edits where a way may begin: with everything before it counted, anywhere in the candidate
# before the first thing of the query, anywhere in both. And where it may end; inside is after one thing of each.
_ALL = slice(None)
_BEGINS: dict[Begins, tuple[int | slice, int | slice]] = {"corner": (0, 0), "top": (0, _ALL), "anywhere": (_ALL, _ALL)}
_ENDS: dict[Ends, tuple[int | slice, int | slice]] = {
    "corner": (-1, -1),
    "bottom": (-1, _ALL),
    "anywhere": (_ALL, _ALL),
    "inside": (slice(1, None), slice(1, None)),
}
_PATIENCE = 1e-12  # a limit that rounding alone crosses is not crossed


@dataclass(frozen=True, slots=True)
class Step:
    """What some notes of the query and some of the candidate do to the distance; a run may stand at several places.

    `deed` is same or other (side by side), missing (only in the query), added (only in the candidate), joined (several
    notes of the query for one), split (one for several), shared (a run, or notes that coincide), measure, or limit (the
    distance was beyond its bounds).
    """

    deed: str
    query_places: tuple[Rows, ...]
    candidate_places: tuple[Rows, ...]
    cost: float
    words: str = ""

    @property
    def query_notes(self) -> Rows:
        """The notes of the query, at whatever place."""
        return together(self.query_places)

    @property
    def candidate_notes(self) -> Rows:
        """The notes of the candidate, at whatever place."""
        return together(self.candidate_places)


@dataclass(frozen=True, slots=True)
class Account:
    """A distance: `start`, and the cost of each step.

    `tempo` is how many times slower the candidate is than the query, where the matcher knows.
    """

    start: float
    steps: tuple[Step, ...] = ()
    tempo: float | None = None
    within: Account | None = None

    @property
    def distance(self) -> float:
        """What all adds up to."""
        return self.start + sum(step.cost for step in self.steps)

    def times(self, factor: float) -> Account:
        """The account of a distance that is so many times as large."""
        steps = tuple(replace(step, cost=step.cost * factor) for step in self.steps)
        return replace(self, start=self.start * factor, steps=steps)

    def bounded(self, least: float = 0.0, most: float = np.inf) -> Account:
        """The account with a last step that takes the distance back to its bounds, if it is beyond them."""
        beyond = min(max(self.distance, least), most) - self.distance
        if abs(beyond) < _PATIENCE:
            return self
        words = f"no distance is {'below' if beyond > 0 else 'above'} {least if beyond > 0 else most:g}"
        return replace(self, steps=(*self.steps, Step("limit", (), (), beyond, words)))


@dataclass(frozen=True, slots=True)
class Way:
    """A kind of step that takes `rows` things of the query and `columns` of the candidate.

    `costs` is a table, by the last thing of each; for a step that takes nothing of one melody, a list. A step with a
    past may only follow one that led to the state `before`, and leads to the state `after`: gaps that are cheaper to
    make longer than to open need that.
    """

    rows: int
    columns: int
    costs: Array
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Edits:
    """The cheapest way from the things of one melody to those of another: its cost, and its steps."""

    cost: float
    steps: tuple[Step, ...]

    def account(self, start: float = 0.0, by: float = 1.0) -> Account:
        """The account of the distance that starts so, and adds the cost of these steps divided by `by`."""
        return replace(Account(0.0, self.steps).times(1.0 / by), start=start)


def side_by_side(costs: Array, missing: Array, added: Array) -> tuple[Way, ...]:
    """The three ways of the textbook: one for one, leave out, put in. Of equally cheap ways, agree early."""
    return Way(0, 1, added), Way(1, 1, costs), Way(1, 0, missing)


def edits(
    query: Sequence[Rows],
    candidate: Sequence[Rows],
    ways: Sequence[Way],
    same: Flags,
    begins: Begins = "corner",
    ends: Ends = "corner",
) -> Edits:
    """The cheapest way from the query's things to the candidate's. `same` says which things are."""
    from roslin.matchers._path_kernels import cheapest_path  # Numba loads only when something is compared

    shape = len(query) + 1, len(candidate) + 1
    costs = np.full((len(ways), *shape), np.inf)
    for table, way in zip(costs, ways, strict=True):
        if not way.columns:
            table[1:] = way.costs[:, None]
        elif not way.rows:
            table[:, 1:] = way.costs
        else:
            table[1:, 1:] = way.costs
    rows, columns, before, after = np.array([(way.rows, way.columns, way.before, way.after) for way in ways]).T.copy()
    starts, stops = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    starts[_BEGINS[begins]] = True
    stops[_ENDS[ends]] = True
    cost, path = cheapest_path(costs, rows, columns, before, after, starts, stops)
    steps = []
    for k, i, j in path.tolist():
        way = ways[k]
        if not way.rows or not way.columns:
            deed = "missing" if way.rows else "added"
        elif way.rows == way.columns:
            deed = "same" if same[i - 1, j - 1] else "other"
        else:
            deed = "joined" if way.rows > way.columns else "split"
        mine, theirs = query[i - way.rows : i], candidate[j - way.columns : j]
        steps.append(Step(deed, _one_place(mine), _one_place(theirs), float(costs[k, i, j])))
    return Edits(cost, tuple(steps))


def _one_place(things: Sequence[Rows]) -> tuple[Rows, ...]:
    return (together(things),) if things else ()


def together(things: Iterable[Rows]) -> Rows:
    """All notes of several things or places, in order."""
    return tuple(sorted({row for thing in things for row in thing}))


def both_lines(query: Melody, candidates: Packed, number: int) -> tuple[Lines, Lines]:
    """The query, and one of the candidates, as lines."""
    return melodic_lines([query]), melodic_lines(candidates.part(number, number + 1))


def successive(lines: Lines, size: int = 1) -> list[Rows]:
    """Every so many notes of a line that follow each other.

    >>> successive(melodic_lines([Melody.from_notes([0, 1, 1, 2], [1] * 4, [60, 62, 64, 65])]), 2)
    [(0, 1), (1, 3)]
    """
    rows = lines.rows.tolist()
    return [tuple(rows[first : first + size]) for first in range(len(rows) - size + 1)]


def runs(symbols: Sequence[int], rows: Sequence[int], n: int) -> dict[tuple[int, ...], list[Rows]]:
    """All runs of n symbols, with the notes of each place where they stand; a symbol may belong to a note and the next.

    >>> runs([2, 2, 1], [0, 1, 2, 3], 2)
    {(2, 2): [(0, 1, 2)], (2, 1): [(1, 2, 3)]}
    """
    size = n + len(rows) - len(symbols)
    found: dict[tuple[int, ...], list[Rows]] = {}
    for first in range(len(symbols) - n + 1):
        found.setdefault(tuple(symbols[first : first + n]), []).append(tuple(rows[first : first + size]))
    return found


def in_words(intervals: Iterable[int]) -> str:
    """Intervals in semitones as words.

    >>> in_words([2, 0, -4])
    'major second up, repeated, major third down'
    """
    return ", ".join(
        f"{interval_name(abs(size))} {'up' if size > 0 else 'down'}" if size else "repeated" for size in intervals
    )
