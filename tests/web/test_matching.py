"""Which notes belong together, for every kind of matcher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from roslin import Melody, load, matcher, matchers
from roslin.matchers import DP, MATCHERS, Matcher
from roslin.matchers.base import Distances
from roslin.represent.packed import Packed
from roslin.search.beginnings import beginnings, search_beginnings
from roslin.web.matching import kind_of, match, offered


def tune(pitches: list[int]) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def test_words_of_an_alignment() -> None:
    found = match(load("'4CDEF")[0], load("'2GAB''C/'G")[0], DP(place="inside"))
    assert (
        found.words == "Notes side by side: 4 agree; transposed up a perfect fifth, 2 times slower, starting at bar 1."
    )
    assert found.candidate_notes == (0, 1, 2, 3)


def test_words_of_another_rhythm_and_of_nothing() -> None:
    found = match(load("'4CDEFG")[0], load("'4GA2B8''CD")[0], matcher("lcts"))
    assert "transposed up a perfect fifth, in another rhythm, starting" in found.words
    none = match(tune([60, 61, 62, 63, 64, 65]), tune([60, 60, 60, 60, 60, 60]), matcher("us"))
    assert none.words == "0 runs in common."


def test_words_of_notes_that_coincide() -> None:
    query = tune([60, 62, 64])
    assert match(query, tune([55, 60, 62, 64]), matcher("p2")).words == (
        "3 notes coincide; not transposed, at the same tempo, starting after 1 quarter."
    )
    slow = Melody.from_notes([0, 2, 4], [2, 2, 2], [60, 62, 64])
    assert match(query, slow, matcher("p2(tempos=(1.0, 2.0))")).tempo == "2 times slower"


def test_ornaments_and_chords_keep_their_rows() -> None:
    found = match(load("'4CDE")[0], load("'gB4C^4E'4DE")[0], DP(place="inside"))
    assert found.query_notes == (0, 2)  # the highest note of the chord is not a second below the next
    assert found.candidate_notes == (1, 4)  # 0 is the grace note, 2 the lower note of the chord


@pytest.mark.parametrize("name", sorted(MATCHERS))
def test_every_matcher_can_be_explained(name: str) -> None:
    chosen = matcher(name)
    query = load("%G-2@4/4 '4CDEC/CDEC/EF2G/")[0]
    found = match(query, query, chosen)
    assert found.kind == chosen.kind == kind_of(name) != "likeness"
    assert found.words.endswith(".")
    assert found.query_notes == found.candidate_notes == tuple(range(len(query)))
    assert (found.explanation is None) == (found.account is not None)
    assert match(query, Melody.from_notes([], [], []), chosen).candidate_notes == ()


def test_what_is_offered() -> None:
    assert set(matchers()) <= set(offered())
    for text in offered():
        assert repr(matcher(text)) == text


def test_a_sum_is_shown_by_what_counts_most_in_it() -> None:
    query = tune([60, 62, 64, 65, 67])
    found = match(query, tune([50, 52, 54, 55, 57]), matcher("fm"))
    assert found.words == (
        "By ngrukkon, which counts most: 2 runs in common; transposed down a minor seventh, at the same tempo, "
        "starting after 0 quarters."
    )


def test_a_matcher_that_gives_no_account() -> None:
    @dataclass(frozen=True, repr=False)
    class Constant(Matcher):
        name = "constant"
        summary = "Always the same."
        reference = "none"

        def _distances(self, query: Melody, candidates: Packed) -> Distances:
            return np.zeros(len(candidates))

    found = match(tune([60, 62, 64, 65, 67]), tune([50, 52, 54, 55, 57]), Constant())
    assert found.kind == "likeness"
    assert found.words.startswith("As an aid to the eye, notes side by side: 5 agree;")
    assert found.account is None


def test_very_long_melodies() -> None:
    long = tune([60, 62, 64, 65] * 60)
    assert match(long, long, matcher("emd")).kind == "likeness"
    assert len(match(long, long, matcher("emd")).candidate_notes) == 240
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roslin.web.matching.MOST_CELLS", 1000)
        assert match(long, long, matcher("dp")).words == "The two are too long to be laid side by side."


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
