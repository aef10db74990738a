"""Chance matches: what must hold for any collection, known tails, and what the labels make of them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Collection, Melody, load
from roslin.matchers import Roslin
from roslin.represent.line import melodic_line
from roslin.represent.packed import pack
from roslin.run import Ranking, Run, read_run
from roslin.run.meaning import BY_CHANCE, CLOSE, expected_words, headline_of, meaning_of
from roslin.search.chance import (
    TAIL_SHARE,
    Background,
    Null,
    Tail,
    between,
    calibrated,
    decoy,
    default_tails,
    falling,
    sample_of,
    tails_of,
)
from roslin.starter import tunes_path

TUNES = load(tunes_path())
MODE = "both/anywhere/any"
LABELS = ("no more alike than chance", "unlikely", "perhaps", "probably", "same tune", "same notes")  # the surest last


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Collection.build(TUNES, tmp_path_factory.mktemp("chance") / "starter.roslin")


def part(melody: Melody, first: int, last: int) -> Melody:
    notes = melodic_line(melody)[first:last].copy()
    notes["onset_ticks"] -= notes["onset_ticks"][0]
    return Melody(notes)


def null_of(collection: Collection, query: Melody, chosen: Roslin | None = None) -> Null:
    return Background.of(collection).null(query, chosen or Roslin(compare="both"))


def test_a_known_tail_is_measured_in_the_query_s_own_spread() -> None:
    tail = Tail(begin=2.0, scale=0.5, spread=10.0, rarest=99.0)
    (threshold,), (scale,) = tail.of(np.array([100.0]), np.array([20.0]), np.array([-np.inf]))
    assert (threshold, scale) == (140.0, 10.0)
    (threshold,), (scale,) = tail.of(np.array([100.0]), np.array([1.0]), np.array([-np.inf]))  # a tiny spread
    assert (threshold, scale) == (100 + 2 * 8.0, 0.5 * 8.0)
    (_,), (scale,) = tail.of(np.array([100.0]), np.array([20.0]), np.array([140 + 8 * 30.0]))  # found backwards
    assert scale == 30.0


def test_the_tail_falls_exponentially(starter: Collection) -> None:
    null = null_of(starter, TUNES[0])
    above = null.rarity(np.array([0.0, null.scale, 2 * null.scale]) + 1e-9)
    assert above == pytest.approx(-math.log(TAIL_SHARE) + np.array([0.0, 1.0, 2.0]))
    rarities = null.rarity(np.linspace(-2000, 2000, 400))
    assert (np.diff(rarities) >= 0).all()
    assert rarities[0] == 0


def test_a_rhythm_may_be_certain_unless_it_is_the_same_backwards(starter: Collection) -> None:
    """A rhythm backwards is its lengths backwards: with the pitches turned alone, every rhythm would seem a figure."""
    varied, even = load("'4.C8C6CC8C2C4C8.C6C4C2.C")[0], load("'4CCCCCCCCCCC")[0]
    background = Background.of(starter)
    asked = Roslin(compare="rhythm")
    sure, doubtful = (background.null(query, asked).rarity_of_same(11) for query in (varied, even))
    assert sure > -math.log(TAIL_SHARE) + 8 + 1  # more than a figure may have
    assert doubtful <= -math.log(TAIL_SHARE) + 8


def test_five_notes_that_many_melodies_have_by_chance_are_never_certain() -> None:
    """However high the score: nothing of five notes scores more than all five, and one melody in 150 has them."""
    packed = pack(TUNES)
    tails = {5: Tail(3.0, 0.8, 40.0, 5.0), 12: Tail(3.0, 0.8, 80.0, 99.0)}
    background = Background.among(packed, np.arange(len(packed)), lambda *_: tails)
    chosen = Roslin(compare="melody")
    few, more = (background.null(load(text)[0], chosen) for text in ("'4CDEGC", "'4CDEGCbB''C'AFxGD''xF"))
    assert few.rarity_of_same(5) <= 5.0
    assert few.rarity(np.array([1e9]))[0] == 5.0
    assert more.rarity_of_same(12) > 5.0


def test_a_tail_falls_no_faster_than_the_evidence_just_before_it() -> None:
    """In a small collection that evidence may be of relatives, so there the tail stays."""
    rng, times = np.random.default_rng(4), np.arange(12.0)
    melodies = [Melody.from_notes(times, times * 0 + 1, rng.integers(55, 80, 12).tolist()) for _ in range(500)]
    tails, chosen = {8: Tail(3.0, 0.01, 1.0, 99.0)}, Roslin(compare="melody")
    large, small = (
        Background.among(pack(melodies[:count]), np.arange(count), lambda *_: tails).null(
            load("'4CDEGCbBGA")[0], chosen
        )
        for count in (500, 499)
    )
    sample = np.sort(large.at(8).sample)
    assert falling(sample) == pytest.approx((sample[489] - sample[449]) / math.log(5), rel=0.05)
    assert large.scale == pytest.approx(falling(sample) / 1.35)
    assert small.scale < large.scale / 5
    assert small.rarity_of_same(8) > large.rarity_of_same(8)


def test_repeated_notes_are_nobody_s_tune(tmp_path: Path) -> None:
    figure = load("'4CCCC/CCCC/CCCC", format="pae")[0].with_metadata(id="figure")
    copy, tune = figure.with_metadata(id="copy"), load("'4CDEC/8G'CEG4E{8FDB}4C/", format="pae")[0]
    with Collection.build([*TUNES, figure, copy, tune.with_metadata(id="tune")], tmp_path / "x.roslin") as collection:
        (first, *_) = [hit for hit in collection.search(figure, "roslin(compare=both)") if hit.id == "copy"]
        assert (first.distance, first.meaning) == (0, "same notes")
        assert first.expected is not None
        assert first.expected > CLOSE
        (first, *_) = collection.search(tune, "roslin(compare=both)")
        assert first.id == "tune"
        assert first.expected is not None
        assert first.expected < CLOSE


@pytest.mark.parametrize(
    "mode", [{}, {"compare": "rhythm"}, {"compare": "contour"}, {"place": "start"}, {"place": "end"}]
)
def test_the_list_is_in_the_order_of_chance_matches(mode: dict[str, str], starter: Collection) -> None:
    for query in (TUNES[3], part(TUNES[40], 2, 12), load("'4CDEC")[0], load("'4C")[0]):
        run = starter.search(query, k=len(TUNES), **mode)  # type: ignore[arg-type]
        expected = [hit.expected or 0.0 for hit in run]
        assert len(run) == len(TUNES)
        assert all(first <= second * (1 + 1e-8) for first, second in pairwise(expected))
        assert [hit.score for hit in run] == sorted((hit.score for hit in run), reverse=True)


def test_the_list_is_always_full(starter: Collection) -> None:
    assert len(starter.search("'4C", k=7)) == 7
    assert len(starter.search(TUNES[0], k=7)) == 7


@pytest.mark.long
@settings(max_examples=20)
@given(
    number=st.integers(0, len(TUNES) - 1),
    more=st.lists(st.integers(48, 84), min_size=12, max_size=12),
    rhythm=st.booleans(),
)
def test_more_right_notes_never_make_a_match_less_sure(
    starter: Collection, number: int, more: list[int], rhythm: bool
) -> None:
    """A tune's first notes, more and more of them, and notes beyond where the tune ends."""
    line = melodic_line(TUNES[number])
    onsets = np.append(line["onset_ticks"], line["onset_ticks"][-1] + 40320 * np.arange(1, 13)) / 40320
    pitches = np.append(line["pitch_midi"], more).astype(int)
    before: tuple[int, float] | None = None
    for size in [*range(4, min(len(line), 16)), len(line), len(line) + 5, len(line) + 12]:
        times = onsets[: size + 1] if rhythm else np.arange(size + 1.0)
        times = times if len(times) > size else np.append(times, times[-1] + 1)
        query = Melody.from_notes(times[:size], np.diff(times), pitches[:size].tolist())
        run = starter.search(query, "roslin(compare='both')" if rhythm else "roslin(compare='melody')", k=len(TUNES))
        (hit,) = [hit for hit in run if hit.id == TUNES[number].id]
        now = (LABELS.index(hit.meaning), hit.expected or 0.0)
        assert hit.same == min(size, len(line))
        if before is not None:
            assert now[0] >= before[0]
            assert now[1] <= before[1] * (1 + 1e-9)
        before = now


@pytest.mark.long
def test_a_list_does_not_depend_on_how_the_collection_was_made(tmp_path: Path) -> None:
    order = np.random.default_rng(2).permutation(len(TUNES))
    queries = [part(TUNES[place], 0, 9) for place in (5, 60, 200)]
    with (
        Collection.build(TUNES, tmp_path / "a.roslin") as a,
        Collection.build([TUNES[place] for place in order], tmp_path / "b.roslin") as b,
        Collection.build(TUNES[:100], tmp_path / "c.roslin") as c,
    ):
        c.add([*TUNES[100:], TUNES[0].with_metadata(id="too-many")])
        c.remove("too-many")
        for query in queries:
            hits = [
                [(hit.id, hit.expected, hit.distance) for hit in each.search(query, "roslin(compare='both')", k=30)]
                for each in (a, b, c)
            ]
            assert hits[0] == hits[1] == hits[2]


def test_the_sample_is_drawn_by_content(tmp_path: Path) -> None:
    copies = [TUNES[0].with_metadata(id=f"copy-{number}") for number in range(40)]
    with Collection.build([*TUNES, *copies], tmp_path / "x.roslin") as collection:
        drawn = sample_of(collection, 60)
        assert len(set(drawn.tolist())) == 60
        # Copies are as likely to be drawn as anything else: some of them are, and not all.
        assert 0 < np.count_nonzero(drawn >= len(TUNES)) < 30
        assert len(sample_of(collection)) == len(collection)


def test_decoys() -> None:
    tune = TUNES[0]
    made = decoy(tune, 6)
    assert made is not None
    assert made.notes["pitch_midi"].tolist() == tune.notes["pitch_midi"][:6][::-1].tolist()
    assert made.notes["onset_ticks"].tolist() == tune.notes["onset_ticks"][:6].tolist()
    assert decoy(load("'4CCGCCE")[0], 5) is None  # as well backwards as forwards
    assert decoy(load("'4CDE")[0], 5) is None  # too short
    rhythm = decoy(load("'4C8DE2F4G")[0], 4, "rhythm")
    assert rhythm is not None
    assert (rhythm.notes["duration_ticks"] / 40320).tolist() == [2.0, 0.5, 0.5, 1.0]


@pytest.mark.long
def test_a_collection_has_its_own_tail() -> None:
    tails = calibrated(pack(TUNES), MODE)
    assert set(tails) >= {8, 12, 20}
    assert all(1 < tail.begin < 6 and 0.1 < tail.scale < 3 for tail in tails.values())
    assert calibrated(pack([Melody.from_notes([0, 1], [1, 1], [60, 62])]), MODE) == {}


def test_every_mode_has_a_tail() -> None:
    for compare in ("both", "melody", "rhythm", "contour"):
        for place in ("anywhere", "start", "end", "whole"):
            for key in ("any", "written"):
                assert set(default_tails()[f"{compare}/{place}/{key}"]) == {5, 8, 12, 20, 40}


def test_between_two_lengths() -> None:
    tails = {8: Tail(2.0, 0.5, 0.06, 6.0), 32: Tail(4.0, 0.7, 0.02, 99.0)}
    assert between(tails, 16).begin == pytest.approx(3.0)
    assert between(tails, 16).scale == pytest.approx(0.6)
    assert between(tails, 16).spread == pytest.approx(0.04)
    assert between(tails, 4) == tails[8]
    assert between(tails, 99) == tails[32]


@pytest.mark.long
def test_tails_are_kept_with_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        assert tails_of(collection, MODE) == default_tails()[MODE]  # too few, and many of them variants
        assert not list((tmp_path / "x.roslin").glob("chance-*.txt"))
    more = [melody.with_metadata(id=f"{melody.id} {shift}").transposed(shift) for shift in range(5) for melody in TUNES]
    with Collection.build(more, tmp_path / "x.roslin") as collection:
        first = tails_of(collection, MODE)
        assert first != default_tails()[MODE]
        (kept,) = (tmp_path / "x.roslin").glob("chance-*.txt")
    with monkeypatch.context() as patch, Collection(tmp_path / "x.roslin") as again:
        patch.setattr("roslin.search.chance.calibrated", None)
        assert tails_of(again, MODE) == first
    for content in ("no such thing", "[]", '{"both": 1}', kept.read_text("utf-8").replace("tails", "tales")):
        kept.write_text(content, encoding="utf-8")
        with Collection(tmp_path / "x.roslin") as again:
            assert tails_of(again, MODE) == first


def test_words() -> None:
    assert [meaning_of(e) for e in (0.0005, CLOSE, 0.1, BY_CHANCE, 1.01)] == [
        "same tune", "probably", "perhaps", "unlikely", "no more alike than chance",
    ]  # fmt: skip
    assert expected_words(0.00012) == "0.00012"
    assert headline_of(math.inf) == "Nothing better than chance; the closest are shown"


def test_a_short_incipit_with_which_the_query_begins_is_not_yet_found() -> None:
    begun = Ranking("q", ("short", "b"), (-1.0, -1.2), expected=(11.0, 15.0), distances=(0.3, 0.4), same=(4, 0))
    assert Run([begun], kind="score").headline == "Nothing better than chance; the closest are shown"
    assert Run([replace(begun, agreeing=1)], kind="score").headline == "Found"
    assert Run([replace(begun, expected=(0.05, 15.0), same=(12, 0))], kind="score").headline == "Found"


def test_a_run_keeps_what_chance_gives(tmp_path: Path) -> None:
    ranking = Ranking(
        "q", ("a", "b", "c"), (4.0, 0.3, -1.6), expected=(0.0001, 0.5, 40.0), distances=(0.1, 0.5, 0.4), same=(0, 0, 9)
    )
    run = Run([ranking], name="x", kind="score")
    assert [hit.meaning for hit in run] == ["same tune", "unlikely", "same notes"]
    assert [hit.distance for hit in run] == [0.1, 0.5, 0.4]
    assert run.matches.ids == ["a", "b", "c"]
    assert run.is_close
    run.write(tmp_path / "run.json")
    assert read_run(tmp_path / "run.json") == run
    assert run.to_csv().splitlines()[1] == "q,1,a,4.0,0.1,0.0001,same tune"
    assert "expected" in run.to_table().columns
    shuffled = Run([Ranking("q", ("a", "b", "c"), (0.1, 0.5, 0.9), expected=(3.0, 0.5, 0.1))], kind="distance")
    assert [(hit.rank, hit.id) for hit in shuffled.matches] == [(2, "b"), (3, "c")]
    plain = Run({"q": {"a": 0.1}}, kind="distance")
    assert plain.matches == plain
    assert plain.is_close
    assert (plain[0].meaning, plain.headline) == ("", "")


@pytest.mark.parametrize("name", ["dp", "emd", "us", "fuse(dp, us)"])
def test_matchers_without_a_measured_tail_have_no_chance_matches(name: str, starter: Collection) -> None:
    run = starter.search(TUNES[0], name, k=5)
    assert run.kind == "distance"
    assert [hit.expected for hit in run] == [None] * 5
    assert not run.has_meaning
