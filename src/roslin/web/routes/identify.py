"""Who a source is by: a page with a form that needs no script, and the same as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from roslin.errors import RoslinError
from roslin.report.flow import name_of
from roslin.report.player import melody_figure
from roslin.run.meaning import expected_words
from roslin.web.dependencies import Opened
from roslin.web.errors import RESPONSES, refusal_of
from roslin.web.identification import BestMatch, Identified, identify_source
from roslin.web.library import Library
from roslin.web.progress import Wait, while_waited_for
from roslin.web.rendering import rendered
from roslin.web.schemas.attributions import IdentifyAnswer
from roslin.web.schemas.requests import IdentifyParams

router = APIRouter(responses=RESPONSES)

Number = Annotated[str, Form(max_length=500)]
Text = Annotated[str, Form()]
Sent = Annotated[UploadFile | None, File()]


@dataclass(frozen=True, slots=True)
class DrawnMatch:
    """A match in notation: the incipit, and the source that has it."""

    incipit: Markup
    melody: Markup


@router.get("/api/identify")
async def identify(request: Request, library: Opened, asked: Annotated[IdentifyParams, Query()]) -> IdentifyAnswer:
    """Who the other sources of a tune say that it is by."""
    return (await _identified(request, library, asked, b"")).answer()


@router.post("/api/identify")
async def identify_file(
    request: Request, library: Opened, file: Annotated[UploadFile, File()], record: Number = ""
) -> IdentifyAnswer:
    """The same for a file: a MARCXML record, or incipits in any notation."""
    return (await _identified(request, library, IdentifyParams(record=record), await file.read())).answer()


@router.get("/identify", include_in_schema=False)
async def page(request: Request, library: Opened, asked: Annotated[IdentifyParams, Query()]) -> Response:
    """The form; with a source, the answer too."""
    return await _page(request, library, asked, b"")


@router.post("/identify", include_in_schema=False)
async def page_of_file(
    request: Request, library: Opened, q: Text = "", record: Number = "", file: Sent = None
) -> Response:
    """The answer for what was pasted or sent: a record may be too long for an address."""
    sent = await file.read() if file is not None else b""
    given = sent or q.encode(errors="replace")
    known = "" if given.strip() else record.strip()  # a number alone is that of a record of the collection
    asked = IdentifyParams.model_construct(q="" if sent else q, id=known, record="" if known else record.strip())
    return await _page(request, library, asked, given if given.strip() else b"")


async def _identified(request: Request, library: Library, asked: IdentifyParams, sent: bytes) -> Identified:
    return await while_waited_for(request, lambda wait: identify_source(library, asked, sent, wait))


async def _page(request: Request, library: Library, asked: IdentifyParams, sent: bytes) -> Response:
    status = 200
    context: dict[str, Any] = {
        "asked": asked,
        "answer": None,
        "drawn": (),
        "refusal": None,
        "expected_words": expected_words,
    }
    if sent or not asked.is_empty:
        try:
            answer, drawn = await while_waited_for(request, lambda wait: _work(library, asked, sent, wait))
            context |= {"answer": answer, "drawn": drawn}
        except RoslinError as error:
            status, refused = refusal_of(error)
            context["refusal"] = refused.error
    return HTMLResponse(rendered(library, "identify.html", **context), status)


def _work(
    library: Library, asked: IdentifyParams, sent: bytes, wait: Wait
) -> tuple[Identified, tuple[DrawnMatch, ...]]:
    """The answer, and its matches drawn."""
    answer = identify_source(library, asked, sent, wait)
    return answer, _drawn(answer)


def _drawn(answer: Identified) -> tuple[DrawnMatch, ...]:
    return tuple(_match(each, f"match-{number}-") for number, each in enumerate(answer.best, start=1))


def _match(best: BestMatch, prefix: str) -> DrawnMatch:
    return DrawnMatch(
        melody_figure(best.incipit, "the incipit", f"{prefix}incipit-", best.match.query_notes),
        melody_figure(best.melody, name_of(best.melody, "the source"), f"{prefix}source-", best.match.candidate_notes),
    )
