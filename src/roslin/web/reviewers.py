"""Who reviews: a name that is asked for once, in a signed cookie; and what writing needs besides it.

On one's own computer a name is enough. A server that others can reach asks for the password that its operator chose;
without one its pages are for reading. A session is a cookie that no other site can make a browser send, bound to the
password: another one ends all sessions. Every form carries the token of its session, and what another site sent is
refused (`web.forms`).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass

from fastapi import Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import Response

from roslin.passwords import is_password
from roslin.web.attempts import Attempts
from roslin.web.forms import is_foreign
from roslin.web.security import address_of, household_of
from roslin.web.settings import Settings
from roslin.web.signing import Signer

COOKIE = "roslin_reviewer"
MAX_NAME = 100
_PATH = "/concordances"
_HOURS = 24 * 30
_SESSION = re.compile(r"((?:[0-9a-f]{2}){0,400}-[0-9]{1,12}-[0-9a-f]{16})-([A-Za-z0-9_-]{22})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Whoever asks. `name` is empty until they have said it; `form` is the token that their forms carry."""

    name: str
    session: str
    form: str
    is_new: bool = False  # the browser does not have the session yet


class Door:
    """Who may write, and what their sessions and forms are signed with."""

    def __init__(self, settings: Settings):
        self._password = settings.review_password
        key = bytes.fromhex(settings.review_key) if settings.review_key else secrets.token_bytes(32)
        self._signer = Signer(key)
        self._purpose = f"reviewer {hashlib.sha256(self._password.encode()).hexdigest()}"
        self._attempts = Attempts()
        self.may_write = bool(self._password) or not settings.is_open

    @property
    def asks_password(self) -> bool:
        """Whether a name is not enough."""
        return bool(self._password)

    def who(self, request: Request) -> Reviewer:
        """Whoever asks, by the cookie; somebody without a name if there is none."""
        session = request.cookies.get(COOKIE, "")
        found = _SESSION.fullmatch(session)
        if found and self._signer.is_of(self._purpose, found[1], found[2]):
            name, began, _ = found[1].split("-")
            if time.time() - int(began) < _HOURS * 3600:
                return Reviewer(bytes.fromhex(name).decode(), session, self._form(session))
        return self._begun("")

    def enter(self, request: Request, name: str, password: str) -> Reviewer:
        """The session of somebody who says who they are."""
        name = " ".join(name.split())
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise HTTPException(422, f"please give a name of at most {MAX_NAME} characters")
        if self.asks_password:
            client = household_of(address_of(request.scope))
            if wait := self._attempts.begin(client):
                headers = {"Retry-After": str(wait)}
                raise HTTPException(429, f"too many attempts; please wait {wait} seconds", headers)
            if not is_password(password, self._password):
                raise HTTPException(403, "this is not the password")
            self._attempts.succeeded(client)
        return self._begun(name)

    def check(self, request: Request, who: Reviewer, form: FormData) -> None:
        """Refuse what does not come from a page of this session, and everything where pages are for reading."""
        if not self.may_write:
            raise HTTPException(
                403, "these pages are for reading; whoever serves them has set no password for reviewing"
            )
        if is_foreign(request):
            raise HTTPException(403, "this was sent from another site; please use the pages here")
        token = str(form.get("csrf", ""))
        if who.is_new or not self._signer.is_of(f"form {self._purpose}", who.session, token):
            raise HTTPException(403, "this page is out of date; please open it again and repeat what you did")

    def remember(self, request: Request, response: Response, who: Reviewer) -> None:
        """Make the answer set the cookie."""
        is_secure = request.url.scheme == "https"
        lasts = _HOURS * 3600
        response.set_cookie(
            COOKIE, who.session, max_age=lasts, path=_PATH, httponly=True, samesite="strict", secure=is_secure
        )

    def forget(self, response: Response) -> None:
        """Make the answer end the session in this browser."""
        response.delete_cookie(COOKIE, path=_PATH, httponly=True, samesite="strict")

    def _begun(self, name: str) -> Reviewer:
        about = f"{name.encode().hex()}-{int(time.time())}-{secrets.token_hex(8)}"
        session = f"{about}-{self._signer.of(self._purpose, about)}"
        return Reviewer(name, session, self._form(session), is_new=True)

    def _form(self, session: str) -> str:
        return self._signer.of(f"form {self._purpose}", session)
