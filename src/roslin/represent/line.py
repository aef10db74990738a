"""Any melody reduced to one note at a time, for the systems and features that need a single line; and its n-grams.

The rule, the same everywhere: grace notes are dropped; where several notes start together the highest one is taken (of
two at the same pitch, the first row); `voice` picks one voice before that. Rests leave no trace (Typke et al. 2007,
section 3.1: "rests are ignored"). A note that starts while another still sounds is simply the next note. Durations stay
as they are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, MelodyError
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


# Which melodies hold which n-grams: an inverted index
#
# A line of notes becomes a line of symbols (whole numbers from 0 to `alphabet` - 1), one for each pair of notes that
# follow each other. An n-gram is n consecutive symbols, so n + 1 notes, written as one number with the symbols as
# digits. The index is made by sorting one number for each gram of each melody, gram first and melody second; so
# `alphabet` to the power of n, times the number of melodies, must stay below 2**63.


@dataclass(frozen=True, slots=True)
class GramIndex:
    """Gram `grams[k]` occurs in `melodies[starts[k] : starts[k + 1]]`, in each `times` times.

    `grams` rises, and so do the melodies of a gram. `counts` is the number of different grams of each melody.
    """

    grams: Numbers
    starts: Numbers
    melodies: npt.NDArray[np.int32]
    times: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.int32]

    def find(self, grams: Numbers) -> tuple[Numbers, Numbers]:
        """(starts, stops) of these grams in `melodies`: empty spans for grams that no melody holds."""
        if not len(self.grams):
            return np.zeros(len(grams), np.int64), np.zeros(len(grams), np.int64)
        places = np.minimum(np.searchsorted(self.grams, grams), len(self.grams) - 1)
        starts = self.starts[places]
        return starts, np.where(self.grams[places] == grams, self.starts[places + 1], starts)


def gram_index(lines: Lines, symbols: Numbers, alphabet: int, n: int) -> GramIndex:
    """The index of the n-grams of all lines.

    `symbols[i]` belongs to the notes i and i + 1 of the lines; what it is at the last note of a line does not matter.

    >>> from roslin import Melody
    >>> melodies = [Melody.from_notes(range(4), [1] * 4, pitches) for pitches in ([0, 1, 3, 4], [9, 9, 10, 12])]
    >>> index = gram_index(melodic_lines(melodies), np.array([1, 2, 1, 0, 0, 1, 2, 0]), alphabet=3, n=2)
    >>> index.grams.tolist(), index.starts.tolist(), index.melodies.tolist()
    ([1, 5, 7], [0, 1, 3, 4], [1, 0, 1, 0])
    """
    count = max(len(lines), 1)
    if alphabet**n * count >= 2**63:
        raise ArgumentError(f"n-grams of {n} symbols out of {alphabet} are too many for {count} melodies")
    words = np.empty(int(np.maximum(np.diff(lines.offsets) - n, 0).sum()), np.int64)
    kernels.gram_words(symbols, lines.offsets, alphabet, n, words)
    words.sort()
    sizes = np.empty(2, np.int64)
    kernels.posting_sizes(words, count, sizes)
    different, entries = sizes.tolist()
    index = GramIndex(
        np.empty(different, np.int64),
        np.empty(different + 1, np.int64),
        np.empty(entries, np.int32),
        np.empty(entries, np.uint16),
        np.empty(len(lines), np.int32),
    )
    kernels.postings(words, index.grams, index.starts, index.melodies, index.times, index.counts)
    return index
