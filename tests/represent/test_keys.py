"""Keys: Krumhansl and Kessler's ratings, and the key of some notes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.represent.one_key import KEYS, Key, find_key

from roslin.represent.keys import AREA_REACH, PROFILES, RATINGS, local_keys


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
@settings(max_examples=200)
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


# -- the key around each note -----------------------------------------------------------------------------------------

C_MAJOR = [60, 64, 67, 65, 64, 62, 60, 59, 60, 64, 67, 72, 71, 67, 62, 65, 64, 62, 60, 60]
UP_A_TRITONE = [pitch + 6 for pitch in C_MAJOR]


def named(numbers: npt.NDArray[np.int64]) -> list[str]:
    return [str(KEYS[number]) for number in numbers]


def test_a_melody_that_modulates_has_the_key_of_each_part_in_it() -> None:
    """Twenty notes in C major, then the same in F sharp major, which shares two notes with it."""
    line = C_MAJOR + UP_A_TRITONE
    keys = named(local_keys(np.arange(40), line, np.ones(40)))
    assert keys[: 20 - AREA_REACH] == ["C major"] * (20 - AREA_REACH)
    assert keys[20 + AREA_REACH :] == ["F sharp major"] * (20 - AREA_REACH)
    assert keys[16] == "C major"  # more of its area is there than here
    assert keys[24] == "F sharp major"
    assert len({str(find_key(line, np.ones(40))), "C major", "F sharp major"}) < 3  # one key for all is wrong for half


def test_within_an_area_all_notes_have_the_key_of_the_whole() -> None:
    random = np.random.default_rng(5)
    for notes in (1, 2, 5, AREA_REACH + 1):
        for _ in range(50):
            pitches, weights = random.integers(48, 80, notes), random.choice([0.25, 0.5, 1.0, 3.0], notes)
            expected = find_key(pitches, weights).number
            assert local_keys(np.arange(notes), pitches, weights).tolist() == [expected] * notes


def test_the_key_around_a_note_is_that_of_its_area() -> None:
    random = np.random.default_rng(6)
    times = np.sort(random.integers(0, 25, 60)) * 0.5  # chords: several notes at an onset
    pitches, weights = random.integers(48, 80, 60), random.choice([0.25, 0.5, 1.0, 3.0], 60)
    onsets = np.unique(times)
    for reach in (0, 1, 3, 100):
        found = local_keys(times, pitches, weights, reach=reach)
        for k, number in enumerate(found):
            at = int(np.searchsorted(onsets, times[k]))
            area = np.isin(times, onsets[max(at - reach, 0) : at + reach + 1])
            assert find_key(pitches[area], weights[area]).number == number


def test_each_of_several_melodies_has_its_own_areas() -> None:
    line, weights = C_MAJOR + UP_A_TRITONE, np.ones(40)
    apart = local_keys(np.concatenate([np.arange(20), np.arange(20)]), line, weights, offsets=[0, 0, 20, 20, 40])
    assert named(apart) == ["C major"] * 20 + ["F sharp major"] * 20
    assert local_keys([], [], []).tolist() == []


@given(st.lists(st.integers(40, 80), min_size=1, max_size=30), st.integers(0, 11))
@settings(max_examples=60)
def test_the_keys_move_with_the_melody(pitches: list[int], up: int) -> None:
    times, weights = np.arange(len(pitches)), np.ones(len(pitches))
    moved = local_keys(times, np.array(pitches) + up, weights)
    expected = [Key((KEYS[k].tonic + up) % 12, KEYS[k].is_minor).number for k in local_keys(times, pitches, weights)]
    assert moved.tolist() == expected
    assert local_keys(times * 3.0, pitches, weights * 3).tolist() == local_keys(times, pitches, weights).tolist()
