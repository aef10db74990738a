"""Reconciliation by melody: the service that OpenRefine asks about a column of incipits, version 0.2 of its API.

A cell is a melody in any notation. It is answered with the melodies of the collection that are above the line where
chance begins, the most certain first. A program can then fetch their composers, titles and sources.

A candidate is marked as a match, which OpenRefine accepts by itself, only if it is certain enough. The limit was chosen
on one half of the composers of RISM and counted on the other half (dev/measurements/reconciliation.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from roslin.deadline import Work
from roslin.errors import ArgumentError, BusyError, NotationError, RoslinError, TimeLimitError, UnknownNameError
from roslin.matchers import matcher
from roslin.melody import Melody
from roslin.notation.query import surest
from roslin.report.player import melody_figure
from roslin.run import Hit, Run
from roslin.search import Request as SearchRequest
from roslin.search import search
from roslin.web.answers import AboutAnswer
from roslin.web.library import Library, Opened, Wait, while_waited_for
from roslin.web.listing import browse
from roslin.web.rendering import rendered
from roslin.web.requests import BrowseParams, QueryParams, readings_of
from roslin.web.settings import MAX_QUERY
from roslin.web.site import base_of

CERTAIN = 1e-5  # the most expected chance matches of a candidate that is marked as a match
BATCH = 10  # cells of one request; each is a search
_CANDIDATES = 5  # of a cell, unless a request asks for another number
_MOST_CANDIDATES = 50
_MOST_CELLS = 100
_MOST_WORDS, _SUGGESTED = 200, 10
_TYPE = {"id": "melody", "name": "Melody"}
_PROPERTIES = {
    "composer": "Composer",
    "title": "Title",
    "source": "Source",
    "library": "Library",
    "shelfmark": "Shelfmark",
    "date": "Date",
    "key": "Key",
    "metre": "Metre",
    "link": "Link",
}

router = APIRouter(prefix="/reconcile", include_in_schema=False)


class Cell(BaseModel):
    """A cell, and the most candidates wanted."""

    query: str
    limit: int = Field(default=_CANDIDATES, ge=1, le=_MOST_CANDIDATES)


class Property(BaseModel):
    """A property by its name."""

    id: str


class Extension(BaseModel):
    """Melodies by id, and the properties that are wanted of each."""

    ids: list[str] = Field(max_length=1000)
    properties: list[Property] = Field(max_length=len(_PROPERTIES))


_CELLS = TypeAdapter(dict[str, Cell])
_EXTENSION = TypeAdapter(Extension)


@router.get("")
async def get(
    request: Request, library: Opened, queries: Annotated[str, Query()] = "", extend: Annotated[str, Query()] = ""
) -> Response:
    """The manifest of the service; with `queries` or `extend`, their answer."""
    return await _answered(request, library, queries, extend)


@router.post("")
async def post(
    request: Request, library: Opened, queries: Annotated[str, Form()] = "", extend: Annotated[str, Form()] = ""
) -> Response:
    """Candidates for the cells of a batch, or properties of melodies."""
    return await _answered(request, library, queries, extend)


@router.get("/properties")
def properties(type: Annotated[str, Query()] = "", limit: Annotated[int, Query(ge=1)] = 100) -> Response:
    """The properties that a column can be extended by."""
    proposed = [{"id": id, "name": name} for id, name in _PROPERTIES.items()]
    return JSONResponse({"type": type or _TYPE["id"], "limit": limit, "properties": proposed[:limit]})


@router.get("/suggest")
def suggest(library: Opened, prefix: Annotated[str, Query(max_length=MAX_QUERY)] = "") -> Response:
    """Melodies to choose from by hand: those with these words, or those that resemble this melody."""
    words = prefix.strip()
    found: list[Melody] = []
    if words:
        about = browse(library, BrowseParams(words=words[:_MOST_WORDS], k=_SUGGESTED)).answer.melodies
        found = [each.melody for each in about]
    if words and not found:
        with suppress(NotationError):
            ids = searched(library, words, _SUGGESTED, library.settings.search_seconds).ids
            found = list(library.collection.melodies(library.collection.numbers(ids)))
    listed = [{"id": each.id, "name": _name(each), "description": each.source or ""} for each in found]
    return JSONResponse({"result": listed})


@router.get("/preview")
def preview(library: Opened, id: str) -> HTMLResponse:
    """A small page about a candidate: its notation, title and composer."""
    found = library.collection[id]
    name = found.title or id
    page = rendered(library, "preview.html", melody=found, name=name, figure=melody_figure(found, name, "melody-"))
    return HTMLResponse(page)


async def _answered(request: Request, library: Library, queries: str, extend: str) -> Response:
    if extend:
        return JSONResponse(_extended(library, _read(_EXTENSION, "extend", extend)))
    if not queries:
        return JSONResponse(_manifest(library, base_of(request)))
    cells = _read(_CELLS, "queries", queries)
    if len(cells) > _MOST_CELLS:
        raise ArgumentError(f"queries has {len(cells)} cells; send at most {_MOST_CELLS} in one request")
    return JSONResponse(await while_waited_for(request, lambda wait: _reconciled(library, cells, wait)))


def _read(form: TypeAdapter[Any], name: str, text: str) -> Any:
    try:
        return form.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ArgumentError(f"{name}{'.' if where else ''}{where}: {first['msg']}") from None


def _manifest(library: Library, base: str) -> dict[str, object]:
    return {
        "versions": ["0.1", "0.2"],
        "name": f"{library.title} (melodies)",
        "identifierSpace": f"{base}/melodies/",
        "schemaSpace": f"{base}/reconcile/properties",
        "defaultTypes": [_TYPE],
        "view": {"url": f"{base}/melodies/{{{{id}}}}"},
        "preview": {"url": f"{base}/reconcile/preview?id={{{{id}}}}", "width": 480, "height": 240},
        "suggest": {"entity": {"service_url": base, "service_path": "/reconcile/suggest"}},
        "extend": {
            "propose_properties": {"service_url": base, "service_path": "/reconcile/properties"},
            "property_settings": [],
        },
        "batchSize": BATCH,
    }


def _reconciled(library: Library, cells: Mapping[str, Cell], wait: Wait) -> dict[str, object]:
    answers: dict[str, object] = {}
    began = time.monotonic()
    for place, (name, cell) in enumerate(cells.items()):
        wait.report(place / len(cells))
        left = library.settings.search_seconds - (time.monotonic() - began)
        try:
            run = searched(library, cell.query, cell.limit, left)
        except (BusyError, TimeLimitError):  # a batch has the time of one search; without all cells it is no answer
            raise
        except RoslinError as error:  # one cell that cannot be read must not cost the others
            answers[name] = {"result": [], "error": str(error)}
        else:
            answers[name] = {"result": _candidates(library, run)}
    return answers


def searched(library: Library, text: str, most: int, allowed: float) -> Run:
    """The ranked list for a cell, within this many seconds."""
    ends = time.monotonic() + allowed
    collection, chosen = library.collection, matcher("roslin")
    readings = readings_of(QueryParams.model_construct(q=text), collection, library.settings)

    def one(query: Melody) -> Run:
        with library.slot(ends - time.monotonic()) as seconds:
            return search(SearchRequest(query, chosen, most), collection, Work(seconds=seconds))

    return surest(readings, one, collection.__getitem__).run


def is_match(hits: list[Hit]) -> bool:
    """Whether the first candidate is certain enough to be accepted unseen."""
    return bool(hits) and hits[0].expected is not None and hits[0].expected <= CERTAIN


def _candidates(library: Library, run: Run) -> list[dict[str, object]]:
    hits = [hit for hit in run.hits if hit.is_above_chance]
    melodies = library.collection.melodies(library.collection.numbers([hit.id for hit in hits]))
    matched = is_match(hits)
    return [
        {
            "id": hit.id,
            "name": _name(melody),
            "description": ", ".join(filter(None, (hit.meaning, melody.source, melody.extra.get("library")))),
            "type": [_TYPE],
            "score": round(100 / (1 + (hit.expected or 0.0)), 2),
            "match": matched and place == 0,
            "features": [{"id": "expected", "value": hit.expected}, {"id": "label", "value": hit.meaning}],
        }
        for place, (hit, melody) in enumerate(zip(hits, melodies, strict=True))
    ]


def _name(melody: Melody) -> str:
    return ": ".join(filter(None, (melody.composer, melody.title))) or melody.id or ""


def _extended(library: Library, asked: Extension) -> dict[str, object]:
    wanted = [each.id for each in asked.properties]
    if unknown := set(wanted) - set(_PROPERTIES):
        raise ArgumentError(f"unknown property {min(unknown)!r}; expected one of {', '.join(_PROPERTIES)}")
    rows = {}
    for id in asked.ids:
        try:
            melody = library.collection[id]
        except UnknownNameError:
            rows[id] = {name: list[dict[str, str]]() for name in wanted}
            continue
        about = AboutAnswer.of(melody, library.settings.link_to(melody)).model_dump()
        rows[id] = {name: [{"str": about[name]}] if about[name] else [] for name in wanted}
    return {"meta": [{"id": name, "name": _PROPERTIES[name]} for name in wanted], "rows": rows}
