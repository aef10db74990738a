"""The cheapest way from one melody to another, step by step, for every matcher that edits; and the runs that both have.

The rules are those of the matcher. The path through them is found here a second time: its kernels keep no trace. Notes
are rows of the note tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from roslin.matchers.explanation import Rows, Step, together
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Flags, Floats

Gram = tuple[int, ...]
Runs = dict[Gram, list[Rows]]  # by symbols, the notes at each place
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


@dataclass(frozen=True, slots=True)
class Way:
    """A kind of step that takes `rows` things of the query and `columns` of the candidate.

    `costs` is a table, by the last thing of each; for a step that takes nothing of one melody, a list. A step with a
    past may only follow one that led to the state `before`, and leads to the state `after`: gaps that are cheaper to
    make longer than to open need that.
    """

    rows: int
    columns: int
    costs: Floats
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Edits:
    """The cheapest way from the things of one melody to those of another: its cost, and its steps."""

    cost: float
    steps: tuple[Step, ...]


def side_by_side(costs: Floats, missing: Floats, added: Floats) -> tuple[Way, ...]:
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
    """The cheapest way from the query's things to the candidate's. `same` marks equal things."""
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
    cost, path, count = np.empty(1), np.empty((sum(shape), 3), dtype=np.int64), np.empty(1, dtype=np.int64)
    kernels.cheapest_path(costs, rows, columns, before, after, starts, stops, cost, path, count)
    steps = []
    for k, i, j in path[: count[0]].tolist():
        way = ways[k]
        if not way.rows or not way.columns:
            kind = "missing" if way.rows else "added"
        elif way.rows == way.columns:
            kind = "same" if same[i - 1, j - 1] else "other"
        else:
            kind = "joined" if way.rows > way.columns else "split"
        mine, theirs = query[i - way.rows : i], candidate[j - way.columns : j]
        steps.append(Step(kind, _one_place(mine), _one_place(theirs), float(costs[k, i, j])))
    return Edits(float(cost[0]), tuple(steps))


def _one_place(things: Sequence[Rows]) -> tuple[Rows, ...]:
    return (together(things),) if things else ()


def both_lines(query: Melody, candidates: Packed, number: int) -> tuple[Lines, Lines]:
    """The query, and one of the candidates, as lines."""
    return melodic_lines([query]), melodic_lines(candidates.part(number, number + 1))


def successive(lines: Lines, size: int = 1) -> list[Rows]:
    """Every run of `size` consecutive notes of a line.

    >>> successive(melodic_lines([Melody.from_notes([0, 1, 1, 2], [1] * 4, [60, 62, 64, 65])]), 2)
    [(0, 1), (1, 3)]
    """
    rows = lines.rows.tolist()
    return [tuple(rows[first : first + size]) for first in range(len(rows) - size + 1)]


def runs(symbols: Sequence[int], rows: Sequence[int], n: int) -> Runs:
    """All runs of n symbols, with the notes of each place where they occur. A symbol may belong to a note and the next.

    >>> runs([2, 2, 1], [0, 1, 2, 3], 2)
    {(2, 2): [(0, 1, 2)], (2, 1): [(1, 2, 3)]}
    """
    size = n + len(rows) - len(symbols)
    found: Runs = {}
    for first in range(len(symbols) - n + 1):
        found.setdefault(tuple(symbols[first : first + n]), []).append(tuple(rows[first : first + size]))
    return found


def shared_runs(
    asked: Runs, stored: Runs, cost: Callable[[Gram], float], words: Callable[[Gram], str] = lambda _: ""
) -> Iterator[Step]:
    """A step for each run of the query that the candidate has as well."""
    for run, places in asked.items():
        if run in stored:
            yield Step("shared", tuple(places), tuple(stored[run]), cost(run), words(run))
