"""Melodies in one table, and out of it again."""

from __future__ import annotations

import numpy as np
import pytest

from roslin import Melody, load
from roslin.represent.packed import pack
from roslin.starter import tunes_path

TUNES = load(tunes_path())[:20]


def test_melodies_come_out_as_they_went_in_without_their_metadata() -> None:
    packed = pack([*TUNES, Melody.from_notes([], [], [])])
    found = packed.melodies()
    assert len(found) == 21
    assert found[-1] == Melody.from_notes([], [], [])
    for before, after in zip(TUNES, found, strict=False):
        assert after == Melody(before.notes, barlines_ticks=before.barlines_ticks)
        assert np.shares_memory(after.notes, packed.notes)  # nothing is copied
        with pytest.raises(ValueError, match="read-only"):
            after.notes["pitch_midi"][0] = 0
    assert pack([]).melodies() == []
    assert packed.part(3, 5).melodies() == found[3:5]


def test_the_same_melodies_are_packed_once() -> None:
    melodies = list(TUNES)
    packed = pack(melodies)
    assert pack(melodies) is packed
    assert pack(iter(melodies)) is packed
    melodies[3] = Melody.from_notes([0, 1], [1, 1], [60, 62])
    changed = pack(melodies)
    assert changed is not packed
    assert changed.melody(3) == melodies[3]
    assert len(pack(melodies[:5])) == 5
    assert pack(melodies) is changed  # a few melodies take no place
