from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roslin import ArgumentError, Collection, Melody, load, matcher
from roslin.represent.packed import pack
from roslin.search import Request, search
from roslin.search.refine import beginnings
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
        request = Request(query, matcher("dp"), 9, is_cut=True)
        longer = search(request, collection)
        run = search(replace(request, k=5), collection)
        assert run.hits == longer.hits[:5]
        assert [(hit.distance, hit.id) for hit in longer] == sorted((hit.distance, hit.id) for hit in longer)
        without = search(replace(request, k=5, exclude=frozenset(run.ids[:1])), collection)
        assert without.ids == longer.ids[1:6]
        assert len(search(replace(request, within=np.array([], dtype=np.int64)), collection)) == 0
        bad: dict[str, Any]
        for bad in ({"k": 0}, {"k": -1}, {"radius": -1.0}):
            with pytest.raises(ArgumentError, match="must be"):
                replace(request, **bad)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("roslin.search.request.MOST_BEGINNINGS", 10)
            with pytest.raises(ArgumentError, match="twv compares the beginnings of at most 10 melodies; got 243"):
                search(Request(query, matcher("twv"), 5, is_cut=True), collection)


def test_a_tune_is_found_by_its_beginning(tmp_path: Path) -> None:
    """A tune begins with the query and is long: only its beginning is near."""
    random = np.random.default_rng(4)
    tunes = [tune(random.integers(55, 80, 40).tolist()).with_metadata(id=f"t{number}") for number in range(200)]
    with Collection.build(tunes, tmp_path / "long.roslin") as collection:
        query = Melody(tunes[7].notes[:12])
        run = collection.search(query, "dp", 200, place="start")
        assert run[0].id == "t7"
        assert [hit.distance for hit in run] == sorted(hit.distance for hit in run)
        near = collection.search(query, "dp", 200, place="start", radius=run[9].distance, threads=2)
        assert near.ids == run.ids[: len(near)]
        assert near[-1].distance == run[9].distance
