"""A list of one's own: kept in the browser, shown, shared and taken along by its ids.

The server keeps nothing. `/list?id=A&id=B` is the list for whoever has the address; without ids, the page's script
asks for those that this browser keeps. Notes are sent only to be written into a file, and are not in any address.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, Response

from roslin.errors import ArgumentError, UnknownNameError
from roslin.report.flow import name_of
from roslin.report.player import melody_figure
from roslin.web.errors import RESPONSES
from roslin.web.exports import LIST_EXPORTS, Noted, as_text, roslin_as_text
from roslin.web.library import Library, Opened
from roslin.web.rendering import rendered

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
    return _file(_listed(library, id)[0], library, format)


@router.post("/api/list", include_in_schema=False)
def export_noted(
    library: Opened,
    id: Annotated[list[str], Form()],
    note: Annotated[list[str] | None, Form()] = None,
    format: Annotated[Format, Form()] = "json",
) -> Response:
    """The same with notes, one for each melody."""
    return _file(_listed(library, id, note or [])[0], library, format)


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


def _file(listed: list[Noted], library: Library, format: str) -> Response:
    write, media_type, name = LIST_EXPORTS[format]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(write(listed, library), media_type=media_type, headers=headers)
