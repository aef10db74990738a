"""Melodies that the tests of the matchers share."""

from __future__ import annotations

import numpy as np

from roslin import Melody, load
from roslin.starter import tunes_path

TUNES = load(tunes_path())
CASTLE = next(tune for tune in TUNES if tune.id == "roslin-castle")


def random_melody(random: np.random.Generator, notes: int) -> Melody:
    durations = random.choice([0.5, 1.0, 1.5], notes)
    onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return Melody.from_notes(onsets.tolist(), durations.tolist(), random.integers(55, 72, notes).tolist())


def moved(melody: Melody, *, up: int = 0, later: float = 0.0, slower: float = 1.0) -> Melody:
    notes = melody.notes
    quarters = notes["onset_ticks"] / 40320, notes["duration_ticks"] / 40320
    return Melody.from_notes(
        quarters[0] * slower + later, quarters[1] * slower, notes["pitch_midi"] + up, graces=notes["is_grace"]
    )


def a_fourth_higher(melody: Melody) -> Melody:
    """The same melody transposed, spelled as before: a perfect fourth is 5 semitones and 17 base-40 steps."""
    notes = melody.notes.copy()
    notes["pitch_midi"] += 5
    notes["pitch_base40"] += 17
    return Melody(notes, barlines_ticks=melody.barlines_ticks)


def twice_as_slow(melody: Melody) -> Melody:
    """The same melody in longer notes, spelled as before."""
    notes = melody.notes.copy()
    notes["onset_ticks"] *= 2
    notes["duration_ticks"] *= 2
    return Melody(notes, barlines_ticks=2 * melody.barlines_ticks)


def any_melody(random: np.random.Generator, notes: int) -> Melody:
    """Notes that may repeat, overlap, sound together or be ornaments, now and then with bar lines."""
    onsets = np.sort(random.integers(0, 3 * notes + 1, notes)) / 4
    bars = list(range(1, 3 * notes // 4 + 1)) if random.random() < 0.5 else []
    return Melody.from_notes(
        onsets.tolist(),
        random.choice([0.25, 0.5, 1.0, 1.5], notes).tolist(),
        random.integers(58, 58 + int(random.integers(1, 9)), notes).tolist(),
        graces=(random.random(notes) < 0.1).tolist(),
        barlines=bars,
    )


def sounding_melody(random: np.random.Generator, notes: int) -> Melody:
    """The same with at least one note that is not an ornament."""
    while True:
        melody = any_melody(random, notes)
        if (~melody.notes["is_grace"]).any():
            return melody
