"""Ground distances: the tonal one that section 5 of paper 002 proposes."""

from __future__ import annotations

import numpy as np
import pytest

from roslin import emd
from roslin.errors import ArgumentError
from roslin.represent.keys import Key, find_key
from roslin.transport.ground import tonal_table


def test_the_table_is_a_dissimilarity() -> None:
    table = tonal_table(Key(0, False))
    assert table.shape == (128, 128)
    assert (np.diag(table) == 0).all()
    assert (table == table.T).all()
    assert (table[~np.eye(128, dtype=bool)] > 0).all()
    assert (tonal_table(Key(5, True))[5:, 5:] == tonal_table(Key(0, True))[:-5, :-5]).all()


def test_leaving_the_chord_costs_more() -> None:
    """From the tonic, C sharp is farther in C major than B flat to A, two tones of no great standing."""
    table = tonal_table(Key(0, False))
    assert table[60, 61] > 1 > table[70, 69]
    assert tonal_table(Key(0, False), stability=0.0)[60, 72] == 12


def test_the_tonal_distance_by_hand() -> None:
    scale = [[0, 60], [1, 64], [2, 67], [3, 72]]
    other = [[0, 60], [1, 64], [2, 67], [3, 73]]
    key = find_key([60, 64, 67, 72, 60, 64, 67, 73], np.ones(8))
    assert emd(scale, np.ones(4), other, np.ones(4), "tonal") == pytest.approx(tonal_table(key)[72, 73] / 4)
    assert emd([[0, 60]], [1], [[2, 60]], [1], "tonal") == 2


def test_the_tonal_distance_needs_midi_pitches() -> None:
    with pytest.raises(ArgumentError, match="needs MIDI pitches, 0 to 127"):
        emd([[0, 60]], [1], [[0, 128]], [1], "tonal")
