"""Arrays in one sealed file: whole or not at all, and never taken for something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roslin.collection import files
from roslin.collection.arrays import ArrayFile, Arrays, Room, derived
from roslin.collection.files import Remembered

DTYPES = {"starts": np.int64, "values": np.int8, "shares": np.float32}
LENGTHS = {"starts": 3, "values": 100, "shares": 0}


@pytest.fixture
def file(tmp_path: Path) -> ArrayFile:
    found = ArrayFile(tmp_path / "made.bin", "test 1", DTYPES)
    with found.room(LENGTHS) as room:
        room["starts"][:] = (0, 40, 100)
        room["values"][:] = np.arange(100)
    return found


def test_what_was_written_is_read_back(file: ArrayFile) -> None:
    found = file.read()
    assert found is not None
    assert {name: (array.dtype, len(array)) for name, array in found.items()} == {
        name: (np.dtype(dtype), LENGTHS[name]) for name, dtype in DTYPES.items()
    }
    assert found["starts"].tolist() == [0, 40, 100]
    assert found["values"].tolist() == list(range(100))
    assert not found["values"].flags.writeable


def test_every_array_begins_where_wide_registers_read_fastest(file: ArrayFile) -> None:
    found = file.read()
    assert found is not None
    assert [array.ctypes.data % 64 for array in found.values()] == [0, 0, 0]


def test_any_changed_byte_is_seen(file: ArrayFile) -> None:
    whole = file.path.read_bytes()
    for place in range(0, len(whole), 7):
        file.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert file.read() is None, place
    file.path.write_bytes(whole)
    assert file.read() is not None


@pytest.mark.parametrize("damage", [b"", b"\n" * 4000, b"Roslin test 1: {}\n" * 300, b"x" * 100])
def test_another_file_is_none_of_ours(file: ArrayFile, damage: bytes) -> None:
    file.path.write_bytes(damage)
    assert file.read(lambda _: True) is None


def test_a_file_of_another_kind_or_with_other_arrays_is_not_read(file: ArrayFile, tmp_path: Path) -> None:
    assert ArrayFile(file.path, "test 2", DTYPES).read() is None
    assert ArrayFile(file.path, "test 1", {**DTYPES, "more": np.int8}).read() is None
    assert ArrayFile(tmp_path / "nothing.bin", "test 1", DTYPES).read() is None


def test_lengths_that_do_not_fit_the_file_are_refused(file: ArrayFile) -> None:
    whole = file.path.read_bytes()
    for wrong in (b'"values": 999', b'"values": -10', b'"values": 1e2', b'"values": nul'):
        file.path.write_bytes(whole.replace(b'"values": 100', wrong))
        assert file.read(lambda _: True) is None


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path / "made.bin", "test 1", DTYPES)
    with pytest.raises(KeyboardInterrupt), file.room(LENGTHS):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_room_is_for_all_arrays_and_no_others(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path / "made.bin", "test 1", DTYPES)
    with pytest.raises(ValueError, match="the arrays must be starts, values, shares"), file.room({"starts": 3}):
        pass
    with pytest.raises(ValueError, match="no array has fewer than 0"), file.room({**LENGTHS, "values": -1}):
        pass


def fill(room: Room) -> Arrays:
    arrays = room(LENGTHS)
    for array in arrays.values():
        array[:] = 7
    return arrays


def trusted(arrays: Arrays) -> Arrays | None:
    return arrays if (arrays["values"] == 7).all() else None


def test_what_is_derived_is_made_once(tmp_path: Path) -> None:
    file, remembered = ArrayFile(tmp_path / "made.bin", "test 1", DTYPES), Remembered(tmp_path, "0a0b0c0d")
    assert derived(file, remembered, trusted, fill)["starts"].tolist() == [7, 7, 7]
    again = derived(file, remembered, trusted, lambda _: pytest.fail("it is there already"))
    assert again["starts"].tolist() == [7, 7, 7]


def test_what_cannot_be_trusted_is_made_again(file: ArrayFile, tmp_path: Path) -> None:
    found = derived(file, Remembered(tmp_path, "0a0b0c0d"), trusted, fill)
    assert set(found["values"]) == {7}


def test_where_nothing_can_be_written_it_is_made_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(files, "whole_file", refuse)
    file = ArrayFile(tmp_path / "made.bin", "test 1", DTYPES)
    assert set(derived(file, Remembered(tmp_path, "0a0b0c0d"), trusted, fill)["values"]) == {7}
    assert not file.path.exists()
