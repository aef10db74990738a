"""Features: the numbers of Typke et al. (2007), section 3.1."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.melody import Melody
from roslin.represent import strings
from roslin.represent.strings import describe, motives, strings_of


def melody(pitches: list[int], durations: list[int] | None = None) -> Melody:
    return Melody.from_notes(range(0, 8 * len(pitches), 8), durations or [1] * len(pitches), pitches)


def test_the_numbers_as_the_paper_defines_them() -> None:
    example = melody([60, 67, 64, 64, 72, 71], [2, 1, 1, 4, 1, 1])
    assert describe(example).pitch_range == 12
    assert describe(example).max_interval == 8
    assert describe(example).duration_ratio == 0.25


def test_equal_durations_have_ratio_one_and_rests_do_not_count() -> None:
    assert describe(melody([60, 62, 64])).duration_ratio == 1.0


def test_the_largest_interval_may_go_down() -> None:
    assert describe(melody([72, 60, 62])).max_interval == 12


def test_no_notes_no_features() -> None:
    empty = describe(Melody.from_notes([], [], []))
    assert empty == (0, None, None, None, "", "", "", "", {})
    assert describe(Melody.from_notes([0], [0], [60], graces=[True])) == empty


def test_one_note_has_no_interval() -> None:
    assert describe(melody([60])) == (1, 0, None, 1.0, "", "", "", "", {})


def test_chords_and_graces_are_described_by_the_line() -> None:
    notes = Melody.from_notes(
        [0, 0, 0, 1], [0, 1, 1, 4], [90, 60, 64, 62], graces=[True, False, False, False], voices=[0, 0, 1, 0]
    )
    about = describe(notes)
    assert (about.note_count, about.pitch_range, about.max_interval, about.duration_ratio) == (2, 2, 2, 0.25)
    assert about.chromatic == "b"


@given(st.lists(st.tuples(st.integers(40, 80), st.integers(1, 8)), max_size=25))
def test_each_feature_agrees_with_its_definition(notes: list[tuple[int, int]]) -> None:
    pitches, durations = [pitch for pitch, _ in notes], [duration for _, duration in notes]
    example = melody(pitches, durations)
    about = describe(example)
    assert about.note_count == len(notes)
    assert about.pitch_range == (int(np.ptp(pitches)) if notes else None)
    assert about.max_interval == (int(np.abs(np.diff(pitches)).max()) if len(notes) > 1 else None)
    assert about.duration_ratio == (min(durations) / max(durations) if notes else None)
    assert about[4:8] == strings_of(example)
    assert about.motives == motives(about.chromatic)


# Motives -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ("", {}),
        ("A", {}),
        ("AB", {}),
        ("ABA", {}),
        ("AAA", {}),  # two A that overlap
        ("AAAA", {"AA": 2}),
        ("AAAAA", {"AA": 2}),
        ("==A==", {"==": 2}),  # three repeated notes in two places
        ("ABcABc", {"ABc": 2}),
        ("ABcABcABc", {"ABc": 3}),
        ("ABcdABcdABx", {"ABcd": 2}),  # longest first, though AB occurs three times: nothing is left of it
        ("ABcdABcdABxAB", {"ABcd": 2, "AB": 2}),
        ("ABxBCyABzBC", {"AB": 2, "BC": 2}),
        ("ABxBAyABABC", {"AB": 3}),  # BA starts later and loses the places it shares with AB
        ("AbAb=AbAb", {"AbAb": 2}),
    ],
)
def test_motives_by_hand(intervals: str, expected: dict[str, int]) -> None:
    assert motives(intervals) == expected


def slow_motives(intervals: str) -> dict[str, int]:
    """The rule, word for word: longest, earliest, count without overlap, take out, again."""
    cells: list[str | None] = list(intervals)
    found: dict[str, int] = {}
    while True:
        best: list[int] = []
        length = 0
        for length in range(len(cells) // 2, 1, -1):
            for first in range(len(cells) - length + 1):
                wanted = cells[first : first + length]
                if None in wanted:
                    continue
                places, place = [], first
                while place + length <= len(cells):
                    if cells[place : place + length] == wanted:
                        places.append(place)
                        place += length
                    else:
                        place += 1
                if len(places) > 1:
                    best = places
                    break
            if best:
                break
        if not best:
            return found
        found[intervals[best[0] : best[0] + length]] = len(best)
        for place in best:
            cells[place : place + length] = [None] * length


@given(st.text("Ab=", max_size=24))
@settings(max_examples=300)
def test_motives_follow_the_rule_word_for_word(intervals: str) -> None:
    assert motives(intervals) == slow_motives(intervals)
    assert list(map(len, motives(intervals))) == sorted(map(len, motives(intervals)), reverse=True)


@pytest.mark.long
@pytest.mark.parametrize("intervals", ["=" * 10_000, "ABc=" * 2_500])
def test_long_melodies_give_motives_of_bounded_length(intervals: str) -> None:
    found = motives(intervals)
    assert max(map(len, found)) == strings.LONGEST_MOTIVE
    assert sum(len(motive) * times for motive, times in found.items()) <= len(intervals)


def test_importing_features_loads_no_kernels() -> None:
    code = (
        "import sys, roslin.represent.strings, roslin.represent.edits\n"
        "from roslin.native import kernels; sys.exit(kernels.is_loaded())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
