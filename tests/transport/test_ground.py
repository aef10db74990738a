"""Ground distances: the tonal one that section 5 of Typke et al. (2007) proposes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.represent.one_key import KEYS, Key, find_key

from roslin import Melody, align, emd, matcher
from roslin.errors import ArgumentError
from roslin.transport import Setting
from roslin.transport.emd import tonal_costs, tonal_table, tonal_tables


def test_the_table_is_a_dissimilarity() -> None:
    table = tonal_table(Key(0, False).number)
    assert table.shape == (128, 128)
    assert (np.diag(table) == 0).all()
    assert (table == table.T).all()
    assert (table[~np.eye(128, dtype=bool)] > 0).all()
    assert (tonal_table(Key(5, True).number)[5:, 5:] == tonal_table(Key(0, True).number)[:-5, :-5]).all()


def test_leaving_the_chord_costs_more() -> None:
    """From the tonic, C sharp is farther in C major than B flat to A, two tones of no great standing."""
    table = tonal_table(Key(0, False).number)
    assert table[60, 61] > 1 > table[70, 69]
    assert tonal_table(Key(0, False).number, stability=0.0)[60, 72] == 12


def test_the_tonal_distance_by_hand() -> None:
    scale = [[0, 60], [1, 64], [2, 67], [3, 72]]
    other = [[0, 60], [1, 64], [2, 67], [3, 73]]
    key = find_key([60, 64, 67, 72, 60, 64, 67, 73], np.ones(8))
    assert emd(scale, np.ones(4), other, np.ones(4), "tonal") == pytest.approx(tonal_table(key.number)[72, 73] / 4)
    assert emd([[0, 60]], [1], [[2, 60]], [1], "tonal") == 2


def test_the_tonal_distance_needs_midi_pitches() -> None:
    with pytest.raises(ArgumentError, match="needs MIDI pitches, 0 to 127"):
        emd([[0, 60]], [1], [[0, 128]], [1], "tonal")


def test_there_is_a_table_for_each_key_and_a_column_for_each_note() -> None:
    tables = tonal_tables()
    assert tables.shape == (24, 128, 128)
    for key in (Key(0, False), Key(9, True)):
        assert (tables[key.number] == tonal_table(key.number)).all()
        assert KEYS[key.number] == key
    costs = tonal_costs(np.array([0, 21]), np.array([60.0, 69.0]))
    assert (
        costs == np.column_stack([tonal_table(Key(0, False).number)[:, 60], tonal_table(Key(9, True).number)[:, 69]])
    ).all()


PHRASE = [60, 64, 67, 65, 64, 62, 60, 59, 60, 64, 67, 72, 71, 67, 62, 65, 64, 62, 60, 60]


@pytest.mark.parametrize("name", ["emd", "twv_covered"])
def test_the_key_is_that_of_the_area_around_the_two_notes(name: str) -> None:
    """A document in C major, then in F sharp major; C sharp in place of C costs what it costs in the key around it."""
    modulating = Melody.from_notes(range(40), [1] * 40, PHRASE + [pitch + 6 for pitch in PHRASE])
    for start, key in ((0, Key(0, False)), (20, Key(6, False))):
        line = [pitch + start * 6 // 20 for pitch in PHRASE]
        line[8] += 1  # the tonic, one semitone higher
        query = Melody.from_notes(range(20), [1] * 20, line)
        tonic = 60 + start * 6 // 20
        expected = tonal_table(key.number)[tonic + 1, tonic] / 20
        text = f"{name}(ground='tonal'" + (", segment=20, radius=1.0)" if name == "twv_covered" else ")")
        assert matcher(text).distances(query, [modulating])[0] == pytest.approx(expected)
        assert matcher(text).explain(query, [modulating]).distance == pytest.approx(expected)
        refined = align(query, modulating, Setting(ground="tonal", alignment="refined"))
        assert refined.distance <= expected + 1e-9


def test_of_two_point_sets_both_areas_have_a_say() -> None:
    first, second = np.arange(20.0), np.arange(20.0, 40.0)
    a = np.column_stack([np.concatenate([first, second]), PHRASE + [pitch + 6 for pitch in PHRASE]])
    b = a.copy()
    b[8, 1] += 1
    assert emd(a, np.ones(40), b, np.ones(40), "tonal") == pytest.approx(tonal_table(Key(0, False).number)[60, 61] / 40)
    assert emd(b, np.ones(40), a, np.ones(40), "tonal") == emd(a, np.ones(40), b, np.ones(40), "tonal")
