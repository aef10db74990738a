"""A distance taken apart adds up to the distance, for every matcher that can be."""

from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, any_melody, random_melody, sounding_melody

from roslin import Melody, load, matcher, matchers
from roslin.matchers.account import Account, Step, Way, edits
from roslin.matchers.base import Matcher
from roslin.matchers.transport.base import Transport

VARIANTS = [
    "alignment(aligner='local', divide='mean')",
    "alignment(metric=False, rhythm=0.75, divide='longer', tempo='histogram')",
    "dp(place='inside')",
    "fm(measure='opti2', n=2)",
    "fuse(dp, us, weights=(1, 2))",
    "fuse(p2, shapeh, scale='minmax', method='mnz', depth=2)",
    "fuse(time, fm, method='rrf', weights=(0, 1))",
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
    "us(n=2, divide='both')",
]
ACCOUNTED = [name for name in [*matchers(), *VARIANTS] if not isinstance(matcher(name), Transport)]


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
    ]


@pytest.mark.parametrize("name", ACCOUNTED)
def test_it_adds_up_to_the_distance(name: str) -> None:
    chosen, random = matcher(name), np.random.default_rng(4)
    assert chosen.kind != "likeness"
    for notes in (1, 2, 4, 7, 11):
        query = sounding_melody(random, notes)
        among = candidates(random, query)
        distances = chosen.distances(query, among)
        for number, candidate in enumerate(among):
            found = chosen.account(query, among, number)
            if (candidate.notes["is_grace"]).all():
                assert found is None
                continue
            assert found is not None
            assert found.distance == pytest.approx(distances[number], abs=1e-9)
            check_rows(found, query, candidate)


def check_rows(account: Account, query: Melody, candidate: Melody) -> None:
    """Notes are rows of the two tables, no ornaments; side by side they come in order."""
    for step in account.steps:
        for rows, melody in ((step.query_notes, query), (step.candidate_notes, candidate)):
            assert list(rows) == sorted(set(rows))
            assert not melody.notes["is_grace"][list(rows)].any()
        assert bool(step.query_notes) == (step.deed not in ("added", "measure", "limit"))
        assert bool(step.candidate_notes) == (step.deed not in ("missing", "measure", "limit"))


@pytest.mark.parametrize("name", ACCOUNTED)
def test_a_real_melody_and_its_variant(name: str) -> None:
    chosen = matcher(name)
    among = TUNES[:25]
    distances = chosen.distances(CASTLE, among)
    for number in (0, 3, 24):
        account = chosen.account(CASTLE, among, number)
        assert account is not None
        assert account.distance == pytest.approx(distances[number], abs=1e-9)


def test_deeds() -> None:
    query, candidate = load("'4CDEFG")[0], load("'4CDFFGA")[0]
    account = matcher("dp").account(query, [candidate])
    assert account is not None
    assert [step.deed for step in account.steps] == ["same", "same", "other", "other", "same", "added"]
    assert sum(step.cost for step in account.steps) == pytest.approx(3 / 6)


def test_one_note_stands_for_two() -> None:
    """The example of the module: a half note C against two quarters C E."""
    account = matcher("mongeau_sankoff").account(load("'2C")[0], load("'4CE"))
    assert account is not None
    (step,) = account.steps
    assert (step.deed, step.query_notes, step.candidate_notes) == ("split", (0,), (0, 1))
    assert step.cost == pytest.approx(0.2 / (0.348 * 4))
    back = matcher("mongeau_sankoff").account(load("'4CC")[0], load("'2C"))
    assert back is not None
    assert [step.deed for step in back.steps] == ["joined"]


def test_notes_that_coincide() -> None:
    """The example of `p2`: two of three points, up by a fifth."""
    query = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
    account = matcher("p2").account(query, [Melody.from_notes([0, 1, 2, 3], [1] * 4, [67, 69, 70, 72])])
    assert account is not None
    assert account.distance == pytest.approx(3 / 7)
    assert len(account.steps) == 2


def test_what_is_made_of_others_names_the_one_that_weighs_most() -> None:
    for name, heaviest in (
        ("fuse(dp, us, weights=(1, 2))", "us"),
        ("fuse(dp, us)", "dp"),
        ("fm", "ngrukkon"),
        ("roslin", "alignment(metric=False, rhythm=0.75, divide='mean')"),
    ):
        chosen = matcher(name)
        assert repr(chosen.leading) == heaviest
        account, within = chosen.account(CASTLE, TUNES, 7), chosen.leading.account(CASTLE, TUNES, 7)
        assert account is not None
        assert account.within == within


def test_a_limit_is_a_step_of_its_own() -> None:
    assert Account(-0.25, ()).bounded().steps == (Step("limit", (), (), 0.25, "no distance is below 0"),)
    assert Account(1.25, ()).bounded(0.0, 1.0).steps[0].words == "no distance is above 1"
    assert Account(0.5, ()).bounded(0.0, 1.0).steps == ()


def test_gaps_may_know_where_they_come_from() -> None:
    """Opening a gap costs 3, going on 1: one gap of two is cheaper than two of one."""
    things = [(row,) for row in range(4)]
    same = np.equal.outer([1, 2, 3, 4], [1, 4])
    pair = np.where(same, 0.0, np.inf)
    ways = [Way(1, 1, pair, before, 0) for before in (0, 1)]
    ways += [Way(1, 0, np.full(4, 3.0), 0, 1), Way(1, 0, np.full(4, 1.0), 1, 1)]
    found = edits(things, things[:2], ways, same)
    assert found.cost == 4
    assert [step.deed for step in found.steps] == ["same", "missing", "missing", "same"]


def test_a_matcher_that_does_not_say() -> None:
    class Silent(Matcher):
        name = "silent"

        def _distances(self, query: Melody, candidates: object) -> np.ndarray:
            return np.zeros(1)

    assert Silent().account(CASTLE, [CASTLE]) is None
    assert Silent().leading == Silent()
