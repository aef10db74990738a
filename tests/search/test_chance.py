"""Chance matches: known tails first, then what must hold for any sample."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load
from roslin.matchers import Roslin
from roslin.represent.packed import pack
from roslin.run import Ranking, Run, read_run
from roslin.run.meaning import BY_CHANCE, CLOSE, expected_words, meaning_of
from roslin.search.chance import DEFAULT_TAIL, DEFAULT_TAILS, Null, Tail, between, calibrated, decoy, sample_of, tail_of
from roslin.starter import tunes_path

TUNES = load(tunes_path())


def test_an_exponential_tail_is_found() -> None:
    """Distances 10 - x with x exponential of mean 0.5: one in e at 9.5, one in e^8 at 6."""
    ranks = (np.arange(2000) + 0.5) / 2000
    null = Null.of(10 + 0.5 * np.log(ranks), None)
    assert null.scale == pytest.approx(0.5, rel=0.02)
    assert np.log(null.share_as_near(np.array([6.0]))) == pytest.approx(-8, abs=0.3)
    assert null.expected(np.array([9.5]), 1000)[0] == pytest.approx(1000 / math.e, rel=0.01)


def test_a_few_relatives_do_not_change_it() -> None:
    ranks = (np.arange(2000) + 0.5) / 2000
    sample = 10 + 0.5 * np.log(ranks)
    with_relatives = np.append(sample[15:], np.linspace(0, 1, 15))
    near = np.array([4.0])
    assert Null.of(with_relatives, None).expected(near, 1)[0] == pytest.approx(
        Null.of(sample, None).expected(near, 1)[0], rel=0.3
    )


def test_a_known_tail_is_measured_in_the_query_s_own_spread() -> None:
    sample = np.linspace(0.6, 1.0, 101)  # median .8, 84 % quantile .936
    null = Null.of(sample, Tail(begin=2.0, share=0.05, scale=0.5, spread=0.1))
    assert null.threshold == pytest.approx(0.8 - 2 * 0.136)
    assert null.share_as_near(np.array([null.threshold - 0.068]))[0] == pytest.approx(0.05 / math.e)
    assert null.share_as_near(np.array([0.9]))[0] == pytest.approx(76 / 101)


def test_a_tiny_spread_makes_nothing_rare() -> None:
    sample = np.linspace(0.97, 0.99, 101)  # median .98, spread .0068
    null = Null.of(sample, Tail(begin=2.0, share=0.05, scale=0.5, spread=0.1))
    assert null.threshold == pytest.approx(0.98 - 2 * 0.8 * 0.1)
    assert null.scale == pytest.approx(0.5 * 0.8 * 0.1)


def test_what_the_query_backwards_reaches_is_not_rare() -> None:
    sample, tail = np.linspace(0.6, 1.0, 101), Tail(begin=2.0, share=0.05, scale=0.1, spread=0.1)
    null = Null.of(sample, tail, backwards=0.1)
    assert null.share_as_near(np.array([0.1]))[0] == pytest.approx(0.05 * np.exp(-8))
    assert Null.of(sample, tail, backwards=0.9).scale == Null.of(sample, tail).scale
    assert Null.of(sample, tail).scale == pytest.approx(0.1 * 0.136)


def test_repeated_notes_are_nobody_s_tune(tmp_path: Path) -> None:
    figure = load("'4CCCC/CCCC/CCCC", format="pae")[0].with_metadata(id="figure")
    copy, tune = figure.with_metadata(id="copy"), load("'4CDEC/8G'CEG4E{8FDB}4C/", format="pae")[0]
    with Collection.build([*TUNES, figure, copy, tune.with_metadata(id="tune")], tmp_path / "x.roslin") as collection:
        (first, *_) = [hit for hit in collection.search(figure, "roslin(compare=both)") if hit.id == "copy"]
        assert first.distance == 0
        assert first.expected is not None
        assert first.expected > CLOSE
        (first, *_) = collection.search(tune, "roslin(compare=both)")
        assert first.id == "tune"
        assert first.expected is not None
        assert first.expected < CLOSE


@pytest.mark.parametrize("sample", [[], [0.5], [0.5] * 400, [np.inf] * 400, [0.1, *[np.inf] * 399], [0.2] * 3])
def test_degenerate_samples(sample: list[float]) -> None:
    null = Null.of(np.array(sample), None)
    found = null.expected(np.array([0.0, 0.3, 0.9]), 100)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    assert (found >= 0).all()
    assert (found <= 100).all()


def test_nearer_is_never_less_surprising() -> None:
    rng = np.random.default_rng(4)
    distances = np.linspace(0, 1.2, 60)
    for tail in (None, DEFAULT_TAIL):
        for size in (30, 300):
            null = Null.of(rng.normal(0.85, 0.05, size), tail)
            assert (np.diff(null.share_as_near(distances)) >= 0).all()


def test_samples_and_decoys() -> None:
    assert len(sample_of(100_000)) == 500
    assert sample_of(7).tolist() == list(range(7))
    tune = TUNES[0]
    made = decoy(tune, 6)
    assert made is not None
    assert made.notes["pitch_midi"].tolist() == tune.notes["pitch_midi"][:6][::-1].tolist()
    assert made.notes["onset_ticks"].tolist() == tune.notes["onset_ticks"][:6].tolist()
    assert decoy(load("'4CCGCCE")[0], 5) is None  # as well backwards as forwards
    assert decoy(load("'4CDE")[0], 5) is None  # too short


def test_a_collection_has_its_own_tail() -> None:
    tails = calibrated(pack(TUNES), Roslin(compare="both"))
    assert set(tails) >= {8, 12, 20}
    assert all(1 < tail.begin < 6 and 0.1 < tail.scale < 3 for tail in tails.values())
    assert calibrated(pack([Melody.from_notes([0, 1], [1, 1], [60, 62])]), Roslin()) == {}
    assert calibrated(pack([]), Roslin()) == {}


def test_between_two_lengths() -> None:
    tails = {8: Tail(2.0, 0.02, 0.5, 0.06), 32: Tail(4.0, 0.02, 0.7, 0.02)}
    assert between(tails, 16).begin == pytest.approx(3.0)
    assert between(tails, 16).scale == pytest.approx(0.6)
    assert between(tails, 16).spread == pytest.approx(0.04)
    assert between(tails, 4) == tails[8]
    assert between(tails, 99) == tails[32]
    assert between({}, 8) == DEFAULT_TAILS[8]


def test_tails_are_kept_with_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        assert tail_of(collection, "both", 12) == DEFAULT_TAILS[12]  # too few, and many of them variants
        assert not list((tmp_path / "x.roslin").glob("chance-*.txt"))
    monkeypatch.setattr("roslin.search.chance._LEAST_CALIBRATED", 100)
    with Collection(tmp_path / "x.roslin") as collection:
        first = tail_of(collection, "both", 10)
        assert tail_of(collection, "rhythm", 10) is None
        (kept,) = (tmp_path / "x.roslin").glob("chance-*.txt")
    with monkeypatch.context() as patch, Collection(tmp_path / "x.roslin") as again:
        patch.setattr("roslin.search.chance.calibrated", None)
        assert tail_of(again, "both", 10) == first
    for content in ("no such thing", "[]", '{"both": 1}', kept.read_text("utf-8").replace("tails", "tales")):
        kept.write_text(content, encoding="utf-8")
        with Collection(tmp_path / "x.roslin") as again:
            assert tail_of(again, "both", 10) == first


def test_words() -> None:
    assert [meaning_of(e) for e in (0.001, CLOSE, BY_CHANCE, 1.01)] == [
        "same tune", "probably", "perhaps", "no more alike than chance",
    ]  # fmt: skip
    assert expected_words(0.00012) == "0.00012"


def test_a_run_keeps_what_chance_gives(tmp_path: Path) -> None:
    run = Run([Ranking("q", ("a", "b", "c"), (0.1, 0.5, 0.9), expected=(0.0001, 0.5, 40.0))], name="x", kind="distance")
    assert [hit.meaning for hit in run] == ["same tune", "perhaps", "no more alike than chance"]
    assert run.matches.ids == ["a", "b"]
    shuffled = Run([Ranking("q", ("a", "b", "c"), (0.1, 0.5, 0.9), expected=(3.0, 0.5, 0.1))], kind="distance")
    assert [(hit.rank, hit.id) for hit in shuffled.matches] == [(1, "b"), (2, "c")]
    assert run.is_close
    assert run[:1].matches.ids == ["a"]
    run.write(tmp_path / "run.json")
    assert read_run(tmp_path / "run.json") == run
    assert run.to_csv().splitlines()[1] == "q,1,a,0.1,0.0001,same tune"
    assert "expected" in run.to_table().columns
    plain = Run({"q": {"a": 0.1}}, kind="distance")
    assert plain.matches == plain
    assert plain.is_close
    assert plain[0].meaning == ""


@pytest.mark.parametrize("name", ["roslin", "dp", "emd", "us", "fuse(dp, us)", "roslin(compare='contour')"])
def test_every_matcher_says_how_sure_it_is(name: str, tmp_path: Path) -> None:
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        run = collection.search(TUNES[0], name, k=len(TUNES))
        expected = [hit.expected for hit in run if hit.expected is not None]
        assert len(expected) == len(run)
        if not name.startswith("roslin"):  # which counts by what is missing of the query, and ranks by both melodies
            assert expected == sorted(expected)
        assert run[0].expected is not None
        assert run[0].expected < 1
        assert collection.search(TUNES[0], name, k=5, chance=False)[0].expected is None
