"""A reader's own list, and files to download: lists, results, citations.

The browser stores a reader's own list, and the server stores nothing. `/list?id=A&id=B` shows the list to anyone who
has the address; without ids, a script asks for those that this browser stores. Notes are sent only to be written into a
file, and are in no address. Catalogues contain anything that people typed, and notes may come from a stranger: no cell
is ever a formula, no name in an archive is a path, and every sign that TeX would act on is escaped.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, Response

from roslin.collection.folding import said_of
from roslin.display.table import latex_text, tame
from roslin.display.text import counted
from roslin.engrave.score import mei_from_melody
from roslin.errors import ArgumentError, RoslinError, UnknownNameError
from roslin.melody import Melody
from roslin.notation.record import record_of
from roslin.report.flow import name_of
from roslin.report.player import melody_figure
from roslin.web.answers import AboutAnswer, MelodyAnswer, written
from roslin.web.errors import RESPONSES
from roslin.web.library import Library, Opened
from roslin.web.rendering import download, rendered
from roslin.web.search import Found

_MEASURED = ("rank", "distance", "expected", "meaning", "above_chance", "same_notes")
_ABOUT = tuple(AboutAnswer.model_fields)


@dataclass(frozen=True, slots=True)
class Noted:
    """A melody of a list of one's own: its link, and what its owner noted."""

    melody: Melody
    link: str | None
    note: str = ""


def _as_csv(found: Found, _library: Library) -> str:
    rows = []
    for line in found.answer.results:
        expected = "" if line.expected is None else repr(line.expected)
        above = str(line.above_chance).lower()
        measured = [line.rank, repr(line.distance), expected, line.meaning, above, line.same_notes]
        rows.append([*measured, *_cells(line)])
    return _table([*_MEASURED, *_ABOUT], rows)


def _as_trec(found: Found, _library: Library) -> str:
    lines = found.run.to_trec().splitlines(keepends=True)
    return "".join(lines[line.rank - 1] for line in found.answer.results)


def _as_citations(found: Found, library: Library) -> str:
    return "\n".join(as_bibtex(line.melody, line.link, line.rank, library.title) for line in found.answer.results)


def _list_as_csv(listed: Sequence[Noted], _library: Library) -> str:
    rows = [[*_cells(AboutAnswer.of(each.melody, each.link)), tame(each.note)] for each in listed]
    return _table([*_ABOUT, "note"], rows)


def _list_as_json(listed: Sequence[Noted], _library: Library) -> str:
    known = [MelodyAnswer.of(each.melody, each.link).model_dump() | {"note": each.note} for each in listed]
    return json.dumps(known, ensure_ascii=False, indent=1)


def _list_as_bibtex(listed: Sequence[Noted], library: Library) -> str:
    return "\n".join(as_bibtex(each.melody, each.link, place, library.title) for place, each in enumerate(listed, 1))


def _list_as_text(listed: Sequence[Noted], library: Library) -> str:
    lines = []
    for place, each in enumerate(listed, start=1):
        lines.append(f"{place}. {as_text(each.melody, each.link)}")
        lines += [f"   {line}" for line in each.note.splitlines() if line.strip()]
    return "\n".join([*lines, "", roslin_as_text(library.title, len(library.collection)), ""])


def _list_as_pae(listed: Sequence[Noted], _library: Library) -> str:
    """A line for each that can be written, as a search takes it."""
    texts = (written(each.melody) for each in listed)
    return "".join(f"{' '.join(text.split())}\n" for name, text in filter(None, texts) if name != "ABC")


def _list_as_mei(listed: Sequence[Noted], _library: Library) -> bytes:
    """An archive with a file for each; what cannot be written is left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, each in enumerate(listed, start=1):
            with suppress(RoslinError):
                text = mei_from_melody(each.melody)
                name = re.sub(r"[^A-Za-z0-9.-]+", "-", each.melody.id or "melody").strip(".-")[:80]
                archive.writestr(f"{place:03d}-{name}.mei", text)
    return out.getvalue()


def _cells(about: AboutAnswer) -> list[str]:
    return [tame(getattr(about, name) or "") for name in _ABOUT]


def _table(head: list[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    return out.getvalue()


# name: (how it is written, media type, file name)
EXPORTS: dict[str, tuple[Callable[[Found, Library], str], str, str]] = {
    "csv": (_as_csv, "text/csv", "results.csv"),
    "trec": (_as_trec, "text/plain", "results.run"),
    "citations": (_as_citations, "application/x-bibtex", "results.bib"),
}
LIST_EXPORTS: dict[str, tuple[Callable[[Sequence[Noted], Library], str | bytes], str, str]] = {
    "csv": (_list_as_csv, "text/csv", "list.csv"),
    "json": (_list_as_json, "application/json", "list.json"),
    "bibtex": (_list_as_bibtex, "application/x-bibtex", "list.bib"),
    "text": (_list_as_text, "text/plain", "list.txt"),
    "pae": (_list_as_pae, "text/plain", "list.pae"),
    "mei": (_list_as_mei, "application/zip", "list-mei.zip"),
}


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
    return text if name == "url" else latex_text(text)


# -- a reader's own list -----------------------------------------------------------------------------------------------


router = APIRouter(responses=RESPONSES)

MOST_LISTED = 200
_MAX_NOTE = 2000

Id = Annotated[str, Query(max_length=500)]
Format = Literal["csv", "json", "bibtex", "text", "pae", "mei"]


@router.get("/list", include_in_schema=False)
def page(library: Opened, id: Annotated[list[Id] | None, Query()] = None) -> Response:
    """The list of an address, or of this browser."""
    return HTMLResponse(rendered(library, "list.html", **_context(library, id or [])))


@router.get("/list/melodies", include_in_schema=False)
def melodies(library: Opened, id: Annotated[list[Id] | None, Query()] = None) -> Response:
    """Only the melodies, for a page that is there already."""
    return HTMLResponse(rendered(library, "_listed.html", **_context(library, id or [])))


@router.get("/api/list")
def export(library: Opened, id: Annotated[list[Id], Query()], format: Format = "json") -> Response:
    """Some melodies of the collection, as a file to take along."""
    return export_noted(library, id, format=format)


@router.post("/api/list", include_in_schema=False)
def export_noted(
    library: Opened,
    id: Annotated[list[str], Form()],
    note: Annotated[list[str] | None, Form()] = None,
    format: Annotated[Format, Form()] = "json",
) -> Response:
    """The same with notes, one for each melody."""
    write, media_type, name = LIST_EXPORTS[format]
    return download(write(_listed(library, id, note)[0], library), media_type, name)


def _context(library: Library, ids: list[str]) -> dict[str, Any]:
    listed, unknown = _listed(library, ids)
    return {
        "listed": listed,
        "unknown": unknown,
        "citations": [as_text(each.melody, each.link) for each in listed],
        "figures": [
            melody_figure(each.melody, name_of(each.melody, "a melody"), f"listed-{place}-")
            for place, each in enumerate(listed)
        ],
        "cited": roslin_as_text(library.title, len(library.collection)),
        "formats": list(LIST_EXPORTS),
    }


def _listed(library: Library, ids: list[str], notes: list[str] | None = None) -> tuple[list[Noted], list[str]]:
    """The melodies of these ids, each once, and the ids that the collection does not have, or no longer."""
    if len(ids) > MOST_LISTED:
        raise ArgumentError(f"a list has at most {MOST_LISTED} melodies; got {len(ids)}")
    by_id = dict(zip(ids, [*(notes or []), *[""] * len(ids)], strict=False))
    found, unknown = [], []
    for id, note in by_id.items():
        try:
            melody = library.collection[id]
        except UnknownNameError:
            unknown.append(id)
            continue
        found.append(Noted(melody, library.settings.link_to(melody), note[:_MAX_NOTE]))
    return found, unknown
