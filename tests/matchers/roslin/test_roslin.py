"""`roslin`: known numbers, what a measure must promise, and what it must find."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Collection, Melody, load, matcher
from roslin.errors import UnknownNameError
from roslin.evaluate import evaluate
from roslin.matchers import Roslin, fuse
from roslin.matchers.fusion import SEVEN
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES, UNITS, fitted
from roslin.starter import truth_path, tunes_path
from roslin.truth.qrel import read_truth

TUNES = load(tunes_path())
CASTLE = next(tune for tune in TUNES if tune.id == "roslin-castle")
EVERY = [f"roslin(compare={c!r}, place={p!r}, key={k!r})" for c, p, k in product(COMPARED, PLACES, KEYS)]
BOTH = matcher("roslin(compare='both')")


@pytest.fixture(scope="module")
def tunes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder: Path = tmp_path_factory.mktemp("tunes")
    with Collection.build([tunes_path()], folder / "tunes.roslin") as collection:
        yield collection


def made(values: list[tuple[int, int]]) -> Melody:
    """A melody from (pitch, length in sixteenths)."""
    lengths = [length / 4 for _, length in values]
    onsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist()
    return Melody.from_notes(onsets, lengths, [pitch for pitch, _ in values])


MELODIES = st.lists(st.tuples(st.integers(55, 80), st.sampled_from([1, 2, 3, 4, 6, 8, 12])), min_size=1, max_size=12)


def moved(melody: Melody, semitones: int = 0, slower: int = 1) -> Melody:
    notes = melody.notes.copy()
    notes["pitch_midi"] += semitones
    notes["onset_ticks"] *= slower
    notes["duration_ticks"] *= slower
    return Melody(notes)


def test_one_note_by_hand() -> None:
    """A quarter against a half note of the same pitch: four steps apart, or in another tempo for its price."""
    worth = fitted("both")
    equal, tempo = (np.rint(np.array(each) * UNITS) for each in (worth.equal, worth.tempo))
    step = np.rint(worth.kinds[4] / 2 * UNITS)  # the first note, of usual length: half from each melody
    score = max(equal[4], equal[0] - tempo.min()) + 2 * step
    found = BOTH.distances(load("'4C")[0], load("'2C"))
    assert found[0] == pytest.approx(1 - score / (equal[0] + 2 * step))


@pytest.mark.long
@given(MELODIES, MELODIES)
@settings(max_examples=60)
def test_a_distance_belongs_to_two_melodies_in_any_order(
    mine: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> None:
    a, b = made(mine), made(theirs)
    forth, back = BOTH.distances(a, [b])[0], BOTH.distances(b, [a])[0]
    assert forth == back
    assert 0 <= forth <= 1
    assert BOTH.distances(a, [a])[0] == 0


@given(MELODIES, st.integers(-12, 12))
@settings(max_examples=30)
def test_transposition_costs_nothing_in_any_key_and_an_octave_costs_nothing_at_all(
    notes: list[tuple[int, int]], semitones: int
) -> None:
    melody = made(notes)
    assert BOTH.distances(moved(melody, semitones), [melody])[0] == 0
    written = matcher("roslin(compare='both', key='written')").distances(moved(melody, semitones), [melody])[0]
    assert (written == 0) == (semitones % 12 == 0)


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), min_size=1))
@settings(max_examples=25)
def test_no_other_candidate_changes_a_distance(order: list[int], kept: set[int]) -> None:
    expected = matcher("roslin").distances(CASTLE, TUNES[:12])
    some = [place for place in order if place in kept]
    found = matcher("roslin").distances(CASTLE, [TUNES[place] for place in some])
    assert found.tolist() == expected[some].tolist()


@pytest.mark.parametrize("name", EVERY)
def test_every_mode_explains_its_distance(name: str) -> None:
    chosen = matcher(name)
    distances = chosen.distances(CASTLE, TUNES[:30])
    for place in range(0, 30, 4):
        explained = chosen.explain(CASTLE, TUNES[:30], place)
        assert explained.distance == pytest.approx(distances[place], abs=1e-9)
        rows = [row for step in explained.steps for row in step.query_notes]
        assert len(rows) == len(set(rows))


def test_an_explanation_says_what_belongs_together_and_what_is_left_out() -> None:
    query, tune = load("'4CDEF")[0], load("'4GG''CDEF2GG")[0]
    explained = BOTH.explain(query, [tune])
    assert explained.pairs == ((0, 2), (1, 3), (2, 4), (3, 5))
    assert [step.kind for step in explained.steps] == ["same"] * 4 + ["added"] * 2
    assert [step.candidate_notes for step in explained.steps[4:]] == [(0, 1), (6, 7)]
    assert explained.steps[4].words == "left out before the part in common"
    assert explained.steps[5].words == "left out after the part in common"
    slower = BOTH.explain(query, [moved(query, slower=2)])
    assert slower.tempo == 2
    assert slower.start > 1  # another tempo has a price
    apart = made([(61, 1)])
    assert BOTH.explain(query, [apart]).distance == pytest.approx(BOTH.distances(query, [apart])[0])


def test_a_query_in_equal_values_says_nothing_about_rhythm() -> None:
    even, uneven = load("'4CDEFGA")[0], load("'8CD4EFGA")[0]
    auto, melody = matcher("roslin"), matcher("roslin(compare='melody')")
    assert auto.distances(even, TUNES).tolist() == melody.distances(even, TUNES).tolist()
    assert auto.remarks(even) == ("All notes of the query are equally long, so the rhythm was ignored.",)
    assert auto.remarks(load("'4CDEFG2A")[0]) == (
        "All notes of the query but the last are equally long, so the rhythm was ignored.",
    )
    assert auto.distances(uneven, TUNES).tolist() == BOTH.distances(uneven, TUNES).tolist()
    assert auto.remarks(uneven) == BOTH.remarks(even) == ()
    assert Roslin().compared(load("'4CD")[0]) == "both"  # two notes are not a rhythm


def test_places() -> None:
    begins, within, whole = load("'4C8DE4FGA")[0], load("'4GG4C8DE4FGA")[0], load("'4C8DE4FGA2GFED")[0]
    start, all_of_it = (
        matcher("roslin(compare='both', place='start')"),
        matcher("roslin(compare='both', place='whole')"),
    )
    # Not quite 0: the last note of the query ends a phrase, and that of the melody does not.
    assert start.distances(begins, [whole])[0] < 0.2 < start.distances(begins, [within])[0]
    assert all_of_it.distances(begins, [whole])[0] > BOTH.distances(begins, [whole])[0]


def test_parameters() -> None:
    with pytest.raises(UnknownNameError, match="unknown compare of roslin 'pitch'; known: auto, both, melody"):
        Roslin(compare="pitch")
    with pytest.raises(UnknownNameError, match="unknown parameter of roslin 'tempo'"):
        matcher("roslin(tempo=2)")


@pytest.mark.parametrize("id", ["roslin-castle", "la-folia", "old-hundredth", "frere-jacques"])
@pytest.mark.parametrize("slower", [1, 2, 3])
def test_a_tune_in_longer_values_is_found_first(tunes: Collection, id: str, slower: int) -> None:
    (first, *_) = tunes.search(moved(tunes[id], slower=slower), k=1)
    assert first.id.startswith(id)
    assert first.meaning == "same notes"


@pytest.mark.long
def test_variants_of_the_starter_collection(tunes: Collection) -> None:
    """Measured: AP .961, ADR .956. The fusion of seven systems has .993 and .919."""
    truth = read_truth(truth_path())
    run = {query: tunes.search(tunes[query], k=50, exclude=[query]).ids for query in truth}
    precision, recall = evaluate(truth, {"roslin": run}, ["AP", "ADR"]).means[0]
    assert precision > 0.95
    assert recall > 0.94


def test_the_seven_together_can_still_be_asked(tunes: Collection) -> None:
    assert tunes.search(tunes["la-folia"], fuse(*SEVEN), k=1).ids == ["la-folia"]


def test_an_explanation_of_rhythms_counts_note_values() -> None:
    query, candidate = load("'4CCG8GG2A")[0], load("'4CDE4F8G2A")[0]
    found = Roslin(compare="rhythm", place="whole").explain(query, [candidate])
    assert (
        found.sentence == "Note values side by side: 5 agree, 1 changed; at the same tempo, starting after 0 quarters."
    )
    assert found.transposition is None
    assert [step.kind for step in found.steps if step.kind != "limit"].count("other") == 1
    slower = Roslin(compare="rhythm").explain(load("'4CD8EF2G")[0], [load("'2GG4GG1G")[0]])
    assert slower.sentence.startswith("Note values side by side: 5 agree; 2 times slower")
    assert Roslin(compare="melody").explain(query, [query]).sentence.startswith("Notes side by side: 6 agree")
