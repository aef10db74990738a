"""The folder `NAME.roslin/`: which files it holds, and how a new state replaces an old one.

    collection.sqlite     metadata, features, interval strings; names the arrays that belong to it
    notes-TOKEN.npy       all note tables, one after another (melody.NOTE_DTYPE)
    offsets-TOKEN.npy     where each melody starts in `notes` (one more entry than melodies)
    barlines-TOKEN.npy    all bar lines, in ticks
    bar_offsets-TOKEN.npy where each melody starts in `barlines`
    checksums-TOKEN.txt   the checksums of these files (`verified`)
    index-TOKEN.bin       what searching needs of each melody; made from the others when it is first asked for
    roslin-TOKEN.bin      what the measure `roslin` needs of each melody; the same
    chance-TOKEN.txt      how fast chance matches become rare; the same
    verified-TOKEN.txt    which of the files were found whole, and how they looked then (`sealed`)
    rejects.tsv           what the last build or add refused: file, line, record, column, reason, expected, found
    warnings.tsv          what it took or skipped with a remark: the same, and taken
    review.jsonl          what people decided about its concordances; no build changes it (`concordances.review`)
    writer.lock           held while somebody writes; review.jsonl.lock: a decision

A published file is never changed. A writer prepares new files under names of their own (TOKEN is new each time), and
the last thing it does is to move the new `collection.sqlite` over the old one: one atomic step. A process killed at
any moment leaves the old state or the new one, and readers need no lock. Leftovers are removed by the next writer.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from roslin.errors import CollectionError
from roslin.melody import NOTE_DTYPE

FORMAT_VERSION = 4
DATABASE = "collection.sqlite"
REJECTS = "rejects.tsv"
WARNINGS = "warnings.tsv"
REVIEW = "review.jsonl"
ARRAY_NAMES = ("notes", "offsets", "barlines", "bar_offsets")
_LOCK = "writer.lock"
_NEW = ".new"
# Exactly the names that Roslin gives: everything else in a folder belongs to somebody else.
_PREPARED = re.compile(
    rf"(?:{'|'.join(ARRAY_NAMES)})-[0-9a-f]{{8}}\.npy|(?:index|roslin)-[0-9a-f]{{8}}\.bin"
    rf"|(?:chance|checksums|verified)-[0-9a-f]{{8}}\.txt|\{_NEW}-[0-9a-f]{{8}}"
)
_FIXED = re.compile(
    rf"{re.escape(DATABASE)}|{re.escape(REJECTS)}|{re.escape(WARNINGS)}|{re.escape(REVIEW)}|(?:{re.escape(_LOCK)}|{re.escape(REVIEW)}\.lock)(?:-journal)?"
)


def array_path(folder: Path, name: str, token: str) -> Path:
    """Where an array of one state is kept."""
    return folder / f"{name}-{token}.npy"


def index_path(folder: Path, token: str) -> Path:
    """Where the index of one state is kept."""
    return folder / f"index-{token}.bin"


def table_path(folder: Path, token: str) -> Path:
    """Where the table of the measure `roslin` is kept for one state."""
    return folder / f"roslin-{token}.bin"


def chance_path(folder: Path, token: str) -> Path:
    """Where one state keeps how fast chance matches become rare."""
    return folder / f"chance-{token}.txt"


def checksums_path(folder: Path, token: str) -> Path:
    """Where the checksums of one state are kept."""
    return folder / f"checksums-{token}.txt"


def remembered_path(folder: Path, token: str) -> Path:
    """Where one state keeps which of its files were found whole."""
    return folder / f"verified-{token}.txt"


def derived_files(folder: Path, token: str) -> list[Path]:
    """What was made from one state later, as far as it is there. All of it can be made again."""
    made = (index_path, table_path, chance_path, remembered_path)
    return [path for path in (path_of(folder, token) for path_of in made) if path.exists()]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file that is to be there whole or not at all: it gets its name once all of it is on the disk."""
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
    """A name for a file in preparation; the next writer removes it if nobody else does."""
    return folder / f"{_NEW}-{new_token()}"


def array_dtype(name: str) -> np.dtype[Any]:
    """What an array holds."""
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


def publish(folder: Path, database: Path) -> None:
    """Make a database in preparation, and the arrays that it names, the current state."""
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
        keep = {array_path(folder, name, token) for name in ARRAY_NAMES}
        keep |= {checksums_path(folder, token), *derived_files(folder, token)}
    for path in folder.iterdir():
        if _PREPARED.fullmatch(path.name) and path not in keep:
            with suppress(OSError):  # a reader on a system that locks open files: the next writer will try again
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove_scratch(folder: Path) -> None:
    """Remove whatever a writer that was killed had in preparation there. For folders that one writer has at a time."""
    for path in folder.glob(f"{_NEW}-*"):
        path.unlink(missing_ok=True)


def holds_other_files(folder: Path) -> bool:
    """Whether something that no collection has lies in a folder. A killed first build leaves only files of ours."""
    return any(not _PREPARED.fullmatch(path.name) and not _FIXED.fullmatch(path.name) for path in folder.iterdir())


def workspace(folder: Path) -> Path:
    """A fresh folder for files in preparation, on the same disk as the collection."""
    path = _scratch_path(folder)
    path.mkdir()
    return path
