"""Strings: the letters of melodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.melody import Melody
from roslin.represent.strings import (
    line_strings,
    steps_from_base40,
    strings_of,
)

PITCHES = st.lists(st.integers(30, 90), max_size=30)
# Base-40 numbers of the notes of C major, sharps and flats, around middle C (162).
C, CIS, D, ES, DIS, E, F, FIS, G, GIS, AS, A, B, HIGH_C = (
    162,
    163,
    168,
    173,
    169,
    174,
    179,
    180,
    185,
    186,
    190,
    191,
    197,
    202,
)


def melody(pitches: list[int], durations: list[int] | None = None, base40: list[int] | None = None) -> Melody:
    durations = durations or [1] * len(pitches)
    onsets = np.concatenate([[0], np.cumsum(durations)])[: len(pitches)]
    return Melody.from_notes(onsets.tolist(), durations, pitches, base40=base40)


def test_the_sequences_of_the_white_cockade() -> None:
    # Typke et al. (2007), 3.1: "fifth up, third down, unison, sixth up" and "third up, unison, unison, sixth up".
    assert strings_of(melody([60, 67, 64, 64, 72])).diatonic == "Ec=F"
    assert strings_of(melody([60, 64, 64, 64, 72])).diatonic == "C==F"
    assert strings_of(melody([60, 67, 64, 64, 72])).chromatic == "Gc=H"


@pytest.mark.parametrize(
    ("base40", "pitches", "expected"),
    [
        ([C, DIS], [60, 63], "B"),  # augmented second: a second
        ([C, ES], [60, 63], "C"),  # minor third: a third
        ([F, B], [65, 71], "D"),  # augmented fourth
        ([C, CIS], [60, 61], "="),  # altered unison
        ([GIS, AS], [68, 68], "B"),  # diminished second: sounds the same, is written a step higher
        ([B, HIGH_C], [71, 72], "B"),
        ([HIGH_C, C], [72, 60], "h"),  # an octave down
        ([122, 162], [48, 60], "H"),  # B sharp and C flat cross the octave below
        ([158, 162], [60, 60], "B"),  # B sharp to C
        ([162, 161], [60, 59], "="),  # C to C flat
    ],
)
def test_diatonic_letters_come_from_the_spelling(base40: list[int], pitches: list[int], expected: str) -> None:
    assert strings_of(melody(pitches, base40=base40)).diatonic == expected


def test_the_letters_of_base40_numbers() -> None:
    naturals = [2, 8, 14, 19, 25, 31, 37]
    assert steps_from_base40(naturals) == [0, 1, 2, 3, 4, 5, 6]
    for step, natural in enumerate(naturals):
        assert steps_from_base40(range(natural - 2, natural + 3)) == [step] * 5
    assert steps_from_base40([-38, 162]) == [-7, 28]


def test_contour_and_rhythm() -> None:
    example = melody([60, 64, 64, 62], [1, 2, 2, 1])
    assert strings_of(example).contour == "URD"
    assert strings_of(example).rhythm == "L=S"


def test_rests_are_ignored() -> None:
    with_rest = Melody.from_notes([0, 5], [1, 1], [60, 64])
    assert strings_of(with_rest).chromatic == "D"
    assert strings_of(with_rest).rhythm == "="


def test_very_large_intervals_get_the_last_letter() -> None:
    assert strings_of(melody([0, 26, 0, 27, 0, 127, 0])).chromatic == "ZzZzZz"
    assert strings_of(melody([0, 127, 0])).diatonic == "Zz"
    assert strings_of(melody([24, 66], base40=[42, 42 + 40 * 3 + 24])).diatonic == "Z"  # 25 steps: the 26th
    assert strings_of(melody([24, 64], base40=[42, 42 + 40 * 3 + 18])).diatonic == "Y"


@pytest.mark.parametrize("pitches", [[], [60]])
def test_no_pair_of_notes_no_letters(pitches: list[int]) -> None:
    assert line_strings(pitches, pitches, pitches) == ("", "", "", "")
    assert strings_of(melody(pitches)).contour == ""


def test_a_voice_can_be_picked() -> None:
    two = Melody.from_notes([0, 0, 1, 1], [1] * 4, [60, 72, 62, 71], voices=[1, 0, 1, 0])
    assert strings_of(two, voice=0).chromatic == "a"
    assert strings_of(two, voice=1).chromatic == "B"


@given(PITCHES, st.integers(-20, 20))
def test_transposition_changes_nothing(pitches: list[int], semitones: int) -> None:
    moved = [pitch + semitones for pitch in pitches]
    assert strings_of(melody(pitches)).chromatic == strings_of(melody(moved)).chromatic
    assert strings_of(melody(pitches)).contour == strings_of(melody(moved)).contour


@given(st.lists(st.integers(80, 320), max_size=20), st.integers(-1, 1))
def test_transposition_by_octaves_keeps_the_spelled_intervals(base40: list[int], octaves: int) -> None:
    pitches = [60] * len(base40)
    moved = [number + 40 * octaves for number in base40]
    assert strings_of(melody(pitches, base40=base40)).diatonic == strings_of(melody(pitches, base40=moved)).diatonic


@given(st.lists(st.integers(1, 16), min_size=1, max_size=20), st.integers(1, 8))
def test_a_slower_notation_changes_nothing(durations: list[int], factor: int) -> None:
    pitches = [60] * len(durations)
    slower = [factor * duration for duration in durations]
    assert strings_of(melody(pitches, durations)).rhythm == strings_of(melody(pitches, slower)).rhythm


@given(PITCHES)
def test_backwards_swaps_up_and_down(pitches: list[int]) -> None:
    forwards, backwards = strings_of(melody(pitches)).chromatic, strings_of(melody(pitches[::-1])).chromatic
    assert backwards == forwards[::-1].swapcase()


@given(PITCHES)
def test_all_strings_are_equally_long(pitches: list[int]) -> None:
    example = melody(pitches)
    lengths = {len(string) for string in strings_of(example)}
    assert lengths == {max(0, len(pitches) - 1)}
