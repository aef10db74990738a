"""Notes that coincide: a second kind of evidence where the alignment finds nothing sure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody
from roslin.deadline import Work
from roslin.distributed import shards
from roslin.distributed.shards import Shards, write_shards
from roslin.errors import TimeLimitError
from roslin.matchers import P2, Roslin, matcher
from roslin.run import Run, read_run
from roslin.run.meaning import coinciding_words
from roslin.run.run import Hit, Ranking
from roslin.search import Request, search
from roslin.search.agreement import LEAST_COINCIDING, can_ask, evidence_of, has_certain
from roslin.search.chance import TAIL_SHARE, Background, WholeCollection, mode_of, sample_of
from roslin.search.refine import Everything

Notes = tuple[list[int], list[float]]


def tune(pitches: list[int], durations: list[float], id: str | None = None) -> Melody:
    onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return Melody.from_notes(onsets.tolist(), durations, pitches).with_metadata(id=id)


def made(random: np.random.Generator, notes: int) -> Notes:
    pitches = np.clip(66 + np.cumsum(random.choice([-4, -2, -1, 0, 1, 2, 3, 5], notes)), 40, 95)
    return pitches.tolist(), random.choice([0.5, 1.0, 1.5, 2.0], notes, p=[0.4, 0.4, 0.1, 0.1]).tolist()


def ornamented(notes: Notes) -> Notes:
    """Each note of a quarter or more with its upper neighbour."""
    pitches: list[int] = []
    durations: list[float] = []
    for pitch, time in zip(*notes, strict=True):
        figure = [pitch, pitch, pitch + 2, pitch] if time >= 1 else [pitch]
        pitches += figure
        durations += [time / len(figure)] * len(figure)
    return pitches, durations


TUNES = [made(np.random.default_rng([41, number]), 14 + number % 20) for number in range(1200)]
ORNAMENTED = range(0, 840, 120)  # those that are changed and searched for


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    melodies = [tune(*each, id=f"t{number:04}") for number, each in enumerate(TUNES)]
    with Collection.build(melodies, tmp_path_factory.mktemp("coinciding") / "many.roslin") as built:
        yield built


@pytest.fixture(scope="module")
def queries() -> list[Melody]:
    return [tune(*ornamented(TUNES[number]), id="query") for number in ORNAMENTED]


def alignment_alone(collection: Collection, query: Melody, k: int, chosen: Roslin | None = None) -> Run:
    whole = WholeCollection(Background.of(collection), len(collection), coinciding=False)
    return search(Request(query, chosen or Roslin(), k, whole=whole), collection)


@pytest.mark.long
def test_a_tune_with_a_figure_on_most_notes_is_found_by_the_notes_that_coincide(
    many: Collection, queries: list[Melody]
) -> None:
    for number, query in zip(ORNAMENTED, queries, strict=True):
        assert alignment_alone(many, query, 10).headline != "Found"
        run = many.search(query)
        assert (run[0].id, run[0].meaning, run[0].coincides, run.headline) == (
            f"t{number:04}", "same tune", True, "Found",
        )  # fmt: skip
        assert run[0].distance == pytest.approx(float(matcher("roslin").distances(query, [many[run[0].id]])[0]))
        assert run[:1].remarks == (coinciding_words([1]),)


@pytest.mark.long
def test_the_list_is_that_of_comparing_everything_in_both_ways(many: Collection, queries: list[Melody]) -> None:
    random, packed, ids = np.random.default_rng(5), many.packed(), many.ids()
    place = {id: number for number, id in enumerate(ids)}
    strangers = [tune(*made(random, 20)) for _ in range(12)]
    listed = 0
    for query in (*queries, *strangers):
        everything = alignment_alone(many, query, len(many))
        assert len(everything) == len(many)
        keys = np.empty(len(many))
        keys[[place[hit.id] for hit in everything]] = [-(hit.value or 0.0) for hit in everything]
        same = {place[hit.id] for hit in everything if hit.same}
        if not has_certain(everything[:10]):
            distances = P2().distances(query, packed)
            evidence = evidence_of(distances, distances[sample_of(many)], len(many))
            for number in np.flatnonzero(evidence > -keys - 1e-9).tolist():
                if number not in same:
                    keys[number] = -(evidence[number] - 1e-9 * distances[number])
                    listed += 1
        run = many.search(query)
        expected = sorted(zip(keys.tolist(), ids, strict=True))[:10]
        assert run.ids == [id for _, id in expected]
        assert [-(hit.value or 0.0) for hit in run] == pytest.approx([key for key, _ in expected], rel=1e-9)
    assert listed > len(queries)


@pytest.mark.long
def test_where_the_alignment_is_sure_nothing_else_is_asked(many: Collection) -> None:
    for number in range(0, 1200, 150):
        run = many.search(many[f"t{number:04}"])
        assert run.rankings == alignment_alone(many, many[f"t{number:04}"], 10).rankings
        assert not any(hit.coincides for hit in run)


@pytest.mark.long
def test_a_tune_of_the_collection_is_not_found_by_itself(many: Collection, tmp_path: Path) -> None:
    melodies = [*many, tune(*ornamented(TUNES[7]), id="ornamented")]
    with Collection.build(melodies, tmp_path / "more.roslin") as collection:
        run = collection.search(collection["ornamented"], exclude=["ornamented"])
        assert (run[0].id, run[0].coincides) == ("t0007", True)
        assert collection.found_as(collection["ornamented"], "t0007") == Hit(
            "ornamented", 1, "t0007", run[0].value, "score", run[0].expected, run[0].near, 0, coincides=True
        )


@pytest.mark.long
def test_a_melody_explained_alone_is_found_as_in_the_list(many: Collection, queries: list[Melody]) -> None:
    for query in (*queries[:3], many["t0005"]):
        run = many.search(query, k=20)
        for hit in run:
            alone = many.found_as(query, hit.id)
            assert alone is not None
            assert alone.expected == pytest.approx(hit.expected)
            assert alone.coincides == hit.coincides


@pytest.mark.long
def test_shards_have_the_list_of_the_whole(
    many: Collection, queries: list[Melody], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = {mode_of(Roslin(), query) for query in (*queries[:2], many["t0005"])}  # tails of the others are not read
    monkeypatch.setattr(shards, "default_tails", lambda: dict.fromkeys(modes))
    with Work() as work:
        write_shards(many, tmp_path / "shards", 3, work)
    with Shards(tmp_path / "shards") as divided:
        for query in (*queries[:2], many["t0005"]):
            found, exact = divided.search(query, k=20), many.search(query, k=20)
            assert found.rankings == exact.rankings
            assert found.remarks == exact.remarks


def test_only_longer_queries_compared_anywhere_with_their_rhythm_are_asked(queries: list[Melody]) -> None:
    query = queries[0]
    assert can_ask(query, Roslin())
    assert can_ask(query, Roslin(compare="both"))
    assert can_ask(Melody(query.notes[:LEAST_COINCIDING]), Roslin())
    assert not can_ask(Melody(query.notes[: LEAST_COINCIDING - 1]), Roslin())
    assert not can_ask(query, P2())
    for other in (
        Roslin(compare="melody"), Roslin(compare="rhythm"), Roslin(compare="contour"),
        Roslin(place="start"), Roslin(place="end"), Roslin(place="whole"), Roslin(key="written"),
    ):  # fmt: skip
        assert not can_ask(query, other)


def test_strangers_are_rarely_believed(many: Collection) -> None:
    random, packed, sample = np.random.default_rng(8), many.packed(), sample_of(many)
    believed = []
    for number in range(0, 1200, 30):
        pitches, durations = TUNES[number]
        shuffled = tune([pitches[at] for at in random.permutation(len(pitches))], durations)
        distances = P2().distances(shuffled, packed)
        believed.append(10.0 ** -evidence_of(distances, distances[sample], len(many)))
    assert np.sum(np.array(believed) <= 0.1) <= 0.1 * len(believed)
    assert np.sum(np.array(believed) <= 1) <= len(believed)


def test_evidence_needs_a_sample_with_a_spread_and_a_margin() -> None:
    distances = np.array([0.0, 0.3, 0.9])
    assert np.isneginf(evidence_of(distances, np.linspace(0.7, 0.9, 99), 1000)).all()
    assert np.isneginf(evidence_of(distances, np.full(500, 0.8), 1000)).all()
    found = evidence_of(distances, np.linspace(0.7, 0.9, 501), 1000)
    above = (0.8 - distances[:2]) / 0.08 - 1.77
    assert found[:2] == pytest.approx((above / 0.43 - np.log(10 * TAIL_SHARE * 1000)) / np.log(10))
    assert np.isneginf(found[2])


@pytest.mark.long
def test_when_the_time_is_over_the_list_of_the_alignment_is_given_and_marked(
    many: Collection, queries: list[Melody], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: object) -> None:
        raise TimeLimitError("the time is over")

    monkeypatch.setattr(Everything, "find", too_slow)
    run = search(Request(queries[0]), many)
    assert run.ids == alignment_alone(many, queries[0], 10).ids
    assert not run.is_complete
    with pytest.raises(TimeLimitError, match="the time is over"):
        search(Request(queries[0]), many, Work(partial=False))


def test_a_run_keeps_how_its_results_were_found(many: Collection, queries: list[Melody], tmp_path: Path) -> None:
    run = many.search(queries[0])
    run.write(tmp_path / "run.json")
    again = read_run(tmp_path / "run.json")
    assert [hit.coincides for hit in again] == [hit.coincides for hit in run]
    several = Run([Ranking("q", ("a", "b", "c"), (3.0, 2.0, 1.0), coincides=(True, False, True))], kind="score")
    assert several.remarks[0].startswith("Results 1 and 3 were found by the notes that coincide in time: they may be")
    assert several[:2].remarks == (coinciding_words([1]),)
