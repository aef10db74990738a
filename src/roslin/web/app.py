"""The application, put together: routes, guards, start and end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from threading import Lock

from fastapi import FastAPI, Response
from starlette.middleware.gzip import GZipMiddleware

from roslin.sandbox import shared_worker
from roslin.web.errors import add_handlers
from roslin.web.health import Health
from roslin.web.library import Library
from roslin.web.negotiation import InTheirLanguage
from roslin.web.readers import shared_readers
from roslin.web.reviewers import Door
from roslin.web.routes import api, concordances, identify, lists, pages, static
from roslin.web.routes import health as health_routes
from roslin.web.security import BodyLimit, HeadAsGet, LastResort, Log, OwnHost, RateLimit, SafeHeaders
from roslin.web.settings import Settings
from roslin.web.shelf import Shelf
from roslin.web.shutdown import Ending, UntilTheEnd

_OTHER_NAMES = "to open it to others, start it with --host 0.0.0.0, or with --proxy ADDRESS behind a reverse proxy"
_ABOUT = """Search by melody. Errors have one shape, `{"error": {"code", "message", "problem"}}`; for notation,
`problem` says where it went wrong."""


def create_app(settings: Settings) -> FastAPI:
    """The application for one collection. It refuses a collection that cannot be opened, before anything is served."""
    library, ending = Library(settings), Ending()
    health = Health(library)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        library.open()
        shared_worker().time_limit_seconds = settings.engraving_seconds
        health.open()
        ending.await_signals()
        if settings.warm_up:
            health.warm_up()
        yield
        health.close()
        library.close()
        shared_worker().close()
        shared_readers().close()

    app = FastAPI(
        title="Roslin",
        version=version("roslin"),
        description=_ABOUT,
        docs_url=None,  # FastAPI's own pages load from elsewhere
        redoc_url=None,
        openapi_url=None,  # `_describe`: FastAPI writes it anew for each request
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.state.library, app.state.health = library, health
    app.state.shelf, app.state.door = Shelf(library), Door(settings)
    for room in (api, health_routes, identify, lists, pages, concordances, static):
        app.include_router(room.router)
    _describe(app)
    add_handlers(app)
    # The last one added is the first to see a request.
    app.add_middleware(LastResort)
    app.add_middleware(InTheirLanguage)
    app.add_middleware(BodyLimit, limit=settings.body_bytes)
    if settings.hosts:
        app.add_middleware(OwnHost, hosts=tuple(settings.hosts), advice=_OTHER_NAMES)
    if settings.requests_per_minute:
        app.add_middleware(RateLimit, per_minute=settings.requests_per_minute)
    app.add_middleware(UntilTheEnd, ending=ending)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(SafeHeaders)
    app.add_middleware(HeadAsGet)
    if settings.log_requests:
        app.add_middleware(Log)
    return app


def _describe(app: FastAPI) -> None:
    """Serve the OpenAPI document, which is written once."""
    written, one_at_a_time = cache(lambda: json.dumps(app.openapi()).encode()), Lock()

    @app.get("/api/openapi.json", include_in_schema=False)
    def document() -> Response:
        with one_at_a_time:
            return Response(written(), media_type="application/json")


def app_from_environment() -> FastAPI:
    """The application of a worker process, which finds its settings in the environment."""
    return create_app(Settings.from_environment())
