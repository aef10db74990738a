"""A melody upside down and backwards."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.program import roslin

from roslin import Collection, Melody, load
from roslin.errors import ArgumentError
from roslin.melody import note_name
from roslin.starter import tunes_path

TUNES = load(tunes_path())


def names(melody: Melody) -> str:
    return " ".join(note_name(number) for number in melody.notes["pitch_base40"].tolist())


def test_a_fugue_subject() -> None:
    (subject,) = load("%G-2$bB '4D A F D 2xC 4D E 2F")
    assert names(subject.inverted()) == "D4 G3 B3 D4 E♭4 D4 C4 B3"
    assert names(subject.retrograde()) == " ".join(reversed(names(subject).split()))
    assert [float(note.duration) for note in subject.retrograde()] == [2, 1, 1, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("tune", TUNES, ids=lambda tune: str(tune.id))
def test_twice_is_the_melody_itself(tune: Melody) -> None:
    plain = tune.retrograde().retrograde().notes
    columns = ["duration_ticks", "pitch_midi", "pitch_base40"]
    kept = tune.notes[~tune.notes["is_grace"]]
    assert plain[columns].tolist() == kept[columns].tolist()
    again = tune.inverted().inverted().notes
    assert again["pitch_midi"].tolist() == tune.notes["pitch_midi"].tolist()
    turned = tune.inverted().notes["pitch_midi"]
    assert np.array_equal(-np.diff(turned.astype(int)), np.diff(tune.notes["pitch_midi"].astype(int)))


def test_the_range_of_pitches_is_kept() -> None:
    low = Melody.from_notes([0, 1], [1, 1], [10, 40]).inverted()
    assert low.notes["pitch_midi"].tolist() == [34, 4]
    with pytest.raises(ArgumentError, match="the melody has too wide a range to be inverted"):
        Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 127, 0]).inverted()


def test_bar_lines_turn_too() -> None:
    tune = Melody.from_notes([0, 1, 4], [1, 3, 3], [60, 62, 64], barlines=[1, 4, 7])
    assert [ticks // 40320 for ticks in tune.retrograde().barlines_ticks.tolist()] == [0, 3, 6]


@pytest.mark.long
@pytest.mark.parametrize("direction", ["inverted", "retrograde", "both"])
def test_a_search_in_another_direction(direction: str, tmp_path: object) -> None:
    tune = load("%G-2 '4CDEGA8FGEDC")[0].with_metadata(id="hidden")
    turned = tune if direction == "retrograde" else tune.inverted()
    turned = turned if direction == "inverted" else turned.retrograde()
    path = f"{tmp_path}/x.roslin"
    Collection.build([*TUNES, turned], path).close()
    done = roslin("search", path, "%G-2 '4CDEGA8FGEDC", "--direction", direction, "-k", 1, "--format", "tsv")
    assert "hidden" in done.stdout
