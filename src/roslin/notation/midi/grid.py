"""Played notes moved to a grid: which steps a grid has, in ticks, and where each onset and end belongs; and whether
notes keep to any grid at all, or were played without a metronome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.midi.events import WHOLE
from roslin.types import Numbers

Grid = str | Fraction | Sequence[Fraction]
Grids = tuple[int, ...]

_PARTS = np.array([2, 3, 4, 5, 6, 7, 8, 12, 16])  # of a quarter
_FEWEST = 6  # onsets; fewer do not show how they were made
_LEAST, _BY_CHANCE = 0.5, 5.0  # onsets at random keep to a grid as well as sqrt(_BY_CHANCE / onsets) once in 150


def grids(quantise: Grid | None) -> Grids:
    """The steps of each grid in ticks."""
    if quantise is None:
        return ()
    if isinstance(quantise, str):
        steps = [_note_value(text) for text in quantise.split("+")]
    else:
        steps = [Fraction(step) for step in (quantise if isinstance(quantise, Sequence) else (quantise,))]
    ticks = [step * TICKS_PER_QUARTER for step in steps]
    if not ticks or any(step.denominator != 1 or not 0 < step <= WHOLE for step in ticks):
        raise _unknown_grid(str(quantise))
    return tuple(int(step) for step in ticks)


def _note_value(text: str) -> Fraction:
    value = re.fullmatch(r"\s*1/([1-9]\d{0,2})(t?)\s*", text)
    if value is None:
        raise _unknown_grid(text)
    return Fraction(4, int(value[1])) * (Fraction(2, 3) if value[2] else 1)


def _unknown_grid(found: str) -> NotationError:
    expected = "a note value like 1/16 or 1/8t, several joined by +, or fractions of a quarter that ticks can hold"
    return NotationError(Problem("unknown grid", expected, found))


def quantised(onsets: Numbers, ends: Numbers, grids: Grids) -> tuple[Numbers, Numbers]:
    """Onsets and ends on the grid; each quarter has the grid on which its onsets move least, the first of equals.

    An end takes the grid of its quarter where notes start in it, otherwise its own nearest. No note becomes shorter
    than one step of the grid of its onset.
    """
    steps = np.array(grids, dtype=np.int64)[:, None]
    moved_onsets, moved_ends = ((times + steps // 2) // steps * steps for times in (onsets, ends))
    quarters, quarter = np.unique(onsets // TICKS_PER_QUARTER, return_inverse=True)
    costs = np.array([np.bincount(quarter, np.abs(moved - onsets)) for moved in moved_onsets])
    grid_of_quarter = costs.argmin(axis=0)
    grid = grid_of_quarter[quarter]
    new_onsets = moved_onsets[grid, np.arange(len(onsets))]

    place = np.minimum(np.searchsorted(quarters, ends // TICKS_PER_QUARTER), len(quarters) - 1)
    known = quarters[place] == ends // TICKS_PER_QUARTER
    end_grid = np.where(known, grid_of_quarter[place], np.abs(moved_ends - ends).argmin(axis=0))
    new_ends = moved_ends[end_grid, np.arange(len(ends))]
    return new_onsets, np.maximum(new_ends, new_onsets + steps[grid, 0])


def keeps_a_grid(onsets: Numbers) -> bool:
    """Whether onsets lie on some part of the quarter notes, exactly or as people play with a metronome.

    Each onset is a direction on a circle, once around for each step of the grid; their mean is 1 where all are on it.
    """
    times = np.unique(onsets) / TICKS_PER_QUARTER
    if len(times) < _FEWEST:
        return True
    together = np.abs(np.exp(2j * np.pi * np.outer(_PARTS, times)).mean(axis=1)).max()
    return bool(together >= min(max(_LEAST, float(np.sqrt(_BY_CHANCE / len(times)))), 0.99))
