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


def test_chance_is_counted_among_beginnings(tmp_path: Path) -> None:
    """A tune begins with the query and is long: only its beginning is near, and as near as nothing by chance."""
    random = np.random.default_rng(4)
    tunes = [tune(random.integers(55, 80, 40).tolist()).with_metadata(id=f"t{number}") for number in range(600)]
    with Collection.build(tunes, tmp_path / "long.roslin") as collection:
        query = Melody(tunes[7].notes[:12])
        run = collection.search_beginnings(query, "dp", 600)
        assert (run[0].id, run[0].meaning) == ("t7", "same tune")
        expected = [hit.expected or 0.0 for hit in run]
        assert expected == sorted(expected)
        assert run[-1].expected == pytest.approx(600)
        assert 5 < len([each for each in expected if each <= 30]) < 90
        some = collection.search_beginnings(query, "dp", 5, within=np.arange(100))
        assert some[0].expected == pytest.approx((run[0].expected or 0.0) / 6, rel=0.8)
        near = collection.search_beginnings(query, "dp", 600, radius=run[9].distance, threads=2)
        assert near.ids == run.ids[: len(near)]
        assert near[-1].distance == run[9].distance
