"""The one shape of errors: {"error": {"code", "message", "problem"}}.

`code` is a word for programs, `message` a sentence for people. `problem` is there for notation: reason, expected,
found, line and column (from 1; 0: none). What went wrong inside is logged and not told.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from roslin.errors import (
    CollectionError,
    NotationError,
    Problem,
    RoslinError,
    TimeLimitError,
    UnknownNameError,
    UnknownRecordError,
)
from roslin.web.library import BusyError, GoneError
from roslin.web.rendering import rendered
from roslin.web.schemas.refusals import Refusal, RefusalBody, RefusedNotation

_LOG = logging.getLogger("roslin.web")
_CLOSED = 499  # nobody reads it; it is for the log
_BY_STATUS = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "refused",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}

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


def refusal(status: int, message: str, code: str = "", problem: Problem | None = None) -> Refusal:
    """An error in its shape."""
    where = None if problem is None else RefusedNotation.model_validate(problem)
    return Refusal(error=RefusalBody(code=code or _BY_STATUS.get(status, "error"), message=message, problem=where))


def refusal_of(error: Exception) -> tuple[int, Refusal]:
    """(status, error in its shape) of what was raised."""
    if isinstance(error, NotationError):
        return 422, refusal(422, str(error), "notation", error.problem)
    if isinstance(error, UnknownRecordError):
        return 404, refusal(404, str(error))
    if isinstance(error, UnknownNameError) and error.kind == "melody":
        return 404, refusal(404, f"there is no melody {error.name!r} in this collection")
    if isinstance(error, BusyError):
        return 503, refusal(503, str(error), "busy")
    if isinstance(error, GoneError):
        return _CLOSED, refusal(_CLOSED, str(error), "gone")
    if isinstance(error, TimeLimitError):
        return 503, refusal(503, str(error), "time_limit")
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


def add_handlers(app: FastAPI) -> None:
    """Answer every error that is foreseen in its shape; `security.LastResort` answers the others."""
    for kind in (RoslinError, sqlite3.Error, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


def _complaint(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"][1:]) or str(error["loc"][0])
    return f"{where}: {error['msg']}"


async def answer(request: Request, error: Exception) -> Response:
    """An error in its shape: as a page for pages, as JSON for the API."""
    status, body = refusal_of(error)
    headers = dict(getattr(error, "headers", None) or {})
    if status == 503:
        headers["Retry-After"] = "30"
    if request.url.path.startswith(("/api/", "/healthz", "/readyz")):
        return JSONResponse(body.model_dump(), status_code=status, headers=headers)
    page = "_refusal.html" if request.url.path == "/results" else "refusal.html"
    html = rendered(request.app.state.library, page, refusal=body.error, status=status)
    return HTMLResponse(html, status_code=status, headers=headers)
