"""Trials as JSON, for the page of a trial and for simulated experts."""

from __future__ import annotations

import asyncio
import mimetypes
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import ValidationError

from roslin.errors import DecisionError, UnknownNameError
from roslin.web.experiment.rendering import language_of
from roslin.web.experiment.schemas import DECISIONS_READER, FinishBody
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.trials import decided, ended, state_in_numbers
from roslin.web.experiment.visitor import FORM_HEADER, Served, Visiting, check_form, visitor

router = APIRouter()


@router.get("/api/trials/{trial}")
def state(study: Served, who: Visiting, trial: int) -> Response:
    """A trial as it stands."""
    return JSONResponse(state_in_numbers(study, who, trial))


async def decisions(request: Request) -> Response:
    """Keep decisions. Those that are kept already are acknowledged again.

    Nearly every request is this one, so it goes the short way: FastAPI's own takes as long again as all the rest.
    """
    who = await visitor(request)
    check_form(request, who, request.headers.get(FORM_HEADER, ""))
    try:
        sent = DECISIONS_READER.validate_json(await request.body())
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found]) from None
    study: OpenStudy = request.app.state.study
    return JSONResponse(await run_in_threadpool(decided, study, who, request.path_params["trial"], sent))


router.add_route("/api/trials/{trial:int}/decisions", decisions, methods=["POST"])


@router.post("/api/trials/{trial}/finish")
def finish(request: Request, study: Served, who: Visiting, trial: int, sent: FinishBody) -> Response:
    """Finish a trial."""
    check_form(request, who, request.headers.get(FORM_HEADER, ""))
    return JSONResponse(ended(study, who, trial, sent))


@router.get("/api/trials/{trial}/differences")
def differences(request: Request, study: Served, who: Visiting, trial: int, first: str, second: str) -> Response:
    """Two melodies of a trial with their differences marked, in a study that shows them."""
    if not study.plan.rules.differences:
        raise DecisionError("this study shows no differences; set design.differences to allow them")
    shown = study.shown(who.name, trial)
    items = shown.item(first), shown.item(second)
    if not all(item.is_melody for item in items):
        raise UnknownNameError("melody", "", [])
    one, two = study.figures.differences(*items, (first, second), language_of(request))
    return JSONResponse({"first": one, "second": two})


@router.get("/trials/{trial}/{place}/{kind}")
def file(study: Served, who: Visiting, trial: int, place: str, kind: Literal["picture", "sound"]) -> Response:
    """The picture or the sound of what is no melody."""
    item = study.shown(who.name, trial).item(place)
    name: str = getattr(item, kind)
    if not name:
        raise UnknownNameError(kind, place, [])
    found = study.folder.file(name)
    media_type = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    # What the file is called on the disk stays there.
    return FileResponse(found, media_type=media_type, headers={"Cache-Control": "private, max-age=3600"})


# The state of health has a thread of its own: it does not wait behind a thousand people.
_HEALTH = ThreadPoolExecutor(1, "health")


@router.get("/healthz")
async def health(study: Served) -> dict[str, Any]:
    """Whether the database answers."""
    status = await asyncio.get_running_loop().run_in_executor(_HEALTH, lambda: study.store.status)
    return {"status": "ok", "study": status}
