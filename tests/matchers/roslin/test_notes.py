"""Notes as bytes: the melody backwards, by the bytes and by way of a melody."""

from __future__ import annotations

import numpy as np

from roslin import Melody, load
from roslin.matchers.roslin.table import backwards, encoded
from roslin.represent.line import melodic_line
from roslin.starter import tunes_path

TUNES = load(tunes_path())[:40]


def test_backwards_is_the_melody_with_its_pitches_reversed() -> None:
    for tune in TUNES:
        line = melodic_line(tune).copy()
        for name in ("pitch_midi", "pitch_base40"):
            line[name] = line[name][::-1].copy()
        for given, wanted in zip(backwards(encoded([tune])), encoded([Melody(line)]), strict=True):
            assert np.array_equal(np.asarray(given), np.asarray(wanted))
    both = backwards(encoded(list(TUNES[:2])))
    assert np.array_equal(both.pitches, np.concatenate([backwards(encoded([each])).pitches for each in TUNES[:2]]))
