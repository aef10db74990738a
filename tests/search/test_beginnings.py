from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roslin import ArgumentError, Collection, Melody, load
from roslin.represent.packed import pack
from roslin.search.beginnings import beginnings, search_beginnings
from roslin.starter import tunes_path


def tune(pitches: list[int]) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def test_beginnings_are_cut_by_onsets() -> None:
    chord = Melody.from_notes([0, 0, 1, 2], [1, 1, 1, 1], [60, 64, 62, 64])
    packed = beginnings(pack([chord, tune([]), tune([1, 2, 3]), tune([9])]), 2)
    assert packed.notes["pitch_midi"].tolist() == [64, 60, 62, 1, 2, 9]
    assert packed.offsets.tolist() == [0, 3, 3, 5, 6]


def test_search_of_beginnings_breaks_ties_by_id(tmp_path: Path) -> None:
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as collection:
        query = load("'4CDEC")[0]
        run = search_beginnings(query, collection, "dp", 5)
        longer = search_beginnings(query, collection, "dp", 9)
        assert run.hits == longer.hits[:5]
        assert [(hit.distance, hit.id) for hit in longer] == sorted((hit.distance, hit.id) for hit in longer)
        without = search_beginnings(query, collection, "dp", 5, exclude=(run.ids[0],))
        assert without.ids == longer.ids[1:6]
        assert len(search_beginnings(query, collection, "dp", 5, within=np.array([], dtype=np.int64))) == 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("roslin.search.beginnings.MOST_AT_ONCE", 10)
            with pytest.raises(ArgumentError, match="twv compares the beginnings of at most 10 melodies; got 243"):
                search_beginnings(query, collection, "twv", 5)
