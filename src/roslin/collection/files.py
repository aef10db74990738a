"""The folder `NAME.roslin/`: which files it holds, and how a new state replaces an old one.

    collection.sqlite     metadata, features, interval strings; names the arrays that belong to it
    notes-TOKEN.npy       all note tables, one after another (melody.NOTE_DTYPE)
    offsets-TOKEN.npy     where each melody starts in `notes` (one more entry than melodies)
    barlines-TOKEN.npy    all bar lines, in ticks
    bar_offsets-TOKEN.npy where each melody starts in `barlines`
    checksums-TOKEN.txt   the checksums of these files (`arrays`)
    index-TOKEN.bin       what searching needs of each melody; made from the others when it is first asked for
    roslin-TOKEN.bin      what the measure `roslin` needs of each melody; the same
    chance-TOKEN.txt      how fast chance matches become rare; the same
    verified-TOKEN.txt    which of the files were found whole, and how they looked then (`Remembered`)
    rejects.tsv           what the last build or add refused: file, line, record, column, reason, expected, found
    warnings.tsv          what it took or skipped with a remark: the same, and taken
    review.jsonl          what people decided about its concordances; no build changes it (`concordances.review`)
    writer.lock           held while somebody writes; review.jsonl.lock: a decision

A published file is never changed. A writer prepares new files under names of their own (TOKEN is new each time), and
the last thing it does is to move the new `collection.sqlite` over the old one: one atomic step. A process killed at
any moment leaves the old state or the new one, and readers need no lock. Leftovers are removed by the next writer.

A sealed file begins with the checksum of everything after its first line, so that a changed byte anywhere is seen.
Reading a large file only to find that it is unchanged would make every opening slow. So Roslin remembers which files
were found complete, with their size, times and place on the disk, and reads a file again only when one of these has
changed. `Remembered` keeps this in memory for the process, and for the next one in a small sealed file. Where the
folder cannot be written to, every process reads once.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roslin.errors import CollectionError
from roslin.melody import NOTE_DTYPE

FORMAT_VERSION = 4
FORMAT_BEFORE = 3  # without checksums; Roslin reads it, and every change writes the present one
DATABASE = "collection.sqlite"
SHARDS = "shards.json"  # in the folder of a collection that was divided (`roslin.distributed.shards`)
REJECTS = "rejects.tsv"
WARNINGS = "warnings.tsv"
REVIEW = "review.jsonl"
ARRAY_NAMES = ("notes", "offsets", "barlines", "bar_offsets")
DERIVED = {"index": "bin", "roslin": "bin", "chance": "txt", "verified": "txt"}
_SUFFIXES = dict.fromkeys(ARRAY_NAMES, "npy") | {"checksums": "txt"} | DERIVED
SEAL_BYTES = 128  # the first line: a checksum and spaces, so that arrays after it start where their width allows
_BLOCK = 2**20
_MOST_BYTES = 2**20  # of a small sealed file; ours have a few lines
_LOCK = "writer.lock"
_NEW = ".new"
# Exactly the names that Roslin gives: all other files in a folder are foreign.
_PREPARED = re.compile(
    "|".join(rf"{name}-[0-9a-f]{{8}}\.{suffix}" for name, suffix in [*_SUFFIXES.items(), ("chance", "json")])
    + rf"|\{_NEW}-[0-9a-f]{{8}}"  # chance-TOKEN.json is of the format before
)
_FIXED = re.compile(
    rf"{re.escape(DATABASE)}|{re.escape(REJECTS)}|{re.escape(WARNINGS)}|{re.escape(REVIEW)}|(?:{re.escape(_LOCK)}|{re.escape(REVIEW)}\.lock)(?:-journal)?"
)


def is_sharded(path: str | Path) -> bool:
    """Whether a folder holds a collection that was divided."""
    return (Path(path) / SHARDS).is_file()


def state_path(folder: Path, name: str, token: str) -> Path:
    """Where one state keeps an array, its checksums, or something that is made from it later (`DERIVED`)."""
    return folder / f"{name}-{token}.{_SUFFIXES[name]}"


def derived_files(folder: Path, token: str) -> list[Path]:
    """The files that were derived from one state later. All of it can be made again."""
    return [path for name in DERIVED if (path := state_path(folder, name, token)).exists()]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file that gets its name once all of it is on the disk."""
    scratch = _scratch_path(path.parent)
    try:
        yield scratch
        sync(scratch)
        scratch.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def write_text(path: Path, content: str) -> None:
    """Write a small file, whole or not at all."""
    with whole_file(path) as scratch:
        scratch.write_text(content, encoding="utf-8", newline="\n")


def _scratch_path(folder: Path) -> Path:
    return folder / f"{_NEW}-{new_token()}"


def array_dtype(name: str) -> np.dtype[Any]:
    """The type of an array's elements."""
    return NOTE_DTYPE if name == "notes" else np.dtype(np.int64)


def array_header(name: str, length: int) -> bytes:
    """The first bytes of the `.npy` file of an array."""
    header = io.BytesIO()
    description = np.lib.format.dtype_to_descr(array_dtype(name))
    np.lib.format.write_array_header_1_0(header, {"descr": description, "fortran_order": False, "shape": (length,)})
    return header.getvalue()


def new_token() -> str:
    """A name for the files of a new state."""
    return secrets.token_hex(4)


def is_token(name: object) -> bool:
    """Whether this can be the name of a state."""
    return isinstance(name, str) and re.fullmatch("[0-9a-f]{8}", name) is not None


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the writer's lock."""
    with locked(folder / _LOCK, 0, f"{folder}: another process is writing to this collection"):
        yield


@contextmanager
def locked(path: Path, wait_s: float, busy: str) -> Iterator[None]:
    """Hold a lock. It is SQLite's: it is portable, and ends with the process however that ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise CollectionError(f"{path.parent}: cannot be written: {error}") from error
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise CollectionError(f"{busy}; try again later") from error
        raise CollectionError(f"{path.parent}: cannot be written: {error}") from error
    try:
        yield
    finally:
        lock.close()


def connected(folder: Path) -> sqlite3.Connection:
    """The database of the present state, opened for reading. No file is made and none is locked."""
    address = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def publish(folder: Path, database: Path) -> None:
    """Make a prepared database, and the arrays that it names, the current state."""
    sync(database)
    sync(folder)
    database.replace(folder / DATABASE)
    sync(folder)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be synced there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, token: str | None) -> None:
    """Remove arrays of other states than `token`, and whatever a killed writer left behind."""
    keep = set[Path]()
    if token:
        keep = {state_path(folder, name, token) for name in _SUFFIXES}
    for path in folder.iterdir():
        if _PREPARED.fullmatch(path.name) and path not in keep:
            with suppress(OSError):  # a reader on a system that locks open files: the next writer will try again
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove_scratch(folder: Path) -> None:
    """Remove whatever a writer that was killed had in preparation there. For folders that one writer has at a time."""
    for path in folder.glob(f"{_NEW}-*"):
        path.unlink(missing_ok=True)


def holds_other_files(folder: Path) -> bool:
    """Whether a folder contains files that no collection has. A killed first build leaves only files of ours."""
    return any(not _PREPARED.fullmatch(path.name) and not _FIXED.fullmatch(path.name) for path in folder.iterdir())


def workspace(folder: Path) -> Path:
    """A fresh folder for files in preparation, on the same disk as the collection."""
    path = _scratch_path(folder)
    path.mkdir()
    return path


# -- sealed files -----------------------------------------------------------------------------------------------------


def checksum_of(path: Path, skip: int = 0) -> str:
    """The SHA-256 of a file without its first bytes."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(skip)
        while block := file.read(_BLOCK):
            total.update(block)
    return total.hexdigest()


def _first_line(checksum: str) -> bytes:
    return checksum.encode().ljust(SEAL_BYTES - 1) + b"\n"


def seal(path: Path) -> None:
    """Give a file whose first line was left free its checksum. Only for a file that no other process can see yet."""
    with path.open("r+b") as file:
        file.write(_first_line(checksum_of(path, SEAL_BYTES)))


def is_sealed(path: Path) -> bool:
    """Whether a file is as it was when it was sealed. One that is not there raises `FileNotFoundError`."""
    with path.open("rb") as file:
        first = file.read(SEAL_BYTES)
    return first == _first_line(checksum_of(path, SEAL_BYTES))


def write_sealed(path: Path, content: str) -> None:
    """Write a small sealed file, whole or not at all."""
    data = content.encode()
    with whole_file(path) as scratch:
        scratch.write_bytes(_first_line(hashlib.sha256(data).hexdigest()) + data)


def read_sealed(path: Path) -> str | None:
    """The text of a small sealed file; None if it is damaged. One that is not there raises `FileNotFoundError`."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    content = data[SEAL_BYTES:]
    is_whole = len(data) <= _MOST_BYTES and data[:SEAL_BYTES] == _first_line(hashlib.sha256(content).hexdigest())
    try:
        return content.decode() if is_whole else None
    except UnicodeDecodeError:  # a sealed table
        return None


class _Stamp(NamedTuple):
    """Properties that change when a file is written to or replaced."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> _Stamp:
        known = path.stat()
        return cls(known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino)


class Remembered:
    """Which files of one state of a collection were found whole, and how they looked then."""

    _of_folder: dict[Path, tuple[str, dict[str, _Stamp]]] = {}  # noqa: RUF012 - shared on purpose: what the process knows

    def __init__(self, folder: Path, token: str):
        self.folder, self.token = folder, token
        self._path = state_path(folder, "verified", token)

    def holds(self, stamps: dict[str, _Stamp]) -> bool:
        return stamps.items() <= self._in_memory().items() or stamps.items() <= self._on_disk().items()

    def stamps(self, names: Iterable[str]) -> dict[str, _Stamp]:
        """How files look now: taken before they are read, so that what happens meanwhile is not missed."""
        return {name: _Stamp.of(self.folder / name) for name in names}

    def is_whole(self, path: Path) -> bool:
        """Whether a sealed file of the state is unchanged. It is read again only if its stamp has changed."""
        stamps = self.stamps([path.name])
        if self.holds(stamps):
            return True
        if not is_sealed(path):
            return False
        self.add(stamps)
        return True

    def add(self, stamps: dict[str, _Stamp]) -> None:
        known = self._on_disk() | self._in_memory() | stamps
        self._of_folder[self.folder.resolve()] = (self.token, known)
        with suppress(OSError):  # a folder that others own
            write_sealed(self._path, "".join(f"{name} {' '.join(map(str, stamp))}\n" for name, stamp in known.items()))

    def _in_memory(self) -> dict[str, _Stamp]:
        token, known = self._of_folder.get(self.folder.resolve(), ("", {}))
        return known if token == self.token else {}

    def _on_disk(self) -> dict[str, _Stamp]:
        try:
            content = read_sealed(self._path) or ""
        except OSError:
            return {}
        rows = [line.split(" ") for line in content.splitlines()]
        try:
            return {name: _Stamp(*map(int, numbers)) for name, *numbers in rows}
        except (TypeError, ValueError):  # another sealed file
            return {}
