"""How to cite: a source by composer, title, library, shelfmark and record, as text and in BibTeX; and Roslin itself.

What catalogues say goes into text as it is, on one line; in BibTeX every sign that TeX would act on is escaped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.metadata import version

from roslin.collection.folding import said_of
from roslin.display.text import counted
from roslin.melody import Melody
from roslin.notation.record import record_of

_TEX = re.compile(r"[\\{}$&#%_^~]")
_ESCAPED = {"\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}"}


def as_text(melody: Melody, link: str | None) -> str:
    """A source in one line.

    >>> tune = Melody.from_notes([0], [1], [60], "840010000-1.1.1", composer="Minoret, Guillaume", title="Missa",
    ...                          extra={"siglum": "F-Pn", "shelfmark": "D. 1", "date": "1690"})
    >>> as_text(tune, "https://rism.online/sources/840010000")
    'Minoret, Guillaume: Missa. F-Pn, D. 1. 1690. 840010000, incipit 1.1.1. https://rism.online/sources/840010000'
    """
    record = record_of(melody)
    incipit = (melody.id or "").removeprefix(record).removeprefix("-")
    number = f"{record}, incipit {incipit}" if incipit else record
    named = ": ".join(filter(None, (melody.composer, melody.title or melody.text)))
    parts = (named, ", ".join(filter(None, _where(melody))), melody.extra.get("date"), number)
    said = ". ".join(" ".join(part.split()).rstrip(".") for part in parts if part)
    return f"{said}. {link}" if link else f"{said}."


def as_bibtex(melody: Melody, link: str | None, place: int, collection: str) -> str:
    """A source as an entry. `place` names one without an id."""
    word = re.sub(r"[^A-Za-z0-9:.-]+", "-", melody.id or f"melody-{place}")
    fields = {
        "author": melody.composer,
        "title": melody.title or melody.text or melody.id,
        "howpublished": ", ".join(filter(None, _where(melody))),
        "date": melody.extra.get("date"),
        "note": f"{collection}, melody {melody.id}" + (f", {melody.key}" if melody.key else ""),
        "url": link,
    }
    lines = [f"  {name} = {{{_tex(name, value)}}},\n" for name, value in fields.items() if value]
    return f"@misc{{{word},\n{''.join(lines)}}}\n"


def roslin_as_text(collection: str, melodies: int) -> str:
    """Roslin, the collection that was searched, and the day: what is found may be another tomorrow."""
    day = datetime.now(UTC).date().isoformat()
    return (
        f"Roslin {version('roslin')}, search by melody; {collection}, {counted(melodies, 'melody', 'melodies')}; {day}."
    )


def _where(melody: Melody) -> tuple[str | None, str | None]:
    return said_of(melody, "library"), melody.extra.get("shelfmark")


def _tex(name: str, text: str) -> str:
    text = " ".join(text.split())
    return text if name == "url" else _TEX.sub(lambda sign: _ESCAPED.get(sign[0], f"\\{sign[0]}"), text)
