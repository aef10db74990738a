"""Any melody reduced to one note at a time, for the systems and features that need a single line.

The rule, the same everywhere: grace notes are dropped; where several notes start together the highest one is taken
(of two at the same pitch, the first row); `voice` picks one voice before that. Rests leave no trace: the note after a
rest follows the note before it (paper 002, section 3.1: "rests are ignored"). A note that starts while another still
sounds is simply the next note; its own duration and that of the note before stay as they are written.
"""

from __future__ import annotations

import numpy as np

from roslin.errors import MelodyError
from roslin.melody import Melody, NoteTable

__all__ = ["melodic_line"]


def melodic_line(melody: Melody, voice: int | None = None) -> NoteTable:
    """The rows of `melody.notes` that make its top line, in order of onset, all onsets different.

    >>> chord = Melody.from_notes([0, 0, 1], [1, 1, 1], [60, 64, 62])
    >>> melodic_line(chord)["pitch_midi"].tolist()
    [64, 62]
    """
    notes = melody.notes
    if voice is not None:
        notes = _one_voice(notes, voice)
    if True in notes["is_grace"].tolist():
        notes = notes[~notes["is_grace"]]
    onsets = notes["onset_ticks"].tolist()
    if len(set(onsets)) < len(onsets):
        notes = _highest_at_each_onset(notes)
    notes.flags.writeable = False
    return notes


def _one_voice(notes: NoteTable, voice: int) -> NoteTable:
    known = sorted(set(notes["voice"].tolist()))
    if known and voice not in known:
        raise MelodyError(f"voice must be one of {', '.join(map(str, known))}; got {voice}")
    chosen: NoteTable = notes[notes["voice"] == voice]
    return chosen


def _highest_at_each_onset(notes: NoteTable) -> NoteTable:
    order = np.lexsort((-notes["pitch_midi"].astype(np.int64), notes["onset_ticks"]))
    onsets = notes["onset_ticks"][order]
    first = np.concatenate(([True], onsets[1:] != onsets[:-1]))
    top: NoteTable = notes[order[first]]
    return top
