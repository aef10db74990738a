"""The API: JSON for programs. `GET` for everything that can be shared, `POST` for a file."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, File, Query, Request, UploadFile
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from roslin.api import Collection
from roslin.errors import ArgumentError
from roslin.matchers import MATCHERS
from roslin.melody import Melody
from roslin.playback import midi_bytes
from roslin.report.flow import flow_svg
from roslin.report.player import drawing
from roslin.web.answers import (
    CollectionAnswer,
    ExplainAnswer,
    HealthAnswer,
    MatcherAnswer,
    MelodyAnswer,
    ReadAnswer,
    SearchAnswer,
    UploadAnswer,
)
from roslin.web.asking import Asked, AskedMelody, query_of
from roslin.web.describing import explain_answer, melody_answer, notes_answer, search_answer
from roslin.web.explaining import AskedExplanation, explained
from roslin.web.exports import EXPORTS
from roslin.web.figures import playing
from roslin.web.finding import find
from roslin.web.library import Library
from roslin.web.matching import kind_of, offered
from roslin.web.refusals import RESPONSES
from roslin.web.uploads import choices
from roslin.web.waiting import while_waited_for

__all__ = ["router"]

router = APIRouter(responses=RESPONSES)


class AskedList(Asked):
    """A search, and the form of its answer."""

    format: Literal["json", "csv", "trec", "citations"] = Field(default="json", description="The form of the answer.")


def library_of(request: Request) -> Library:
    """The collection that is served."""
    library: Library = request.app.state.library
    return library


@router.get("/api/search", response_model=SearchAnswer)
async def search(request: Request, asked: Annotated[AskedList, Query()]) -> Response:
    """The melodies most similar to a query."""
    library = library_of(request)
    found = await while_waited_for(request, lambda wait: find(library, asked, wait))
    timing = {"Server-Timing": found.timing}
    if asked.format == "json":
        return JSONResponse(search_answer(found, asked).model_dump(), headers=timing)
    write, media_type, name = EXPORTS[asked.format]
    headers = {**timing, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(write(found, library.title), media_type=media_type, headers=headers)


@router.get("/api/read", response_model=ReadAnswer)
def read(
    request: Request,
    asked: Annotated[AskedMelody, Query()],
    format: Annotated[Literal["json", "svg", "midi"], Query()] = "json",
) -> Response:
    """A query as it is understood: its notes, drawn and ready to be played."""
    library = library_of(request)
    melody = query_of(asked, library.collection, library.settings)
    if format != "json":
        return _as_file(melody, format)
    answer = ReadAnswer(
        notation=melody.notation,
        notes=notes_answer(melody),
        drawing=drawing(melody, "The query in notation").in_page("entry-"),
        playing=playing(melody),
    )
    return JSONResponse(answer.model_dump())


@router.post("/api/read")
def read_file(request: Request, file: Annotated[UploadFile, File()]) -> UploadAnswer:
    """The melodies of a file in any notation, as queries for `q`."""
    return choices(file.file.read(), file.filename or "", library_of(request).settings)


@router.get("/api/melodies/{id:path}", response_model=MelodyAnswer)
def melody(request: Request, id: str, format: Annotated[Literal["json", "svg", "midi"], Query()] = "json") -> Response:
    """One melody: all that is known about it, its drawing, or its sound."""
    library = library_of(request)
    found = library.collection[id]
    if format != "json":
        return _as_file(found, format)
    return JSONResponse(melody_answer(found, library.settings).model_dump())


@router.get("/api/explain", response_model=ExplainAnswer)
def explain(
    request: Request,
    asked: Annotated[AskedExplanation, Query()],
    format: Annotated[Literal["json", "svg"], Query()] = "json",
) -> Response:
    """Why a melody is as near to a query as it is."""
    library = library_of(request)
    why = explained(library, asked)
    if format == "svg":
        if why.match.explanation is None:
            raise ArgumentError(f"{why.matcher!r} moves no weight, so there is no drawing of it; ask for JSON")
        return Response(flow_svg(why.match.explanation), media_type="image/svg+xml")
    return JSONResponse(explain_answer(why).model_dump())


@router.get("/api/matchers")
def matchers() -> list[MatcherAnswer]:
    """The ways to compare melodies, each in one sentence."""
    found = []
    for text in offered():
        known = MATCHERS[text.partition("(")[0]]
        found.append(
            MatcherAnswer(name=text, summary=known.summary, reference=known.reference, kind=kind_of(text))
        )  # fmt: skip
    return found


@router.get("/api/collection")
def collection(request: Request) -> CollectionAnswer:
    """What is searched."""
    library = library_of(request)
    return CollectionAnswer(title=library.title, melodies=len(library.collection), roslin=version("roslin"))


@router.get("/healthz")
def health(request: Request) -> HealthAnswer:
    """Whether the collection can be opened, as a worker that starts now would have to."""
    library = library_of(request)
    with Collection(library.settings.collection) as opened:
        return HealthAnswer(status="ok", melodies=len(opened), searching=library.searching)


def _as_file(melody: Melody, format: str) -> Response:
    if format == "svg":
        return Response(drawing(melody).svg, media_type="image/svg+xml")
    headers = {"Content-Disposition": 'attachment; filename="melody.mid"'}
    return Response(midi_bytes(melody), media_type="audio/midi", headers=headers)
