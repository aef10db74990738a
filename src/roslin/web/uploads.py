"""A file that somebody sends, as queries to choose from: one for each melody, and for each voice of a melody.

It runs in a reader process (`web.reader_process`), and answers with JSON values.

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

from roslin.errors import FormatError, NotationError, Problem
from roslin.melody import Melody
from roslin.notation import FORMATS, Record, records
from roslin.notation.jsonl import write_jsonl
from roslin.notation.pae import write
from roslin.represent.line import melodic_line

_PLAIN = ("id", "title", "composer", "voice", "key", "text", "source")
_MOST_COMPLAINTS = 5


def choices(data: bytes, name: str, *, melodies: int, notes: int, letters: int) -> dict[str, Any]:
    """What can be searched for in a file, as the values of an `UploadAnswer`. Its name only helps to tell the notation.

    At most so many `melodies` are listed; a query has at most so many `notes` and, as text, `letters`.
    """
    found = list(islice(_read(data, name), melodies + 1))
    taken = [record.melody_or_raise() for record in found[:melodies] if record.melody is not None]
    refused = [str(record.problems[0]) for record in found if record.melody is None]
    if not taken:
        raise FormatError(f"no melody could be read{f': {refused[0]}' if refused else ''}")
    listed = [
        choice for number, melody in enumerate(taken, start=1) for choice in _of_melody(melody, number, notes, letters)
    ]
    if not listed:
        raise FormatError("the file holds no melody with notes")
    return {
        "format": taken[0].notation or "unknown",
        "choices": listed,
        "refused": refused[:_MOST_COMPLAINTS],
        "has_more": len(found) > melodies,
    }


def _read(data: bytes, name: str) -> Iterator[Record]:
    """By its first bytes; when nothing there is readable, by the end of its name."""
    suffix = PurePosixPath(name.lower()).suffix
    by_name = next((format.name for format in FORMATS.values() if suffix and suffix in format.suffixes), None)
    is_own = by_name is not None and by_name not in ("marcxml", "pae")
    return records(data, by_name if is_own else None, strict=False)


def _of_melody(melody: Melody, number: int, most: int, letters: int) -> Iterator[dict[str, Any]]:
    voices = sorted(set(melody.notes["voice"][~melody.notes["is_grace"]].tolist()))
    for voice in voices:
        line = melodic_line(melody, voice)
        if not len(line):
            continue
        is_cut = len(line) > most
        query = _beginning(melody, line[:most])
        notation, text = _as_text(query)
        while len(text) > letters:
            query = _beginning(melody, query.notes[: len(query) * 3 // 4])
            is_cut, (notation, text) = True, _as_text(query)
        named = [melody.title or melody.id or f"melody {number}", melody.voice or ""]
        if len(voices) > 1:
            named.append(f"voice {voice + 1}")
        label = ", ".join(part for part in dict.fromkeys(named) if part)
        yield {
            "label": label,
            "notes": len(query),
            "notation": notation,
            "q": text,
            "is_cut": is_cut,
            "deviations": melody.deviations,
        }


def _beginning(melody: Melody, notes: np.ndarray) -> Melody:
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


def shortened_to(most: int, melody: Melody) -> Melody:
    """A melody that is not too long for a query; of a longer one the beginning, with a word about it."""
    if len(melody) <= most:
        return melody
    cut = Problem(f"only the first {most} notes are taken")
    return _beginning(melody, melodic_line(melody)[:most]).with_metadata(
        id=melody.id, composer=melody.composer, title=melody.title, problems=(*melody.problems, cut)
    )


def _as_text(query: Melody) -> tuple[str, str]:
    try:
        return "pae", write(query)
    except NotationError:
        return "jsonl", write_jsonl(query)
