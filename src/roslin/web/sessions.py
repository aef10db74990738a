"""Sessions of reviewers, participants and experimenters: signed cookies, tokens of forms, and attempts at passwords.

A session is a cookie that `itsdangerous` signs with the key of the server, for one kind of people. It ends after some
time, or when the secret that it is bound to changes. Every form carries the token of its session, and requests that
another site sent are refused: browsers report that in `Sec-Fetch-Site` and `Origin`. Our pages send no referrer, so
`Origin` is often `null`; then `Sec-Fetch-Site` decides.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from fastapi import Request
from itsdangerous import BadSignature, Signer, TimestampSigner
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import Response

from roslin.passwords import is_password
from roslin.web.security import Limiter, client_of
from roslin.web.settings import Settings

MAX_NAME = 100
OUT_OF_DATE = "this page is out of date; please open it again and repeat what you did"
_OWN_SITES = ("same-origin", "none")
_MOST_FIELDS = 300
_REVIEWER_SECONDS = 30 * 86_400


def is_foreign(request: Request, public_address: str = "") -> bool:
    """Whether another site sent it. `public_address`: where people reach us, if they see another one than we do."""
    site, origin = request.headers.get("sec-fetch-site", ""), request.headers.get("origin", "")
    own = {request.headers.get("host", "").lower(), urlsplit(public_address).netloc.lower()} - {""}
    is_elsewhere = bool(origin) and origin != "null" and urlsplit(origin).netloc.lower() not in own
    return is_elsewhere or (bool(site) and site not in _OWN_SITES)


async def read_form(request: Request) -> FormData:
    """The fields of a form; files are refused."""
    return await request.form(max_files=0, max_fields=_MOST_FIELDS)


class SessionSigner:
    """Signatures by a key. The same text has another signature for every purpose."""

    def __init__(self, key: bytes):
        self._key = key

    def of(self, purpose: str, text: str) -> str:
        return Signer(self._key, **_salted(purpose)).get_signature(text).decode()

    def is_of(self, purpose: str, text: str, signature: str) -> bool:
        return Signer(self._key, **_salted(purpose)).verify_signature(text, _bytes(signature))

    def token(self, purpose: str, text: str, *, is_timed: bool = False) -> str:
        """A text with its signature, and with the time if it shall end."""
        signer = TimestampSigner if is_timed else Signer
        return signer(self._key, **_salted(purpose)).sign(text).decode()

    def text(self, purpose: str, token: str, seconds: int | None = None) -> str | None:
        """The text of a token that is not older than this. None if the signature is wrong, or the token too old."""
        try:
            if seconds is None:
                return Signer(self._key, **_salted(purpose)).unsign(_bytes(token)).decode()
            return TimestampSigner(self._key, **_salted(purpose)).unsign(_bytes(token), max_age=seconds).decode()
        except BadSignature:
            return None


def _salted(purpose: str) -> dict[str, Any]:
    return {"salt": purpose.encode(), "key_derivation": "hmac", "digest_method": hashlib.sha256}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, by their cookie. `form` is the token that their forms carry."""

    name: str
    token: str
    form: str
    language: str = ""  # that they chose
    is_new: bool = False  # the browser does not have it yet


class Sessions:
    """The sessions of one kind of people, by the name of their cookie. Another secret ends all of them."""

    def __init__(
        self,
        key: bytes,
        cookie: str,
        seconds: int,
        *,
        path: str = "/",
        samesite: Literal["lax", "strict"] = "strict",
        secret: Callable[[], bytes] = bytes,
    ):
        self._signatures, self._cookie, self._seconds, self._secret = SessionSigner(key), cookie, seconds, secret
        self._options: dict[str, Any] = {"path": path, "httponly": True, "samesite": samesite}

    def begun(self, name: str = "", language: str = "") -> Session:
        text = f"{name.encode().hex()}-{secrets.token_hex(8)}"
        token = self._signatures.token(self._purpose("session"), text, is_timed=True)
        return Session(name, token, self._form(token), language, is_new=True)

    def of(self, cookies: Mapping[str, str]) -> Session | None:
        """The session that belongs to these cookies; None if there is none, or it is over."""
        token, _, language = cookies.get(self._cookie, "").partition(":")
        text = self._signatures.text(self._purpose("session"), token, self._seconds)
        if text is None:
            return None
        return Session(bytes.fromhex(text.partition("-")[0]).decode(), token, self._form(token), language)

    def is_form(self, session: Session, token: str) -> bool:
        return self._signatures.is_of(self._purpose("form"), session.token, token)

    def remember(self, response: Response, session: Session, *, is_secure: bool) -> None:
        """Make the browser keep a session, and the language beside it: other tabs continue in the same session."""
        value = f"{session.token}:{session.language}" if session.language else session.token
        response.set_cookie(self._cookie, value, max_age=self._seconds, secure=is_secure, **self._options)

    def forget(self, response: Response) -> None:
        response.delete_cookie(self._cookie, **self._options)

    def _form(self, token: str) -> str:
        return self._signatures.of(self._purpose("form"), token)

    def _purpose(self, what: str) -> str:
        return f"{what} {self._cookie} {hashlib.sha256(self._secret()).hexdigest()}"


class Attempts:
    """How often passwords may be tried: a few times from one address, and not often from all together.

    An attempt counts from its beginning, so simultaneous attempts count too. A successful one is taken back.
    """

    def __init__(self, one: int = 5, everybody: int = 60, seconds: float = 60.0):
        self._own, self._all = Limiter(one, seconds), Limiter(everybody, seconds)

    def begin(self, client: str) -> int:
        """Count an attempt: 0, or the seconds to wait for one."""
        wait = self._own.take(client)
        if not wait and (wait := self._all.take("")):
            self._own.give_back(client)
        return wait

    def succeeded(self, client: str) -> None:
        self._own.give_back(client)
        self._all.give_back("")


class Reviewers:
    """The people who may decide about concordances: on localhost a name is enough.

    A server that others can reach asks for the password of its operator; without one its pages are for reading.
    """

    def __init__(self, settings: Settings):
        self._password = settings.review_password
        key = bytes.fromhex(settings.review_key) if settings.review_key else secrets.token_bytes(32)
        self._sessions = Sessions(
            key, "roslin_reviewer", _REVIEWER_SECONDS, path="/concordances", secret=self._password.encode
        )
        self.attempts = Attempts()
        self.may_write = bool(self._password) or not settings.is_open

    @property
    def asks_password(self) -> bool:
        return bool(self._password)

    def who(self, request: Request) -> Session:
        """The session of the client. A new one without a name if it has none."""
        return self._sessions.of(request.cookies) or self._sessions.begun()

    def enter(self, request: Request, name: str, password: str) -> Session:
        """The session of a reviewer who gives a name, and the password where one is asked for."""
        name = " ".join(name.split())
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise HTTPException(422, f"please give a name of at most {MAX_NAME} characters")
        if self.asks_password:
            client = client_of(request.scope)
            if wait := self.attempts.begin(client):
                headers = {"Retry-After": str(wait)}
                raise HTTPException(429, f"too many attempts; please wait {wait} seconds", headers)
            if not is_password(password, self._password):
                raise HTTPException(403, "this is not the password")
            self.attempts.succeeded(client)
        return self._sessions.begun(name)

    def check(self, request: Request, who: Session, form: FormData) -> None:
        """Refuse requests that do not come from a page of this session, and all requests if the pages are read-only."""
        if not self.may_write:
            raise HTTPException(
                403,
                "these pages are read-only, because the server has no password for reviewers; "
                "start it with --review-password",
            )
        if is_foreign(request):
            raise HTTPException(403, "this was sent from another site; please use the pages here")
        if who.is_new or not self._sessions.is_form(who, str(form.get("csrf", ""))):
            raise HTTPException(403, OUT_OF_DATE)

    def remember(self, request: Request, response: Response, who: Session) -> None:
        self._sessions.remember(response, who, is_secure=request.url.scheme == "https")

    def forget(self, response: Response) -> None:
        self._sessions.forget(response)
