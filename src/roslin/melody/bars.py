"""Which bar is where, as musicians count: bar 1 is the first whole bar, bar 0 a pick-up before it.

A pick-up is a first bar that is shorter than the second. What follows the last bar line is a bar too, where notes sound
there. Catalogues write many bars of rest as one sign with no bar line in it: they count as many bars as the metre
makes of them. Without bar lines there are no bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from roslin.errors import ArgumentError
from roslin.melody.table import MAX_TICKS, TICKS_PER_QUARTER
from roslin.types import Numbers

if TYPE_CHECKING:
    from roslin.melody.melody import Melody

_SIGNS = {"c": "4/4", "c/": "2/2"}
_FRACTION = re.compile(r"([1-9]\d{0,2})/([1-9]\d{0,2})")


def metre_fraction(metre: str) -> tuple[int, int] | None:
    """The beats of a metre and their value; None where it is no fraction.

    >>> metre_fraction("6/8"), metre_fraction("c"), metre_fraction("3/4|2/4")
    ((6, 8), (4, 4), None)
    """
    found = _FRACTION.fullmatch(_SIGNS.get(metre, metre))
    return None if found is None else (int(found[1]), int(found[2]))


def bar_number(start: float, melody: Melody) -> int | None:
    """The bar at a place in quarters, from 1; 0 is a pick-up. None: no bar lines.

    >>> from roslin import load
    >>> tune = load("%G-2@3/4 '4G/''CDE/2.F/")[0]
    >>> [bar_number(start, tune) for start in (0, 1, 3.5, 4)]
    [0, 1, 1, 2]
    """
    if not len(melody.barlines_ticks):
        return None
    return _first(melody) - 1 + int(np.searchsorted(_lines(melody), round(start * TICKS_PER_QUARTER), side="right"))


def bar_numbers(melody: Melody) -> range:
    """The numbers of all bars; none without bar lines."""
    if not len(melody.barlines_ticks):
        return range(0)
    first = _first(melody)
    return range(first, first + len(_edges(melody)) - 1)


def bar_edges(melody: Melody, first: int, last: int) -> tuple[int, int]:
    """Where the first of several bars begins and the last ends, in ticks; the melody's last bar has no end."""
    known = bar_numbers(melody)
    if not known:
        raise ArgumentError("the melody has no bar lines, so it has no bars; cut it by notes, as in melody[:8]")
    for bar in (first, last):
        if not isinstance(bar, (int, np.integer)) or bar not in known:
            upbeat = " (0 is the pick-up)" if known[0] == 0 else ""
            raise ArgumentError(f"bars must be from {known[0]} to {known[-1]}{upbeat}; got {bar!r}")
    if first > last:
        raise ArgumentError(f"the first bar must not come after the last; got {first} and {last}")
    edges = _edges(melody)
    return int(edges[first - known[0]]), MAX_TICKS if last == known[-1] else int(edges[last - known[0] + 1])


def _lines(melody: Melody) -> Numbers:
    """The start and every bar line once, with those that bars of rest in a row would have."""
    lines = np.unique(np.concatenate([[0], melody.barlines_ticks]))
    within = [tick for start, end in pairwise(lines.tolist()) for tick in _within_rest(melody, start, end)]
    return np.union1d(lines, within).astype(lines.dtype) if within else lines


def _within_rest(melody: Melody, start: int, end: int) -> Iterator[int]:
    """Where bars would end from one bar line to the next, if nothing sounds there but whole bars of rest."""
    measure = _measure_ticks(melody, start)
    if not measure or end - start <= measure or (end - start) % measure:
        return
    onsets = melody.notes["onset_ticks"]
    if not np.any((onsets < end) & (onsets + melody.notes["duration_ticks"] > start)):
        yield from range(start + measure, end, measure)


def _measure_ticks(melody: Melody, place: int) -> int:
    """How long a bar is at a place by its metre; 0 where that has none that holds from bar to bar."""
    metres = [melody.metre, *(each.metre for each in melody.changes if each.metre and each.onset_ticks <= place)]
    found = metre_fraction(metres[-1] or "")
    return 0 if found is None else 4 * found[0] * TICKS_PER_QUARTER // found[1]


def _edges(melody: Melody) -> Numbers:
    """Where bars begin, and where the last one ends."""
    lines = _lines(melody)
    return np.append(lines, melody.end_ticks) if melody.end_ticks > lines[-1] else lines


def _first(melody: Melody) -> int:
    lines = _lines(melody)
    return 0 if len(lines) > 2 and lines[1] < lines[2] - lines[1] else 1
