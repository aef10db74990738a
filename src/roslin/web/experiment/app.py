"""The application of a study: routes, guards, errors, start and end, and its server."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from roslin.errors import DecisionError, NotKeptError, UnknownExpertError, UnknownNameError
from roslin.web.answers import refusal
from roslin.web.app import Guarding, application
from roslin.web.errors import answer_with, refusal_of
from roslin.web.experiment import dashboard, participants, trials
from roslin.web.experiment.pages import ForgedError, NoSessionError, expert_or_address, page
from roslin.web.experiment.study import ExperimentSettings, OpenStudy
from roslin.web.experiment.trials import UnfinishedError
from roslin.web.rendering import static_files
from roslin.web.security import POLICY
from roslin.web.server import prepare_process, run

_LOG = logging.getLogger("roslin.web")
_EXPERT_CONNECTIONS = 4000  # a thousand experts, each with a page that loads several files at once
_RETRY_SECONDS = "3"
# Sounds of a study are its own files, and there is no singing.
_OTHER_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; media-src 'self'",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), midi=()",
}
# A participant's page is never cached: going back must show the current state, and not to the next person.
_UNLESS_SET = {"Cache-Control": "no-store"}
_OTHER_NAMES = "start it with --public-address and the address that participants type"
_LAST_DRAWING_SECONDS = 1
_SECRET = re.compile(r"/(e|join)/.+", re.DOTALL)  # at any place: people paste links badly


def create_app(settings: ExperimentSettings) -> FastAPI:
    """The application for one study. It refuses a folder that cannot be opened, before anything is served."""
    study = OpenStudy(settings)

    @contextmanager
    def opened() -> Iterator[None]:
        warming_up = threading.Thread(target=study.figures.warm_up, daemon=True)
        if settings.warm_up:
            warming_up.start()
        yield
        study.figures.stop()
        if settings.warm_up:
            warming_up.join(_LAST_DRAWING_SECONDS)
        study.close()

    guarding = Guarding(
        _OTHER_NAMES,
        study_answer,
        headers=_OTHER_HEADERS,
        unless_set=_UNLESS_SET,
        client_of=lambda scope: expert_or_address(study, scope),
        about=_without_secrets,
    )
    routers = [participants.router, trials.router, dashboard.doors, dashboard.rooms, static_files]
    app = application(settings, guarding, routers, opened)
    app.state.study = study
    return app


def _without_secrets(scope: Scope) -> Mapping[str, str]:
    """The parts of a request that may be logged: neither the person nor their secrets."""
    return {"method": scope["method"], "path": _SECRET.sub(r"/\1/…", scope["path"])}


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
    body = refusal(status, message, code).model_dump()
    if isinstance(error, UnfinishedError):
        body["missing"] = body["error"]["missing"] = error.missing
    shown = partial(page, request, "refusal.html", status=status, code=code)
    return answer_with(request, error, status, body, shown, _RETRY_SECONDS)


def serve_study(settings: ExperimentSettings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal ends it."""
    run(create_app, settings, "roslin.web.experiment.app:worker", _EXPERT_CONNECTIONS, host, port, workers)


def worker() -> FastAPI:
    """The application of one of several processes."""
    prepare_process()
    return create_app(ExperimentSettings.from_environment())
