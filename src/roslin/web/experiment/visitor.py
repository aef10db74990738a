"""Who asks: the expert of a session, and what writing needs besides it.

Reading needs the session cookie, which other sites cannot read. Writing needs the form token of that session as well,
and must not come from another site (`web.forms`).

There is one cookie: the session, a full stop, and the language that somebody chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.responses import Response
from starlette.types import Scope

from roslin.errors import RoslinError
from roslin.web.experiment.study import OpenStudy
from roslin.web.forms import is_foreign, read_form
from roslin.web.security import address_of, household_of

COOKIE = "roslin_expert"
FORM_HEADER = "x-roslin-csrf"


class NoSessionError(RoslinError):
    """Nobody knows who asks: there is no session, or it is over."""


class ForgedError(RoslinError):
    """Something to be written that does not come from our own pages."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """An expert, by their session."""

    name: str
    session: str
    form: str  # the token that their forms carry
    language: str = ""  # that they chose


# These are coroutines though they wait for nothing: others would be run in a thread of their own each time.
async def served(request: Request) -> OpenStudy:
    """The study that is served."""
    return _study(request)


def _study(request: Request) -> OpenStudy:
    study: OpenStudy = request.app.state.study
    return study


# The study that is served.
Served = Annotated[OpenStudy, Depends(served)]


async def visitor(request: Request) -> Visitor:
    """Who asks, by the cookie. Refuses whoever has none."""
    found = visitor_or_none(request)
    if found is None:
        raise NoSessionError("you are not known here, or it was too long ago; please open your personal link again")
    return found


def visitor_or_none(request: Request) -> Visitor | None:
    """Who asks, if that is known."""
    signatures = _study(request).signatures
    session, _, language = request.cookies.get(COOKIE, "").partition(".")
    name = signatures.name_in_session(session)
    return None if name is None else Visitor(name, session, signatures.form(session), language)


# The expert who asks.
Visiting = Annotated[Visitor, Depends(visitor)]


def check_site(request: Request) -> None:
    """Refuse what another site sent."""
    if is_foreign(request, _study(request).settings.public_address):
        raise ForgedError("this was sent from another site; please use the pages of the study")


def check_form(request: Request, who: Visitor, token: str) -> None:
    """Refuse what does not come from a page of this session."""
    check_site(request)
    if not _study(request).signatures.is_form(who.session, token):
        raise ForgedError("this page is out of date; please open it again and repeat what you did")


async def read_own_form(request: Request, who: Visiting) -> FormData:
    """The fields of a form that a page of this session sent."""
    form = await read_form(request)
    check_form(request, who, str(form.get("csrf", "")))
    return form


def own_address(request: Request) -> str:
    """The address at which the server was asked."""
    return f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"


def begin_session(request: Request, response: Response, name: str, language: str = "") -> None:
    """Make the answer begin a new session."""
    keep_session(request, response, _study(request).signatures.new_session(name), language)


def keep_session(request: Request, response: Response, session: str, language: str) -> None:
    """Make the browser keep a session, and a language beside it: other tabs go on in the same session."""
    response.set_cookie(
        COOKIE,
        f"{session}.{language}" if language else session,
        max_age=_study(request).signatures.session_seconds,
        httponly=True,
        samesite="lax",
        secure=is_secure(request),
    )


def is_secure(request: Request) -> bool:
    """Whether people reach the server by https."""
    public = _study(request).settings.public_address
    return public.startswith("https:") or request.url.scheme == "https"


def end_session(response: Response) -> None:
    """Make the answer forget who asks."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


def client_of(study: OpenStudy, scope: Scope) -> str:
    """Whose rate counts: the expert's, or that of an address. A seminar has one address and many experts."""
    name = study.signatures.name_in_session(_cookies(scope).get(COOKIE, "").partition(".")[0])
    return f"expert {name}" if name else f"address {household_of(address_of(scope))}"


def _cookies(scope: Scope) -> Mapping[str, str]:
    return Request(scope).cookies
