"""A file of ABC cut into tunes: decoding, the file header, and where a tune starts and ends.

A tune starts at `X:` and ends at an empty line, at the next `X:` or at the end of the file; what stands between tunes
is free text. A file without any `X:` is one tune. Fields of the file header (before the first tune, up to an empty
line) that matter to every tune are put before its own lines, so that a tune is complete in itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CHARSET = re.compile(
    rb"^(?:%%|I:\s*)abc-charset[ \t]+((?:iso-8859|windows|cp|koi8|us|utf)-?\w{1,8})", re.MULTILINE | re.IGNORECASE
)
_INHERITED = re.compile(r"(?:[CILMORSUm]:|%%propagate-accidentals|%%abc-charset)")
_START = re.compile(r"X:")
_LINE_END = re.compile(r"\r\n|\n|\r")
_HEAD_BYTES = 65536
_MAX_HEADER_LINES, _MAX_HEADER_SIGNS = 50, 10_000  # every tune carries them


@dataclass(frozen=True, slots=True)
class Tune:
    """The lines of one tune, each with its number in the file."""

    lines: list[tuple[int, str]]

    @property
    def text(self) -> str:
        """The tune as one string, lines ending with a line feed; columns of notes count in it."""
        return "\n".join(line for _, line in self.lines)


def decode(data: bytes) -> str:
    """UTF-8 where it is valid (with or without a mark), otherwise the charset that the file names, or Latin-1."""
    named = _CHARSET.search(data, 0, _HEAD_BYTES)
    names = ["utf-8-sig", named[1].decode("ascii", "replace")] if named else ["utf-8-sig"]
    for name in names:
        try:
            return data.decode(name)
        except (LookupError, UnicodeError):
            continue
    return data.decode("latin-1")


def tunes(text: str) -> Iterator[Tune]:
    """The tunes of a file, in order."""
    lines = list(enumerate(_LINE_END.split(text), 1))
    starts = [index for index, (_, line) in enumerate(lines) if _START.match(line)]
    if not starts:
        whole = [(number, line) for number, line in lines if line.strip()]
        if whole:
            yield Tune(whole)
        return
    inherited = _file_header(lines[: starts[0]])
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        stop = next((index for index in range(start, end) if not lines[index][1].strip()), end)
        yield Tune(inherited + lines[start:stop])


def _file_header(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    header: list[tuple[int, str]] = []
    signs = 0
    for number, line in lines:
        if not line.strip():
            break
        if _INHERITED.match(line) and signs + len(line) <= _MAX_HEADER_SIGNS:
            header.append((number, line))
            signs += len(line)
    return header[:_MAX_HEADER_LINES]
