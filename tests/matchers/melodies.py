"""Melodies that the tests of the transport matchers share."""

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
