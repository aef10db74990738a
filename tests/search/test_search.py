from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load, matcher
from roslin.collection.filters import contains, pitch_range
from roslin.errors import ArgumentError
from roslin.search import Request, request
from roslin.starter import demo_query, truth_path, tunes_path


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("starter") / "starter.roslin") as collection:
        yield collection


def test_the_demo_finds_roslin_castle_first(starter: Collection) -> None:
    run = starter.search(demo_query(), "dp(place='inside')", k=5)
    assert {id.rpartition("-")[0] or id for id in run.ids} <= {"roslin", "roslin-castle"}
    assert run.hits[0].distance < run.hits[-1].distance


def test_the_list_is_what_sorting_everything_gives(starter: Collection) -> None:
    tunes = list(starter)
    for query in tunes[::40]:
        for k in (1, 7, 50, 1000):
            run = starter.search(query, "dp", k=k)
            distances = [float(d) for d in starter_distances(query, tunes)]
            expected = sorted(zip(distances, [str(tune.id) for tune in tunes], strict=True))[:k]
            assert [(hit.distance, hit.id) for hit in run] == expected
            assert [hit.rank for hit in run] == list(range(1, len(expected) + 1))


def starter_distances(query: Melody, tunes: list[Melody]) -> np.ndarray:
    return matcher("dp").distances(query, tunes)


def test_ties_are_broken_by_id(tmp_path: Path) -> None:
    same = [Melody.from_notes([0, 1], [1, 1], [60, 62], id=id) for id in ("c", "a", "d", "b")]
    with Collection.build(same, tmp_path / "ties.roslin") as collection:
        assert collection.search(same[0], k=3).ids == ["a", "b", "c"]
        assert collection.search(same[0], k=3, exclude=("a",)).ids == ["b", "c", "d"]


@pytest.mark.parametrize("most", [0, 10**9])
def test_many_ties_are_broken_by_id_too(starter: Collection, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "_TIES", most)
    query = starter["la-folia"]
    distances = matcher("us").distances(query, starter).tolist()
    expected = sorted(zip(distances, starter.ids(), strict=True))
    assert len(set(distances)) < len(distances) / 4
    for k in (1, 9, 30, 200, 1000):
        for exclude in ((), ("la-folia", "la-folia-2")):
            wanted = [(distance, id) for distance, id in expected if id not in exclude][:k]
            for radius in (None, 0.8, 2.0):
                run = starter.search(query, "us", k, exclude=exclude, radius=radius)
                assert [(hit.distance, hit.id) for hit in run] == [
                    x for x in wanted if radius is None or x[0] <= radius
                ]


def test_search_within_a_selection(starter: Collection) -> None:
    selection = starter.filter(pitch_range(12, 15), contains("unison, unison"))
    run = starter.search(demo_query(), "dp", k=10_000, within=selection)
    assert sorted(run.ids) == sorted(selection.ids)
    assert len(run) == len(selection) > 3
    everything = {hit.id: hit.distance for hit in starter.search(demo_query(), "dp", k=10_000)}
    assert all(everything[hit.id] == hit.distance for hit in run)


def test_near_duplicates_can_be_left_out(starter: Collection) -> None:
    everything = starter.filter()
    unique = everything.without_near_duplicates()
    assert len(unique) == len(unique.ids) == len(everything) - len(unique.near_duplicates)
    assert 10 < len(unique.near_duplicates) < 100  # transposed variants are the same tune


def test_k_must_be_positive(starter: Collection) -> None:
    with pytest.raises(ArgumentError, match=r"the query must be a Melody; got str; read text with roslin\.load"):
        Request("'4C")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="k must be a whole number, at least 1; got 0"):
        starter.search(demo_query(), k=0)


def test_the_starter_collection_is_what_it_says(starter: Collection) -> None:
    families: dict[str, list[Melody]] = defaultdict(list)
    for melody in load(tunes_path()):
        families[melody.extra["family"]].append(melody)
    assert len(families) >= 120
    varied = {name: group for name, group in families.items() if len(group) > 1}
    assert len(varied) >= 15
    assert all(4 <= len(group) <= 7 for group in varied.values())
    truth = [line.split() for line in truth_path().read_text("utf-8").splitlines()]
    assert {(query, document) for _, query, document, _ in truth} == {
        (name, melody.id) for name, group in varied.items() for melody in group if melody.id != name
    }
    assert {group for *_, group in truth} == {"1", "2", "3"}


def test_variants_rank_high(starter: Collection) -> None:
    """For each family, its nearest variants (group 1) come before most of the collection."""
    nearest = defaultdict(list)
    for line in truth_path().read_text("utf-8").splitlines():
        _, query, document, group = line.split()
        if group == "1":
            nearest[query].append(document)
    found = 0
    for query, documents in nearest.items():
        ids = starter.search(starter[query], "dp", k=10, exclude=(query,)).ids
        found += sum(document in ids for document in documents)
    assert found / sum(map(len, nearest.values())) > 0.9
