"""One suite over every registered matcher."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.matchers.melodies import a_fourth_higher

from roslin import Collection, Melody, load, matcher, matchers
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.matchers import MATCHERS, Matcher
from roslin.represent.packed import Packed, pack
from roslin.starter import tunes_path
from roslin.types import Distances

NAMES = matchers()
# These list only melodies in which something is found: the others are infinitely far.
LEAVING_OUT = ("twv", "twv_covered")
TUNES = load(tunes_path())[:40]
DEGENERATE = [
    Melody.from_notes([], [], []),
    Melody.from_notes([0], [1], [60]),
    Melody.from_notes([0, 0, 0], [1, 1, 1], [60, 64, 67]),
    Melody.from_notes([0, 0], [0, 1], [60, 62], graces=[True, False]),
    Melody.from_notes([0], [0], [60], graces=[True]),
    Melody.from_notes(range(300), [1] * 300, [60 + k % 12 for k in range(300)]),
]


@pytest.fixture(params=NAMES)
def any_matcher(request: pytest.FixtureRequest) -> Matcher:
    return matcher(request.param)


def test_it_is_a_value(any_matcher: Matcher) -> None:
    assert matcher(repr(any_matcher)) == any_matcher
    assert pickle.loads(pickle.dumps(any_matcher)) == any_matcher
    assert hash(any_matcher) == hash(matcher(any_matcher.name))
    for field in fields(any_matcher):
        with pytest.raises(FrozenInstanceError):
            setattr(any_matcher, field.name, None)


def test_it_says_what_it_is(any_matcher: Matcher) -> None:
    assert MATCHERS[any_matcher.name] is type(any_matcher)
    assert any_matcher.summary.endswith(".")
    assert any_matcher.reference


def assert_distances(chosen: Matcher, distances: Distances) -> None:
    assert not np.isnan(distances).any()
    assert (distances >= 0).all()
    assert chosen.name in LEAVING_OUT or np.isfinite(distances).all()


def test_one_distance_for_each_candidate_and_the_query_itself_is_nearest(any_matcher: Matcher) -> None:
    distances = any_matcher.distances(TUNES[3], TUNES)
    assert distances.shape == (len(TUNES),)
    assert distances.dtype == np.float64
    assert_distances(any_matcher, distances)
    assert distances[3] == distances.min() == 0


def test_the_same_answer_every_time_and_from_a_collection(any_matcher: Matcher, tmp_path: Path) -> None:
    expected = any_matcher.distances(TUNES[0], TUNES).tobytes()
    assert any_matcher.distances(TUNES[0], TUNES).tobytes() == expected
    assert any_matcher.distances(TUNES[0], iter(TUNES)).tobytes() == expected
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        assert any_matcher.distances(TUNES[0], collection).tobytes() == expected
        assert any_matcher.distances(TUNES[0], collection.packed()).tobytes() == expected


def test_a_candidate_s_distance_does_not_depend_on_its_neighbours_or_the_matcher_says_so(any_matcher: Matcher) -> None:
    together = any_matcher.distances(TUNES[0], TUNES)
    alone = [any_matcher.distances(TUNES[0], [tune])[0] for tune in TUNES]
    assert (together.tolist() == alone) == any_matcher.is_independent


def test_any_split_of_the_candidates_gives_the_same(any_matcher: Matcher) -> None:
    if any_matcher.is_independent:
        packed = pack(TUNES)
        whole = any_matcher.distances(TUNES[1], packed).tobytes()
        for cuts in ((0, 1, 40), (0, 17, 18, 33, 40)):
            parts = [any_matcher.distances(TUNES[1], packed.part(a, b)) for a, b in pairwise(cuts)]
            assert np.concatenate(parts).tobytes() == whole


@pytest.mark.long
def test_searching_is_sorting_the_distances(any_matcher: Matcher, tmp_path: Path) -> None:
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        for within in (np.arange(40), np.arange(3, 30, 2), np.array([7])):
            ids, packed = collection.ids(within), collection.packed().take(within)
            distances = any_matcher.distances(TUNES[5], packed).tolist()
            listed = [(distance, id) for distance, id in zip(distances, ids, strict=True) if distance < np.inf]
            for threads in (1, 2):
                run = collection.search(TUNES[5], any_matcher, 12, within=within, threads=threads)
                found = [(hit.distance, hit.id) for hit in run]
                if run.has_meaning:  # the list is in the order of evidence (tests/search/test_roslin_nearest.py)
                    everything = collection.search(TUNES[5], any_matcher, 40, within=within, threads=threads)
                    assert sorted((hit.distance, hit.id) for hit in everything) == sorted(listed)
                    assert everything.hits[:12] == run.hits
                else:
                    assert found == sorted(listed)[:12]


def test_nothing_is_farther_than_a_melody_without_notes(any_matcher: Matcher) -> None:
    distances = any_matcher.distances(TUNES[0], [*TUNES, Melody.from_notes([], [], [])])
    assert distances[-1] == distances.max()


def test_degenerate_candidates(any_matcher: Matcher) -> None:
    assert_distances(any_matcher, any_matcher.distances(TUNES[0], DEGENERATE))
    assert any_matcher.distances(TUNES[0], []).shape == (0,)


@pytest.mark.long
def test_degenerate_queries(any_matcher: Matcher) -> None:
    for query in DEGENERATE:
        if np.any(~query.notes["is_grace"]):
            assert_distances(any_matcher, any_matcher.distances(query, TUNES))
        else:
            with pytest.raises(MelodyError, match="the query has no notes"):
                any_matcher.distances(query, TUNES)


@pytest.mark.long
def test_nothing_is_nearer_to_a_melody_than_itself(any_matcher: Matcher) -> None:
    candidates = [*DEGENERATE, *TUNES[:5]]
    for number, query in enumerate(candidates):
        if np.any(~query.notes["is_grace"]):
            distances = any_matcher.distances(query, candidates)
            assert distances[number] == distances.min()


def test_transposition_changes_nothing(any_matcher: Matcher) -> None:
    expected = any_matcher.distances(TUNES[0], TUNES)
    assert any_matcher.distances(a_fourth_higher(TUNES[0]), TUNES) == pytest.approx(expected, abs=1e-9)
    assert any_matcher.distances(TUNES[0], map(a_fourth_higher, TUNES)) == pytest.approx(expected, abs=1e-9)


def test_names_and_parameters() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown matcher 'nothing'; known: .*dp"):
        matcher("nothing")
    with pytest.raises(UnknownNameError, match="unknown parameter of dp 'size'; known: place"):
        matcher("dp(size=3)")
    with pytest.raises(ArgumentError, match="the parameters of dp need their names: place"):
        matcher("dp('x')")
    for text in ("dp(", "import os", "dp(place=__import__('os'))", "", "1 + 1", "(" * 300):
        with pytest.raises(ArgumentError, match="cannot read the matcher"):
            matcher(text)
    with pytest.raises(ArgumentError, match="a matcher must be a name, such as 'dp'; got 3"):
        matcher(3)  # type: ignore[arg-type]


def test_packing() -> None:
    packed = pack(TUNES)
    assert (len(packed), len(pack([]))) == (len(TUNES), 0)
    assert pack(packed) is packed
    some = packed.take(np.array([5, 0, 5]))
    assert isinstance(some, Packed)
    for position, number in enumerate((5, 0, 5)):
        rows = some.notes[some.offsets[position] : some.offsets[position + 1]]
        assert rows.tolist() == TUNES[number].notes.tolist()
