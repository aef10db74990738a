"""Strings: the letters of melodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.melody import Melody
from roslin.represent.strings import (
    chromatic_string,
    contour_string,
    diatonic_string,
    line_strings,
    rhythm_string,
    steps_from_base40,
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
    # Paper 002, 3.1: "fifth up, third down, unison, sixth up" and "third up, unison, unison, sixth up".
    assert diatonic_string(melody([60, 67, 64, 64, 72])) == "Ec=F"
    assert diatonic_string(melody([60, 64, 64, 64, 72])) == "C==F"
    assert chromatic_string(melody([60, 67, 64, 64, 72])) == "Gc=H"


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
    assert diatonic_string(melody(pitches, base40=base40)) == expected


def test_the_letters_of_base40_numbers() -> None:
    naturals = [2, 8, 14, 19, 25, 31, 37]
    assert steps_from_base40(naturals) == [0, 1, 2, 3, 4, 5, 6]
    for step, natural in enumerate(naturals):
        assert steps_from_base40(range(natural - 2, natural + 3)) == [step] * 5
    assert steps_from_base40([-38, 162]) == [-7, 28]


def test_contour_and_rhythm() -> None:
    example = melody([60, 64, 64, 62], [1, 2, 2, 1])
    assert contour_string(example) == "URD"
    assert rhythm_string(example) == "L=S"


def test_rests_are_ignored() -> None:
    with_rest = Melody.from_notes([0, 5], [1, 1], [60, 64])
    assert chromatic_string(with_rest) == "D"
    assert rhythm_string(with_rest) == "="


def test_very_large_intervals_get_the_last_letter() -> None:
    assert chromatic_string(melody([0, 26, 0, 27, 0, 127, 0])) == "ZzZzZz"
    assert diatonic_string(melody([0, 127, 0])) == "Zz"
    assert diatonic_string(melody([24, 66], base40=[42, 42 + 40 * 3 + 24])) == "Z"  # 25 steps: the 26th
    assert diatonic_string(melody([24, 64], base40=[42, 42 + 40 * 3 + 18])) == "Y"


@pytest.mark.parametrize("pitches", [[], [60]])
def test_no_pair_of_notes_no_letters(pitches: list[int]) -> None:
    assert line_strings(pitches, pitches, pitches) == ("", "", "", "")
    assert contour_string(melody(pitches)) == ""


def test_a_voice_can_be_picked() -> None:
    two = Melody.from_notes([0, 0, 1, 1], [1] * 4, [60, 72, 62, 71], voices=[1, 0, 1, 0])
    assert chromatic_string(two, voice=0) == "a"
    assert chromatic_string(two, voice=1) == "B"


@given(PITCHES, st.integers(-20, 20))
def test_transposition_changes_nothing(pitches: list[int], semitones: int) -> None:
    moved = [pitch + semitones for pitch in pitches]
    assert chromatic_string(melody(pitches)) == chromatic_string(melody(moved))
    assert contour_string(melody(pitches)) == contour_string(melody(moved))


@given(st.lists(st.integers(80, 320), max_size=20), st.integers(-1, 1))
def test_transposition_by_octaves_keeps_the_spelled_intervals(base40: list[int], octaves: int) -> None:
    pitches = [60] * len(base40)
    moved = [number + 40 * octaves for number in base40]
    assert diatonic_string(melody(pitches, base40=base40)) == diatonic_string(melody(pitches, base40=moved))


@given(st.lists(st.integers(1, 16), min_size=1, max_size=20), st.integers(1, 8))
def test_a_slower_notation_changes_nothing(durations: list[int], factor: int) -> None:
    pitches = [60] * len(durations)
    slower = [factor * duration for duration in durations]
    assert rhythm_string(melody(pitches, durations)) == rhythm_string(melody(pitches, slower))


@given(PITCHES)
def test_backwards_swaps_up_and_down(pitches: list[int]) -> None:
    forwards, backwards = chromatic_string(melody(pitches)), chromatic_string(melody(pitches[::-1]))
    assert backwards == forwards[::-1].swapcase()


@given(PITCHES)
def test_all_strings_are_equally_long(pitches: list[int]) -> None:
    example = melody(pitches)
    lengths = {len(f(example)) for f in (chromatic_string, diatonic_string, contour_string, rhythm_string)}
    assert lengths == {max(0, len(pitches) - 1)}
