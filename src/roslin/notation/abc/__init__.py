"""ABC, versions 1.6 to 2.1: reader of tunes written with letters.

The standard is at abcnotation.com (version 2.1). Where it is silent or files differ, Roslin reads as follows;
docs/concepts/reading/pae.md gives the reasons:

- an accidental holds until the bar line, in all octaves (the standard's default; `I:propagate-accidentals` changes it),
  and through a tie across the bar line;
- repeats are kept as written; `read_tunes(..., expand_repeats=True)` plays them out;
- pitches are those that sound: octave=, transpose= and clefs with an 8 count, other clefs and middle= do not;
- a grace note has the onset of the note that it leads to, and takes no time.

`Melody.music` is the tune's own text with the file header's fields before it; `source_column` counts in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from roslin.errors import Problem
from roslin.melody import Melody, SignatureChange
from roslin.notation.abc.fields import read_text
from roslin.notation.abc.music import TuneReader
from roslin.notation.abc.tunebook import Tune, decode, tunes
from roslin.notation.abc.voice import changes_played, note_table_of, played, stretches, times_played
from roslin.notation.record import Record, Repeats, failed, refusal
from roslin.notation.sources import read_all

__all__ = ["matches", "read", "read_tunes"]

_EXTRA = {"A": "area", "B": "book", "D": "discography", "F": "file", "G": "group", "H": "history", "N": "remarks",
          "O": "origin", "R": "rhythm", "Z": "transcription"}  # fmt: skip
_TUNE_START = re.compile(rb"^X:[ \t]*\d*[ \t]*(?:%.*)?$", re.MULTILINE)
_KEY_LINE = re.compile(rb"^K:", re.MULTILINE)
_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:%abc|[A-Zm]:)")


def matches(head: bytes) -> bool:
    """Whether a file starts with `%abc`, or has a tune's first field, or starts with a field and has a key."""
    if b"\0" in head or head.lstrip().startswith((b"<", b"{", b"!", b"*")):
        return False
    head = head.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if head.removeprefix(b"\xef\xbb\xbf").startswith((b"%abc", b"X:")):
        return True
    has_key = _KEY_LINE.search(head) is not None
    return has_key and (_FIRST_LINE.match(head) is not None or _TUNE_START.search(head) is not None)


def read(stream: BinaryIO, *, strict: bool, expand_repeats: bool = False) -> Iterator[Record]:
    """A record for each tune of a file, repeats as written unless they are to be played out."""
    yield from read_tunes(decode(read_all(stream)), strict, expand_repeats)


def read_tunes(text: str, strict: bool = False, expand_repeats: bool = False) -> Iterator[Record]:
    """A record for each tune in a text; `expand_repeats` plays repeats and endings out.

    >>> [record] = read_tunes("X:1\\nK:G\\n|:GAB|1 c4:|2 d4|]", expand_repeats=True)
    >>> record.melody.notes["pitch_midi"].tolist()
    [67, 69, 71, 72, 67, 69, 71, 74]
    """
    found = False
    for tune in tunes(text):
        found = True
        yield _read_tune(tune, strict, expand_repeats)
    if not found:
        yield Record(None, (Problem("no tune", "a line X: and music", "nothing", 1, 1),))


def _read_tune(tune: Tune, strict: bool, expand_repeats: bool) -> Record:
    reader = TuneReader(tune, strict=strict)
    line, heading = next((pair for pair in tune if pair[1].startswith("X:")), (tune[0][0], ""))
    name = read_text(heading[2:].partition("%")[0])
    repeats = Repeats()
    try:
        reader.read()
        notes = sum(len(voice.notes) for voice in reader.voices.values())
        if not notes:
            time = any(voice.time for voice in reader.voices.values())
            raise refusal("no notes", "at least one note", "only rests" if time else "none", line=line, column=1)
        if reader.unreadable >= max(2, notes):
            first = reader.problems[0]
            expected = "more notes than unreadable signs"
            raise refusal("not music", expected, first.found, line=first.line, column=first.column)
        melody = _melody(reader, expand_repeats, repeats)
    except Exception as error:  # whatever is wrong with this tune, the next is read
        return Record(None, (failed(error, line=line, record=name),), repeated=repeats.count)
    record = Record(melody.with_metadata(id=name or None), tuple(reader.problems), repeated=repeats.count)
    return record.at(record=name)


def _melody(reader: TuneReader, expand_repeats: bool, repeats: Repeats) -> Melody:
    voices = [voice for voice in reader.voices.values() if voice.time or voice.notes]
    lead = voices[0]
    notes = [voice.notes for voice in voices]
    barlines, changes = lead.barlines, lead.changes
    order = stretches(lead.marks, max(voice.time for voice in voices)) if expand_repeats else []
    if order:
        notes = [played(voice, order, repeats) for voice in voices]
        barlines = times_played(barlines, order)
        start = SignatureChange(0, lead.part.clef, lead.first_key.signature, lead.first_metre.text)
        changes = changes_played(changes, start, order)
    extra = {name: "; ".join(reader.info[field]) for field, name in _EXTRA.items() if field in reader.info}
    titles = reader.info.get("T", [])
    if len(titles) > 1:
        extra["other_titles"] = "; ".join(titles[1:])
    return Melody(
        note_table_of(notes),
        title=titles[0] if titles else None,
        composer=_first(reader, "C"),
        voice=lead.part.name if len(voices) == 1 else None,
        key=lead.first_key.name,
        metre=lead.first_metre.text or None,
        text=reader.words or None,
        source=_first(reader, "S"),
        music="\n".join(line for _, line in reader.tune),
        notation="abc",
        clef=lead.part.clef or None,
        key_signature=lead.first_key.signature or None,
        barlines_ticks=np.array(barlines, dtype=np.int64),
        changes=tuple(changes),
        extra=extra,
    )


def _first(reader: TuneReader, field: str) -> str | None:
    return next((value for value in reader.info.get(field, ()) if value), None)
