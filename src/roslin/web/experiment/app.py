"""The application of a study, put together: routes, guards, start and end."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Scope

from roslin.sandbox import shared_worker
from roslin.web.experiment.errors import add_study_handlers, study_answer
from roslin.web.experiment.routes import dashboard, pages, steps, trials
from roslin.web.experiment.settings import ExperimentSettings
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import client_of
from roslin.web import static_files as static
from roslin.web.security import POLICY, BodyLimit, HeadAsGet, LastResort, Log, OwnHost, RateLimit, SafeHeaders
from roslin.web.shutdown import Ending, UntilTheEnd

# Sounds of a study are its own files, and nobody is asked to sing.
_OTHER_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; media-src 'self'",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), midi=()",
}
# A page of an expert is never kept: going back must show what is true now, and not to whoever comes next.
_UNLESS_SET = {"Cache-Control": "no-store"}
_OTHER_NAMES = "start it with --public-address and the address that participants type"
_LAST_DRAWING_SECONDS = 1
_SECRET = re.compile(r"/(e|join)/.+", re.DOTALL)  # wherever it stands: people paste links badly


def create_app(settings: ExperimentSettings) -> FastAPI:
    """The application for one study. It refuses a folder that cannot be opened, before anything is served."""
    study, ending = OpenStudy(settings), Ending()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warming_up = threading.Thread(target=study.figures.warm_up, daemon=True)
        if settings.warm_up:
            warming_up.start()
        ending.await_signals()
        yield
        study.figures.stop()
        if settings.warm_up:
            warming_up.join(_LAST_DRAWING_SECONDS)
        study.close()
        shared_worker().close()

    app = FastAPI(title="Roslin", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.study = study
    for room in (pages, steps, trials, dashboard, static):
        app.include_router(room.router)
    add_study_handlers(app)
    # The last one added is the first to see a request.
    app.add_middleware(LastResort, answer=study_answer)
    app.add_middleware(BodyLimit, limit=settings.body_bytes)
    if settings.hosts:
        app.add_middleware(OwnHost, hosts=tuple(settings.hosts), advice=_OTHER_NAMES)
    if settings.requests_per_minute:
        limit = settings.requests_per_minute
        app.add_middleware(RateLimit, per_minute=limit, client_of=lambda scope: client_of(study, scope))
    app.add_middleware(UntilTheEnd, ending=ending)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(SafeHeaders, others=_OTHER_HEADERS, unless_set=_UNLESS_SET)
    app.add_middleware(HeadAsGet)
    if settings.log_requests:
        app.add_middleware(Log, about=_without_secrets)
    return app


def study_from_environment() -> FastAPI:
    """The application of a worker process, which finds its settings in the environment."""
    return create_app(ExperimentSettings.from_environment())


def _without_secrets(scope: Scope) -> Mapping[str, str]:
    """What of a request may be written down: neither who asks, nor what only they know."""
    return {"method": scope["method"], "path": _SECRET.sub(r"/\1/…", scope["path"])}
