"""Keys: Krumhansl and Kessler's ratings, and the key of some notes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.represent.keys import PROFILES, RATINGS, Key, find_key


@pytest.mark.parametrize(
    ("pitches", "name"),
    [
        ([60, 62, 64, 65, 67, 69, 71, 72], "C major"),
        ([67, 69, 71, 72, 74, 76, 78, 79], "G major"),
        ([69, 71, 72, 74, 76, 77, 80, 81], "A minor"),
        ([63, 67, 70, 75], "E flat major"),
    ],
)
def test_keys(pitches: list[int], name: str) -> None:
    assert str(find_key(pitches, np.ones(len(pitches)))) == name


def test_long_notes_decide_the_key() -> None:
    assert find_key([60, 64, 67, 69], [4, 3, 3, 1]) == Key(0, False)
    assert find_key([60, 64, 67, 69], [2, 2, 0.5, 4]) == Key(9, True)


@given(st.lists(st.integers(40, 80), min_size=1, max_size=8), st.integers(0, 11))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_key_moves_with_the_melody(pitches: list[int], up: int) -> None:
    key, moved = find_key(pitches, np.ones(len(pitches))), find_key(np.array(pitches) + up, np.ones(len(pitches)))
    assert moved == Key((key.tonic + up) % 12, key.is_minor)


@pytest.mark.parametrize(
    ("key", "number"), [(Key(0, False), 0), (Key(9, False), 9), (Key(0, True), 12), (Key(9, True), 21)]
)
def test_the_profile_of_a_key_is_highest_on_its_tonic(key: Key, number: int) -> None:
    assert key.number == number
    assert PROFILES[number].argmax() == key.tonic
    assert sorted(PROFILES[number]) == sorted(RATINGS[int(key.is_minor)])


def test_of_equals_major_comes_first_and_then_the_tonic_next_above_the_first_note() -> None:
    everything = np.arange(60, 72)
    assert find_key(everything, np.ones(12)) == Key(0, False)
    assert find_key(np.roll(everything, 5), np.ones(12)) == Key(7, False)
