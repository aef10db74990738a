"""Shared by all pages of a study: the visitor, the check of forms, the language, and templates.

Reading needs the session cookie, which other sites cannot read. Writing needs the form token of that session as well,
and must not come from another site.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.responses import Response
from starlette.types import Scope

from roslin.display.words import in_words
from roslin.errors import RoslinError
from roslin.web.experiment.study import OpenStudy
from roslin.web.language import Translation
from roslin.web.library import of_state
from roslin.web.rendering import page as filled
from roslin.web.rendering import path_here, static_address
from roslin.web.security import client_of
from roslin.web.sessions import OUT_OF_DATE, Session, Sessions, is_foreign, read_form

FORM_HEADER = "x-roslin-csrf"


class NoSessionError(RoslinError):
    """There is no session, or it is over."""


class ForgedError(RoslinError):
    """Something to be written that does not come from our own pages."""


def study_of(request: Request) -> OpenStudy:
    """The study that is served."""
    study: OpenStudy = request.app.state.study
    return study


async def visitor(request: Request) -> Session:
    """The session of the visitor; without one the request is refused."""
    if who := visitor_or_none(request):
        return who
    raise NoSessionError("your session has expired; please open your personal link again")


def visitor_or_none(request: Request) -> Session | None:
    """The session of the expert who asks, if there is one."""
    return study_of(request).participants.of(request.cookies)


Served = Annotated[OpenStudy, of_state("study")]
Visiting = Annotated[Session, Depends(visitor)]
AnyForm = Annotated[FormData, Depends(read_form)]


def check_site(request: Request) -> None:
    """Refuse what another site sent."""
    if is_foreign(request, study_of(request).settings.public_address):
        raise ForgedError("this was sent from another site; please use the pages of the study")


def check_form(request: Request, sessions: Sessions, who: Session, token: str) -> None:
    """Refuse what does not come from a page of this session."""
    check_site(request)
    if not sessions.is_form(who, token):
        raise ForgedError(OUT_OF_DATE)


async def _own_form(request: Request, who: Visiting) -> FormData:
    form = await read_form(request)
    check_form(request, study_of(request).participants, who, str(form.get("csrf", "")))
    return form


# The fields of a form that a page of this session sent.
OwnForm = Annotated[FormData, Depends(_own_form)]


def own_address(request: Request) -> str:
    """The address at which the server was asked."""
    return f"{request.url.scheme}://{request.headers.get('host', 'localhost')}{path_here()}"


def see(path: str) -> RedirectResponse:
    """Go on there, by GET."""
    return RedirectResponse(path, 303)


def keep_session(request: Request, response: Response, sessions: Sessions, session: Session) -> None:
    """Make the browser keep a session; by https alone, where people reach the server so."""
    public = study_of(request).settings.public_address
    sessions.remember(response, session, is_secure=public.startswith("https:") or request.url.scheme == "https")


def expert_or_address(study: OpenStudy, scope: Scope) -> str:
    """The client for limits of the rate: an expert, else an address. A seminar shares one address."""
    who = study.participants.of(Request(scope).cookies)
    return f"expert {who.name}" if who else f"address {client_of(scope)}"


def language_of(request: Request) -> str:
    """The language chosen in the session or, by visitors, in the address; else that of the browser, or the first."""
    study = study_of(request)
    who = visitor_or_none(request)
    chosen = request.query_params.get("language", "") if who is None else who.language
    return study.catalogues.best(chosen, request.headers.get("accept-language", ""))


def words_of(request: Request) -> Translation:
    """The words of the pages in the language of the reader."""
    return study_of(request).catalogues[language_of(request)]


def page(request: Request, template: str, **values: Any) -> str:
    """A template with these values and those of every page."""
    study, who, words = study_of(request), visitor_or_none(request), words_of(request)
    plan = study.plan
    with in_words(words):
        return filled(
            f"web/experiment/{template}",
            plan=plan,
            title=plan.text(plan.title, words.language),
            language=words.language,
            languages=study.catalogues.named,
            words=words.for_scripts(lambda name: name.startswith("trial")),
            text=lambda text: markdown(plan.text(text, words.language)),
            label=lambda text: plan.text(text, words.language),
            static=static_address,
            path=request.url.path,
            query=request.url.query,
            is_known=who is not None,
            csrf="" if who is None else who.form,
            **values,
        )


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup:
    """A text of the study as HTML. Tags in it are shown as text, and nothing is loaded from anywhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
    return Markup(reader.render(text))  # noqa: S704 - markdown-it escapes what it is given
