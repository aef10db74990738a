"""Seconds as note values. That the search page finds the same is tested in tests/browser/test_singing.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from roslin.errors import MelodyError
from roslin.melody import Melody
from roslin.melody.quantising import note_values, quarters_from_seconds


def values(melody: Melody) -> list[tuple[float, float]]:
    return [(float(note.onset), float(note.duration)) for note in melody]


def test_an_uneven_performance_is_written_as_it_was_meant() -> None:
    meant = np.array([1, 1, 0.5, 0.5, 1, 1.5, 0.5, 2, 1])
    lengths = 0.5 * np.exp(np.linspace(0, 0.25, len(meant))) * meant
    melody = Melody.from_seconds(7 + np.cumsum(lengths) - lengths, lengths, [60] * len(meant), id="slower and slower")
    assert [float(note.duration) for note in melody] == meant.tolist()
    assert melody[0].onset == 0
    assert melody.id == "slower and slower"


def test_a_long_silence_becomes_a_rest_and_a_short_one_does_not() -> None:
    melody = Melody.from_seconds([0, 0.5, 1.0, 2.0, 2.5], [0.2, 0.2, 0.2, 0.2, 1.0], [60, 62, 64, 65, 67])
    assert values(melody) == [(0, 0.5), (0.5, 0.5), (1, 0.25), (2, 0.5), (2.5, 1)]


def test_notes_may_come_in_any_order_and_chords_stay_together() -> None:
    melody = Melody.from_seconds([0.51, 0, 1.02, 0.02], [0.5, 0.5, 0.98, 1.0], [62, 60, 64, 48])
    assert [(float(note.onset), float(note.duration), note.pitch_midi) for note in melody] == [
        (0, 0.5, 60), (0, 1, 48), (0.5, 0.5, 62), (1, 1, 64),
    ]  # fmt: skip


def test_a_pause_is_the_longest_value_and_leaves_the_tempo_alone() -> None:
    phrase = [0.5, 0.25, 0.25, 0.5]
    quarters, seconds = note_values(np.array([*phrase, 60.0, *phrase]))
    assert quarters.tolist() == [1, 0.5, 0.5, 1, 4, 1, 0.5, 0.5, 1]
    assert np.ptp(seconds) < 0.1


@pytest.mark.parametrize("count", [0, 1])
def test_no_note_and_one_note(count: int) -> None:
    assert len(Melody.from_seconds([0.0] * count, [0.5] * count, [60] * count)) == count
    assert len(quarters_from_seconds(np.zeros(count), np.ones(count))[0]) == count


def test_notes_without_length_are_the_shortest_there_are() -> None:
    assert all(length > 0 for _, length in values(Melody.from_seconds([0, 0.5, 0.5], [0, 0, 0], [60, 62, 64])))


@pytest.mark.parametrize(
    ("onsets", "durations", "pitches", "message"),
    [
        ([0, float("nan")], [1, 1], [60, 62], "onsets must be finite numbers of seconds, at least 0"),
        ([0, 1], [1, -1], [60, 62], "durations must be finite numbers of seconds, at least 0"),
        (["soon"], [1], [60], "onsets must be finite numbers of seconds, at least 0"),
        ([0, 1], [1], [60, 62], "durations has 1 values; expected 2, one for each onset"),
        ([0], [1], [128], "pitches must be whole numbers from 0 to 127"),
    ],
)
def test_what_is_no_melody_in_seconds(onsets: Any, durations: Any, pitches: Any, message: str) -> None:
    with pytest.raises(MelodyError, match=message):
        Melody.from_seconds(onsets, durations, pitches)
