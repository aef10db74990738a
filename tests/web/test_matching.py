"""Which notes belong together, for every kind of matcher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Melody, load, matcher, matchers
from roslin.matchers import DP, MATCHERS, Matcher
from roslin.matchers.base import Distances, register
from roslin.represent.packed import Packed
from roslin.search.beginnings import beginnings, search_beginnings
from roslin.web.matching import aligned, kind_of, match, offered, shared_runs

PITCHES = st.lists(st.integers(55, 70), min_size=1, max_size=9)


def tune(pitches: list[int]) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


@given(PITCHES, PITCHES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_edits_are_those_that_dp_counts(query: list[int], candidate: list[int], inside: bool) -> None:
    asked, stored = tune(query), tune(candidate)
    pairs = aligned(asked, stored, inside=inside)
    edits = sum(pair.deed != "same" for pair in pairs)
    by = len(query) if inside else max(len(query), len(candidate))
    (distance,) = DP(place="inside" if inside else "whole").distances(asked, [stored])
    assert edits / by == pytest.approx(distance)
    assert [pair.query_note for pair in pairs if pair.query_note is not None] == list(range(len(query)))
    there = [pair.candidate_note for pair in pairs if pair.candidate_note is not None]
    assert there == list(range(there[0], there[0] + len(there))) if there else inside


def test_words_of_an_alignment() -> None:
    found = match(load("'4CDEF")[0], load("'2GAB''C/'G")[0], DP(place="inside"))
    assert found.words == "4 notes agree; transposed up a perfect fifth, 2 times slower, starting at bar 1."
    assert found.candidate_notes == (0, 1, 2, 3)


def test_ornaments_and_chords_keep_their_rows() -> None:
    found = match(load("'4CDE")[0], load("'gB4C^4E'4DE")[0], DP(place="inside"))
    assert len(found.query_notes) == 3 or found.pairs
    rows = [pair.candidate_note for pair in found.pairs if pair.candidate_note is not None]
    assert 0 not in rows  # the grace note


def test_shared_runs() -> None:
    query, candidate = tune([60, 62, 64, 65, 67]), tune([70, 72, 74, 75, 50, 52, 54, 55])
    runs = shared_runs(query, candidate, 3)
    assert [run.words for run in runs] == ["major second up, major second up, minor second up"]
    assert runs[0].query_places == ((0, 1, 2, 3),)
    assert runs[0].candidate_places == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert shared_runs(tune([60]), candidate, 3) == ()


@pytest.mark.parametrize("name", sorted(MATCHERS))
def test_every_matcher_can_be_explained(name: str) -> None:
    chosen = matcher(name)
    query = load("%G-2@4/4 '4CDEC/CDEC/EF2G/")[0]
    found = match(query, query, chosen)
    assert found.kind == kind_of(chosen) == kind_of(name)
    assert found.words.endswith(".")
    assert set(found.query_notes) <= set(range(len(query)))
    assert match(query, Melody.from_notes([], [], []), chosen).candidate_notes == ()


def test_what_is_offered() -> None:
    assert set(matchers()) <= set(offered())
    for text in offered():
        assert repr(matcher(text)) == text


@pytest.fixture
def counting() -> Iterator[type[Matcher]]:
    """A matcher that counts runs, and one that nobody knows how to explain, for a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roslin.web.matching.GRAMS", {"counting": 3})
        made = _make("counting")
        _make("unknown")
        yield made
        del MATCHERS["counting"], MATCHERS["unknown"]


def _make(given_name: str) -> type[Matcher]:
    @register
    @dataclass(frozen=True, repr=False)
    class Constant(Matcher):
        name = given_name
        summary = "Always the same."
        reference = "none"

        def _distances(self, query: Melody, candidates: Packed) -> Distances:
            return np.zeros(len(candidates))

    return Constant


def test_kinds_of_matchers_to_come(counting: type[Matcher]) -> None:
    query = tune([60, 62, 64, 65, 67])
    by_runs = match(query, tune([50, 52, 54, 55, 57]), counting())
    assert by_runs.kind == "grams"
    assert by_runs.words == "2 runs of intervals in common; transposed down a minor seventh."
    assert by_runs.candidate_notes == (0, 1, 2, 3, 4)
    assert match(query, tune([60, 60]), counting()).words == "0 runs of intervals in common."
    other = match(query, tune([50, 52, 54, 55, 57]), MATCHERS["unknown"]())
    assert other.kind == "likeness"
    assert other.words.startswith("Notes side by side, as an aid to the eye: 5 notes agree;")


def test_very_long_melodies_are_only_laid_side_by_side() -> None:
    long = tune([60, 62, 64, 65] * 60)
    assert match(long, long, matcher("emd")).kind == "likeness"
    assert len(match(long, long, matcher("emd")).candidate_notes) == 240


# -- beginnings -------------------------------------------------------------------------------------------------------


def test_beginnings_are_cut_by_onsets() -> None:
    from roslin.represent.packed import pack

    chord = Melody.from_notes([0, 0, 1, 2], [1, 1, 1, 1], [60, 64, 62, 64])
    packed = beginnings(pack([chord, tune([]), tune([1, 2, 3]), tune([9])]), 2)
    assert packed.notes["pitch_midi"].tolist() == [64, 60, 62, 1, 2, 9]
    assert packed.offsets.tolist() == [0, 3, 3, 5, 6]


def test_search_of_beginnings_breaks_ties_by_id(starter: object) -> None:
    from roslin import ArgumentError, Collection

    with Collection(str(starter)) as collection:
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
