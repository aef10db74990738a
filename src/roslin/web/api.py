"""The API: JSON for programs. `GET` for everything that can be shared, `POST` for a file."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, File, Query, Request, UploadFile
from fastapi.responses import JSONResponse, Response

from roslin.matchers import matcher
from roslin.notation.query import editable
from roslin.report.flow import flow_svg
from roslin.report.player import drawing, playing
from roslin.web.answers import (
    BrowseAnswer,
    CollectionAnswer,
    ExplainAnswer,
    HealthAnswer,
    MatcherAnswer,
    MelodyAnswer,
    NoteAnswer,
    ReadAnswer,
    SearchAnswer,
    UploadAnswer,
)
from roslin.web.errors import RESPONSES
from roslin.web.library import Health, Opened, while_waited_for
from roslin.web.listing import browse
from roslin.web.lists import EXPORTS
from roslin.web.readers import READERS
from roslin.web.rendering import download
from roslin.web.requests import BrowseParams, ExplainParams, ListParams, QueryParams, offered, query_of
from roslin.web.search import Show, find, query_used
from roslin.web.search import explain as explained
from roslin.web.site import FileFormat, as_file, base_of, linked_answer

router = APIRouter(responses=RESPONSES)


@router.get("/api/search", response_model=SearchAnswer)
async def search(request: Request, library: Opened, asked: Annotated[ListParams, Query()]) -> Response:
    """The melodies most similar to a query."""
    found = await while_waited_for(request, lambda wait: find(library, asked, wait, Show.data(asked)))
    timing = {"Server-Timing": found.timing}
    if asked.format == "json":
        return JSONResponse(found.answer.model_dump(), headers=timing)
    write, media_type, name = EXPORTS[asked.format]
    return download(write(found, library), media_type, name, **timing)


@router.get("/api/read", response_model=ReadAnswer)
def read(
    library: Opened,
    asked: Annotated[QueryParams, Query()],
    format: Annotated[Literal["json"] | FileFormat, Query()] = "json",
    layout: Annotated[Literal["page", "narrow"], Query()] = "page",
) -> Response:
    """A query as Roslin reads it: its notes, a drawing, and data for playing them. `layout` is that of the drawing."""
    melody = query_of(asked, library.collection, library.settings)
    if format != "json":
        return as_file(melody, format)
    line = editable(asked.q, melody)
    answer = ReadAnswer(
        notation=melody.notation,
        pae=line.text if line else None,
        columns=line.columns if line else [],
        notes=NoteAnswer.table(melody),
        deviations=melody.deviations,
        drawing=drawing(melody, "The query in notation", layout).in_page("entry-"),
        playing=playing(melody),
    )
    return JSONResponse(answer.model_dump())


@router.post("/api/read")
def read_file(library: Opened, file: Annotated[UploadFile, File()]) -> UploadAnswer:
    """The melodies of a file in any notation, as queries for `q`."""
    return UploadAnswer(**READERS.file(file.file.read(), file.filename or "", library.settings))


@router.get("/api/melodies")
def melodies(library: Opened, asked: Annotated[BrowseParams, Query()]) -> BrowseAnswer:
    """The melodies that filters leave, in an order, without a query."""
    return browse(library, asked).answer


@router.get("/api/melodies/{id:path}", response_model=MelodyAnswer)
def melody(
    request: Request,
    library: Opened,
    id: str,
    format: Annotated[Literal["json", "jsonld"] | FileFormat, Query()] = "json",
) -> Response:
    """One melody: all that is known about it, as JSON or linked data, or a file of its notes."""
    found = library.collection[id]
    if format == "jsonld":
        return linked_answer(library, found, base_of(request))
    if format != "json":
        return as_file(found, format)
    return JSONResponse(MelodyAnswer.of(found, library.settings.link_to(found)).model_dump())


@router.get("/api/explain", response_model=ExplainAnswer)
def explain(
    library: Opened,
    asked: Annotated[ExplainParams, Query()],
    format: Annotated[Literal["json", "svg"], Query()] = "json",
) -> Response:
    """Explain why a melody matches a query."""
    found = explained(library, asked, query_used(library, asked)[0])
    if format == "svg":
        return Response(flow_svg(found), media_type="image/svg+xml")
    return JSONResponse(found.to_dict() | {"deviations": found.query.deviations})


@router.get("/api/matchers")
def matchers() -> list[MatcherAnswer]:
    """The matchers, each described in one sentence."""
    return [MatcherAnswer.model_validate(matcher(text)).model_copy(update={"name": text}) for text in offered()]


@router.get("/api/collection")
def collection(library: Opened) -> CollectionAnswer:
    """The collection that is searched."""
    return CollectionAnswer(title=library.title, melodies=len(library.collection), roslin=version("roslin"))


@router.get("/healthz")
@router.get("/readyz")
async def healthz(request: Request) -> HealthAnswer:
    """Whether the collection can be opened, as a worker that starts now would have to."""
    health: Health = request.app.state.health
    return await health.look()
