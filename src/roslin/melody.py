"""Melody: an immutable table of notes in exact time, with what is known about where it comes from.

Time is counted in ticks, `TICKS_PER_QUARTER = 40320` (8!) to a quarter note, so that dotted 128ths and every tuplet up
to ten are exact integers. Pitch is kept twice: `pitch_midi` (60 = middle C) for what sounds, `pitch_base40` (Hewlett's
base-40 numbers, 162 = middle C as in Humdrum) for how it is spelled; differences of base-40 numbers tell an augmented
fourth from a diminished fifth.

The note table is a structured array with one row a note:

    onset_ticks      when the note starts, from the start of the melody (leading rests count)
    duration_ticks   how long it sounds; ties are merged into one row; rests are gaps between rows
    pitch_midi       60 = middle C
    pitch_base40     162 = middle C
    is_grace         an ornament written in small type: it stands at the onset of the note that it leads to and takes no
                     time from it; duration_ticks is its written value, 0 for a crushed note without one
    voice            0 for a single line; simultaneous notes and voices are kept
    source_column    where the note stands in `Melody.music`, from 1; 0 when there is no such text

Rows are sorted by onset; at one onset grace notes come first in their written order, then the other notes by voice and
from high to low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import MelodyError

__all__ = [
    "NOTE_DTYPE",
    "TICKS_PER_QUARTER",
    "Melody",
    "SignatureChange",
    "base40_from_midi",
    "checked_table",
    "note_table",
]

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

_PITCHES, _BASE40, _VOICES = (0, 127), (-40, 480), (0, 999)
_LOWEST, _HIGHEST = np.array([(0, MAX_TICKS - 1), (0, MAX_TICKS - 1), _PITCHES, _BASE40, (0, 1), _VOICES]).T

# The usual spelling of the twelve pitch classes: C C# D Eb E F F# G G# A Bb B.
_BASE40_OF_PITCH_CLASS = np.array([2, 3, 8, 13, 14, 19, 20, 25, 26, 31, 36, 37])

NoteTable = npt.NDArray[np.void]
Ticks = npt.NDArray[np.int64]


def base40_from_midi(pitch_midi: npt.ArrayLike) -> npt.NDArray[np.int16]:
    """Spell MIDI numbers in the usual way (C sharp, E flat, F sharp, G sharp, B flat)."""
    pitch = np.asarray(pitch_midi, dtype=np.int64)
    spelled: npt.NDArray[np.int16] = (40 * (pitch // 12 - 1) + _BASE40_OF_PITCH_CLASS[pitch % 12]).astype(np.int16)
    return spelled


def note_table(rows: list[tuple[int, int, int, int, bool, int, int]], *, in_order: bool = False) -> NoteTable:
    """Sort rows (in the order of `NOTE_DTYPE`) into a read-only note table. `in_order`: they are sorted already."""
    table = np.array(rows, dtype=NOTE_DTYPE)
    return _locked(table) if in_order else _sorted_and_locked(table)


def checked_table(rows: npt.NDArray[np.int64]) -> NoteTable:
    """A note table from whole numbers in any order: one row a note, the columns of `NOTE_DTYPE` but the last."""
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
    return _sorted_and_locked(table)


@dataclass(frozen=True, slots=True)
class SignatureChange:
    """A new clef, key signature or metre in the middle of a melody; None leaves that one as it was."""

    onset_ticks: int
    clef: str | None = None
    key_signature: str | None = None
    metre: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Melody:
    """Notes and their metadata. Build one with `roslin.load` or `Melody.from_notes`.

    `voice` is the name of the part ("Soprano"), `key` the key in words ("D major"), `metre` the time signature, `text`
    the words sung, `source` where the melody comes from, `music` the source's own music string and `notation` the name
    of its format. `barlines_ticks` says where bar lines stand. `extra` holds whatever else the source said.
    """

    notes: NoteTable
    id: str | None = None
    title: str | None = None
    composer: str | None = None
    voice: str | None = None
    key: str | None = None
    metre: str | None = None
    text: str | None = None
    source: str | None = None
    music: str | None = None
    notation: str | None = None
    clef: str | None = None
    key_signature: str | None = None
    barlines_ticks: Ticks = field(default_factory=lambda: _locked(np.empty(0, dtype=np.int64)))
    changes: tuple[SignatureChange, ...] = ()
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.notes.dtype != NOTE_DTYPE:
            raise MelodyError(f"notes must be a table with the fields {', '.join(NOTE_DTYPE.names or ())}")
        object.__setattr__(self, "notes", _read_only(self.notes))
        object.__setattr__(self, "barlines_ticks", _read_only(np.asarray(self.barlines_ticks, dtype=np.int64)))
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    @classmethod
    def from_notes(
        cls,
        onsets: Iterable[float | Fraction],
        durations: Iterable[float | Fraction],
        pitches: Iterable[int],
        id: str | None = None,
        *,
        voices: Iterable[int] | None = None,
        graces: Iterable[bool] | None = None,
        base40: Iterable[int] | None = None,
        barlines: Iterable[float | Fraction] = (),
        **metadata: Any,
    ) -> Melody:
        """A melody from onsets and durations in quarter notes and MIDI pitches, in any order.

        >>> Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 62, 64], id="three-notes")
        Melody('three-notes', 3 notes)
        """
        columns = {
            "onsets": _ticks("onsets", onsets),
            "durations": _ticks("durations", durations),
            "pitches": _whole_numbers("pitches", pitches, *_PITCHES),
        }
        length = len(columns["onsets"])
        zeros = np.zeros(length, dtype=np.int64)
        columns["base40"] = (
            base40_from_midi(columns["pitches"]).astype(np.int64)
            if base40 is None
            else _whole_numbers("base40", base40, *_BASE40)
        )
        columns["graces"] = zeros if graces is None else np.array(list(graces), dtype=np.bool_).astype(np.int64)
        columns["voices"] = zeros if voices is None else _whole_numbers("voices", voices, *_VOICES)
        for name, values in columns.items():
            if len(values) != length:
                raise MelodyError(f"{name} has {len(values)} values; expected {length}, one for each onset")
        notes = checked_table(np.column_stack(list(columns.values())))
        return cls(notes, id=id, barlines_ticks=_ticks("barlines", barlines), **metadata)

    @property
    def end_ticks(self) -> int:
        """Where the last note ends. Rests after it are not part of the table."""
        sounding = self.notes[~self.notes["is_grace"]]
        return int((sounding["onset_ticks"] + sounding["duration_ticks"]).max()) if len(sounding) else 0

    def with_metadata(self, **changes: Any) -> Melody:
        """A copy with other metadata; the notes are shared."""
        return replace(self, **changes)

    def __len__(self) -> int:
        return len(self.notes)

    def __repr__(self) -> str:
        return f"Melody({self.id!r}, {len(self)} notes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Melody):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        return hash((self.id, self.notes.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["extra"] = dict(self.extra)  # a mapping proxy cannot be sent to another process
        return _rebuild, (values,)


def _rebuild(values: dict[str, Any]) -> Melody:
    return Melody(**values)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if nobody can write to it, otherwise a copy: what belongs to the caller stays as it is."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of our own, closed for writing."""
    array.flags.writeable = False
    return array


def _sorted_and_locked(table: NoteTable) -> NoteTable:
    if len(table) > 1:
        grace = table["is_grace"]
        within = np.where(grace, np.arange(len(table)), -table["pitch_midi"].astype(np.int64))
        voice = np.where(grace, 0, table["voice"])
        order = np.lexsort((within, voice, ~grace, table["onset_ticks"]))
        if not np.array_equal(order, np.arange(len(table))):
            table = table[order]
    return _locked(table)


def _ticks(name: str, quarters: Iterable[float | Fraction]) -> Ticks:
    values = list(quarters)
    try:
        if any(isinstance(value, Fraction) for value in values):
            ticks = np.array([float(round(Fraction(value) * TICKS_PER_QUARTER)) for value in values])
        else:
            ticks = np.rint(np.array(values, dtype=np.float64) * TICKS_PER_QUARTER)
    except (TypeError, ValueError, OverflowError) as error:
        raise MelodyError(f"{name} must be finite numbers of quarter notes") from error
    if not np.isfinite(ticks).all():
        raise MelodyError(f"{name} must be finite numbers of quarter notes")
    if np.any((ticks < 0) | (ticks >= MAX_TICKS)):
        raise MelodyError(f"{name} must be at least 0 and below {MAX_TICKS // TICKS_PER_QUARTER} quarter notes")
    return ticks.astype(np.int64)  # a float holds every whole number below MAX_TICKS exactly


def _whole_numbers(name: str, values: Iterable[int], low: int, high: int) -> npt.NDArray[np.int64]:
    array = np.asarray(list(values))
    if array.size and not np.issubdtype(array.dtype, np.number):
        raise MelodyError(f"{name} must be whole numbers from {low} to {high}")
    if np.any(array != np.floor(array)) or np.any((array < low) | (array > high)):
        raise MelodyError(f"{name} must be whole numbers from {low} to {high}")
    return array.astype(np.int64)
