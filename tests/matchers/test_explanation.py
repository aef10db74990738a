"""A distance taken apart adds up to the distance, for every matcher."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, any_melody, random_melody, sounding_melody

import roslin
from roslin import ArgumentError, Collection, Melody, load, matcher, matchers
from roslin.matchers import DEFAULT_MATCHER, Explanation, Step, explain
from roslin.matchers.base import Matcher
from roslin.matchers.explanation import bounded, scaled
from roslin.represent.packed import Packed, pack
from roslin.types import Distances

VARIANTS = [
    "alignment(aligner='local', divide='mean')",
    "alignment(metric=False, rhythm=0.75, divide='longer', tempo='histogram')",
    "dp(place='inside')",
    "emd(ground='cityblock', alignment='none')",
    "emd(ground='tonal', missing=0.5)",
    "emd(missing=None)",
    "emd(pitch='fifths')",
    "emd(tempos=(0.5, 1.0, 2.0), weight='sqrt')",
    "fm(measure='opti2', n=2)",
    "fuse(dp, us, weights=(1, 2))",
    "fuse(p2, shapeh, scale='minmax', method='mnz', depth=2)",
    "fuse(time, fm, method='rrf', weights=(0, 1))",
    "fuse(twv, fuse(us, dp))",
    "gam(divide='none', joined=1)",
    "gam(joined=5, consolidation=0.1, fragmentation=0.1)",
    "lcts(place='inside')",
    "mongeau_sankoff(fragments=4, tempo='histogram')",
    "mongeau_sankoff(transposition='best')",
    "ngrukkon(n=1)",
    "orio(n=(1, 3), scale='minmax', fusion='mnz', rhythm=0)",
    "p1(divide='query')",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "p3(divide='query', tempos=(0.5, 1.0, 2.0))",
    "rhytfuzz(beat=None)",
    "rismonline(match='bigrams')",
    "rismonline(field='pitches')",
    "rismonline(field='contour', match='bigrams')",
    "shapeh(aligner='global', divide='none')",
    "shapeh(aligner='local', divide='longer', mismatch='published')",
    "shapetime(k=1)",
    "time(aligner='global', divide='longer')",
    "time(aligner='local', rhythm=0)",
    "twv(radius=0.8, both=True)",
    "twv_covered(both=True, agree=True)",
    "twv(radius=0.8, penalty='radius', agree=True, tempos=(0.5, 1.0, 2.0))",
    "twv(radius=0.8, segment=3, step=2, score='mean')",
    "us(n=2, divide='both')",
]
EVERY = [*matchers(), *VARIANTS]
KINDS = {
    "alignment": {"same", "other", "missing", "added", "joined", "split", "limit"},
    "grams": {"shared", "limit"},
    "places": {"shared"},
    "transport": {"moved", "missing", "segment", "back", "unmatched"},
    "sum": {"measure", "limit"},
    "likeness": {"whole"},
}


def candidates(random: np.random.Generator, query: Melody) -> list[Melody]:
    """Short ones and long ones, one near to the query, the query itself, and degenerate ones."""
    near = query.notes.copy()
    near["pitch_midi"][::5] += 1
    return [
        *(any_melody(random, notes) for notes in (1, 2, 3, 5, 9, 14)),
        *(random_melody(random, notes) for notes in (4, 12)),
        Melody(near),
        query,
        Melody.from_notes([0, 0], [0, 1], [60, 62], graces=[True, False]),
        Melody.from_notes([0], [0], [60], graces=[True]),
        Melody.from_notes([], [], []),
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_it_adds_up_to_the_distance(name: str) -> None:
    chosen, random = matcher(name), np.random.default_rng(4)
    for notes in (1, 2, 4, 7, 11):
        query = sounding_melody(random, notes)
        among = candidates(random, query)
        distances = chosen.distances(query, among)
        for number, candidate in enumerate(among):
            found = chosen.explain(query, among, number)
            assert found.distance == pytest.approx(distances[number], abs=1e-9)
            assert (found.query, found.candidate, found.matcher) == (query, candidate, chosen)
            if candidate.notes["is_grace"].all():
                assert (found.steps, found.sentence) == ((), "The melody has no notes.")
            check(found)


def check(found: Explanation) -> None:
    """Notes are rows of the two tables, no ornaments; what is within adds up too; everything can be written as JSON."""
    assert found.kind == found.matcher.kind != "likeness"
    assert found.sentence.endswith(".")
    assert {step.kind for step in found.steps} <= KINDS[found.kind]
    assert found.distance == found.start + sum(step.cost for step in found.steps)
    for step in found.steps:
        for rows, melody in ((step.query_notes, found.query), (step.candidate_notes, found.candidate)):
            assert list(rows) == sorted(set(rows))
            assert not melody.notes["is_grace"][list(rows)].any()
        if step.kind not in ("measure", "limit", "unmatched"):
            assert bool(step.query_notes) == (step.kind != "added")
            assert bool(step.candidate_notes) == (step.kind != "missing")
        is_move = found.kind == "transport" and step.kind in ("moved", "missing")
        assert (step.weight is not None, step.apart is not None) == (is_move, is_move)
        if step.within is not None:
            check(step.within)
    for i, j in found.pairs:
        assert not found.query.notes["is_grace"][i]
        assert not found.candidate.notes["is_grace"][j]
    if found.kind != "sum":  # of a sum they are those of what counts most, which may cut them at a limit
        assert {i for i, _ in found.pairs} <= set(found.query_notes)
        assert {j for _, j in found.pairs} <= set(found.candidate_notes)
    assert sum(row["cost"] for row in found.table.rows) == pytest.approx(found.distance, abs=1e-9)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["distance"] == (found.distance if np.isfinite(found.distance) else None)
    assert again["pairs"] == [list(pair) for pair in found.pairs]
    assert len(again["steps"]) == len(found.steps)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_a_real_melody_and_its_variant(name: str) -> None:
    chosen = matcher(name)
    among = TUNES[:25]
    distances = chosen.distances(CASTLE, among)
    for number in (0, 3, 24):
        found = chosen.explain(CASTLE, among, number)
        assert found.distance == pytest.approx(distances[number], abs=1e-9)
        check(found)


@pytest.mark.parametrize("name", matchers())
def test_a_melody_agrees_with_itself_note_by_note(name: str) -> None:
    query = load("%G-2@4/4 '4CDEC/CDEC/EF2G/")[0]
    found = explain(query, query, name)
    everything = tuple(range(len(query)))
    assert found.query_notes == found.candidate_notes == everything
    assert (found.transposition, found.place) == (0.0 if found.matcher.hears_pitch else None, 0.0)
    assert found.tempo == (None if len(found.steps) == 1 and found.kind == "grams" else 1.0)  # one run has one place
    assert ("not transposed, " in found.sentence) == found.matcher.hears_pitch
    assert "starting at bar 1" in found.sentence
    if found.kind != "grams":  # a run may stand at several places
        assert found.pairs == tuple((row, row) for row in everything)


# -- known numbers ----------------------------------------------------------------------------------------------------


def test_kinds_of_steps() -> None:
    query, candidate = load("'4CDEFG")[0], load("'4CDFFGA")[0]
    found = explain(query, candidate, "dp")
    assert [step.kind for step in found.steps] == ["same", "same", "other", "other", "same", "added"]
    assert found.distance == pytest.approx(3 / 6)
    assert found.pairs == ((0, 0), (1, 1), (4, 4))
    assert found.query_notes == found.candidate_notes == (0, 1, 4)


def test_one_note_stands_for_two() -> None:
    """The example of the module: a half note C against two quarters C E."""
    found = explain(load("'2C")[0], load("'4CE")[0], "mongeau_sankoff")
    (step,) = found.steps
    assert (step.kind, step.query_notes, step.candidate_notes) == ("split", (0,), (0, 1))
    assert step.cost == pytest.approx(0.2 / (0.348 * 4))
    assert found.pairs == ()
    back = explain(load("'4CC")[0], load("'2C")[0], "mongeau_sankoff")
    assert [step.kind for step in back.steps] == ["joined"]
    assert back.pairs == ((0, 0), (1, 0))


def test_notes_that_coincide() -> None:
    """The example of `p2`: two of three points, up by a fifth."""
    query = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
    found = explain(query, Melody.from_notes([0, 1, 2, 3], [1] * 4, [67, 69, 70, 72]), "p2")
    assert found.distance == pytest.approx(3 / 7)
    assert len(found.steps) == 2


def test_a_run_at_several_places_is_paired_place_by_place() -> None:
    query, candidate = load("'4CDECDE")[0], load("'4GABGAB")[0]
    found = explain(query, candidate, "us(n=2)")
    twice = found.steps[0]
    assert twice.words == "major second up, major second up"
    assert twice.query_places == twice.candidate_places == ((0, 1, 2), (3, 4, 5))
    assert twice.pairs == tuple((row, row) for row in range(6))


# -- sums, limits, and what has no rules ------------------------------------------------------------------------------


def test_what_is_made_of_others_names_the_one_that_weighs_most() -> None:
    for name, heaviest in (
        ("fuse(dp, us, weights=(1, 2))", "us"),
        ("fuse(dp, us)", "dp"),
        ("fm", "ngrukkon"),
    ):
        chosen = matcher(name)
        assert repr(chosen.leading) == heaviest
        found, within = chosen.explain(CASTLE, pack(TUNES), 7), chosen.leading.explain(CASTLE, pack(TUNES), 7)
        assert found.leading == within
        assert found.pairs == within.pairs
        assert found.query_notes == within.query_notes
        assert (found.transposition, found.tempo, found.place) == (within.transposition, within.tempo, within.place)


def test_a_limit_is_a_step_of_its_own() -> None:
    assert bounded(-0.25, ()) == (Step("limit", cost=0.25, words="no distance is below 0"),)
    assert bounded(1.25, (), 0.0, 1.0)[0].words == "no distance is above 1"
    assert bounded(0.5, (), 0.0, 1.0) == ()
    assert bounded(-1e-15, ()) == ()


def test_steps_can_be_made_to_cost_more() -> None:
    (step,) = scaled([Step("same", ((0,),), ((1,),), 0.5, "words")], 3.0)
    assert step == Step("same", ((0,),), ((1,),), 1.5, "words")


@dataclass(frozen=True, repr=False)
class Constant(Matcher):
    """A matcher as somebody else might write it: it says nothing about how it measures."""

    name = "constant"
    summary = "Always the same."
    reference = "none"

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return np.full(len(candidates), 0.75)


class Dependent(Constant):
    @property
    def is_independent(self) -> bool:
        return False

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return np.arange(len(candidates), dtype=np.float64)


def test_a_matcher_without_rules_is_shown_by_an_aid() -> None:
    query, candidate = (Melody.from_notes(range(5), [1] * 5, [p + up for p in (60, 62, 64, 65, 67)]) for up in (0, -10))
    found = Constant().explain(query, [candidate])
    assert (found.kind, found.distance) == ("likeness", 0.75)
    (step,) = found.steps
    assert (step.kind, step.words) == ("whole", "constant as a whole")
    assert step.within is not None
    assert repr(step.within.matcher) == "dp(place='inside')"
    assert found.leading == step.within
    assert found.sentence.startswith("As a visual aid, notes side by side: 5 agree; transposed down")
    assert found.pairs == tuple((row, row) for row in range(5))
    assert found.transposition == -10
    assert "An aid to the eye: distance 0.0000 (dp(place='inside'))" in str(found)
    assert Constant().leading == Constant()


def test_a_matcher_without_rules_that_depends_on_the_others() -> None:
    assert Dependent().explain(CASTLE, TUNES[:9], 4).distance == 4
    shares: list[float] = []
    Dependent().explain(CASTLE, TUNES[:9], 4, shares.append)
    assert shares == [1.0]


def test_melodies_too_long_for_an_aid() -> None:
    long = Melody.from_notes(range(600), [1] * 600, [60, 62, 64, 65] * 150)
    found = Constant().explain(long, [long])
    assert found.sentence == "The two melodies are too long to be shown side by side."
    assert (found.pairs, found.leading, found.distance) == ((), None, 0.75)


def test_a_sum_tells_how_far_it_is() -> None:
    shares: list[float] = []
    matcher("fuse(dp, us)").explain(CASTLE, TUNES[:30], 2, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# -- the value --------------------------------------------------------------------------------------------------------


def test_the_public_function() -> None:
    found = roslin.explain(CASTLE, TUNES[1])
    assert repr(found.matcher) == DEFAULT_MATCHER
    assert isinstance(found, roslin.Explanation)
    assert roslin.explain(CASTLE, TUNES[1], matcher("dp")).distance == matcher("dp").distances(CASTLE, [TUNES[1]])[0]
    assert roslin.explain(CASTLE, TUNES[1], matcher="us").kind == "grams"


def test_candidates_of_every_form(tmp_path: object) -> None:
    chosen = matcher("orio")
    listed = chosen.explain(CASTLE, TUNES, 5)
    with Collection.build(TUNES, f"{tmp_path}/tunes.roslin") as collection:
        number = int(collection.numbers([str(TUNES[5].id)])[0])
        stored = chosen.explain(CASTLE, collection, number)
        bare = chosen.explain(CASTLE, collection.packed(), number)
    assert listed.candidate == TUNES[5]
    assert (stored.candidate.id, stored.candidate.title) == (TUNES[5].id, TUNES[5].title)
    assert bare.candidate.id is None
    assert listed.distance == pytest.approx(stored.distance)
    assert stored.distance == bare.distance
    assert chosen.explain(CASTLE, iter(TUNES), 5).steps == listed.steps


def test_in_words_and_as_a_table() -> None:
    found = explain(load("'4CDEF")[0], load("'4GABGA")[0], "dp(place='inside')")
    assert str(found) == (
        "Notes side by side: 3 agree, 1 left out; transposed up a perfect fifth, at the same tempo, "
        "starting after 0 quarters.\n"
        "Distance 0.2500 (dp(place='inside'))\n\n"
        "step     query  candidate    cost\n"
        "same     C4     G4         0.0000\n"
        "same     D4     A4         0.0000\n"
        "same     E4     B4         0.0000\n"
        "missing  F4                0.2500\n"
        "Sum of costs 0.2500"
    )
    html = found._repr_html_()
    assert "<p>Notes side by side: 3 agree, 1 left out" in html
    assert html.count("<tr>") == 5
    assert "dp(place=&#39;inside&#39;)" in html


def test_the_segments_of_twv_as_a_table() -> None:
    query, candidate = load("'4CDEFGABG")[0], load("4-'GAB''CDEED")[0]
    lines = str(explain(query, candidate, "twv_covered(penalty='radius')")).splitlines()
    assert lines[1] == (
        "Segment 1: transposed up a perfect fifth, at the same tempo, starting after 1 quarter; distance 0.0000"
    )
    assert lines[2] == "Distance 0.3000 (twv_covered(penalty='radius'))"
    assert lines[5].split() == ["segment", "1", "1", "C4", "1", "G4", "1.0000", "0.0000", "0.0000"]
    assert lines[-2].split() == ["segment", "2,", "not", "found", "0.3000"]
    assert lines[-1] == "Sum of costs 0.3000, weight 6"


def test_the_penalty_of_twv_is_that_of_the_list() -> None:
    """Nine notes make two segments. The largest distance of any match is that of the one changed note in six."""
    query = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 65, 60, 59, 62])
    half = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 65, 40, 85, 41])
    near = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 66, 40, 85, 41])
    other = Melody.from_notes(range(9), [1] * 9, [40, 85, 41, 84, 42, 83, 43, 82, 44])
    chosen = matcher("twv_covered(radius=0.4)")
    among = [query, half, near, other]
    found = [chosen.explain(query, among, number) for number in range(4)]
    assert [each.distance for each in found] == pytest.approx([0, 1 / 6, 2 / 6, np.inf])
    assert [step.cost for step in found[1].steps if step.kind == "unmatched"] == pytest.approx([1 / 6])
    # Alone, there is no match above 0, and the radius is the penalty; with the other half of the list it is not.
    assert chosen.explain(query, [half]).distance == pytest.approx(0.4)
    assert chosen.explain(query, [half, near]).distance == pytest.approx(1 / 6)
    assert found[3].steps == ()
    assert (
        found[3].sentence
        == "0 of 2 expected segments found: none is within the radius, so the melody is not in the list."
    )
    assert (found[3].to_dict()["distance"], found[3].to_dict()["start"]) == (None, None)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="number must be that of one of 3 candidates, from 0; got 3"):
        matcher("dp").explain(CASTLE, TUNES[:3], 3)
    with pytest.raises(ArgumentError, match="the query must be a Melody; got str"):
        explain("'4CDE", CASTLE)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the candidate must be a Melody; got str; read text"):
        explain(CASTLE, "'4CDE")  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        explain(CASTLE, CASTLE).start = 1.0  # type: ignore[misc]
