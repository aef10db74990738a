"""A query as an editor takes it up: a line of Plaine & Easie, and where in it each note stands.

Where the query is such a line already, it stays as it was typed, sign for sign, but for letters in lower case and
typographic signs. Fields, MARC subfields, ABC, note names and lists of notes are written anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roslin.errors import NotationError
from roslin.melody import Melody
from roslin.notation.pae import as_catalogued, write
from roslin.notation.pae import read as read_pae
from roslin.notation.pae.representations import capitals
from roslin.notation.typography import plain

_LINE_END = re.compile(r"[\r\n]")
_OWN_HEADER = re.compile(r"\s*(?:%\S*\s+)?")


@dataclass(frozen=True, slots=True)
class Editable:
    """The line, and for each row of the note table its column, from 1."""

    text: str
    columns: list[int]


def editable(typed: str, melody: Melody) -> Editable | None:
    """The query for an editor; None where the code cannot write it.

    >>> from roslin.notation.query import read_query
    >>> editable("%G-2 '4cd", read_query("%G-2 '4cd"))
    Editable(text="%G-2 '4CD", columns=[8, 9])
    >>> editable("c d e", read_query("c d e")).text
    "%G-2 '4CDE"
    """
    if melody.notation == "pae" and melody.music:
        return _as_it_stands(typed, melody, melody.music)
    try:
        text = write(melody)
        again = read_pae(text)
    except NotationError:
        return None
    return Editable(text, _columns(again, len(text) - len(again.music or ""))) if len(again) == len(melody) else None


def _as_it_stands(typed: str, melody: Melody, music: str) -> Editable:
    line = plain(_LINE_END.sub(" ", typed))[0]
    start = line.rfind(music)
    if start < 0 or not _OWN_HEADER.fullmatch(line, 0, start):
        line = as_catalogued(melody)
        start = len(line) - len(music)
    return Editable(capitals(line, start)[0], _columns(melody, start))


def _columns(melody: Melody, start: int) -> list[int]:
    return [start + column for column in melody.notes["source_column"].tolist()]
