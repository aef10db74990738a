"""The pages, made on the server: they can be read, shared and printed without any script."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from roslin.errors import ArgumentError, RoslinError
from roslin.matchers import Matcher, matcher, matchers
from roslin.report.flow import flow_svg, name_of
from roslin.report.player import melody_figure
from roslin.represent.words import places_named
from roslin.run.meaning import MEANINGS
from roslin.search.agreement import COINCIDING
from roslin.starter import tunes_path
from roslin.web.answers import RefusalBody, ResultAnswer, written
from roslin.web.errors import or_refusal, refusal_of
from roslin.web.library import GoneError, Library, Opened, Wait, as_lines, wants_lines, while_waited_for
from roslin.web.listing import Browsed, browse
from roslin.web.lists import as_text
from roslin.web.rendering import rendered
from roslin.web.requests import ExplainParams, SearchParams, SideParams, offered, query_of, where_to
from roslin.web.search import Found, Show, find, found_as, query_used
from roslin.web.search import explain as explained
from roslin.web.sentences import expected_number
from roslin.web.site import CARD, FILES, base_of, card_of, formats_of, linked_answer, page_of, wants_linked_data

_CHOSEN = ("roslin-castle", "greensleeves", "auld-lang-syne", "ode-to-joy", "la-folia", "frere-jacques")
_BARS = 4
_SHORTLY = {"Cache-Control": "public, max-age=300"}


@dataclass(frozen=True, slots=True)
class Example:
    """A name that people know, and how the tune begins, in Plaine & Easie."""

    name: str
    q: str


@cache
def examples() -> tuple[Example, ...]:
    """A few well-known tunes, in this order."""
    with tunes_path().open(encoding="utf-8") as lines:
        tunes = {tune["id"]: tune for tune in map(json.loads, lines)}
    found = []
    for tune in map(tunes.__getitem__, _CHOSEN):
        key, bars = f"${tune['keysig']}" if tune["keysig"] else "", tune["pae"].split("/")[:_BARS]
        q = f"%{tune['clef']}@{tune['timesig']}{key} {'/'.join(bars)}/"
        found.append(Example(tune["title"].partition(" (")[0], q))
    return tuple(found)


router, operators = APIRouter(include_in_schema=False), APIRouter(include_in_schema=False)

_MOST_METHODS = 3  # side by side


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figures of the query and, by rank, of the results."""

    query: Markup
    results: dict[int, Markup]

    @property
    def is_engraved(self) -> bool:
        """Whether none of them had to be a piano roll."""
        return not any("<figcaption>" in drawn for drawn in (self.query, *self.results.values()))


@dataclass(frozen=True, slots=True)
class Column:
    """The results of one method, or its refusal. `others` has, by id, the columns (from 1) that have a result too."""

    name: str
    matcher: Matcher | None
    found: Found | None
    refusal: RefusalBody | None
    others: dict[str, list[int]] = field(default_factory=dict)

    @property
    def results(self) -> list[ResultAnswer]:
        return self.found.answer.results if self.found else []


@router.get("/")
async def start(request: Request, library: Opened, asked: Annotated[SearchParams, Query()]) -> Response:
    """The search page; with a query, its results too. A query that is refused stays in the form, to be mended."""
    status, found = await or_refusal(_searched(request, library, asked))
    context = {**_nothing_yet(asked), **found, "matchers": _shown_matchers(asked.matcher)}
    return _page(library, "search.html", context, status)


@router.get("/results")
async def results(request: Request, library: Opened, asked: Annotated[SearchParams, Query()]) -> Response:
    """Only the results, for a page that is there already; as lines with how far the search is, if it likes."""
    if asked.is_empty or not wants_lines(request):
        return _page(library, "_results.html", _nothing_yet(asked) | await _searched(request, library, asked))

    def page(answer: tuple[Found, Drawn]) -> str:
        found, drawn = answer
        return rendered(library, "_results.html", **_nothing_yet(asked) | {"found": found, "drawn": drawn})

    def refused(error: Exception) -> str:
        return rendered(library, "_refusal.html", refusal=refusal_of(error)[1].error)

    return as_lines(request, lambda wait: _work(library, asked, wait), page, refused)


@router.get("/side-by-side")
async def side_by_side(request: Request, library: Opened, asked: Annotated[SideParams, Query()]) -> Response:
    """The results of several matchers for the same query."""
    methods = _shown_matchers(asked.matcher)
    if asked.is_empty:
        return _page(library, "side_by_side.html", {"asked": asked, "columns": [], "query": None, "methods": methods})
    context = await while_waited_for(request, lambda wait: _side_by_side(library, asked, wait))
    return _page(library, "side_by_side.html", {"asked": asked, "methods": methods, **context})


@router.get("/explain")
def explain(library: Opened, asked: Annotated[ExplainParams, Query()]) -> Response:
    """The explanation of a match."""
    query, readings = query_used(library, asked)
    why = explained(library, asked, query)
    hit = found_as(library, asked, why, readings)
    if hit is not None and hit.coincides:
        why = explained(library, asked.model_copy(update={"matcher": COINCIDING.name}), query)
    name = name_of(why.candidate, "the melody")
    context = {
        "asked": asked,
        "why": why,
        "expected": hit.expected if hit else None,
        "meaning": hit.meaning if hit else "",
        "same": hit.same if hit else 0,
        "name": name,
        "query_figure": melody_figure(why.query, "the query", "query-", why.query_notes),
        "candidate_figure": melody_figure(why.candidate, name, "candidate-", why.candidate_notes),
        "flow": flow_svg(why),
        "names": places_named,
        "link": library.settings.link_to(why.candidate),
        "back": where_to(SearchParams(**asked.model_dump(exclude={"candidate"})), "/"),
    }
    return _page(library, "explain.html", context)


@router.get("/melodies/{id:path}")
def melody(request: Request, library: Opened, id: str) -> Response:
    """One melody; as linked data, if the client prefers it."""
    found, base = library.collection[id], base_of(request)
    if wants_linked_data(request):
        return linked_answer(library, found, base)
    name, link = found.title or id, library.settings.link_to(found)
    context = {
        "melody": found,
        "name": name,
        "figure": melody_figure(found, name, "melody-"),
        "written": written(found),
        "link": link,
        "manifest": library.settings.manifest_of(found),
        "citation": as_text(found, link),
        "files": {format: FILES[format] for format in formats_of(found)},
        "canonical": page_of(base, id),
        "picture": card_of(base, id) if len(found) else "",
        "picture_size": CARD,
    }
    response = _page(library, "melody.html", context)
    response.headers["Vary"] = "Accept"
    return response


@router.get("/about")
def about(library: Opened) -> Response:
    """The page About: the search page, the matchers, the API."""
    limits = {label: expected_number(most) for most, label in MEANINGS}
    return _page(library, "about.html", {"known": [matcher(name) for name in matchers()], "limits": limits})


@operators.get("/imprint")
@operators.get("/privacy")
@operators.get("/accessibility")
def operator(request: Request, library: Opened) -> Response:
    """A page of the operator of the site."""
    page = request.url.path[1:]
    if library.imprint is None or page not in library.imprint.pages:
        raise HTTPException(404, "there is no such page")
    return _page(library, "operator.html", {"page": page})


@operators.get("/site.css")
def style(library: Opened) -> Response:
    """The colours of the site."""
    return Response(library.imprint.style if library.imprint else "", media_type="text/css", headers=_SHORTLY)


@operators.get("/logo")
def logo(library: Opened) -> Response:
    """The logo of the site."""
    if library.imprint is None or not library.imprint.logo:
        raise HTTPException(404, "there is no such file")
    return Response(library.imprint.logo, media_type=library.imprint.logo_type, headers=_SHORTLY)


def _nothing_yet(asked: SearchParams) -> dict[str, Any]:
    return {"asked": asked, "found": None, "browsed": None, "drawn": None, "refusal": None, "examples": examples()}


async def _searched(request: Request, library: Library, asked: SearchParams) -> dict[str, Any]:
    if asked.is_browsing:
        browsed, figures = await while_waited_for(request, lambda _: _browse(library, asked))
        return {"browsed": browsed, "figures": figures}
    if asked.is_empty:
        return {}
    found, drawn = await while_waited_for(request, lambda wait: _work(library, asked, wait))
    return {"found": found, "drawn": drawn}


def _work(library: Library, asked: SearchParams, wait: Wait) -> tuple[Found, Drawn]:
    found = find(library, asked, wait, Show.page(asked))
    key = (library.collection.about["token"], "drawn", repr(asked))
    return found, library.kept(key, lambda: _drawn(found), lambda drawn: drawn.is_engraved and found.is_complete)


def _browse(library: Library, asked: SearchParams) -> tuple[Browsed, list[Markup]]:
    browsed = browse(library, asked)
    return browsed, [
        melody_figure(each.melody, name_of(each.melody, "a melody"), f"melody-{place}-")
        for place, each in enumerate(browsed.answer.melodies, start=browsed.first)
    ]


def _side_by_side(library: Library, asked: SideParams, wait: Wait) -> dict[str, Any]:
    found = columns(library, asked, wait)
    shown = {
        (place, result.rank): result_figure(result, f"side-{place}-{result.rank}-")
        for place, column in enumerate(found)
        for result in column.results
    }
    first = next((column.found for column in found if column.found), None)
    query = first.query if first else query_of(asked, library.collection, library.settings)
    drawn = melody_figure(query, "the query", "query-")
    return {"columns": found, "figures": shown, "query": query, "drawn": drawn}


def columns(library: Library, asked: SideParams, wait: Wait) -> list[Column]:
    """A column for each method, each named once."""
    names = list(dict.fromkeys(filter(None, asked.methods)))
    if not 1 <= len(names) <= _MOST_METHODS:
        raise ArgumentError(f"at most {_MOST_METHODS} matchers can be compared side by side; got {len(names)}")
    answers = [_column(library, asked, name, wait) for name in names]
    listed = [{result.id for result in answer.results} for answer in answers]
    for place, (answer, own) in enumerate(zip(answers, listed, strict=True)):
        for other, ids in enumerate(listed):
            for id in ids & own if other != place else ():
                answer.others.setdefault(id, []).append(other + 1)
    return answers


def _column(library: Library, asked: SideParams, name: str, wait: Wait) -> Column:
    known = None
    try:
        known = matcher(name)
        return Column(name, known, find(library, asked.only_search(matcher=name), wait), None)
    except GoneError:
        raise
    except RoslinError as error:
        return Column(name, known, None, refusal_of(error)[1].error)


def _drawn(found: Found) -> Drawn:
    """The query and the results as figures. The query shows what it shares with the first result."""
    results = found.answer.results
    figures = {result.rank: result_figure(result, f"result-{result.rank}-") for result in results}
    shared = results[0].match.query_notes if results and results[0].match else ()
    return Drawn(melody_figure(found.query, "the query", "query-", shared), figures)


def result_figure(result: ResultAnswer, mark: str) -> Markup:
    """A result in notation, with the notes that match."""
    notes = result.match.candidate_notes if result.match else []
    return melody_figure(result.melody, name_of(result.melody, "a result"), mark, notes)


def _shown_matchers(asked: str) -> list[tuple[str, Matcher]]:
    """The matchers to choose from, and the one that was asked for, if there is such a one."""
    shown = {text: matcher(text) for text in offered()}
    if asked not in shown:
        with suppress(RoslinError):  # shown elsewhere on the page
            shown[asked] = matcher(asked)
    return list(shown.items())


def _page(library: Library, template: str, context: dict[str, Any], status: int = 200) -> Response:
    found = context.get("found")
    headers = {"Server-Timing": found.timing} if found is not None else {}
    return HTMLResponse(rendered(library, template, **context), status, headers)
