"""Melody: notes and what is known about them. An immutable value; methods that change something return a new one."""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, SupportsIndex, overload

import numpy as np

from roslin.display.table import FrameLibrary, frame
from roslin.display.text import counted, deviations
from roslin.errors import ArgumentError, FormatError, MelodyError, PlaceError, Problem
from roslin.melody.pitches import note_name
from roslin.melody.quantising import quarters_from_seconds
from roslin.melody.table import (
    BASE40_RANGE,
    NOTE_DTYPE,
    PITCH_RANGE,
    TICKS_PER_QUARTER,
    VOICE_RANGE,
    NoteTable,
    base40_from_midi,
    checked_table,
    locked,
    read_only,
    seconds,
    ticks_from_quarters,
    whole_numbers,
)
from roslin.melody.variants import (
    bar_edges,
    bar_numbers,
    cut_notes,
    cut_time,
    inverted,
    retrograde,
    stretched,
    transposed,
)
from roslin.types import Numbers

_NOTES_PRINTED = 8

# A melody writes, plays and draws itself by packages below this one, which know melodies. They are looked up by name
# when they are needed: this is the one place where a package names packages below it.
WRITERS = {
    "pae": "roslin.notation.pae:write",
    "midi": "roslin.playback:midi_bytes",
    "svg": "roslin.report.player:drawing",
}


def writer(form: str) -> Callable[..., Any]:
    """The function that makes a form of a melody, by its name in `WRITERS`."""
    module, _, name = WRITERS[form].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


@dataclass(frozen=True, slots=True)
class SignatureChange:
    """A new clef, key signature or metre in the middle of a melody. None leaves it unchanged."""

    onset_ticks: int
    clef: str | None = None
    key_signature: str | None = None
    metre: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class MelodyNote:
    """One note of a melody. Times are exact, in quarter notes.

    >>> from roslin import load
    >>> load("%G-2$bB '4C8DE2.B")[0][3]
    MelodyNote('B♭4', onset=2, duration=3)
    """

    onset: Fraction
    duration: Fraction
    pitch_midi: int
    pitch_base40: int
    is_grace: bool
    voice: int

    @property
    def name(self) -> str:
        """Letter, accidental and octave, middle C being C4."""
        return note_name(self.pitch_base40)

    def __repr__(self) -> str:
        more = (", grace note" if self.is_grace else "") + (f", voice={self.voice}" if self.voice else "")
        return f"MelodyNote({self.name!r}, onset={self.onset}, duration={self.duration}{more})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Melody:
    """Notes and their metadata. Build one with `roslin.load`, `Melody.from_notes` or `Melody.from_seconds`.

    A melody is a sequence of notes: `melody[0]` is the first, `melody[:8]` a melody of the first eight, and
    `melody.bars(1, 4)` one of the first four bars. It prints in a line and draws itself in a notebook.

    >>> from roslin import load
    >>> tune = load("%G-2@3/4 '4G/''CDE/2.F/")[0]
    >>> print(tune.bars(1).transposed("major third up"))
    3 notes: E5 F♯5 G♯5

    `voice` is the name of the part ("Soprano"), `key` the key in words ("D major"), `metre` the time signature, `text`
    the words sung, `source` where the melody comes from, `music` the source's own music string and `notation` the name
    of its format. `barlines_ticks` are the times of the bar lines. `extra` has the other fields of the source.
    `problems` lists anything that `load` had to reinterpret; it does not count when melodies are compared.
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
    barlines_ticks: Numbers = field(default_factory=lambda: locked(np.empty(0, dtype=np.int64)))
    changes: tuple[SignatureChange, ...] = ()
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.notes.dtype != NOTE_DTYPE:
            raise MelodyError(f"notes must be a table with the fields {', '.join(NOTE_DTYPE.names or ())}")
        object.__setattr__(self, "notes", read_only(self.notes))
        object.__setattr__(self, "barlines_ticks", read_only(np.asarray(self.barlines_ticks, dtype=np.int64)))
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
            "onsets": ticks_from_quarters("onsets", onsets),
            "durations": ticks_from_quarters("durations", durations),
            "pitches": whole_numbers("pitches", pitches, *PITCH_RANGE),
        }
        length = len(columns["onsets"])
        zeros = np.zeros(length, dtype=np.int64)
        usual = base40_from_midi(columns["pitches"]).astype(np.int64)
        columns["base40"] = usual if base40 is None else whole_numbers("base40", base40, *BASE40_RANGE)
        columns["graces"] = zeros if graces is None else np.array(list(graces), dtype=np.bool_).astype(np.int64)
        columns["voices"] = zeros if voices is None else whole_numbers("voices", voices, *VOICE_RANGE)
        for name, values in columns.items():
            if len(values) != length:
                raise MelodyError(f"{name} has {len(values)} values; expected {length}, one for each onset")
        notes = checked_table(np.column_stack(list(columns.values())))
        return cls(notes, id=id, barlines_ticks=ticks_from_quarters("barlines", barlines), **metadata)

    @classmethod
    def from_seconds(
        cls,
        onsets: Iterable[float],
        durations: Iterable[float],
        pitches: Iterable[int],
        id: str | None = None,
        **metadata: Any,
    ) -> Melody:
        """A melody that was sung or played, from onsets and durations in seconds and MIDI pitches, in any order.

        Note values are the most plausible at a tempo that may change a little. The first note begins at 0.

        >>> sung = Melody.from_seconds([0.3, 0.82, 1.09, 1.33], [0.5, 0.2, 0.2, 1.0], [60, 62, 64, 65])
        >>> [float(note.duration) for note in sung]
        [1.0, 0.5, 0.5, 2.0]
        """
        given = {"onsets": seconds("onsets", onsets), "durations": seconds("durations", durations)}
        heights = whole_numbers("pitches", pitches, *PITCH_RANGE)
        begins, lengths = given.values()
        for name, values in {**given, "pitches": heights}.items():
            if len(values) != len(begins):
                raise MelodyError(f"{name} has {len(values)} values; expected {len(begins)}, one for each onset")
        order = np.argsort(begins, kind="stable")
        times = quarters_from_seconds(begins[order], (begins + lengths)[order])
        return cls.from_notes(*times, heights[order].tolist(), id, **metadata)

    @property
    def end_ticks(self) -> int:
        """The end of the last note. Rests after it are not part of the table."""
        sounding = self.notes[~self.notes["is_grace"]]
        return int((sounding["onset_ticks"] + sounding["duration_ticks"]).max()) if len(sounding) else 0

    @property
    def deviations(self) -> list[str]:
        """Anything that had to be reinterpreted, as lines of text.

        >>> from roslin import load
        >>> load("'4CDXE?")[0].deviations
        ["read 'X' as x (sharp) at column 5", "left out '?' at column 7"]
        """
        return deviations(self.problems)

    def with_metadata(self, **changes: Any) -> Melody:
        """A copy with other metadata. The notes are shared.

        >>> Melody.from_notes([0], [1], [60]).with_metadata(id="one", title="A note")
        Melody('one', 'A note', 1 note)
        """
        return replace(self, **changes)

    # -- parts and variants -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.notes)

    @overload
    def __getitem__(self, which: SupportsIndex) -> MelodyNote: ...

    @overload
    def __getitem__(self, which: slice) -> Melody: ...

    def __getitem__(self, which: SupportsIndex | slice) -> MelodyNote | Melody:
        """One note, or a melody of the notes of a slice, whose times start at 0 again.

        A part has no source text. `melody[:8]` keeps the rests before the first note; `melody[3:8]` starts with a note.
        """
        if isinstance(which, slice):
            first, stop, step = which.indices(len(self))
            if step != 1:
                raise ArgumentError(f"a part of a melody must be consecutive notes, as in melody[3:8]; got {which}")
            return cut_notes(self, first, max(first, stop))
        try:
            place = operator.index(which)
        except TypeError:
            raise ArgumentError(f"notes are chosen by their place or by a slice; got {which!r}") from None
        if not -len(self) <= place < len(self):
            raise PlaceError(f"the melody has {counted(len(self), 'note')}; there is none at {place}")
        return self._note(self.notes[place].item())

    def __iter__(self) -> Iterator[MelodyNote]:
        return map(self._note, self.notes.tolist())

    @staticmethod
    def _note(row: tuple[Any, ...]) -> MelodyNote:
        onset, duration, pitch, base40, is_grace, voice, _ = row
        start, length = Fraction(onset, TICKS_PER_QUARTER), Fraction(duration, TICKS_PER_QUARTER)
        return MelodyNote(start, length, pitch, base40, is_grace, voice)

    @property
    def bar_numbers(self) -> range:
        """The numbers of the bars: 1 is the first whole bar, 0 a pick-up before it. Empty without bar lines.

        >>> from roslin import load
        >>> list(load("%G-2@3/4 '4G/''CDE/2.F/")[0].bar_numbers)
        [0, 1, 2]
        """
        return bar_numbers(self)

    def bars(self, first: int, last: int | None = None) -> Melody:
        """A melody of the bars from `first` to `last`, both included, or of one bar.

        Times start at 0 again, at the first bar line. A note held over a bar line at one of the ends is cut there.

        >>> from roslin import load
        >>> tune = load("%G-2@3/4 '4G/''CDE/2.F/")[0]
        >>> print(tune.bars(0, 1))
        4 notes: G4 C5 D5 E5
        """
        return cut_time(self, *bar_edges(self, first, first if last is None else last))

    def transposed(self, interval: int | str) -> Melody:
        """The melody higher or lower, by a number of semitones or by a named interval.

        A name determines the spelling ("augmented fourth up", "octave down"). A number gets the spelling with the
        fewest sharps and flats. Key signature and key move too.

        >>> tune = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
        >>> print(tune.transposed("minor third up"))
        3 notes: E♭4 F4 G4
        >>> print(tune.transposed(-1))
        3 notes: B3 C♯4 D♯4
        """
        return transposed(self, interval)

    def inverted(self) -> Melody:
        """The melody mirrored at its first note: every interval up is as far down.

        >>> tune = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 64, 67])
        >>> print(tune.inverted())
        3 notes: C4 A♭3 F3
        """
        return inverted(self)

    def retrograde(self) -> Melody:
        """The melody from its end to its beginning. Grace notes are omitted.

        >>> tune = Melody.from_notes([0, 1, 3], [1, 2, 1], [60, 64, 67])
        >>> print(tune.retrograde())
        3 notes: G4 E4 C4
        """
        return retrograde(self)

    def stretched(self, factor: float | Fraction) -> Melody:
        """The melody in notes longer by a factor (shorter below 1), with its metre.

        Times are exact where whole ticks allow it, else rounded to the nearest tick, 1/40320 of a quarter note.

        >>> doubled = Melody.from_notes([0, 1], [1, 2], [60, 62], metre="3/4").stretched(2)
        >>> doubled[1], doubled.metre
        (MelodyNote('D4', onset=2, duration=4), '3/2')
        """
        return stretched(self, factor)

    # -- how it is written, heard and drawn -------------------------------------------------------------------------

    def to_pae(self, style: str = "line") -> str:
        """Plaine & Easie Code, in one of the styles "line", "fields", "json", "marc" and "music".

        >>> Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 62, 64]).to_pae()
        "%G-2 '4CD2E"
        """
        return str(writer("pae")(self, style))

    def to_midi(self, path: str | os.PathLike[str] | None = None, *, quarters_per_minute: float = 100.0) -> bytes:
        """A Standard MIDI File as bytes, which are also written to `path` if there is one.

        >>> Melody.from_notes([0], [1], [60]).to_midi()[:4]
        b'MThd'
        """
        data: bytes = writer("midi")(self, quarters_per_minute)
        if path is not None:
            try:
                Path(path).write_bytes(data)
            except OSError as error:
                raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from error
        return data

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each note; onsets and durations are in quarter notes.

        >>> Melody.from_notes([0, 1], [1, 0.5], [60, 63]).to_frame()[["name", "onset", "duration"]]
          name  onset  duration
        0   C4    0.0       1.0
        1  E♭4    1.0       0.5
        """
        columns: dict[str, Any] = {
            "name": [note_name(number) for number in self.notes["pitch_base40"].tolist()],
            "onset": self.notes["onset_ticks"] / TICKS_PER_QUARTER,
            "duration": self.notes["duration_ticks"] / TICKS_PER_QUARTER,
        }
        columns |= {name: self.notes[name].copy() for name in ("pitch_midi", "pitch_base40", "is_grace", "voice")}
        return frame(columns, library)

    def _repr_svg_(self) -> str:
        """Notation, or a piano roll where that fails, black on white whatever the colours of the notebook."""
        name = hashlib.blake2b(self.notes.tobytes(), digest_size=4).hexdigest()
        drawing: str = writer("svg")(self).in_page(f"m{name}-")  # ids must differ within a page
        return drawing.replace("<svg ", '<svg style="background: white; color: black" ', 1)

    def __repr__(self) -> str:
        named = f", {self.title!r}" if self.title else ""
        return f"Melody({self.id!r}{named}, {counted(len(self), 'note')})"

    def __str__(self) -> str:
        names = [note_name(number) for number in self.notes["pitch_base40"][:_NOTES_PRINTED].tolist()]
        more = " ..." if len(self) > _NOTES_PRINTED else ""
        known = "".join(f"{text}: " for text in (self.id, self.title) if text)
        return f"{known}{counted(len(self), 'note')}{': ' * bool(names)}{' '.join(names)}{more}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Melody):
            return NotImplemented
        return all(
            bool(np.array_equal(mine, theirs)) if isinstance(mine, np.ndarray) else bool(mine == theirs)
            for mine, theirs in ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare)
        )

    def __hash__(self) -> int:
        return hash((self.id, self.notes.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["extra"] = dict(self.extra)  # a mapping proxy cannot be sent to another process
        return partial(Melody, **values), ()
