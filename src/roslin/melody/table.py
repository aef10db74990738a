"""The note table: a structured array with one row a note. Times are in ticks, 40320 to a quarter note.

    onset_ticks      when the note starts, from the start of the melody (leading rests count)
    duration_ticks   how long it sounds; ties are merged into one row; rests are gaps between rows
    pitch_midi       60 = middle C
    pitch_base40     162 = middle C
    is_grace         an ornament in small type: it has the onset of the note that it leads to and takes no time from
                     it; duration_ticks is its written value, 0 for a crushed note without one
    voice            0 for a single line; simultaneous notes and voices are kept
    source_column    place of the note in `Melody.music`, from 1; 0 when there is no such text

Rows are sorted by onset; at one onset grace notes come first in their written order, then the other notes by voice and
from high to low.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import MelodyError
from roslin.types import Numbers

TICKS_PER_QUARTER = 40320

NOTE_DTYPE = np.dtype(
    [
        ("onset_ticks", np.int64),
        ("duration_ticks", np.int64),
        ("pitch_midi", np.int16),
        ("pitch_base40", np.int16),
        ("is_grace", np.bool_),
        ("voice", np.int16),
        ("source_column", np.int32),
    ]
)

# Longer than any piece of music, short enough that sums of onsets never overflow.
MAX_TICKS = 2**48

PITCH_RANGE, BASE40_RANGE, VOICE_RANGE = (0, 127), (-40, 480), (0, 999)
_LOWEST, _HIGHEST = np.array([(0, MAX_TICKS - 1), (0, MAX_TICKS - 1), PITCH_RANGE, BASE40_RANGE, (0, 1), VOICE_RANGE]).T

# The usual spelling of the twelve pitch classes: C C# D Eb E F F# G G# A Bb B.
_BASE40_OF_PITCH_CLASS = np.array([2, 3, 8, 13, 14, 19, 20, 25, 26, 31, 36, 37])

NoteTable = npt.NDArray[np.void]


def base40_from_midi(pitch_midi: npt.ArrayLike) -> npt.NDArray[np.int16]:
    """Spell MIDI numbers in the usual way (C sharp, E flat, F sharp, G sharp, B flat).

    >>> base40_from_midi([60, 61, 63]).tolist()
    [162, 163, 173]
    """
    pitch = np.asarray(pitch_midi, dtype=np.int64)
    spelled: npt.NDArray[np.int16] = (40 * (pitch // 12 - 1) + _BASE40_OF_PITCH_CLASS[pitch % 12]).astype(np.int16)
    return spelled


def note_table(rows: list[tuple[int, int, int, int, bool, int, int]], *, in_order: bool = False) -> NoteTable:
    """Sort rows (in the order of `NOTE_DTYPE`) into a read-only note table. `in_order`: they are sorted already.

    >>> note_table([(40320, 40320, 62, 168, False, 0, 0), (0, 40320, 60, 162, False, 0, 0)])["pitch_midi"].tolist()
    [60, 62]
    """
    table = np.array(rows, dtype=NOTE_DTYPE)
    return locked(table) if in_order else sorted_table(table)


def checked_table(rows: npt.NDArray[np.int64]) -> NoteTable:
    """A note table from whole numbers in any order: one row a note, the columns of `NOTE_DTYPE` but the last.

    >>> checked_table(np.array([[0, 40320, 60, 162, 0, 0]])).dtype == NOTE_DTYPE
    True
    """
    names = (NOTE_DTYPE.names or ())[:-1]
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise MelodyError(f"notes must be rows of {', '.join(names)}; got an array of shape {rows.shape}")
    outside = (rows < _LOWEST) | (rows > _HIGHEST)
    if outside.any():
        row, column = np.argwhere(outside)[0].tolist()
        limits = f"from {_LOWEST[column]} to {_HIGHEST[column]}"
        raise MelodyError(f"{names[column]} must be {limits}; got {rows[row, column]} in note {row + 1}")
    if np.any((rows[:, 1] == 0) & (rows[:, 4] == 0)):
        raise MelodyError("durations must be above 0 (only a grace note may have none)")
    table = np.zeros(len(rows), dtype=NOTE_DTYPE)
    for name, values in zip(names, rows.T, strict=True):
        table[name] = values
    return sorted_table(table)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is read-only, else a copy, so that the caller's array is unchanged."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of our own, closed for writing."""
    array.flags.writeable = False
    return array


def sorted_table(table: NoteTable) -> NoteTable:
    """A table of our own in the order of its rows, closed for writing."""
    if len(table) > 1:
        grace = table["is_grace"]
        within = np.where(grace, np.arange(len(table)), -table["pitch_midi"].astype(np.int64))
        voice = np.where(grace, 0, table["voice"])
        order = np.lexsort((within, voice, ~grace, table["onset_ticks"]))
        if not np.array_equal(order, np.arange(len(table))):
            table = table[order]
    return locked(table)


def ticks_from_quarters(name: str, quarters: Iterable[float | Fraction]) -> Numbers:
    """Quarter notes as ticks: fractions exactly, other numbers to the nearest tick. `name` is for a refusal."""
    values = list(quarters)
    try:
        if any(isinstance(value, Fraction) for value in values):
            ticks = np.array([float(round(Fraction(value) * TICKS_PER_QUARTER)) for value in values])
        else:
            ticks = np.rint(np.array(values, dtype=np.float64) * TICKS_PER_QUARTER)
    except (TypeError, ValueError, OverflowError):
        ticks = np.array(np.nan)
    if not np.isfinite(ticks).all():
        raise MelodyError(f"{name} must be finite numbers of quarter notes")
    if np.any((ticks < 0) | (ticks >= MAX_TICKS)):
        raise MelodyError(f"{name} must be at least 0 and below {MAX_TICKS // TICKS_PER_QUARTER} quarter notes")
    return ticks.astype(np.int64)  # a float holds every whole number below MAX_TICKS exactly


def seconds(name: str, values: Iterable[float]) -> npt.NDArray[np.float64]:
    """Times as they are. `name` is for a refusal."""
    try:
        times = np.array(list(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        times = np.array(np.nan)
    if times.ndim != 1 or not np.isfinite(times).all() or np.any(times < 0):
        raise MelodyError(f"{name} must be finite numbers of seconds, at least 0")
    return times


def whole_numbers(name: str, values: Iterable[int], low: int, high: int) -> npt.NDArray[np.int64]:
    """Whole numbers within bounds. `name` is for a refusal."""
    array = np.asarray(list(values))
    is_numeric = not array.size or np.issubdtype(array.dtype, np.number)
    if not is_numeric or np.any(array != np.floor(array)) or np.any((array < low) | (array > high)):
        raise MelodyError(f"{name} must be whole numbers from {low} to {high}")
    return array.astype(np.int64)
