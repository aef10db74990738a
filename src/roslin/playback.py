"""Melody to sound: a Standard MIDI File, and a list of notes in seconds for players.

Tempo is in quarter notes per minute, 100 by default. Grace notes take no time in the note table; to be
heard they sound just before the note that they lead to, a 32nd note each (less where the note before leaves no room),
and a melody that begins with some begins that much later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from roslin.errors import MelodyError
from roslin.melody import TICKS_PER_QUARTER, Melody, checked_table
from roslin.notation.midi import write_midi

QUARTERS_PER_MINUTE = 100.0

_GRACE_TICKS = TICKS_PER_QUARTER // 8


def note_list(
    melody: Melody, quarters_per_minute: float = QUARTERS_PER_MINUTE, *, skip_silence: bool = True
) -> list[dict[str, float | int]]:
    """One {"row", "start", "duration", "pitch"} a note, by start, times in seconds; `row` is that of the note table.

    `skip_silence` leaves out the rests before the first note.

    >>> note_list(Melody.from_notes([1, 2], [1, 1], [60, 62]))[1]
    {'row': 1, 'start': 0.6, 'duration': 0.6, 'pitch': 62}
    """
    seconds = 60.0 / _checked(quarters_per_minute) / TICKS_PER_QUARTER
    sounding = _sounding(melody)
    first = sounding[0][0] if sounding and skip_silence else 0
    times = ((row, (start - first) * seconds, ticks * seconds, pitch) for start, row, ticks, pitch, _ in sounding)
    return [{"row": row, "start": round(a, 6), "duration": round(b, 6), "pitch": pitch} for row, a, b, pitch in times]


def midi_bytes(melody: Melody, quarters_per_minute: float = QUARTERS_PER_MINUTE) -> bytes:
    """A Standard MIDI File of the melody, its grace notes with time of their own. Rests before the first are kept."""
    base40 = melody.notes["pitch_base40"].tolist()
    rows = [(start, ticks, pitch, base40[row], 0, voice) for start, row, ticks, pitch, voice in _sounding(melody)]
    notes = checked_table(np.array(rows, dtype=np.int64).reshape(-1, 6))
    return write_midi(replace(melody, notes=notes), beats_per_minute=_checked(quarters_per_minute))


def _checked(quarters_per_minute: float) -> float:
    if not 4 <= quarters_per_minute <= 1000:
        raise MelodyError(f"the tempo must be from 4 to 1000 quarter notes per minute; got {quarters_per_minute}")
    return quarters_per_minute


def _sounding(melody: Melody) -> list[tuple[int, int, int, int, int]]:
    """(start, row, length, pitch, voice) of every note in ticks, with time for the grace notes, by start."""
    rows = melody.notes[["onset_ticks", "duration_ticks", "pitch_midi", "is_grace", "voice"]].tolist()
    graces = Counter(onset for onset, _, _, is_grace, _ in rows if is_grace)
    starts = sorted({row[0] for row in rows})
    before = dict(zip(starts[1:], starts, strict=False))
    found: list[tuple[int, int, int, int, int]] = []
    to_come = graces.copy()
    for row, (start, length, pitch, is_grace, voice) in enumerate(rows):
        if is_grace:
            onset, count = start, graces[start]
            room = onset - before[onset] if onset in before else 2 * count * _GRACE_TICKS
            length = max(1, min(_GRACE_TICKS, room // (count + 1)))
            start = onset - length * to_come[onset]
            to_come[onset] -= 1
        found.append((start, row, length, pitch, voice))
    lead = max(0, -min((note[0] for note in found), default=0))
    return sorted((start + lead, row, length, pitch, voice) for start, row, length, pitch, voice in found)
