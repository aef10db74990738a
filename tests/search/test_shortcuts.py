"""Searching a collection: shortcuts, threads, radius, limits of time."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, matcher
from roslin.deadline import Work
from roslin.errors import ArgumentError, TimeLimitError
from roslin.search import request
from roslin.starter import tunes_path

MATCHERS = ["emd", "emd(tempos=(0.5,1.0,2.0))", "emd(missing=None)", "emd(ground='tonal')", "emd(pitch='fifths')"]
SEGMENTED = [
    "twv",
    "twv_covered",
    "twv_covered(penalty='radius', radius=0.6)",
    "twv_covered(both=True)",
    "twv(agree=True, score='mean')",
]


@pytest.fixture(scope="module")
def tunes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "tunes.roslin"
    silent = Melody.from_notes([0], [0], [60], id="silent", graces=[True])
    Collection.build([tunes_path(), silent], path).close()
    return path


@pytest.mark.long
@pytest.mark.parametrize("name", MATCHERS + SEGMENTED)
def test_the_same_list_as_comparing_everything(tunes: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection(tunes) as collection:
        within = np.arange(3, len(collection) - 5)
        for id, k, numbers in (("roslin-castle-2", 7, None), ("la-folia-4", 20, within), ("silent-night", 10**6, None)):
            query = Melody(collection[id].notes[:9])
            quick = collection.search(query, name, k, within=numbers)
            two = collection.search(query, name, k, within=numbers, threads=2)
            with monkeypatch.context() as patched:
                patched.setattr(request, "ENGINES", {})
                slow = collection.search(query, name, k, within=numbers)
            assert quick == two == slow


@pytest.mark.long
@pytest.mark.parametrize("name", ["dp", "emd", "twv_covered(penalty='radius', radius=0.6)"])
def test_a_radius_cuts_the_list(tunes: Path, name: str) -> None:
    with Collection(tunes) as collection:
        query = next(iter(collection))
        whole = collection.search(query, name, 10**6)
        radius = whole.hits[min(20, len(whole) - 2)].distance
        near = collection.search(query, name, 10**6, radius=radius)
        assert near.hits == tuple(hit for hit in whole if hit.distance <= radius)
        with pytest.raises(ArgumentError, match="radius must be a number, at least 0; got -1"):
            collection.search(query, name, radius=-1)


@pytest.mark.parametrize("name", ["dp", "emd", "twv"])
def test_a_search_that_takes_too_long_gives_up(tunes: Path, name: str) -> None:
    with Collection(tunes) as collection:
        query = next(iter(collection))
        with pytest.raises(TimeLimitError, match=r"stopped after 1e-09 seconds, [0-9]+% done"):
            collection.search(query, name, seconds=1e-9)
        with pytest.raises(ArgumentError, match="above 0 seconds; got 0"):
            collection.search(query, name, seconds=0)
        with pytest.raises(ArgumentError, match="threads must be a whole number, at least 1; got 0"):
            collection.search(query, name, threads=0)


def test_the_clock_is_looked_at_between_few_comparisons(tunes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the melodies are: a piece of work is so many pairs of notes."""

    def looks(name: str) -> int:
        told: list[float] = []
        with Collection(tunes) as collection:
            collection.search(next(iter(collection)), name, progress=lambda share, what: told.append(share))
        return len(told)

    emd, dp = looks("emd"), looks("dp")
    monkeypatch.setattr("roslin.search.engines.emd.PAIRS_AT_ONCE", 1)
    monkeypatch.setattr("roslin.matchers.DP.pairs_at_once", 200)  # five notes: no two melodies together
    assert looks("emd") > emd + 20
    assert looks("dp") == dp + 243


def test_a_fusion_tells_how_far_its_members_are(tunes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roslin.matchers.base.COMPARED_AT_ONCE", 100)
    told: list[float] = []
    with Collection(tunes) as collection:
        query = next(iter(collection))
        run = collection.search(query, "fuse(dp, us)", progress=lambda share, what: told.append(round(share, 2)))
        assert told == [0.0, 0.2, 0.41, 0.5, 1.0]
        distances = matcher("fuse(dp, us)").distances(query, collection)
        assert [hit.distance for hit in run] == sorted(distances.tolist())[:10]
        with pytest.raises(TimeLimitError, match=r"0% done|20% done"):
            collection.search(query, "fuse(dp, us)", seconds=1e-9)


@pytest.mark.parametrize("name", ["dp", "emd", "twv"])
def test_progress_grows_to_the_end(tunes: Path, name: str) -> None:
    told: list[float] = []
    with Collection(tunes) as collection:
        collection.search(next(iter(collection)), name, progress=lambda share, what: told.append(share))
    assert told[-1] == pytest.approx(1)


def test_an_interrupt_ends_a_search_with_threads() -> None:
    done = []

    def slow(piece: int) -> int:
        time.sleep(0.01 if piece < 4 else 0.5)
        done.append(piece)
        return piece

    def interrupted() -> None:
        with Work(threads=2) as work:
            for piece in work.map(slow, range(1000)):
                if piece == 3:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(done) < 100


def test_the_answer_is_the_same_after_opening_again(tunes: Path) -> None:
    with Collection(tunes) as collection:
        query = collection["roslin-castle-3"]
        first = [collection.search(query, name) for name in ("emd", "twv")]
    with Collection(tunes) as collection:
        assert [collection.search(query, name, threads=2) for name in ("emd", "twv")] == first
