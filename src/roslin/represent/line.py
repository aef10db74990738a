"""Any melody reduced to one note at a time, for the systems and features that need a single line.

The rule, the same everywhere: grace notes are dropped; where several notes start together the highest one is taken (of
two at the same pitch, the first row); `voice` picks one voice before that. Rests leave no trace: the note after a rest
follows the note before it (Typke et al. 2007, section 3.1: "rests are ignored"). A note that starts while another still
sounds is simply the next note. Its own duration and that of the note before stay as they are written.

`melodic_line` does it for one melody, `melodic_lines` for all of a packed table at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import MelodyError
from roslin.melody import Melody, NoteTable
from roslin.native import kernels
from roslin.represent.packed import Candidates, pack
from roslin.types import Numbers


def melodic_line(melody: Melody, voice: int | None = None) -> NoteTable:
    """The rows of `melody.notes` that make its top line, in order of onset, all onsets different.

    >>> chord = Melody.from_notes([0, 0, 1], [1, 1, 1], [60, 64, 62])
    >>> melodic_line(chord)["pitch_midi"].tolist()
    [64, 62]
    """
    notes = melody.notes
    if voice is not None:
        known = sorted(set(notes["voice"].tolist()))
        if known and voice not in known:
            raise MelodyError(f"voice must be one of {', '.join(map(str, known))}; got {voice}")
        notes = notes[notes["voice"] == voice]
    if True in notes["is_grace"].tolist():
        notes = notes[~notes["is_grace"]]
    onsets = notes["onset_ticks"].tolist()
    if len(set(onsets)) < len(onsets):
        order = np.lexsort((-notes["pitch_midi"].astype(np.int64), notes["onset_ticks"]))
        sorted_onsets = notes["onset_ticks"][order]
        notes = notes[order[np.concatenate(([True], sorted_onsets[1:] != sorted_onsets[:-1]))]]
    notes.flags.writeable = False
    return notes


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of many melodies, end to end: line k is `offsets[k]` to `offsets[k + 1]`.

    `rows` has the row in the packed table `notes` of each note of a line. Bar lines are those of the table.
    """

    notes: NoteTable
    rows: Numbers
    offsets: Numbers
    barlines: Numbers
    bar_offsets: Numbers

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def column(self, name: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = self.notes[name][self.rows]
        return values

    @property
    def onset_ticks(self) -> npt.NDArray[np.int64]:
        """Where the notes of the lines begin: all different in one line, and in order."""
        return self.column("onset_ticks")

    @property
    def duration_ticks(self) -> npt.NDArray[np.int64]:
        return self.column("duration_ticks")

    @property
    def pitch_midi(self) -> npt.NDArray[np.int16]:
        return self.column("pitch_midi")

    @property
    def pitch_base40(self) -> npt.NDArray[np.int16]:
        return self.column("pitch_base40")

    def intervals(self) -> Numbers:
        """Semitones from each note to the next. The value at the last note of a line has no meaning."""
        pitches = self.pitch_midi.astype(np.int64)
        return np.append(pitches[1:], 0)[: len(pitches)] - pitches


def melodic_lines(candidates: Candidates) -> Lines:
    """The lines of many melodies.

    >>> chord = Melody.from_notes([0, 0, 1], [1, 1, 1], [60, 64, 62])
    >>> lines = melodic_lines([chord, chord])
    >>> lines.column("pitch_midi").tolist(), lines.offsets.tolist()
    ([64, 62, 64, 62], [0, 2, 4])
    """
    packed = pack(candidates)
    rows, offsets = top_rows(packed.notes, packed.offsets)
    return Lines(packed.notes, rows, offsets, packed.barlines, packed.bar_offsets)


def top_rows(notes: NoteTable, offsets: Numbers) -> tuple[Numbers, Numbers]:
    """(rows, where each line begins among them): the first highest note at each onset, without grace notes."""
    rows, starts = np.empty(len(notes), np.int64), np.empty(len(offsets), np.int64)
    count = kernels.top_rows(notes, offsets, rows, starts)
    return rows[:count].copy(), starts
