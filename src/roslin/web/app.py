"""The application: routes, guards, start and end. The search page and the page of a study are made by one factory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Scope

from roslin.errors import RoslinError
from roslin.sandbox import shared_worker
from roslin.web import api, concordances, identify, lists, pages, reconcile, site
from roslin.web.connections import Ending, Patience, UntilTheEnd
from roslin.web.errors import answer
from roslin.web.language import InTheirLanguage
from roslin.web.library import Health, Library
from roslin.web.readers import READERS
from roslin.web.rendering import UnderPath, static_files
from roslin.web.security import (
    Answer,
    BodyLimit,
    Guard,
    HeadAsGet,
    LastResort,
    Log,
    OwnHost,
    RateLimit,
    SafeHeaders,
    client_and_path,
    client_of,
)
from roslin.web.sessions import Reviewers
from roslin.web.settings import ServerSettings, Settings

OTHER_NAMES = "to open it to others, start it with --host 0.0.0.0, or with --proxy ADDRESS behind a reverse proxy"
_ABOUT = """Search by melody. Errors have one shape, `{"error": {"code", "message", "problem"}}`; for notation,
`problem` says where it went wrong."""


@dataclass(frozen=True)
class Guarding:
    """How the guards of two applications differ.

    `advice`: the option for another host name. `answer`: how an error is answered. `headers` replace or extend those of
    `SafeHeaders`, `unless_set` are for answers that do not have them. `client_of`: whose rate counts. `about`: what of
    a request is logged. `inner`: the guards next to the routes.
    """

    advice: str
    answer: Answer
    headers: Mapping[str, str] = field(default_factory=dict)
    unless_set: Mapping[str, str] = field(default_factory=dict)
    client_of: Callable[[Scope], str] = client_of
    about: Callable[[Scope], Mapping[str, str]] = client_and_path
    inner: tuple[type[Guard], ...] = ()
    embedded_by: tuple[str, ...] = ()


def application(
    settings: ServerSettings,
    guarding: Guarding,
    routers: Iterable[APIRouter],
    opened: Callable[[], AbstractContextManager[None]],
    below: Mapping[str, FastAPI] | None = None,
    **described: Any,
) -> FastAPI:
    """An application with these routes, behind all guards; `opened` is entered at its start and left at its end.

    The applications `below` their paths start and end with it, and have their own guards.
    """
    ending = Ending()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in (below or {}).values():
                await stack.enter_async_context(each.router.lifespan_context(each))
            with opened():
                ending.await_signals()
                yield
        shared_worker().close()

    app = FastAPI(
        title="Roslin",
        docs_url=None,  # FastAPI's own pages load from elsewhere
        redoc_url=None,
        openapi_url=None,  # FastAPI would write it again for each request
        lifespan=lifespan,
        **described,
    )
    for router in routers:
        app.include_router(router)
    for kind in (RoslinError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, guarding.answer)
    # The last one added is the first to see a request. `LastResort` answers all other errors.
    app.add_middleware(LastResort, answer=guarding.answer)
    for guard in guarding.inner:
        app.add_middleware(guard)
    app.add_middleware(BodyLimit, limit=settings.body_bytes)
    if settings.hosts:
        app.add_middleware(OwnHost, hosts=tuple(settings.hosts), advice=guarding.advice)
    if settings.requests_per_minute:
        app.add_middleware(RateLimit, per_minute=settings.requests_per_minute, client_of=guarding.client_of)
    app.add_middleware(UntilTheEnd, ending=ending)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(
        SafeHeaders, others=guarding.headers, unless_set=guarding.unless_set, origins=guarding.embedded_by
    )
    app.add_middleware(HeadAsGet)
    if settings.log_requests:
        app.add_middleware(Log, about=guarding.about)
    app.add_middleware(Patience)
    if settings.proxies or settings.root_path or below:
        app.add_middleware(UnderPath, path=settings.root_path, below=below)
    return app


def create_app(settings: Settings) -> FastAPI:
    """The application for one collection. It refuses a collection that cannot be opened, before anything is served."""
    library = Library(settings)
    state = Health(library)

    @contextmanager
    def opened() -> Iterator[None]:
        library.open()
        shared_worker().time_limit_seconds = settings.engraving_seconds
        state.open()
        yield
        state.close()
        library.close()
        READERS.close()

    app = application(
        settings,
        Guarding(OTHER_NAMES, answer, inner=(InTheirLanguage,), embedded_by=settings.embed),
        [
            *(room.router for room in (api, identify, lists, pages, reconcile, concordances, site)),
            pages.operators,
            static_files,
        ],
        opened,
        version=version("roslin"),
        description=_ABOUT,
        separate_input_output_schemas=False,
    )
    app.state.library, app.state.health = library, state
    app.state.shelf, app.state.door = concordances.Shelf(library), Reviewers(settings)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """Serve the OpenAPI document, which is written once."""
    written, one_at_a_time = cache(lambda: json.dumps(app.openapi()).encode()), Lock()

    @app.get("/api/openapi.json", include_in_schema=False)
    def document() -> Response:
        with one_at_a_time:
            return Response(written(), media_type="application/json")
