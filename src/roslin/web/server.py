"""The servers: uvicorn, one process or several, and the application for several collections.

Connections have limits, and the end is clean (`connections`). Each of several collections has its own path. There is a
page to choose one, and one search of all of them. E of a result there is the number of melodies as similar that chance
brings in all collections together: E in its own collection, times the melodies that were searched in all, divided by
those searched there. This takes the melodies of the other collections to be as varied as its own. The list of all is in
the order of this E, after the melodies with the same notes: a small collection cannot give them a small E.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import uvicorn
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field

from roslin.api import Collection
from roslin.errors import ArgumentError
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.run.meaning import BY_CHANCE, SAME_NOTES, meaning_of
from roslin.search.engines.emd import open_index
from roslin.web import pages
from roslin.web.answers import HealthAnswer, ResultAnswer
from roslin.web.app import OTHER_NAMES, Guarding, application, create_app
from roslin.web.connections import LAST_SECONDS, Connections, room_for
from roslin.web.errors import answer, or_refusal
from roslin.web.imprint import PAGES, Imprint, read_imprint
from roslin.web.language import InTheirLanguage
from roslin.web.library import Library, Wait, of_state, while_waited_for
from roslin.web.rendering import rendered, static_files
from roslin.web.requests import QueryParams, SearchParams
from roslin.web.search import Show, find
from roslin.web.settings import ServerSettings, Settings
from roslin.web.site import base_of, robots_below, sitemap_index

_PATIENCE = "timeout_worker_healthcheck"
_PAGE_CONNECTIONS = 1000  # of one process
_TURN_SECONDS = 0.001
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_LARGE_BYTES, _HEAPS = 2**18, 2

_OWN_PATHS = {"api", "healthz", "logo", "readyz", "robots.txt", "site.css", "sitemap.xml", "static", *PAGES}
_Settings = TypeVar("_Settings", bound=ServerSettings)


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve one collection, or several, until a signal ends it."""
    for each in settings.parts or (settings,):
        with Collection(each.collection) as collection:
            open_index(collection)  # once, before several processes would each make it
    run(_application, settings, "roslin.web.server:worker", _PAGE_CONNECTIONS, host, port, workers)


def worker() -> FastAPI:
    """The application of one of several processes."""
    prepare_process()
    return _application(Settings.from_environment())


def _application(settings: Settings) -> FastAPI:
    return create_several(settings) if settings.parts else create_app(settings)


def run(
    make: Callable[[_Settings], FastAPI],
    settings: _Settings,
    worker: str,
    connections: int,
    host: str,
    port: int,
    workers: int,
) -> None:
    """Serve an application with these settings in one process, or by the factory `worker` in several."""
    prepare_process()
    options = uvicorn_options(connections, settings.proxies) | {"host": host, "port": port}
    # SIGTERM is a normal end: when uvicorn has ended, it sends the signal again to the handler before its own.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if workers == 1:
        uvicorn.run(make(settings), **options)
    else:
        os.environ[settings.variable] = settings.to_environment()
        uvicorn.run(worker, factory=True, workers=workers, **options)


def uvicorn_options(connections: int, proxies: tuple[str, ...]) -> dict[str, Any]:
    """Options of uvicorn, for both applications. X-Forwarded-For counts only from `proxies`."""
    # By default, newer versions end a worker that does not answer for 5 seconds, as while it starts on a busy computer.
    patience = {_PATIENCE: 60} if _PATIENCE in signature(uvicorn.Config).parameters else {}
    return {
        **patience,
        "access_log": False,  # ours has the shape that we document
        "log_level": "warning",
        "server_header": False,
        "http": Connections(room_for(connections), proxies),
        "ws": "none",
        "timeout_graceful_shutdown": int(LAST_SECONDS) - 1,
        "timeout_keep_alive": 15,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
    }


def prepare_process() -> None:
    """Prepare a process for many clients: it logs to stderr, changes threads often, and gives memory back.

    Threads that answer must not wait for those that compute, so threads take turns five times as often as by default.
    glibc would keep the memory of large uploads, for each thread separately. It is set to give large pieces back at
    once and to have few heaps.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name in ("roslin.access", "roslin.web"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    sys.setswitchinterval(_TURN_SECONDS)
    with suppress(AttributeError, OSError, TypeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        library.mallopt(_M_ARENA_MAX, _HEAPS)


# -- several collections -----------------------------------------------------------------------------------------------


class Everywhere(QueryParams):
    """A search of all collections."""

    k: int = Field(default=20, ge=1, le=100, description="Results in all.")


class FoundAnswer(BaseModel):
    """A result, and the collection that has it."""

    path: str
    collection: str
    expected: float
    meaning: str
    result: ResultAnswer


@dataclass(frozen=True)
class Several:
    """The collections of a server by their paths; for pages, what they show of all of them."""

    settings: Settings
    imprint: Imprint | None
    libraries: Mapping[str, Library]
    has_concordances: bool = False

    @property
    def title(self) -> str:
        return ", ".join(library.title for library in self.libraries.values())

    @property
    def collection(self) -> range:
        """As many as there are melodies."""
        return range(sum(len(library.collection) for library in self.libraries.values()))

    def find(self, asked: Everywhere, wait: Wait) -> tuple[int, list[FoundAnswer]]:
        """The melodies that were searched, and the best results of all collections."""
        search = SearchParams(**asked.model_dump())
        lists = {path: find(library, search, wait, Show.page(search)) for path, library in self.libraries.items()}
        searched = sum(found.searched for found in lists.values())
        results = []
        for path, found in lists.items():
            for result in found.answer.results:
                expected = (result.expected or 0.0) * searched / found.searched
                meaning = SAME_NOTES if result.meaning == SAME_NOTES else meaning_of(expected)
                title = self.libraries[path].title
                each = FoundAnswer(path=path, collection=title, expected=expected, meaning=meaning, result=result)
                results.append(each)
        return searched, sorted(results, key=lambda each: (each.meaning != SAME_NOTES, each.expected))[: asked.k]


Served = Annotated[Several, of_state("library")]
Asked = Annotated[Everywhere, Query()]
router = APIRouter()


@router.get("/", include_in_schema=False)
async def start(request: Request, several: Served, asked: Asked) -> Response:
    """The collections to choose from; with a query, what all of them have."""
    status, context = 200, dict[str, Any](asked=asked, found=None, refusal=None)
    if not asked.is_empty:
        status, found = await or_refusal(while_waited_for(request, lambda wait: _drawn(several, asked, wait)))
        context |= found
    return HTMLResponse(rendered(several, "several.html", several=several, **context), status)


def _drawn(several: Several, asked: Everywhere, wait: Wait) -> dict[str, Any]:
    searched, found = several.find(asked, wait)
    figures = [pages.result_figure(each.result, f"result-{place}-") for place, each in enumerate(found, start=1)]
    line = next(
        (place for place, each in enumerate(found) if each.expected > BY_CHANCE and each.meaning != SAME_NOTES), 0
    )
    chosen = matcher(DEFAULT_MATCHER)
    return {"chosen": chosen, "searched": searched, "found": list(zip(found, figures, strict=True)), "line": line}


@router.get("/api/search")
async def search(request: Request, several: Served, asked: Asked) -> Response:
    """The best results of all collections."""
    searched, found = await while_waited_for(request, lambda wait: several.find(asked, wait))
    return JSONResponse({"searched": searched, "results": [each.model_dump() for each in found]})


@router.get("/healthz")
@router.get("/readyz")
async def healthz(several: Served, request: Request) -> HealthAnswer:
    """Whether all collections can be opened."""
    searching = sum([(await app.state.health.look()).searching for app in request.app.state.apps])
    return HealthAnswer(status="ok", melodies=len(several.collection), searching=searching)


@router.get("/robots.txt", include_in_schema=False)
def robots(request: Request, several: Served) -> Response:
    """Rules for crawlers, who read those of the whole host only."""
    return robots_below(request, ["", *(f"/{path}" for path in several.libraries)])


@router.get("/sitemap.xml", include_in_schema=False)
def sitemap(request: Request, several: Served) -> Response:
    """The parts of the sitemaps of all collections."""
    base = base_of(request)
    return sitemap_index({f"{base}/{path}": library for path, library in several.libraries.items()})


def create_several(settings: Settings) -> FastAPI:
    """The application for several collections."""
    for path in (paths := [each.path for each in settings.parts]):
        if path in _OWN_PATHS or paths.count(path) > 1:
            advice = "choose another path for it in [[collections]] of site.toml, or rename its folder"
            raise ArgumentError(f"the path /{path} of a collection is taken; {advice}")
    apps = {each.path: create_app(each) for each in settings.parts}
    imprint = read_imprint(Path(settings.site)) if settings.site else None

    guarding = Guarding(OTHER_NAMES, answer, inner=(InTheirLanguage,), embedded_by=settings.embed)
    app = application(settings, guarding, [router, pages.operators, static_files], nullcontext, below=apps)
    app.state.library = Several(settings, imprint, {path: each.state.library for path, each in apps.items()})
    app.state.apps = list(apps.values())
    return app
