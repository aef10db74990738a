"""The melodic line: one note at a time."""

from __future__ import annotations

import pytest

from roslin.errors import MelodyError
from roslin.melody import Melody
from roslin.represent.line import melodic_line


def pitches(melody: Melody, voice: int | None = None) -> list[int]:
    return list(melodic_line(melody, voice)["pitch_midi"].tolist())


def test_a_single_line_is_itself() -> None:
    melody = Melody.from_notes([0, 1, 3], [1, 1, 1], [60, 62, 64])
    assert melodic_line(melody) is melody.notes


def test_chords_give_their_highest_note_whatever_the_voice() -> None:
    melody = Melody.from_notes([0, 0, 0, 1, 1], [1] * 5, [60, 67, 64, 62, 65], voices=[0, 1, 0, 1, 0])
    assert pitches(melody) == [67, 65]


def test_grace_notes_are_dropped_even_when_they_are_higher() -> None:
    melody = Melody.from_notes([0, 0, 1], [0, 1, 1], [72, 60, 62], graces=[True, False, False])
    assert pitches(melody) == [60, 62]


def test_a_voice_is_picked_before_the_highest_note() -> None:
    melody = Melody.from_notes([0, 0, 0, 1], [1, 1, 1, 1], [72, 60, 64, 62], voices=[0, 1, 1, 1])
    assert pitches(melody, voice=1) == [64, 62]
    assert pitches(melody, voice=0) == [72]


def test_overlapping_notes_follow_each_other_with_their_own_durations() -> None:
    line = melodic_line(Melody.from_notes([0, 1, 2], [4, 1, 1], [60, 62, 64]))
    assert line["pitch_midi"].tolist() == [60, 62, 64]
    assert line["duration_ticks"].tolist() == [4 * 40320, 40320, 40320]


def test_of_two_notes_at_one_pitch_the_first_row_is_taken() -> None:
    line = melodic_line(Melody.from_notes([0, 0], [1, 2], [60, 60], voices=[0, 1]))
    assert line["voice"].tolist() == [0]


def test_the_line_cannot_be_written_to() -> None:
    melody = Melody.from_notes([0, 0], [1, 1], [60, 64])
    with pytest.raises(ValueError, match="read-only"):
        melodic_line(melody)["pitch_midi"][0] = 1


def test_no_notes() -> None:
    empty = Melody.from_notes([], [], [])
    assert len(melodic_line(empty)) == 0
    assert len(melodic_line(empty, voice=3)) == 0
    only_graces = Melody.from_notes([0], [0], [60], graces=[True])
    assert len(melodic_line(only_graces)) == 0


def test_an_unknown_voice_is_refused() -> None:
    melody = Melody.from_notes([0, 0], [1, 1], [60, 64], voices=[0, 2])
    with pytest.raises(MelodyError, match="voice must be one of 0, 2; got 1"):
        melodic_line(melody, voice=1)
