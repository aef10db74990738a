"""Where bytes come from: a file, a compressed file, or every file in a zip archive.

Everything is a stream, so that an export of any size can be read in little memory. A damaged file raises one of
`DAMAGED` when the damage is reached; `notation.records` turns that into a refusal, and continues with the next file of
an archive. The limits (`MAX_ARCHIVE_FILES`, `MAX_TEXT_BYTES`, `rows.MAX_EXPANSION`) are checked before anything is
unpacked, or meanwhile if a file does not have its unpacked size.

A score archive (`.mxl`) is a zip archive too, but one score: it is handed on whole.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from roslin import rows
from roslin.errors import FormatError

MAX_ARCHIVE_FILES = 100_000
MAX_TEXT_BYTES = 64 * 2**20  # of a file in a notation that has to be read at once

# What reading a damaged or unreadable file raises, here and wherever its stream is read.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError)
_Opened = TypeVar("_Opened", zipfile.ZipFile, IO[bytes])
_SCORE_ARCHIVE = "META-INF/container.xml"
_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"
PACKED = (_ZIP, _GZIP)  # how a file starts that has to be unpacked
_PACKED_SUFFIX = re.compile(r"\.(?:gz|zip)$", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")  # bwv245.3 has none


@dataclass(frozen=True, slots=True)
class Stream:
    """Something to read: its name, how to open it, what its ids begin with, and whether it is part of an archive."""

    name: str
    open: Callable[[], AbstractContextManager[io.BufferedReader]]
    stem: str = ""
    is_member: bool = False


def id_stem(name: str) -> str:
    """The start of ids that are made from a file's name: its path without the suffixes of packing and notation.

    >>> [id_stem(name) for name in ("bwv245.3.mxl", "bwv245.3", "songs/tune.abc.gz", "../tune.abc")]
    ['bwv245.3', 'bwv245.3', 'songs/tune', 'tune']
    """
    steps = [step for step in re.split(r"[/\\]", name) if step not in ("", ".", "..")]
    if not steps:
        return "melody"
    last = _SUFFIX.sub("", _PACKED_SUFFIX.sub("", steps[-1]))
    return "/".join([*steps[:-1], last or steps[-1]])


def open_streams(path: Path, named: str | None = None) -> Iterator[Stream]:
    """A file; each member of a zip archive. `.gz` and `.zip` are recognised by their first bytes.

    `named` is the path of the file below the folder that was given; without it, the file itself was. An archive counts
    as a folder, so that its members have the same stems as unpacked files.
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise FormatError(f"{path}: {what}; expected a file")
    with path.open("rb") as file:
        if file.peek(len(_ZIP)).startswith(_ZIP) and not _is_score_archive(file):
            yield from _members(path, file, "" if named is None else _PACKED_SUFFIX.sub("", named) + "/")
        else:
            file.seek(0)
            packed_bytes = os.fstat(file.fileno()).st_size
            yield Stream(str(path), lambda: nullcontext(_unpacked(file, packed_bytes)), id_stem(named or path.name))


def _members(path: Path, file: io.BufferedReader, folder: str) -> Iterator[Stream]:
    with _whole(lambda: zipfile.ZipFile(file)) as archive:
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]  # one may have no name
        if len(members) > MAX_ARCHIVE_FILES:
            raise FormatError(f"{path}: {len(members)} files in one archive; expected at most {MAX_ARCHIVE_FILES}")
        for member in members:
            stem = id_stem(folder + member.filename)
            yield Stream(f"{path}!{member.filename}", _opener(archive, member), stem, is_member=True)


def _opener(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> Callable[[], AbstractContextManager[io.BufferedReader]]:
    @contextmanager
    def opened() -> Iterator[io.BufferedReader]:
        if member.file_size > rows.most_unpacked(member.compress_size):
            most = f"more than {rows.MAX_EXPANSION} times its packed size"
            raise FormatError(f"would unpack to {member.file_size} bytes, {most}")
        with _whole(lambda: archive.open(member)) as inner:
            yield _unpacked(_buffered(inner), member.file_size)

    return opened


def _unpacked(stream: io.BufferedReader, packed_bytes: int) -> io.BufferedReader:
    if stream.peek(len(_GZIP)).startswith(_GZIP):
        return _buffered(_Limited(gzip.open(stream), packed_bytes))
    return stream


class _Limited(io.RawIOBase):
    """A packed stream's contents, up to the allowed expansion, because gzip does not have the size in advance."""

    def __init__(self, inner: gzip.GzipFile, packed_bytes: int):
        self._inner = inner
        self._limit = self._left = rows.most_unpacked(packed_bytes)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read1(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise FormatError(f"unpacks to more than {self._limit} bytes, {rows.MAX_EXPANSION} times its packed size")
        buffer[: len(data)] = data
        return len(data)


def _is_score_archive(file: io.BufferedReader) -> bool:
    with _whole(lambda: zipfile.ZipFile(file)) as archive:
        return _SCORE_ARCHIVE in archive.NameToInfo


def _whole(open: Callable[[], _Opened]) -> _Opened:
    try:
        return open()
    except (ValueError, LookupError, OverflowError, struct.error) as error:
        raise zipfile.BadZipFile(f"File is not a zip file that can be read ({error})") from error


def _buffered(stream: object) -> io.BufferedReader:
    return io.BufferedReader(stream)  # type: ignore[arg-type]  # GzipFile and ZipExtFile are raw enough


def read_all(stream: BinaryIO, limit: int | None = None) -> bytes:
    """Everything in a stream, refused above a number of bytes before it fills the memory."""
    limit = MAX_TEXT_BYTES if limit is None else limit
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"file too large: more than {limit} bytes for a notation that is read at once")
    return data


def text_of(data: bytes) -> str:
    """Text in UTF-8, or else in Latin-1, which any bytes are."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# Character sets that a file may name as its own. Python also knows codecs that unpack archives, undo escapes or refuse
# everything; those are not for the files of others.
DECLARED_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
EXPECTED_CHARACTER_SET = "a character set such as UTF-8 or ISO-8859-1"
_CHARACTER_SETS = re.compile(r"ascii|big5|cp\d|euc_|gb|hp-|hz|iso|johab|koi8|kz|mac|ptcp|shift_|tis|utf-(8|16|32)")


def character_set(name: str) -> codecs.CodecInfo | None:
    """The codec of a character set, None for a name that is none.

    >>> [found.name if (found := character_set(name)) else None for name in ("latin1", "zlib", "klingon")]
    ['iso8859-1', None, None]
    """
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return None
    return codec if codec.incrementaldecoder is not None and _CHARACTER_SETS.match(codec.name) else None
