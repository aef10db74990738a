"""The Plaine & Easie Code of RISM and IAML, versions 1 and 2: reader and writer.

The specification is at plaine-and-easie.info (repository rism-digital/pae-code-spec). Where it is silent, Roslin reads
as follows; docs/concepts/reading/pae.md gives the reasons:

- an accidental holds for its octave until the bar line, and through a tie across it;
- a length stated inside a tuplet or on a grace note stays in force after it;
- a tuplet fills the value before its parenthesis; without one, three notes take the time of two (five of four, ...);
- without an octave mark the octave is that of middle C, without a length it is a quarter;
- a grace note has the onset of the note that it leads to, and takes no time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from roslin.errors import Problem
from roslin.melody import Melody
from roslin.notation.pae.incipit import (
    Incipit,
    capitals,
    incipit_from_mapping,
    incipits,
    read_clef,
    read_key_signature,
    read_time_signature,
)
from roslin.notation.pae.music import Music
from roslin.notation.pae.reader import MusicReader
from roslin.notation.pae.writer import as_catalogued, write, write_music
from roslin.notation.record import Record, Repeats, failed, metadata_of, refusal
from roslin.notation.sources import read_all, text_of

__all__ = [
    "Incipit",
    "as_catalogued",
    "incipit_from_mapping",
    "looks_like_pae",
    "read",
    "read_incipit",
    "read_stream",
    "read_text",
    "write",
    "write_music",
]


_FIRST_LINE = re.compile(
    r"\s*(?:%|@(?:clef|keysig|timesig|data|start):|[\[{]\s*(?:\{\s*)?\"|(?:03[16])?[^A-Za-z]*[$‡][a-z0-9]"
    r"|[A-G0-9xbnqgtry'\",.{}()/:=!$@^+_;~i&#\-\s]+$)"
)


def looks_like_pae(head: bytes) -> bool:
    """Whether a text starts like one of the representations, or its first line has only signs of the code."""
    if b"\0" in head or head.lstrip().startswith(b"<"):
        return False
    first = head.decode("utf-8-sig", errors="replace").lstrip().partition("\n")[0]
    return not head.strip() or _FIRST_LINE.match(first) is not None


def read(text: str, *, strict: bool = False) -> Melody:
    """The one melody in a text.

    >>> read("%G-2@3/4 '4CDE/2.F")
    Melody(None, 4 notes)
    """
    records = list(read_text(text, strict=strict))
    if len(records) != 1:
        raise refusal("not one incipit", "exactly one", str(len(records)))
    return records[0].melody_or_raise()


def read_stream(stream: io.BufferedReader, *, strict: bool) -> Iterator[Record]:
    """A record for each incipit in a file."""
    yield from read_text(text_of(read_all(stream)), strict=strict)


def read_text(text: str, *, strict: bool) -> Iterator[Record]:
    """A record for each incipit in a text, in any of the representations."""
    for found in incipits(text):
        yield Record(None, (found,)) if isinstance(found, Problem) else read_incipit(found, strict=strict)


def read_incipit(incipit: Incipit, *, strict: bool) -> Record:
    """Read one incipit. Without notes, or with more unreadable signs than notes, it is refused."""
    repeats = Repeats()
    try:
        record = _read_incipit(incipit, repeats, strict=strict)
    except Exception as error:  # whatever is wrong with this one, the next is read
        record = _refused(incipit, failed(error, line=incipit.line))
    return replace(record, repeated=repeats.count) if repeats.count else record


def _read_incipit(incipit: Incipit, repeats: Repeats, *, strict: bool) -> Record:
    clef, clef_problem = read_clef(incipit.clef) if incipit.clef else ("", None)
    key = read_key_signature(incipit.key_signature)
    time = read_time_signature(incipit.time_signature or "c")
    text, lower_case = capitals(incipit.music, incipit.start)
    signs = ((clef_problem, incipit.clef), (key.problem, incipit.key_signature), (time.problem, incipit.time_signature))
    in_header = [replace(problem, column=_column(incipit, field)) for problem, field in signs if problem]
    problems = [*incipit.problems, *in_header, *lower_case]
    if problems and strict:
        return _refused(incipit, problems[0])

    music = MusicReader(
        text, incipit.start, key.alterations, time.measure_ticks, repeats, strict=strict, version=incipit.version
    )
    music.read()
    notes = music.notes(first_column=incipit.start)
    refusal = _refusal(music, len(notes))
    if refusal is not None:
        return _refused(incipit, refusal)

    melody = Melody(
        notes,
        **metadata_of(incipit.metadata),
        metre=(incipit.time_signature and time.text) or None,
        music=incipit.music[incipit.start :],
        notation="pae",
        clef=clef or None,
        key_signature=key.text or None,
        barlines_ticks=np.array(music.barlines, dtype=np.int64),
        changes=tuple(music.changes),
    )
    return Record(melody, tuple(problems + music.problems)).at(line=incipit.line, record=melody.id or "")


def _refusal(music: Music, notes: int) -> Problem | None:
    first = music.problems[0] if music.problems else None
    if not notes:
        found = first.found if first else "only rests" if music.time else "none"
        return Problem("no notes", "at least one note", found, first.column if first else 1)
    doubt = music.unreadable + music.doubtful_notes
    if first and doubt >= max(1, notes - music.doubtful_notes):
        return Problem("not music", "more notes than unreadable signs", first.found, first.column)
    return None


def _column(incipit: Incipit, field: str) -> int:
    """The column of a clef or signature in a line that also has the music. One that is a field has the line alone."""
    found = incipit.music.find(field, 0, incipit.start)
    return found + 1 if found >= 0 else 0 if incipit.line else 1


def _refused(incipit: Incipit, problem: Problem) -> Record:
    return Record(None, (problem,)).at(line=incipit.line, record=incipit.metadata.get("id", ""))
