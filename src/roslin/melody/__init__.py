"""Melody: an immutable table of notes in exact time, with what is known about where it comes from.

Time is counted in ticks, `TICKS_PER_QUARTER = 40320` (8!) to a quarter note, so that dotted 128ths and every tuplet up
to ten are exact integers. Pitch is kept twice: `pitch_midi` (60 = middle C) for what sounds, `pitch_base40` (Hewlett's
base-40 numbers, 162 = middle C as in Humdrum) for how it is spelled; differences of base-40 numbers distinguish an
augmented fourth from a diminished fifth.
"""

from __future__ import annotations

from roslin.melody.melody import Melody, MelodyNote, SignatureChange
from roslin.melody.pitches import note_name
from roslin.melody.table import (
    MAX_TICKS,
    NOTE_DTYPE,
    TICKS_PER_QUARTER,
    NoteTable,
    base40_from_midi,
    checked_table,
    note_table,
)
from roslin.melody.variants import bar_number

__all__ = [
    "MAX_TICKS",
    "NOTE_DTYPE",
    "TICKS_PER_QUARTER",
    "Melody",
    "MelodyNote",
    "NoteTable",
    "SignatureChange",
    "bar_number",
    "base40_from_midi",
    "checked_table",
    "note_name",
    "note_table",
]
