"""What went wrong: for people as a page in their language, for programs in the one shape of errors."""

from __future__ import annotations

import logging
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from roslin.errors import DecisionError, NotKeptError, RoslinError, UnknownExpertError, UnknownNameError
from roslin.web.errors import refusal_of
from roslin.web.experiment.rendering import page
from roslin.web.experiment.visitor import ForgedError, NoSessionError

_LOG = logging.getLogger("roslin.web")
_RETRY_SECONDS = "3"


class UnfinishedError(DecisionError):
    """A trial that cannot be finished yet; `missing` has the numbers of the candidates that are still to be judged."""

    def __init__(self, message: str, missing: list[int]):
        super().__init__(message)
        self.missing = missing


def _refused(error: Exception) -> tuple[int, str, str]:
    """(status, code, message)."""
    match error:
        case NoSessionError() | UnknownExpertError():
            return 401, "no_session", "you are not known here; please open your personal link again"
        case ForgedError():
            return 403, "forged", str(error)
        case DecisionError():
            return 409, "not_allowed", str(error)
        case NotKeptError() | sa.exc.DBAPIError() | sa.exc.TimeoutError():
            _LOG.error("the database: %s", error)
            return 503, "not_kept", "the server cannot keep anything at this moment, and kept nothing of this"
        case UnknownNameError() | HTTPException(status_code=404):
            return 404, "not_found", "there is no such page"
        case _:
            status, body = refusal_of(error)
            return status, body.error.code, body.error.message


async def study_answer(request: Request, error: Exception) -> Response:
    """An error in its shape: as a page for pages, as JSON for programs."""
    status, code, message = _refused(error)
    headers = dict(getattr(error, "headers", None) or {})
    if status == 503:
        headers["Retry-After"] = _RETRY_SECONDS
    if request.url.path.startswith(("/api/", "/healthz")):
        body: dict[str, Any] = {"error": {"code": code, "message": message, "problem": None}}
        if isinstance(error, UnfinishedError):
            body["missing"] = body["error"]["missing"] = error.missing
        return JSONResponse(body, status_code=status, headers=headers)
    return HTMLResponse(page(request, "refusal.html", status=status, code=code), status, headers)


def add_study_handlers(app: FastAPI) -> None:
    """Answer every error that is foreseen; `LastResort` answers the others."""
    for kind in (RoslinError, sa.exc.SQLAlchemyError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, study_answer)
