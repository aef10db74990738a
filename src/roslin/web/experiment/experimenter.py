"""The experimenter, by the secret of the study: a session of their own, few attempts, and a lock for all their pages.

A session is a cookie that no other site can make a browser send (SameSite=Strict), signed with the key of the study and
bound to its secret: another secret ends all sessions. `LockedRoute` stands before every page of the dashboard, so none
can be forgotten: without a session it answers 401 with the form that asks for the secret, and whatever writes must
carry the token of its session.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.responses import Response

from roslin.display.templates import render
from roslin.web.attempts import Attempts
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import ForgedError, check_site, is_secure
from roslin.web.forms import read_form
from roslin.web.static_files import address

COOKIE = "roslin_study"
_HOURS = 12
_SESSION = re.compile(r"([0-9]{1,12}-[0-9a-f]{32})-([A-Za-z0-9_-]{22})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Experimenter:
    """Who runs the study, by their session."""

    session: str
    form: str  # the token that their forms carry


def attempts_at(request: Request) -> Attempts:
    """The attempts at the secret of the study that is served."""
    state = request.app.state
    if not hasattr(state, "attempts"):
        state.attempts = Attempts()
    found: Attempts = state.attempts
    return found


def _purpose(study: OpenStudy) -> str:
    """A purpose of signatures that is another one when the secret is."""
    kept = (study.folder.path / "password").read_bytes()
    return f"dashboard {hashlib.sha256(kept).hexdigest()}"


def experimenter_of(request: Request) -> Experimenter | None:
    """The experimenter, if it is they who ask."""
    study: OpenStudy = request.app.state.study
    session = request.cookies.get(COOKIE, "")
    found = _SESSION.fullmatch(session)
    purpose = _purpose(study)
    if not found or not study.signatures.is_of(purpose, found[1], found[2]):
        return None
    if time.time() - int(found[1].partition("-")[0]) > _HOURS * 3600:
        return None
    return Experimenter(session, study.signatures.of(f"form {purpose}", session))


def let_in(request: Request, response: Response) -> None:
    """Make the answer begin a session."""
    study: OpenStudy = request.app.state.study
    about = f"{int(time.time())}-{secrets.token_hex(16)}"
    session = f"{about}-{study.signatures.of(_purpose(study), about)}"
    response.set_cookie(
        COOKIE,
        session,
        max_age=_HOURS * 3600,
        path="/study",
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )


def end_managing(response: Response) -> None:
    """Make the answer end the session in this browser."""
    response.delete_cookie(COOKIE, path="/study", httponly=True, samesite="strict")


def dashboard_page(request: Request, template: str, **values: Any) -> str:
    """What a template of the dashboard makes of these values, and of those that every page of it knows."""
    study: OpenStudy = request.app.state.study
    who = experimenter_of(request)
    return render(
        f"web/experiment/dashboard/{template}",
        plan=study.plan,
        title=study.plan.text(study.plan.title, study.plan.languages[0]) or study.plan.name,
        static=address,
        path=request.url.path,
        csrf="" if who is None else who.form,
        roslin_version=version("roslin"),
        **values,
    )


class LockedRoute(APIRoute):
    """A route for the experimenter alone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the lock."""
        handler = super().get_route_handler()

        async def locked(request: Request) -> Response:
            who = experimenter_of(request)
            if who is None:
                return HTMLResponse(dashboard_page(request, "login.html", problem=""), 401, _UNKEPT)
            if request.method not in ("GET", "HEAD"):
                check_site(request)
                form = await read_form(request)
                study: OpenStudy = request.app.state.study
                token = str(form.get("csrf", ""))
                if not study.signatures.is_of(f"form {_purpose(study)}", who.session, token):
                    raise ForgedError("this page is out of date; please open it again and repeat what you did")
            response = await handler(request)
            for name, value in _UNKEPT.items():
                response.headers.setdefault(name, value)
            return response

        return locked


# Pages of the dashboard name people and links: no cache keeps them.
_UNKEPT = {"Cache-Control": "no-store"}
