from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from roslin.errors import MelodyError
from roslin.melody import NOTE_DTYPE, TICKS_PER_QUARTER, Melody, SignatureChange, base40_from_midi, checked_table


def test_ticks_make_tuplets_and_dots_exact() -> None:
    assert TICKS_PER_QUARTER == 40320
    for parts in (2, 3, 4, 5, 6, 7, 8, 9, 10, 32):
        assert TICKS_PER_QUARTER % parts == 0
    assert (TICKS_PER_QUARTER // 32) * 3 % 2 == 0  # a dotted 128th


def test_from_notes_sorts_and_keeps_chords_and_voices() -> None:
    melody = Melody.from_notes([1, 0, 0, 0], [1, 2, 2, 1], [62, 60, 64, 48], voices=[0, 0, 0, 1], id="chord")
    assert melody.notes["onset_ticks"].tolist() == [0, 0, 0, TICKS_PER_QUARTER]
    assert melody.notes["pitch_midi"].tolist() == [64, 60, 48, 62]
    assert melody.notes["voice"].tolist() == [0, 0, 1, 0]
    assert melody.end_ticks == 2 * TICKS_PER_QUARTER
    assert (len(melody), repr(melody)) == (4, "Melody('chord', 4 notes)")


def test_from_notes_keeps_grace_notes_before_their_note_in_written_order() -> None:
    melody = Melody.from_notes([0, 0, 0], [1, 0, 0.25], [60, 72, 71], graces=[False, True, True])
    assert melody.notes["pitch_midi"].tolist() == [72, 71, 60]
    assert melody.end_ticks == TICKS_PER_QUARTER


def test_fractions_are_exact_and_floats_are_rounded_to_the_nearest_tick() -> None:
    third = Fraction(1, 3)
    melody = Melody.from_notes([0, third, 2 * third], [third] * 3, [60, 62, 64])
    same = Melody.from_notes(np.array([0, 1 / 3, 2 / 3], dtype=np.float32), [1 / 3] * 3, [60, 62, 64])
    assert melody.notes["onset_ticks"].tolist() == [0, 13440, 26880]
    assert melody == same


@pytest.mark.parametrize(("midi", "base40"), [(60, 162), (61, 163), (63, 173), (71, 197), (72, 202), (0, -38)])
def test_usual_spelling(midi: int, base40: int) -> None:
    assert base40_from_midi([midi]).tolist() == [base40]


def test_melodies_are_values() -> None:
    melody = Melody.from_notes([0], [1], [60], id="a", title="T", extra={"x": "y"}, barlines=[1])
    assert melody == Melody.from_notes([0], [1], [60], id="a", title="T", extra={"x": "y"}, barlines=[1])
    assert melody != melody.with_metadata(title="other")
    assert melody != "a"
    assert len({melody, melody.with_metadata()}) == 1
    changed = melody.with_metadata(changes=(SignatureChange(0, metre="3/4"),))
    assert pickle.loads(pickle.dumps(changed)) == changed


def test_nothing_can_be_changed() -> None:
    table = np.zeros(2, dtype=NOTE_DTYPE)
    bars = np.array([1, 2])
    melody = Melody(table[:1], barlines_ticks=bars)
    whole = Melody(table)
    table["pitch_midi"] = 99  # what belongs to the caller stays the caller's
    bars[0] = 7
    assert whole.notes["pitch_midi"].tolist() == [0, 0]
    assert melody.barlines_ticks.tolist() == [1, 2]
    assert melody.notes["pitch_midi"].tolist() == [0]
    with pytest.raises(ValueError, match="read-only"):
        melody.notes["pitch_midi"] = 1
    with pytest.raises(ValueError, match="read-only"):
        melody.barlines_ticks[0] = 1
    with pytest.raises(AttributeError):
        melody.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        melody.extra["x"] = "y"  # type: ignore[index]


def test_no_notes_is_a_melody_too() -> None:
    empty = Melody.from_notes([], [], [])
    assert (len(empty), empty.end_ticks) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [1, 1], [60]), "durations has 2 values; expected 1"),
        (([0], [1], [60, 61]), "pitches has 2 values"),
        (([-1], [1], [60]), "onsets must be at least 0"),
        (([0], [0], [60]), "durations must be above 0"),
        (([float("nan")], [1], [60]), "onsets must be finite"),
        (([float("inf")], [1], [60]), "onsets must be finite"),
        (([1e30], [1], [60]), "onsets must be at least 0 and below"),
        (([0], [1], [128]), "pitches must be whole numbers from 0 to 127"),
        (([0], [1], [60.5]), "pitches must be whole numbers"),
        (([0], [1], ["C"]), "pitches must be whole numbers"),
        ((["x"], [1], [60]), "onsets must be finite"),
    ],
)
def test_what_is_no_melody(arguments: tuple[list[float], list[float], list[int]], message: str) -> None:
    with pytest.raises(MelodyError, match=message):
        Melody.from_notes(*arguments)


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(MelodyError, match="onset_ticks"):
        Melody(np.zeros(1, dtype=[("a", int)]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 60]], r"notes must be rows of onset_ticks, .*; got an array of shape \(1, 3\)"),
        ([[0, 1, 60, 162, 0, 0], [0, 1, 200, 162, 0, 0]], "pitch_midi must be from 0 to 127; got 200 in note 2"),
        ([[-1, 1, 60, 162, 0, 0]], "onset_ticks must be from 0"),
        ([[0, 0, 60, 162, 0, 0]], "durations must be above 0"),
    ],
)
def test_rows_that_make_no_table(rows: list[list[int]], message: str) -> None:
    with pytest.raises(MelodyError, match=message):
        checked_table(np.array(rows))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_for_each_note(library: Any) -> None:
    melody = Melody.from_notes([0, 0, Fraction(1, 3)], [1, 1, 2], [60, 63, 72], graces=[True, False, False])
    frame = melody.to_frame(library)
    assert [*frame.columns] == ["name", "onset", "duration", "pitch_midi", "pitch_base40", "is_grace", "voice"]
    for name in frame.columns:
        expected = [getattr(note, name) for note in melody]
        assert list(frame[name]) == (list(map(float, expected)) if name in ("onset", "duration") else expected)
    assert len(melody[:0].to_frame(library)) == 0
