"""A file that somebody sends, as queries to choose from: one for each melody, and for each voice of a melody.

A query must fit into an address. It is written in Plaine & Easie; where that cannot say it (lengths as they were
played), as a line of JSON with its notes. A long melody is cut to its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from roslin.errors import FormatError, NotationError
from roslin.melody import Melody
from roslin.notation import FORMATS, Record, records
from roslin.notation.jsonl import write_jsonl
from roslin.notation.pae import write
from roslin.represent.line import melodic_line
from roslin.web.schemas import MAX_QUERY, UploadAnswer, UploadChoice
from roslin.web.settings import Settings

__all__ = ["beginning", "choices"]

_PLAIN = ("id", "title", "composer", "voice", "key", "text", "source")
_MOST_COMPLAINTS = 5


def choices(data: bytes, name: str, settings: Settings) -> UploadAnswer:
    """What can be searched for in a file. Its name only helps to tell the notation."""
    found = list(islice(_read(data, name), settings.upload_melodies + 1))
    has_more = len(found) > settings.upload_melodies
    taken = [record.melody_or_raise() for record in found[: settings.upload_melodies] if record.melody is not None]
    refused = [str(record.problems[0]) for record in found if record.melody is None]
    if not taken:
        raise FormatError(f"no melody could be read{f': {refused[0]}' if refused else ''}")
    listed = [
        choice
        for number, melody in enumerate(taken, start=1)
        for choice in _of_melody(melody, number, settings.query_notes)
    ]
    if not listed:
        raise FormatError("the file holds no melody with notes")
    notation = taken[0].notation or "unknown"
    return UploadAnswer(format=notation, choices=listed, refused=refused[:_MOST_COMPLAINTS], has_more=has_more)


def _read(data: bytes, name: str) -> Iterator[Record]:
    """By its first bytes; when nothing there is readable, by the end of its name."""
    suffix = PurePosixPath(name.lower()).suffix
    by_name = next((format.name for format in FORMATS.values() if suffix and suffix in format.suffixes), None)
    is_own = by_name is not None and by_name not in ("marcxml", "pae")
    return records(data, by_name if is_own else None, strict=False)


def _of_melody(melody: Melody, number: int, most: int) -> Iterator[UploadChoice]:
    voices = sorted(set(melody.notes["voice"][~melody.notes["is_grace"]].tolist()))
    for voice in voices:
        line = melodic_line(melody, voice)
        if not len(line):
            continue
        is_cut = len(line) > most
        query = beginning(melody, line[:most])
        notation, text = _as_text(query)
        while len(text) > MAX_QUERY:
            query = beginning(melody, query.notes[: len(query) * 3 // 4])
            is_cut, (notation, text) = True, _as_text(query)
        named = [melody.title or melody.id or f"melody {number}", melody.voice or ""]
        if len(voices) > 1:
            named.append(f"voice {voice + 1}")
        label = ", ".join(part for part in dict.fromkeys(named) if part)
        yield UploadChoice(
            label=label, notes=len(query), notation=notation, q=text, is_cut=is_cut, deviations=melody.deviations
        )


def beginning(melody: Melody, notes: np.ndarray) -> Melody:
    """These notes as a melody of one voice, from their first onset on."""
    taken = notes.copy()
    taken["voice"] = 0
    first = int(taken["onset_ticks"][0])
    taken["onset_ticks"] -= first
    end = int((taken["onset_ticks"] + taken["duration_ticks"]).max())
    bars = melody.barlines_ticks - first
    unknown: dict[str, Any] = dict.fromkeys(_PLAIN)
    return replace(
        melody,
        notes=taken,
        barlines_ticks=bars[(bars > 0) & (bars <= end)],
        changes=(),
        music=None,
        notation=None,
        extra={},
        **unknown,
    )


def _as_text(query: Melody) -> tuple[str, str]:
    try:
        return "pae", write(query)
    except NotationError:
        return "jsonl", write_jsonl(query)
