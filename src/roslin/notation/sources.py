"""Where bytes come from: a file, a compressed file, or every file in a zip archive.

Everything is a stream, so that an export of any size can be read in little memory. A damaged file raises one of
`DAMAGED` when the damage is reached; `notation.records` turns that into a refusal.
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

# What reading a damaged or unreadable file raises, here and wherever its stream is read.
DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


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
        elif magic == b"PK\x03\x04":
            with zipfile.ZipFile(file) as archive:
                for member in archive.infolist():
                    if not member.is_dir():
                        with archive.open(member) as inner:
                            yield f"{path}!{member.filename}", _buffered(inner)
        else:
            yield str(path), file


def _buffered(stream: object) -> io.BufferedReader:
    return io.BufferedReader(stream)  # type: ignore[arg-type]  # GzipFile and ZipExtFile are raw enough


def read_all(stream: BinaryIO, limit: int) -> bytes:
    """Everything in a stream, refused above a number of bytes before it fills the memory."""
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"file too large: more than {limit} bytes for a notation that is read at once")
    return data
