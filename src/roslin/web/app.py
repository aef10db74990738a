"""The application, put together: routes, guards, templates, static files, start and end."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.templating import Jinja2Templates
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from roslin.errors import RoslinError
from roslin.sandbox import shared_worker
from roslin.search.engine import DEFAULT_MATCHER
from roslin.web import api, pages
from roslin.web.asking import where_to
from roslin.web.guards import BodyLimit, LastResort, Log, OwnHost, RateLimit, SafeHeaders
from roslin.web.library import Library
from roslin.web.refusals import add_handlers
from roslin.web.settings import Settings

__all__ = ["app_from_environment", "create_app"]

_FOLDER = Path(str(files("roslin.web")))
_LOG = logging.getLogger("roslin.web")
_DAY = 86_400
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png"}
_ABOUT = """Search by melody. Errors have one shape, `{"error": {"code", "message", "problem"}}`; for notation,
`problem` says where it went wrong."""


def create_app(settings: Settings) -> FastAPI:
    """The application for one collection. It refuses a collection that cannot be opened, before anything is served."""
    library = Library(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        library.open()
        shared_worker().time_limit_seconds = settings.engraving_seconds
        if settings.warm_up:
            threading.Thread(target=_warm_up, args=(library,), daemon=True).start()
        yield
        library.close()
        shared_worker().close()

    app = FastAPI(
        title="Roslin",
        version=version("roslin"),
        description=_ABOUT,
        docs_url=None,  # FastAPI's own pages load from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.state.library = library
    app.state.templates = _templates()
    app.include_router(api.router)
    app.include_router(pages.router)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    add_handlers(app)
    # The last one added is the first to see a request.
    app.add_middleware(LastResort)
    app.add_middleware(BodyLimit, limit=settings.body_bytes)
    if settings.hosts:
        app.add_middleware(OwnHost, hosts=tuple(settings.hosts))
    if settings.requests_per_minute:
        app.add_middleware(RateLimit, per_minute=settings.requests_per_minute)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(SafeHeaders)
    if settings.log_requests:
        app.add_middleware(Log)
    return app


def app_from_environment() -> FastAPI:
    """The application of a worker process, which finds its settings in the environment."""
    return create_app(Settings.from_environment())


def _templates() -> Jinja2Templates:
    templates = Jinja2Templates(_FOLDER / "templates")
    environment = templates.env
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.globals.update(
        where_to=where_to, static=_address, roslin_version=version("roslin"), usual_matcher=DEFAULT_MATCHER
    )
    environment.filters["sentence"] = _sentence
    return templates


def _sentence(text: str) -> str:
    """A message of an error as a sentence on a page.

    >>> _sentence("there is no such file")
    'There is no such file.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


@cache
def _statics() -> dict[str, bytes]:
    """The static files by name, read once: no name from a request is ever a path."""
    found = {path.name: path.read_bytes() for path in (_FOLDER / "static").iterdir() if path.suffix in _TYPES}
    found["player.js"] = files("roslin.report").joinpath("player.js").read_bytes()
    return found


@cache
def _address(name: str) -> str:
    """Where a static file is, with a mark that changes when the file does."""
    return f"/static/{name}?v={hashlib.sha256(_statics()[name]).hexdigest()[:12]}"


def _static(request: Request, name: str) -> Response:
    if name not in _statics():
        raise HTTPException(404, "there is no such file")
    age = 365 * _DAY if "v" in request.query_params else 60
    kind = _TYPES[Path(name).suffix]
    return Response(_statics()[name], media_type=kind, headers={"Cache-Control": f"public, max-age={age}"})


def _warm_up(library: Library) -> None:
    """Search once, so that the first person does not wait for compilers and for the index."""
    from roslin.notation import pae

    query = pae.read("'4CDEFGABG")
    with suppress(RoslinError), library.slot():
        for name in dict.fromkeys((DEFAULT_MATCHER, "emd", "dp")):
            library.collection.search(query, name, 3)
    _LOG.info("ready")
