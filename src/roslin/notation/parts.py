"""A file cut into parts that can be read apart from each other, by several processes: the records are the same.

JSON Lines are cut after some thousand lines, compressed or not. Every other file is one part: a large export is read by
several processes when it comes in several files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from roslin.notation import detect, records, unreadable, with_ids
from roslin.notation.record import Record, Voices
from roslin.notation.sources import DAMAGED, id_stem, open_streams

LINES_AT_ONCE = 1000
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or some of its lines: their bytes, and how many lines and records come before them.

    `named` is the path of the file below the folder that was given as a source; empty where the file itself was.
    """

    path: Path
    lines: bytes | None = None
    before: int = 0
    records_before: int = 0
    named: str = ""


def parts(path: Path) -> Iterator[Part]:
    """The parts of a file, in order. A damaged one raises `FormatError` after the lines that can be read."""
    for stream in open_streams(path):
        if stream.is_member:
            break
        with stream.open() as opened:
            if _has_lines(opened, stream.name):
                yield from _lines(path, opened)
                return
    yield Part(path)


def _has_lines(opened: io.BufferedReader, name: str) -> bool:
    try:
        return detect(opened.peek(_HEAD_BYTES)[:_HEAD_BYTES], name).name == "jsonl"
    except Exception:
        return False  # whoever reads it says what is wrong


def _lines(path: Path, opened: io.BufferedReader) -> Iterator[Part]:
    before, records_before, is_over = 0, 0, False
    while not is_over:
        held, damage = list[bytes](), None
        while len(held) < LINES_AT_ONCE and not is_over:
            try:
                line = opened.readline()
            except DAMAGED as error:
                line, damage = b"", error
            held.append(line)
            is_over = not line
        if lines := b"".join(held):
            yield Part(path, lines, before, records_before)
        before += len(held)
        records_before += sum(1 for line in held if line.strip())
        if damage is not None:
            raise unreadable(damage, str(path)) from damage


def read_part(part: Part, *, strict: bool = False, voices: Voices = "apart") -> Iterator[Record]:
    """The records of a part, as those of the whole file. Every melody has an id."""
    if part.lines is None:
        yield from records(part.path, strict=strict, voices=voices, named=part.named, skipped=True)
        return
    stem = id_stem(part.named or part.path.name)
    for record in with_ids(records(part.lines, "jsonl", strict=strict), stem, part.records_before):
        problems = tuple(
            replace(each, file=str(part.path), line=each.line + part.before if each.line else 0)
            for each in record.problems
        )
        yield replace(record, problems=problems)
