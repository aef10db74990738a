"""The table of a collection: part of its folder, never stale."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tests.matchers.roslin.made import LABELLED, PLAIN, aligned, made_melodies, tables

from roslin import Collection, load
from roslin.collection import write
from roslin.collection.arrays import ArrayFile
from roslin.collection.files import state_path
from roslin.deadline import Work
from roslin.matchers.roslin import table as making
from roslin.matchers.roslin.table import (
    MELODIES,
    MelodyTable,
    build_table,
    encoded,
    one,
    table_of,
    worth_of_any_length,
)
from roslin.represent.packed import pack
from roslin.search.engines import roslin as module
from roslin.search.engines.roslin import TABLE_VERSION, open_table
from roslin.starter import tunes_path

NO_PITCH, NO_NOTE = 15, -127  # behind the end of a melody: they equal nothing
FITTED = tables(LABELLED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Collection.build([tunes_path()], tmp_path / "tunes.roslin").close()
    return tmp_path / "tunes.roslin"


def same(a: MelodyTable, b: MelodyTable) -> bool:
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(MelodyTable))


def test_what_it_says_of_melodies() -> None:
    melodies = [load("'4CDE8FG")[0], load("'4C")[0], load("'4DE")[0]]
    table = build_table(pack(melodies), FITTED)
    assert len(table) == 3
    assert table.sizes.tolist() == [5, 1, 2]
    assert table.order.tolist() == [1, 2, 0]
    assert table.places.tolist() == [2, 0, 1]
    assert table.lengths[:4].tolist() == [1, 2, 5, 5], "places that fill up the block are as long as the last melody"
    block = table.notes[: 5 * MELODIES].reshape(5, MELODIES)
    assert block[:, 2].tolist() == [0, 2, 4, 5, 7]
    assert block[:, 1].tolist() == [2, 4, *[NO_PITCH] * 3]
    assert block[:, 3].tolist() == [NO_PITCH] * 5
    assert table.notes[-MELODIES:].tolist() == [NO_NOTE] * MELODIES
    assert table.size == sum(getattr(table, field.name).nbytes for field in fields(MelodyTable))


def test_notes_come_back() -> None:
    random = np.random.default_rng(1)
    melodies = made_melodies(random, random.integers(0, 30, size=200).tolist())
    table = table_of(melodies, FITTED)
    numbers = random.permutation(200)[:50]
    taken = table.take(numbers)
    for place, number in enumerate(numbers.tolist()):
        expected, found = one(melodies, number), one(taken, place)
        assert all(np.array_equal(expected[k], found[k]) for k in range(len(expected)))


def test_a_melody_beside_itself() -> None:
    """As far as no other alignment is worth more, and none is for real melodies."""
    with_rhythm = [load("'4CDE8FGA4B")[0], load("'4C8DC4E2F4G")[0], load("'4C")[0]]
    melodies = encoded(with_rhythm)
    table = table_of(melodies, FITTED)
    for number in range(3):
        query = one(melodies, number)
        score = aligned(query, table, FITTED).scores(np.array([number]), Work())
        assert score.tolist() == [table.own_scores[number]]


def test_it_is_made_once_and_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection(folder) as collection:
        made = open_table(collection)
        assert same(made, build_table(collection.packed(), worth_of_any_length()))
        assert state_path(folder, "roslin", collection.about["token"]).is_file()
        monkeypatch.setattr(making, "MELODIES_AT_ONCE", 7)
        assert same(made, build_table(collection.packed(), worth_of_any_length()))
    monkeypatch.setattr(module, "build_table", lambda *_, **__: pytest.fail("it is there already"))
    with Collection(folder) as collection:
        assert same(open_table(collection), made)


def test_other_fitted_numbers_make_another_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection(folder) as collection:
        labelled = open_table(collection).own_scores.tolist()
        with monkeypatch.context() as patched:
            patched.setattr(module, "worth_of_any_length", lambda: tables(PLAIN))
            assert open_table(collection).own_scores.tolist() != labelled
        assert open_table(collection).own_scores.tolist() == labelled


def test_a_new_state_has_a_new_table_and_the_old_one_goes(folder: Path) -> None:
    with Collection(folder) as collection:
        open_table(collection)
        old = state_path(folder, "roslin", collection.about["token"])
    write.add([load("'4CDEFGAB")[0].with_metadata(id="new")], folder)
    assert not old.exists()
    with Collection(folder) as collection:
        assert len(open_table(collection)) == len(collection)


@pytest.mark.parametrize(
    "damage", ["empty", "cut off", "other version", "nonsense", "changed lengths", "changed order"]
)
def test_a_damaged_or_older_table_is_made_again(folder: Path, damage: str) -> None:
    with Collection(folder) as collection:
        expected = open_table(collection)
        expected = MelodyTable(**{field.name: np.array(getattr(expected, field.name)) for field in fields(MelodyTable)})
        path = state_path(folder, "roslin", collection.about["token"])
    whole = path.read_bytes()
    path.unlink()
    contents = {
        "empty": b"",
        "cut off": whole[:-1],
        "other version": whole.replace(f"table {TABLE_VERSION}".encode(), b"table 0"),
        "nonsense": b"x" * len(whole),
        "changed lengths": whole.replace(expected.lengths.tobytes(), (expected.lengths + 1).tobytes()),
        "changed order": whole.replace(expected.order.tobytes(), (expected.order + 1).tobytes()),
    }
    assert contents[damage] != whole
    path.write_bytes(contents[damage])
    with Collection(folder) as collection:
        assert same(open_table(collection), expected)
    assert path.read_bytes() == whole


def test_where_the_folder_cannot_be_written_it_is_kept_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(ArrayFile, "fill", refuse)
    with Collection(folder) as collection:
        assert len(open_table(collection)) == len(collection)
        assert not state_path(folder, "roslin", collection.about["token"]).exists()


def test_progress_is_told(folder: Path) -> None:
    told: list[float] = []
    with Collection(folder) as collection:
        open_table(collection, progress=lambda share, what: told.append(share))
    assert told
    assert told[-1] == 1


def test_nothing_to_put_into_a_table() -> None:
    table = build_table(pack([]), FITTED)
    assert len(table) == 0
    assert len(table.notes) == 0
