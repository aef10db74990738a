"""What opening refuses, what it remembers, and what a full disk leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.collection.conftest import sealed_anew, three_melodies

from roslin import Collection
from roslin.collection import files as files_module
from roslin.collection import write
from roslin.collection.arrays import out_of_range, unsafe
from roslin.collection.files import (
    ARRAY_NAMES,
    DATABASE,
    SEAL_BYTES,
    Remembered,
    is_sealed,
    read_sealed,
    seal,
    write_sealed,
)
from roslin.collection.store import Store, check, token_of
from roslin.errors import CollectionError, DamagedError
from roslin.melody import NOTE_DTYPE, Melody

# -- sealed files -----------------------------------------------------------------------------------------------------


def test_a_sealed_file_shows_every_changed_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_sealed(path, "two\nlines\n")
    assert read_sealed(path) == "two\nlines\n"
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert not is_sealed(path)
        assert read_sealed(path) is None


@pytest.mark.parametrize("content", [b"\xff" * 300, b"one\ntwo three\n"])
def test_a_sealed_file_in_the_place_of_another(collection_path: Path, content: bytes) -> None:
    """A table where checksums belong: it is whole, and no text, or a text of another kind."""
    Store(collection_path).close()
    Remembered._of_folder.clear()
    for name in ("verified", "checksums"):
        (path,) = collection_path.glob(f"{name}-*")
        path.write_bytes(bytes(SEAL_BYTES) + content)
        seal(path)
        assert is_sealed(path)
        if name == "verified":
            Store(collection_path).close()  # it is only a memory
    with pytest.raises(DamagedError, match=r"damaged: checksums-.* is not what was written; restore the folder"):
        Store(collection_path)


@pytest.mark.parametrize("name", ["verified", "checksums", "notes"])
def test_a_file_that_has_grown_is_not_read_to_its_end(collection_path: Path, name: str, read_files: list[str]) -> None:
    Store(collection_path).close()
    Remembered._of_folder.clear()
    read_files.clear()
    (path,) = collection_path.glob(f"{name}-*")
    os.truncate(path, 2**40)
    if name == "verified":
        Store(collection_path).close()
    else:
        with pytest.raises(DamagedError, match=f"damaged: {name}-.* is not what was written"):
            Store(collection_path)
        assert read_files == []


def test_a_link_that_leads_back_to_itself(collection_path: Path) -> None:
    for path in [path for path in collection_path.iterdir() if path.name != "rejects.tsv"]:
        before = path.read_bytes()
        path.unlink()
        path.symlink_to(path.name)
        Remembered._of_folder.clear()
        if path.name in ("writer.lock", "warnings.tsv") or path.name.startswith("verified-"):
            Store(collection_path).close()
        else:
            with pytest.raises((CollectionError, OSError), match=r"not a Roslin collection|Too many levels"):
                Store(collection_path)
        path.unlink()
        path.write_bytes(before)
    database = collection_path / DATABASE
    database.unlink()
    database.symlink_to(DATABASE)
    write.build(three_melodies(), collection_path)
    assert check(collection_path) == []


# -- what was written -------------------------------------------------------------------------------------------------


def flipped(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("name", [*ARRAY_NAMES, "collection", "checksums"])
def test_a_changed_byte_is_refused_with_the_file_and_the_way_out(collection_path: Path, name: str) -> None:
    (path,) = collection_path.glob(f"{name}*")
    Store(collection_path).close()  # what was remembered before does not hide it
    flipped(path, -3)
    with pytest.raises(DamagedError) as refusal:
        Store(collection_path)
    assert f"damaged: {path.name} is not what was written; restore the folder from a copy" in str(refusal.value)
    assert f"roslin collection build SOURCE... {collection_path}" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert check(collection_path) == [str(refusal.value)]


def test_the_refusal_names_the_sources(collection_path: Path) -> None:
    flipped(next(collection_path.glob("notes-*")), -1)
    with pytest.raises(DamagedError, match=r"build it again from its sources \(book\): roslin collection build"):
        Store(collection_path)


def test_a_database_that_names_another_state(collection_path: Path) -> None:
    path, token = collection_path / DATABASE, token_of(collection_path)
    other = token.replace(token[0], "0" if token[0] != "0" else "1")
    path.write_bytes(path.read_bytes().replace(token.encode(), other.encode()))
    with pytest.raises(DamagedError, match=rf"collection\.sqlite names checksums-{other}\.txt, which is missing"):
        Store(collection_path)


def test_another_format_in_a_changed_database_is_damage(collection_path: Path) -> None:
    path = collection_path / DATABASE
    path.write_bytes(path.read_bytes().replace(b"format_version4", b"format_version7"))
    with pytest.raises(DamagedError, match=r"collection\.sqlite is not what was written"):
        Store(collection_path)


def test_check_reads_every_file_also_those_that_are_made_later(collection_path: Path) -> None:
    with Collection(collection_path) as collection:
        for matcher in ("roslin", "emd"):
            collection.search(three_melodies()[0], matcher, k=1)
    files = {path.name for path in collection_path.iterdir()} - {"writer.lock"}
    assert {name.partition("-")[0] for name in files} >= {"index", "roslin", "verified", "rejects.tsv"}
    assert check(collection_path) == []
    for name in files:
        flipped(collection_path / name, -1)
        (fault,) = check(collection_path)
        assert f"damaged: {name} is not what was written" in fault
        flipped(collection_path / name, -1)


def test_what_can_be_made_again_is(collection_path: Path) -> None:
    def answers() -> list[str]:
        with Collection(collection_path) as collection:
            runs = [collection.search(three_melodies()[0], name, k=1) for name in ("roslin", "emd")]
            return [run.to_trec() for run in runs]

    before = answers()
    for name in ("index", "roslin", "verified"):
        (path,) = collection_path.glob(f"{name}-*")
        flipped(path, path.stat().st_size // 2)
        Remembered._of_folder.clear()  # as in another process
        assert answers() == before
        assert check(collection_path) == []


# -- once for each state ----------------------------------------------------------------------------------------------


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the files whose checksums are made."""
    names: list[str] = []
    real = files_module.checksum_of

    def checksum_of(path: Path, skip: int = 0) -> str:
        names.append(path.name.partition("-")[0])
        return real(path, skip)

    monkeypatch.setattr(files_module, "checksum_of", checksum_of)
    yield names
    Remembered._of_folder.clear()


def test_a_state_is_read_once(collection_path: Path, read_files: list[str]) -> None:
    Store(collection_path).close()
    assert sorted(read_files) == ["bar_offsets", "barlines", DATABASE, "notes", "offsets"]
    read_files.clear()
    Store(collection_path).close()
    Remembered._of_folder.clear()  # as in another process
    Store(collection_path).close()
    assert read_files == []


def test_a_copy_is_read_again(collection_path: Path, tmp_path: Path, read_files: list[str]) -> None:
    Store(collection_path).close()
    read_files.clear()
    shutil.copytree(collection_path, tmp_path / "copy.roslin")
    Store(tmp_path / "copy.roslin").close()
    assert len(read_files) == 5


def test_a_folder_that_cannot_be_written_to(
    collection_path: Path, read_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(files_module, "write_sealed", refuse)
    for path in collection_path.glob("verified-*"):
        path.unlink()
    Store(collection_path).close()
    Store(collection_path).close()
    assert len(read_files) == 5
    assert not list(collection_path.glob("verified-*"))


# -- what kernels trust -----------------------------------------------------------------------------------------------


def arrays() -> dict[str, np.ndarray]:
    notes = np.zeros(3, NOTE_DTYPE)
    notes["pitch_midi"] = 60
    bars = np.array([0, 40320])
    return {"notes": notes, "offsets": np.array([0, 1, 3]), "barlines": bars, "bar_offsets": np.array([0, 0, 2])}


@pytest.mark.parametrize("offsets", [[1, 1, 3], [0, 4, 3], [0, 2, 1], [0, 1, 4], [0, 1, 2**62]])
def test_offsets_that_no_loop_survives(offsets: list[int]) -> None:
    assert list(unsafe(arrays())) == []
    assert list(unsafe(arrays() | {"offsets": np.array(offsets)})) == [
        ("offsets", "does not divide the 3 rows of notes")
    ]
    ((name, _),) = unsafe(arrays() | {"bar_offsets": np.array(offsets) + 1})
    assert name == "bar_offsets"


@pytest.mark.parametrize(
    ("field", "value"),
    [("onset_ticks", -1), ("duration_ticks", 2**60), ("pitch_midi", 128), ("pitch_base40", -500), ("voice", -1)],
)
def test_values_out_of_range(field: str, value: int) -> None:
    wrong = arrays()
    wrong["notes"][field][1] = value
    ((name, fault),) = unsafe(wrong)
    assert name == "notes"
    assert fault.startswith(f"has {field} of {value}; expected ")


def test_a_grace_note_is_one_or_none() -> None:
    wrong = arrays()
    wrong["notes"]["is_grace"].view(np.uint8)[2] = 7
    assert out_of_range(wrong["notes"]) == "is_grace of 7; expected 0 to 1"
    ((_, fault),) = unsafe(arrays() | {"barlines": np.array([0, -5])})
    assert fault == f"has a bar line of -5; expected 0 to {2**48}"


def test_checksums_that_fit_do_not_make_wrong_numbers_right(collection_path: Path) -> None:
    (path,) = collection_path.glob("bar_offsets-*")
    bars = np.load(path)
    bars[1] = 2**40
    np.save(path, bars)
    sealed_anew(collection_path)
    with pytest.raises(DamagedError, match=r"damaged: bar_offsets-.* does not divide the \d+ rows of barlines"):
        Store(collection_path)


def test_a_melody_that_no_kernel_could_trust_is_refused_by_the_build(tmp_path: Path) -> None:
    wrong = Melody.from_notes([0, 1], [1, 1], [60, 62], id="early")
    early = Melody(wrong.notes, id="early", barlines_ticks=np.array([-40320]))
    report = write.build([early, three_melodies()[0]], tmp_path / "x.roslin")
    assert (report.taken, report.refused) == (1, 1)
    assert f"a bar line of -40320; expected 0 to {2**48}" in report.rejects.read_text("utf-8")
    assert check(tmp_path / "x.roslin") == []


# -- a full disk ------------------------------------------------------------------------------------------------------

FULL = """
import resource, sys
from roslin.collection import write
from roslin.errors import CollectionError
from roslin.melody import Melody
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
new = (Melody.from_notes([0, 1], [1, 1], [60, 64], id=f"new-{k}") for k in range(2000))
try:
    write.add(new, sys.argv[1])
except CollectionError as error:
    print(error)
"""


@pytest.mark.long
@pytest.mark.parametrize("most_bytes", [1, 20_000, 65_536, 120_000, 200_000])
def test_a_disk_that_is_full_at_any_moment(collection_path: Path, most_bytes: int) -> None:
    """No file may grow beyond so many bytes: the arrays fail, or the database while it is filled or at COMMIT."""
    before = {path.name: path.read_bytes() for path in collection_path.iterdir()}
    command = [sys.executable, "-c", FULL, str(collection_path), str(most_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{collection_path}: cannot be written: ")
    assert check(collection_path) == []
    assert not list(collection_path.glob(".new-*"))
    after = {path.name: path.read_bytes() for path in collection_path.iterdir() if "verified" not in path.name}
    assert after == {name: content for name, content in before.items() if "verified" not in name}
    with Store(collection_path) as store:
        assert store.ids() == ["a", "b", "c"]


def test_no_room_for_an_index(collection_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with Collection(collection_path) as collection:
        assert collection.search(three_melodies()[0], k=1).ids == ["a"]
    assert not list(collection_path.glob("roslin-*"))
