"""Shards: what is refused, and the commands that make and search them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roslin import Collection, Melody
from roslin.cli import app
from roslin.collection.files import SHARDS, is_sharded
from roslin.collection.store import check
from roslin.deadline import Work
from roslin.distributed.shards import Shards, write_shards
from roslin.errors import ArgumentError, CollectionError, DamagedError, UnknownNameError
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES
from roslin.starter import tunes_path


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("shards") / "starter.roslin") as built:
        yield built


@pytest.fixture
def folder(starter: Collection, tmp_path: Path) -> Path:
    with Work() as work:
        write_shards(starter, tmp_path / "shards", 3, work)
    return tmp_path / "shards"


def test_shards_are_collections_in_the_order_of_the_whole(starter: Collection, folder: Path) -> None:
    assert is_sharded(folder)
    assert not is_sharded(starter.path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "sample.roslin", "shard-001.roslin", "shard-002.roslin", "shard-003.roslin", SHARDS,
    ]  # fmt: skip
    assert [check(path) for path in folder.glob("*.roslin")] == [[]] * 4
    with Shards(folder) as shards:
        assert list(shards.melodies(range(len(shards)))) == list(starter)
        assert shards.numbers(["la-folia"]).tolist() == starter.numbers(["la-folia"]).tolist()
        with pytest.raises(UnknownNameError, match="unknown melody 'nobody'; known: "):
            shards["nobody"]


def test_one_process_searches_them_too(starter: Collection, folder: Path) -> None:
    with Shards(folder) as shards:
        found = shards.search(starter["la-folia"], k=20)
        assert found.rankings == starter.search(starter["la-folia"], k=20).rankings
        assert found.titles[found.ids[0]] == starter[found.ids[0]].title
        with pytest.raises(ArgumentError, match="twv compares a query with all melodies at once, so shards cannot"):
            shards.search(starter["la-folia"], "twv")


@pytest.mark.long
def test_shards_give_the_list_of_the_whole_in_every_mode(starter: Collection, folder: Path) -> None:
    ids = [*starter.ids()[::30], "la-folia"]
    named = 0
    with Shards(folder) as shards:
        for number, (what, place, key) in enumerate(product(COMPARED, PLACES, KEYS)):
            query = starter[ids[number % len(ids)]]
            typed = Melody(query.notes[: 6 + number]) if number % 2 else query
            found = shards.search(typed, Roslin(compare=what, place=place, key=key), k=30)
            exact = starter.search(typed, Roslin(compare=what, place=place, key=key), k=30)
            assert found.rankings == exact.rankings, (what, place, key)
            assert found.headline == exact.headline
            named += sum(hit.same > 0 for hit in found)
    assert named >= 16


def test_dividing_again_replaces_them(starter: Collection, folder: Path) -> None:
    (folder / SHARDS).unlink()  # as if the work had been stopped
    with Work() as work:
        write_shards(starter, folder, 2, work)
    with Shards(folder) as shards:
        assert len(shards.stores) == 2
        assert len(shards) == len(starter)
    assert not (folder / "shard-003.roslin").exists()


@pytest.mark.parametrize("parts", [0, 1000])
def test_too_many_shards(starter: Collection, tmp_path: Path, parts: int) -> None:
    with Work() as work, pytest.raises(ArgumentError, match=f"has between 1 and that many shards; got {parts}"):
        write_shards(starter, tmp_path / "shards", parts, work)


def test_a_folder_of_somebody_else_is_left_alone(starter: Collection, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with Work() as work, pytest.raises(CollectionError, match="holds other files; expected shards, or a name that is"):
        write_shards(starter, tmp_path, 2, work)


def test_what_are_no_shards(folder: Path) -> None:
    with pytest.raises(CollectionError, match="there are no shards; make some with: roslin collection shard"):
        Shards(folder / "shard-001.roslin")
    about = json.loads((folder / SHARDS).read_text())
    (folder / SHARDS).write_text(json.dumps(about | {"version": 99}))
    with pytest.raises(CollectionError, match="shards of version 99; expected 2: divide the collection again"):
        Shards(folder)
    (folder / SHARDS).write_text("{")
    with pytest.raises(DamagedError, match=r"damaged: shards\.json cannot be read"):
        Shards(folder)


def test_a_shard_that_has_changed(folder: Path) -> None:
    with Collection(folder / "shard-002.roslin") as shard:
        shard.remove(shard.ids([0]))
    with pytest.raises(CollectionError, match="has changed since the collection was divided; divide it again"):
        Shards(folder)


def test_shards_of_a_roslin_that_measures_otherwise(starter: Collection, folder: Path) -> None:
    about = json.loads((folder / SHARDS).read_text())
    about["tails"]["both/anywhere/any"]["fitted"] = "others"
    (folder / SHARDS).write_text(json.dumps(about))
    with (
        Shards(folder) as shards,
        pytest.raises(CollectionError, match="made by an incompatible version of Roslin; divide the collection again"),
    ):
        shards.search(starter["la-folia"], "roslin(compare='both')")


@pytest.mark.long
def test_commands(starter: Collection, tmp_path: Path) -> None:
    runner, shards = CliRunner(), str(tmp_path / "shards")
    made = runner.invoke(app, ["collection", "shard", str(starter.path), "--parts", "3", "-o", shards])
    assert (made.exit_code, made.stdout) == (0, f"3 shards written to {shards}\n")
    asked = ["--id", "la-folia", "-k", "5", "--format", "tsv"]
    page = str(tmp_path / "page.html")
    of_shards = runner.invoke(app, ["search", shards, *asked, "--html", page])
    assert of_shards.exit_code == 0
    assert of_shards.stdout == runner.invoke(app, ["search", str(starter.path), *asked]).stdout
    assert "la-folia" in of_shards.stdout
    assert f"shards, {len(starter)} melodies" in Path(page).read_text("utf-8")


@pytest.mark.cluster
def test_what_the_commands_refuse(starter: Collection, folder: Path) -> None:
    runner = CliRunner()
    whole = runner.invoke(app, ["search", str(starter.path), "--id", "la-folia", "--dask", "local:1"])
    assert "a cluster searches shards; make some with: roslin collection shard" in str(whole.exception)
    filtered = runner.invoke(app, ["search", str(folder), "--id", "la-folia", "--where", "title=folia"])
    assert "shards cannot be searched with filters" in str(filtered.exception)
