"""Several collections in one server: each at its own path, a page to choose one, and one search of all of them.

E of a result is the number of melodies as similar that chance brings in all collections together: E in its own
collection, times the melodies that were searched in all, divided by those searched there. This takes the melodies of
the other collections to be as varied as its own. The list of all is in the order of this E,
after the melodies with the same notes: a small collection cannot give them a small E.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from markupsafe import Markup
from pydantic import BaseModel, Field

from roslin.errors import ArgumentError, RoslinError
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.report.flow import name_of
from roslin.report.player import melody_figure
from roslin.run.meaning import BY_CHANCE, SAME_NOTES, meaning_of
from roslin.web import pages, static_files
from roslin.web.answers import HealthAnswer, ResultAnswer
from roslin.web.app import OTHER_NAMES, Guarding, application, create_app
from roslin.web.errors import add_handlers, answer, refusal_of
from roslin.web.imprint import PAGES, Imprint, read_imprint
from roslin.web.language import InTheirLanguage
from roslin.web.library import Library, Wait, while_waited_for
from roslin.web.rendering import rendered
from roslin.web.requests import QueryParams, SearchParams
from roslin.web.search import Show, find
from roslin.web.settings import Settings
from roslin.web.site import base_of, robots_below, sitemap_index

_OWN_PATHS = {"api", "healthz", "logo", "readyz", "robots.txt", "site.css", "sitemap.xml", "static", *PAGES}


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


async def _several(request: Request) -> Several:
    several: Several = request.app.state.library
    return several


Served = Annotated[Several, Depends(_several)]
Asked = Annotated[Everywhere, Query()]
router = APIRouter()


@router.get("/", include_in_schema=False)
async def start(request: Request, several: Served, asked: Asked) -> Response:
    """The collections to choose from; with a query, what all of them have."""
    status, context = 200, dict[str, Any](asked=asked, found=None, refusal=None)
    if not asked.is_empty:
        try:
            context |= await while_waited_for(request, lambda wait: _drawn(several, asked, wait))
        except RoslinError as error:
            status, refused = refusal_of(error)
            context["refusal"] = refused.error
    return HTMLResponse(rendered(several, "several.html", several=several, **context), status)


def _drawn(several: Several, asked: Everywhere, wait: Wait) -> dict[str, Any]:
    searched, found = several.find(asked, wait)
    figures = [_figure(each.result, f"result-{place}-") for place, each in enumerate(found, start=1)]
    line = next(
        (place for place, each in enumerate(found) if each.expected > BY_CHANCE and each.meaning != SAME_NOTES), 0
    )
    chosen = matcher(DEFAULT_MATCHER)
    return {"chosen": chosen, "searched": searched, "found": list(zip(found, figures, strict=True)), "line": line}


def _figure(result: ResultAnswer, mark: str) -> Markup:
    notes = result.match.candidate_notes if result.match else []
    return melody_figure(result.melody, name_of(result.melody, "a result"), mark, notes)


@router.get("/api/search")
async def search(request: Request, several: Served, asked: Asked) -> Response:
    """The best results of all collections."""
    searched, found = await while_waited_for(request, lambda wait: several.find(asked, wait))
    return JSONResponse({"searched": searched, "results": [each.model_dump() for each in found]})


@router.get("/healthz")
@router.get("/readyz")
async def healthz(several: Served, request: Request) -> HealthAnswer:
    """Whether all collections can be opened."""
    looked = [await app.state.health.look() for app in request.app.state.apps]
    searching = sum(each.searching for each in looked)
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
    paths = [each.path for each in settings.parts]
    for path in paths:
        if path in _OWN_PATHS or paths.count(path) > 1:
            advice = "choose another path for it in [[collections]] of site.toml, or rename its folder"
            raise ArgumentError(f"the path /{path} of a collection is taken; {advice}")
    apps = {each.path: create_app(each) for each in settings.parts}
    imprint = read_imprint(Path(settings.site)) if settings.site else None

    @contextmanager
    def opened() -> Iterator[None]:
        yield

    guarding = Guarding(OTHER_NAMES, answer, inner=(InTheirLanguage,), embedded_by=settings.embed)
    app = application(settings, guarding, [router, pages.operators, static_files.router], opened, below=apps)
    app.state.library = Several(settings, imprint, {path: each.state.library for path, each in apps.items()})
    app.state.apps = list(apps.values())
    add_handlers(app)
    return app
