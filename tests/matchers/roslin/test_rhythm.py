"""`roslin` by rhythm alone: the same in any tempo, and nothing is found by being short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Collection, Melody, load
from roslin.matchers import Roslin
from roslin.matchers.roslin.scores import PLACES
from roslin.represent.line import melodic_line
from roslin.starter import tunes_path

LENGTHS = st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 12]), min_size=1, max_size=12)  # sixteenths


def made(lengths: list[int], slower: int = 1) -> Melody:
    quarters = slower * np.array(lengths) / 4
    onsets = np.concatenate([[0], np.cumsum(quarters)[:-1]])
    return Melody.from_notes(onsets.tolist(), quarters.tolist(), [71] * len(lengths))


def in_rhythm(place: str) -> Roslin:
    return Roslin(compare="rhythm", place=place)


@pytest.mark.parametrize("place", PLACES)
def test_a_rhythm_and_its_doubling_are_alike_and_others_are_not(place: str) -> None:
    eighths, quarters = load("'8CD4E8FGA6GF4E")[0], load("'4GG2G4GGG8GG2G")[0]
    sixteenths, dotted = load("'6CD8E6FGA3GF8E")[0], load("'4.GG2.G4.GGG8.GG2.G")[0]
    others = load("'4GG2G4GG2G8GG2G") + load("'4.G8G2G4GGG8GG2G") + load("'4GGGGGGGGG")
    chosen = in_rhythm(place)
    assert chosen.distances(quarters, [eighths, sixteenths, dotted]).tolist() == [0.0, 0.0, 0.0]
    assert chosen.distances(eighths, [quarters, sixteenths, dotted]).tolist() == [0.0, 0.0, 0.0]
    assert (chosen.distances(quarters, others) > 0).all()


@pytest.mark.long
@given(LENGTHS, st.sampled_from([2, 4]), st.sampled_from(PLACES))
@settings(max_examples=60, deadline=None)
def test_a_rhythm_has_no_tempo(lengths: list[int], slower: int, place: str) -> None:
    rhythm, longer = made(lengths), made(lengths, slower)
    assert in_rhythm(place).distances(rhythm, [longer])[0] == in_rhythm(place).distances(longer, [rhythm])[0] == 0


def test_a_beginning_tapped_in_other_values_finds_the_melody() -> None:
    """Eighths are written, quarters were tapped: eight of them, on one pitch."""
    tune = next(tune for tune in load(tunes_path()) if tune.id == "roslin-castle")
    line = melodic_line(tune)
    tapped = line[:8].copy()
    tapped["onset_ticks"] = 2 * (tapped["onset_ticks"] - tapped["onset_ticks"][0])
    tapped["duration_ticks"] = 2 * np.diff(line["onset_ticks"][:9])
    tapped["pitch_midi"] = 71
    assert in_rhythm("start").distances(Melody(tapped), [tune])[0] == 0


def test_a_rhythm_of_a_few_notes_does_not_come_first(tmp_path: Path) -> None:
    """The first four of eight notes say less than all of them, however well they agree."""
    half, whole = load("'4C8DE4F", format="pae")[0], load("'4C8DE4FG8AB2''C4CD", format="pae")[0]
    others = [half.with_metadata(id="half"), whole.with_metadata(id="whole")]
    with Collection.build([tunes_path(), *others], tmp_path / "x.roslin") as tunes:
        run = tunes.search("'4C8DE4FG8AB2''C", compare="rhythm", place="start", k=len(tunes))
        assert run[0].id == "whole"
        assert run.ids.index("half") > 2
