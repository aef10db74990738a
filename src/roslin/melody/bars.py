"""Which bar is where, as musicians count: bar 1 is the first whole bar, bar 0 a pick-up before it.

A pick-up is a first bar that is shorter than the second. What follows the last bar line is a bar too, where notes sound
there. Without bar lines there are no bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roslin.errors import ArgumentError
from roslin.melody.table import MAX_TICKS, TICKS_PER_QUARTER, Ticks

if TYPE_CHECKING:
    from roslin.melody.melody import Melody

__all__ = ["bar_edges", "bar_number", "bar_numbers"]


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


def _lines(melody: Melody) -> Ticks:
    """The start and every bar line once."""
    return np.unique(np.concatenate([[0], melody.barlines_ticks]))


def _edges(melody: Melody) -> Ticks:
    """Where bars begin, and where the last one ends."""
    lines = _lines(melody)
    return np.append(lines, melody.end_ticks) if melody.end_ticks > lines[-1] else lines


def _first(melody: Melody) -> int:
    lines = _lines(melody)
    return 0 if len(lines) > 2 and lines[1] < lines[2] - lines[1] else 1
