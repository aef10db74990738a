"""Each request in the language of whoever reads the answer.

The language is named in the address (`?lang=de`, which is then remembered in a cookie), else in the cookie, else by the
browser. What programs ask for (`/api/`) is in English, whoever asks.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from roslin.display.words import in_words, words
from roslin.web.guard import Guard
from roslin.web.language import Catalogues

COOKIE = "roslin_language"
_NAME = "lang"
_YEAR_SECONDS = 365 * 24 * 3600
_NOT_READ = ("/api/", "/static/", "/healthz", "/readyz")  # by people
_OF_A_STUDY = "trial"  # how the names of its scripts begin

_here: ContextVar[tuple[str, str]] = ContextVar("here", default=("/", ""))


@cache
def catalogues() -> Catalogues:
    """The languages of the page."""
    return Catalogues()


class InTheirLanguage(Guard):
    """Answer in the language of the reader, and say on what that depended."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["path"].startswith(_NOT_READ):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        named, kept = request.query_params.get(_NAME, ""), request.cookies.get(COOKIE, "")
        language = catalogues().best(
            named if named in catalogues() else kept, request.headers.get("accept-language", "")
        )

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Language"] = language
                headers.add_vary_header("Accept-Language, Cookie")
                if named == language != kept:
                    headers.append("Set-Cookie", _cookie(language))
            await send(message)

        _here.set((scope["path"], request.url.query))
        with in_words(catalogues()[language]):
            await self.app(scope, receive, send_told)


def in_other_languages() -> list[tuple[str, str, str]]:
    """Each language: its code, its own name, and the address of this page in it."""
    path, query = _here.get()
    others = [each for each in parse_qsl(query, keep_blank_values=True) if each[0] != _NAME]
    return [(code, name, f"{path}?{urlencode([*others, (_NAME, code)])}") for code, name in catalogues().named]


def words_for_scripts() -> dict[str, str | list[str]]:
    """What the scripts of the page say, in the language in use."""
    return catalogues()[words().language].for_scripts(lambda name: not name.startswith(_OF_A_STUDY))


def _cookie(language: str) -> str:
    return f"{COOKIE}={language}; Path=/; Max-Age={_YEAR_SECONDS}; SameSite=Lax; HttpOnly"
