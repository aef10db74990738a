"""Where bytes come from: a file, a compressed file, or every file in a zip archive.

Everything is a stream, so that an export of any size can be read in little memory. A damaged file raises one of
`DAMAGED` when the damage is reached; `notation.records` turns that into a refusal.

Limits, checked before anything is unpacked (they are module constants, to be set higher by whoever must):

    MAX_ARCHIVE_FILES   files in a zip archive
    MAX_EXPANSION       how many times its packed size a large file may have unpacked; real notation stays below 50
    MAX_TEXT_BYTES      a file in a notation that has to be read at once

A score archive (`.mxl`) is a zip archive too, but one score: it is handed on whole.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from roslin.errors import FormatError

__all__ = ["DAMAGED", "open_streams", "read_all"]

MAX_ARCHIVE_FILES = 100_000
MAX_EXPANSION = 200
MAX_TEXT_BYTES = 64 * 2**20
_LARGE_BYTES = 50_000_000  # below this, expansion does no harm

# What reading a damaged or unreadable file raises, here and wherever its stream is read.
DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)
_SCORE_ARCHIVE = "META-INF/container.xml"


def open_streams(path: Path) -> Iterator[tuple[str, io.BufferedReader]]:
    """(name, stream) for a file; for each member of a zip archive. `.gz` and `.zip` are told by their first bytes."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise FormatError(f"{path}: {what}; expected a file")
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(b"\x1f\x8b"):
            with gzip.open(file) as unpacked:
                yield str(path), _buffered(unpacked)
        elif magic == b"PK\x03\x04" and not _is_score_archive(file):
            yield from _members(path, file)
        else:
            file.seek(0)
            yield str(path), file


def _members(path: Path, file: io.BufferedReader) -> Iterator[tuple[str, io.BufferedReader]]:
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MAX_ARCHIVE_FILES:
            raise FormatError(f"{path}: {len(members)} files in one archive; expected at most {MAX_ARCHIVE_FILES}")
        for member in members:
            if member.file_size > max(_LARGE_BYTES, MAX_EXPANSION * member.compress_size):
                raise FormatError(
                    f"{path}: {member.filename} would unpack to {member.file_size} bytes, more than {MAX_EXPANSION} "
                    "times its packed size"
                )
            with archive.open(member) as inner:
                yield f"{path}!{member.filename}", _buffered(inner)


def _is_score_archive(file: io.BufferedReader) -> bool:
    with zipfile.ZipFile(file) as archive:
        return _SCORE_ARCHIVE in archive.NameToInfo


def _buffered(stream: object) -> io.BufferedReader:
    return io.BufferedReader(stream)  # type: ignore[arg-type]  # GzipFile and ZipExtFile are raw enough


def read_all(stream: BinaryIO, limit: int | None = None) -> bytes:
    """Everything in a stream, refused above a number of bytes before it fills the memory."""
    limit = MAX_TEXT_BYTES if limit is None else limit
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"file too large: more than {limit} bytes for a notation that is read at once")
    return data
