"""Every error is answered in the one shape (`web.answers.Refusal`), on a page or as JSON.

Internal errors are logged, and the answer does not show them.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from roslin.display.text import problem_words, translated
from roslin.errors import (
    BusyError,
    CollectionError,
    NotationError,
    RoslinError,
    TimeLimitError,
    UnknownNameError,
    UnknownRecordError,
)
from roslin.web.answers import Refusal, refusal
from roslin.web.library import GoneError
from roslin.web.rendering import rendered

_LOG = logging.getLogger("roslin.web")
# Errors that another attempt may not meet: their status and code. 499 is only for the log.
_PASSING = ((BusyError, 503, "busy"), (GoneError, 499, "gone"), (TimeLimitError, 503, "time_limit"))
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "The request cannot be understood.",
        404: "There is no such melody.",
        413: "The body is too large.",
        422: "The query, or another parameter, was refused.",
        429: "Too many requests.",
        503: "The search took too long, too many search, or the collection cannot be read.",
    }.items()
}


def refusal_of(error: Exception) -> tuple[int, Refusal]:
    """(status, error in its shape) of what was raised."""
    if isinstance(error, NotationError):
        return 422, refusal(422, problem_words(error.problem), "notation", translated(error.problem))
    if isinstance(error, UnknownRecordError):
        return 404, refusal(404, str(error))
    if isinstance(error, UnknownNameError) and error.kind == "melody":
        return 404, refusal(404, f"there is no melody {error.name!r} in this collection")
    for kind, status, code in _PASSING:
        if isinstance(error, kind):
            return status, refusal(status, str(error), code)
    if isinstance(error, (CollectionError, sqlite3.Error)):
        _LOG.error("the collection cannot be read: %s", error)
        return 503, refusal(503, "the collection cannot be read at this moment", "collection")
    if isinstance(error, RoslinError):
        return 422, refusal(422, str(error))
    if isinstance(error, RequestValidationError):
        return 422, refusal(422, "; ".join(_complaint(one) for one in error.errors()), "parameter")
    if isinstance(error, HTTPException):
        return error.status_code, refusal(error.status_code, str(error.detail))
    _LOG.error("a request failed", exc_info=error)
    return 500, refusal(500, "something went wrong here; it is in the log")


async def or_refusal(work: Awaitable[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The status of a page and the values that some work gives it; if the work is refused, the refusal."""
    try:
        return 200, await work
    except RoslinError as error:
        status, refused = refusal_of(error)
        return status, {"refusal": refused.error}


def _complaint(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"][1:]) or str(error["loc"][0])
    return f"{where}: {error['msg']}"


async def answer(request: Request, error: Exception) -> Response:
    """An error in its shape: as a page for pages, as JSON for the API."""
    status, body = refusal_of(error)
    name = "_refusal.html" if request.url.path == "/results" else "refusal.html"
    page = partial(rendered, request.app.state.library, name, refusal=body.error, status=status)
    return answer_with(request, error, status, body.model_dump(), page, "30")


def answer_with(
    request: Request, error: Exception, status: int, body: dict[str, Any], page: Callable[[], str], retry_seconds: str
) -> Response:
    """The body for programs, the page for people; with the headers of the error."""
    headers = dict(getattr(error, "headers", None) or {})
    if status == 503:
        headers["Retry-After"] = retry_seconds
    if request.url.path.startswith(("/api/", "/reconcile", "/healthz", "/readyz")):
        return JSONResponse(body, status, headers)
    return HTMLResponse(page(), status, headers)
