"""What the tests of `p1`, `p2` and `p3` share: random polyphony, and melodies in which little happens."""

from __future__ import annotations

import numpy as np

from roslin import Melody
from roslin.melody import TICKS_PER_QUARTER

Note = tuple[float, float, int]  # onset, duration, pitch


def melody_of(notes: list[Note]) -> Melody:
    onsets, durations, pitches = zip(*notes, strict=True) if notes else ((), (), ())
    return Melody.from_notes(onsets, durations, pitches)


def notes_of(melody: Melody) -> list[Note]:
    sounding = melody.notes[~melody.notes["is_grace"]]
    columns = (sounding["onset_ticks"], sounding["duration_ticks"], sounding["pitch_midi"])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def random_polyphony(random: np.random.Generator, most: int, *, off_grid: bool = False) -> Melody:
    """Notes anywhere, with chords, doublings and overlaps.

    `off_grid` moves them by a tick or two: the grid becomes too fine for a table of shifts, and kernels have to sort.
    """
    n = int(random.integers(1, most + 1))
    onsets = random.integers(0, 6, n) * 0.5
    if off_grid:
        onsets = onsets + random.integers(0, 3, n) / TICKS_PER_QUARTER
    return Melody.from_notes(
        onsets, random.choice([0.5, 1.0, 1.5], n), random.integers(58, 64, n), voices=random.integers(0, 3, n)
    )


one_note = Melody.from_notes([3], [1], [60])
repeated = Melody.from_notes(range(2, 7), [1] * 5, [60] * 5)
chord = Melody.from_notes([1] * 4, [2] * 4, [48, 60, 64, 67])
nothing = Melody.from_notes([0], [0], [60], graces=[True])
DEGENERATE = [one_note, repeated, chord, nothing]
