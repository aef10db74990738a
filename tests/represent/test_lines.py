from __future__ import annotations

import numpy as np
from tests.matchers.melodies import any_melody

from roslin import Melody
from roslin.represent.line import melodic_line
from roslin.represent.lines import melodic_lines
from roslin.represent.packed import pack


def test_they_are_the_lines_of_every_melody() -> None:
    random = np.random.default_rng(7)
    melodies = [any_melody(random, int(random.integers(0, 12))) for _ in range(200)]
    lines = melodic_lines(melodies)
    assert len(lines) == len(melodies)
    for k, melody in enumerate(melodies):
        span, expected = slice(lines.offsets[k], lines.offsets[k + 1]), melodic_line(melody)
        for name in ("onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40"):
            assert getattr(lines, name)[span].tolist() == expected[name].tolist()


def test_bar_lines_come_along() -> None:
    packed = pack([Melody.from_notes([0], [1], [60], barlines=[0, 4]), Melody.from_notes([0], [1], [60])])
    lines = melodic_lines(packed)
    assert lines.barlines is packed.barlines
    assert lines.bar_offsets.tolist() == [0, 2, 2]


def test_nothing_and_nearly_nothing() -> None:
    assert len(melodic_lines([])) == 0
    lines = melodic_lines([Melody.from_notes([], [], []), Melody.from_notes([0], [0], [60], graces=[True])])
    assert lines.offsets.tolist() == [0, 0, 0]
