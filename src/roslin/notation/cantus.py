"""CSV in the form of Cantus Database and CantusCorpus: a row for each chant, with its melody in Volpiano.

The melody is in the column `volpiano` or `melody`. `incipit` becomes the title, the full text the text, and the first
word of `siglum` the library, the rest its shelfmark. Every other column is kept in `Melody.extra` under its own name.
The id of a chant is that of its database, as CD-245439. Rows without a melody are entries without music.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from roslin.errors import Problem, shortened
from roslin.notation.record import Record
from roslin.notation.sources import text_of
from roslin.notation.volpiano import read_line

_MUSIC = ("volpiano", "melody")
_IDS = ("chantlink", "chant_id", "node_id", "id")
_TEXTS = ("full_text", "manuscript_full_text_std_spelling", "manuscript_full_text")
_SIGLUM = re.compile(r"([A-Z]{1,4}-\S+)\s+(.+)")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_MAX_LINE = 2**20  # characters; a line beyond it is several
_MARKS = ("", "*")  # of a field that is not filled in


def matches(head: bytes) -> bool:
    """Whether the first line names a column of melodies and one of chants.

    >>> [matches(text) for text in (b"cantus_id,volpiano,mode", b"incipit,melody", b"melody,rhythm", b"c,d")]
    [True, True, False, False]
    """
    columns = set(_columns(text_of(head).partition("\n")[0]))
    return not columns.isdisjoint(_MUSIC) and not columns.isdisjoint({"cantus_id", "incipit", "siglum", *_TEXTS})


def read(stream: io.BufferedReader, *, strict: bool, skipped: bool = False) -> Iterator[Record]:
    """A record for each row with a melody. The others are among them only where `skipped` asks for them."""
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
    lines = iter(lambda: text.readline(_MAX_LINE), "")
    first = next(lines, "")
    columns = _columns(first)
    music = next((name for name in _MUSIC if name in columns), None)
    if music is None:
        if first.strip():
            found = repr(shortened(first.strip(), 60))
            problem = Problem("not a table of chants", "a column volpiano or melody", found, line=1, is_damage=True)
            yield Record(None, (problem,))
        text.detach()
        return
    rows = csv.reader(lines)
    line = 2
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield Record(None, (Problem("broken CSV", "a row", str(error), line=line),))
            cells = []
        if cells is None:
            break
        if any(cells):
            record = _chant(dict(zip(columns, (cell.strip() for cell in cells), strict=False)), music, strict=strict)
            if skipped or not record.is_skipped:
                yield record.at(line=line)
        line = rows.line_num + 2
    text.detach()


def _columns(line: str) -> list[str]:
    return [name.strip('\ufeff" \t\r\n').lower() for name in line.split(",")]


def _chant(fields: Mapping[str, str], music: str, *, strict: bool) -> Record:
    known = {name: text for name, text in fields.items() if text not in _MARKS and name != music}
    id = _id(known)
    if not fields.get(music):
        return Record(None, (Problem("no melody", f"Volpiano in the column {music}", record=id),), is_skipped=True)
    record = read_line(fields[music], strict=strict)
    if record.melody is None:
        return record.at(record=id)
    title, text = known.pop("incipit", None), next((known.pop(name) for name in _TEXTS if name in known), None)
    if place := _SIGLUM.fullmatch(known.get("siglum", "")):
        known["siglum"], known["shelfmark"] = place[1], place[2]
    if differentia := record.melody.extra.get("differentia"):
        known["differentia_music"] = differentia  # `differentia` is Cantus's own number of it
    melody = record.melody.with_metadata(id=id or None, title=title, text=text, extra=known)
    return replace(record.at(record=id), melody=melody)


def _id(fields: Mapping[str, str]) -> str:
    given = next((fields[name] for name in _IDS if name in fields), "")
    number = _LAST_NUMBER.search(given)
    if number and "://" in given:
        return f"{fields.get('db', 'chant')}-{number[1]}"
    return given
