"""The index of a collection: part of its folder, never stale."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load
from roslin.collection import files, write
from roslin.collection.files import state_path
from roslin.represent.packed import pack
from roslin.search.engines import emd as index_module
from roslin.search.engines.emd import INDEX_VERSION, Index, build_index, open_index
from roslin.starter import tunes_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Collection.build([tunes_path()], tmp_path / "tunes.roslin").close()
    return tmp_path / "tunes.roslin"


def same(a: Index, b: Index) -> bool:
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Index))


def test_what_it_says_of_a_melody() -> None:
    melody = Melody.from_notes([0, 1, 1, 2.5], [0, 1, 1.5, 1], [72, 60, 64, 67], graces=[True, False, False, False])
    index = build_index(pack([Melody.from_notes([], [], []), melody]))
    assert len(index) == 2
    assert index.offsets.tolist() == [0, 0, 3]
    assert index.times.tolist() == [0, 0, 60480]
    assert sorted(index.pitches.tolist()) == [60, 64, 67]
    assert (index.lows[1], index.spans[1], index.grids[1]) == (60, 7, 60480)
    assert index.words[1] == 1 + 2**4 + 2**7
    assert index.size == sum(getattr(index, field.name).nbytes for field in fields(Index))


def test_it_is_made_once_and_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection(folder) as collection:
        made = open_index(collection)
        assert same(made, build_index(collection.packed()))
        path = state_path(folder, "index", collection.about["token"])
        assert path.is_file()
    monkeypatch.setattr(index_module, "build_index", lambda *_: pytest.fail("it is there already"))
    with Collection(folder) as collection:
        assert same(open_index(collection), made)


def test_a_new_state_has_a_new_index_and_the_old_one_goes(folder: Path) -> None:
    with Collection(folder) as collection:
        open_index(collection)
        old = state_path(folder, "index", collection.about["token"])
    write.add([load("'4CDEFGAB")[0].with_metadata(id="new")], folder)
    assert not old.exists()
    with Collection(folder) as collection:
        assert len(open_index(collection)) == len(collection)


@pytest.mark.parametrize(
    "damage", ["empty", "cut off", "other version", "nonsense", "changed offsets", "changed times"]
)
def test_a_damaged_or_older_index_is_made_again(folder: Path, damage: str) -> None:
    with Collection(folder) as collection:
        expected = open_index(collection)
        expected = Index(**{field.name: np.array(getattr(expected, field.name)) for field in fields(Index)})
        path = state_path(folder, "index", collection.about["token"])
    whole = path.read_bytes()
    path.unlink()
    contents = {
        "empty": b"",
        "cut off": whole[:-1],
        "other version": whole.replace(f"index {INDEX_VERSION}".encode(), b"index 0"),
        "nonsense": b"x" * len(whole),
        "changed offsets": whole.replace(expected.offsets[:3].tobytes(), b"\xff" * 24),
        "changed times": whole.replace(expected.times.tobytes(), (-expected.times).tobytes()),
    }
    assert contents[damage] != whole
    path.write_bytes(contents[damage])
    with Collection(folder) as collection:
        assert same(open_index(collection), expected)
    assert path.read_bytes() == whole


def test_where_the_folder_cannot_be_written_it_is_kept_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(files, "whole_file", refuse)
    with Collection(folder) as collection:
        assert len(open_index(collection)) == len(collection)
        assert not state_path(folder, "index", collection.about["token"]).exists()


def test_progress_is_told(folder: Path) -> None:
    told: list[float] = []
    with Collection(folder) as collection:
        open_index(collection, lambda share, what: told.append(share))
    assert told
    assert told[-1] == 1
