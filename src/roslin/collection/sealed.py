"""Sealed files: the first line is the checksum of everything after it, so that a changed byte anywhere is seen.

Reading a large file only to find that it is as it was would make every opening slow. So what was found whole is
remembered together with the file's size, times and place on the disk, and is read again only when one of them has
changed: `Remembered` keeps this in memory for the process, and for the next one in a small sealed file of its own.
Where the folder cannot be written to, every process looks once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from roslin.collection.files import remembered_path, whole_file

SEAL_BYTES = 128  # the first line: a checksum and spaces, so that arrays after it start where their width allows
_BLOCK = 2**20
_MOST_BYTES = 2**20  # of a small sealed file; ours have a few lines


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
    """Give a file whose first line was left free its checksum. Only of a file that nobody else can see yet."""
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
    """What a small sealed file says; None when it is damaged. One that is not there raises `FileNotFoundError`."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    content = data[SEAL_BYTES:]
    is_whole = len(data) <= _MOST_BYTES and data[:SEAL_BYTES] == _first_line(hashlib.sha256(content).hexdigest())
    try:
        return content.decode() if is_whole else None
    except UnicodeDecodeError:  # a sealed table
        return None


class _Stamp(NamedTuple):
    """What changes when somebody writes to a file, or puts another in its place."""

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
        self._path = remembered_path(folder, token)

    def holds(self, stamps: dict[str, _Stamp]) -> bool:
        """Whether files that look so were found whole before."""
        return stamps.items() <= self._in_memory().items() or stamps.items() <= self._on_disk().items()

    def stamps(self, names: Iterable[str]) -> dict[str, _Stamp]:
        """How files look now: taken before they are read, so that what happens meanwhile is not missed."""
        return {name: _Stamp.of(self.folder / name) for name in names}

    def is_whole(self, path: Path) -> bool:
        """Whether a sealed file of the state is as it was written; it is read if it looks otherwise than before."""
        stamps = self.stamps([path.name])
        if self.holds(stamps):
            return True
        if not is_sealed(path):
            return False
        self.add(stamps)
        return True

    def add(self, stamps: dict[str, _Stamp]) -> None:
        """Files that looked so were found whole."""
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
