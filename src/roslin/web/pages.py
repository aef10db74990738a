"""The pages, made on the server: they can be read, shared and printed without any script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from roslin.errors import RoslinError
from roslin.matchers import MATCHERS, TWV
from roslin.report.account import named_places
from roslin.report.flow import flow_svg, spelled
from roslin.search.explain import Explanation
from roslin.web.api import library_of
from roslin.web.asking import Asked, where_to
from roslin.web.examples import examples
from roslin.web.explaining import AskedExplanation, explained
from roslin.web.figures import figure
from roslin.web.finding import Found, find, link_to
from roslin.web.library import Library
from roslin.web.matching import kind_of, offered
from roslin.web.refusals import refusal_of
from roslin.web.telling import told, wants_to_be_told
from roslin.web.waiting import Wait, while_waited_for

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figures of the query and, by rank, of the results."""

    query: Markup
    results: dict[int, Markup]

    @property
    def is_engraved(self) -> bool:
        """Whether none of them had to be a piano roll."""
        return not any("<figcaption>" in drawn for drawn in (self.query, *self.results.values()))


@router.get("/")
async def start(request: Request, asked: Annotated[Asked, Query()]) -> Response:
    """The search page; with a query, its results too. A query that is refused stays in the form, to be mended."""
    status = 200
    try:
        context = await _searched(request, asked)
    except RoslinError as error:
        status, refused = refusal_of(error)
        context = {"asked": asked, "refusal": refused.error}
    shown = [*offered(), asked.matcher] if asked.matcher not in offered() else offered()
    context |= {
        "matchers": [(text, MATCHERS[text.partition("(")[0]]) for text in shown if text.partition("(")[0] in MATCHERS],
    }
    return _page(request, "search.html", context, status)


@router.get("/results")
async def results(request: Request, asked: Annotated[Asked, Query()]) -> Response:
    """Only the results, for a page that is there already; as lines with how far the search is, if it likes."""
    if asked.is_empty or not wants_to_be_told(request):
        return _page(request, "_results.html", await _searched(request, asked))
    templates = request.app.state.templates

    def page(answer: tuple[Found, Drawn]) -> str:
        found, drawn = answer
        html: str = templates.get_template("_results.html").render(asked=asked, found=found, drawn=drawn)
        return html

    def refused(error: Exception) -> str:
        _, body = refusal_of(error)
        html: str = templates.get_template("_refusal.html").render(refusal=body.error)
        return html

    return told(request, lambda wait: _work(library_of(request), asked, wait), page, refused)


@router.get("/explain")
def explain(request: Request, asked: Annotated[AskedExplanation, Query()]) -> Response:
    """Why a melody is as near as it is."""
    library = library_of(request)
    why = explained(library, asked)
    name = why.candidate.title or why.candidate.id or "the melody"
    explanation = why.match.explanation
    context = {
        "asked": asked,
        "why": why,
        "name": name,
        "matcher": repr(why.matcher),
        "summary": why.matcher.summary,
        "query_figure": figure(why.query, "the query", "query-", why.match.query_notes),
        "candidate_figure": figure(why.candidate, name, "candidate-", why.match.candidate_notes),
        "unmatched": _unmatched(explanation),
        "flow": Markup(flow_svg(explanation)) if explanation is not None else None,  # noqa: S704 - our own drawing
        "spelled": spelled,
        "names": named_places,
        "link": link_to(why.candidate, library.settings),
        "back": where_to(Asked(**asked.model_dump(exclude={"candidate"})), "/"),
    }
    return _page(request, "explain.html", context)


def _unmatched(explanation: Explanation | None) -> int:
    """How many segments pay the penalty, where distances of segments are simply added up."""
    if explanation is None or not isinstance(explanation.matcher, TWV) or not explanation.parts:
        return 0
    is_plain = explanation.matcher.score == "sum" and not explanation.matcher.both
    return explanation.expected - len(explanation.parts) if is_plain else 0


@router.get("/melodies/{id:path}")
def melody(request: Request, id: str) -> Response:
    """One melody."""
    library = library_of(request)
    found = library.collection[id]
    context = {
        "melody": found,
        "name": found.title or id,
        "figure": figure(found, found.title or id, "melody-"),
        "link": link_to(found, library.settings),
    }
    return _page(request, "melody.html", context)


@router.get("/about")
def about(request: Request) -> Response:
    """What the page does, the matchers, the API."""
    known = [(name, MATCHERS[name], kind_of(name)) for name in sorted(MATCHERS)]
    return _page(request, "about.html", {"known": known})


async def _searched(request: Request, asked: Asked) -> dict[str, Any]:
    """What the list of results needs."""
    library = library_of(request)
    context: dict[str, Any] = {"asked": asked, "found": None, "examples": examples()}
    if asked.is_empty:
        return context
    found, drawn = await while_waited_for(request, lambda wait: _work(library, asked, wait))
    return context | {"found": found, "drawn": drawn}


def _work(library: Library, asked: Asked, wait: Wait) -> tuple[Found, Drawn]:
    """A search, and its results drawn."""
    found = find(library, asked, wait)
    key = (library.collection.about["token"], "drawn", repr(asked))
    return found, library.kept(key, lambda: _drawn(found), lambda drawn: drawn.is_engraved)


def _drawn(found: Found) -> Drawn:
    """The query and the results as figures. The query shows what it shares with the first result."""
    figures = {
        result.rank: figure(
            result.melody,
            result.melody.title or result.melody.id or "a result",
            f"result-{result.rank}-",
            result.match.candidate_notes,
        )
        for result in found.results
    }
    shared = found.results[0].match.query_notes if found.results else ()
    return Drawn(figure(found.query, "the query", "query-", shared), figures)


def _page(request: Request, name: str, context: dict[str, Any], status: int = 200) -> Response:
    templates = request.app.state.templates
    found = context.get("found")
    headers = {"Server-Timing": found.timing} if found is not None else {}
    whole = {"library": library_of(request), **context}
    response: Response = templates.TemplateResponse(request, name, whole, status, headers)
    return response
