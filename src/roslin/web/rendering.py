"""Pages from the templates of this room, the static files that they load, and their addresses below a path.

Routes, guards and templates know their addresses as those of a whole site. Below a path of another site, such as
https://library.example.org/tunes, `UnderPath` removes the path from requests and adds it to redirects and cookies,
`page` adds it to the addresses in HTML, and scripts read it from the element `html`. Other addresses are made with
`path_here`. The path is that of `--root-path`, or of the header X-Forwarded-Prefix if a trusted proxy sends one. The
proxy may remove it from requests or leave it there.

Static files are read once: no name from a request is ever a path.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sized
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roslin.display.templates import render
from roslin.display.words import _, words
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers.base import MODE_WORDS, MODES
from roslin.run.meaning import CHANCE_LINE
from roslin.web.connections import STATE, Connection
from roslin.web.imprint import Imprint
from roslin.web.language import in_other_languages, words_for_scripts
from roslin.web.requests import SearchParams, where_to
from roslin.web.search import Found
from roslin.web.security import Guard
from roslin.web.sentences import chance_words, in_bars, key_words, method_words, query_name, result_sentence
from roslin.web.settings import PATH

_FOLDER = Path(str(files("roslin.web"))) / "static"
_DAY = 86_400
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png"}
_ADDRESS = re.compile(r'(?<= )((?:href|src|action|formaction|data-root|data-source)=")/(?!/)')
_COOKIE_PATH = re.compile(r"(?<=; path=)/", re.IGNORECASE)

_here: ContextVar[str] = ContextVar("path", default="")
static_files = APIRouter(include_in_schema=False)


def path_here() -> str:
    """The path below which this request is answered, without a slash at its end; empty for a whole site."""
    return _here.get()


def page(template: str, **values: Any) -> str:
    """A template with these values as HTML, with the addresses of this request."""
    made, path = render(template, **values), path_here()
    return _ADDRESS.sub(rf"\g<1>{path}/", made) if path else made


def download(content: str | bytes, media_type: str, name: str, **headers: str) -> Response:
    """A file that a browser saves under this name."""
    headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return Response(content, media_type=media_type, headers=headers)


class UnderPath(Guard):
    """Answer below a path; the applications of `below` answer below their names there.

    It is outside the other guards, where the connection to a proxy is known.
    """

    def __init__(self, app: ASGIApp, path: str = "", below: Mapping[str, ASGIApp] | None = None):
        super().__init__(app)
        self.path, self.below = path, below or {}

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, asked = self._path(scope), scope["path"]
        if asked == path or asked.startswith(f"{path}/"):
            asked = asked[len(path) :] or "/"
        name, _, rest = asked[1:].partition("/")
        if app := self.below.get(name):
            path, asked = f"{path}/{name}", f"/{rest}"

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("location", "").startswith("/"):
                    headers["location"] = path + headers["location"]
                cookies = headers.getlist("set-cookie")
                del headers["set-cookie"]
                for cookie in cookies:
                    headers.append("set-cookie", _COOKIE_PATH.sub(f"{path}/", cookie))
            await send(message)

        if not path:
            await self.app(scope, receive, send)
            return
        token = _here.set(_here.get() + path)
        try:
            await (app or self.app)({**scope, "path": asked}, receive, send_below)
        finally:
            _here.reset(token)

    def _path(self, scope: Scope) -> str:
        forwarded = Headers(scope=scope).get("x-forwarded-prefix", "").rstrip("/")
        connection: Connection | None = scope.get("state", {}).get(STATE)
        is_trusted = connection is not None and connection.is_from_proxy
        return forwarded if is_trusted and PATH.fullmatch(forwarded) else self.path


@cache
def _statics() -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}
    found["player.js"] = files("roslin.report").joinpath("player.js").read_bytes()
    for name in ("plots.css", "concordances.css"):
        found[name] = files("roslin.report").joinpath(f"templates/{name}").read_bytes()
    return found


@cache
def static_address(name: str) -> str:
    """Where a static file is, with a mark that changes when the file does."""
    return f"/static/{name}?v={hashlib.sha256(_statics()[name]).hexdigest()[:12]}"


@static_files.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """One file. Under its mark it never changes, so a browser may keep it."""
    if name not in _statics():
        raise HTTPException(404, "there is no such file")
    age = 365 * _DAY if "v" in request.query_params else 60
    kind = _TYPES[Path(name).suffix]
    return Response(_statics()[name], media_type=kind, headers={"Cache-Control": f"public, max-age={age}"})


class OnPages(Protocol):
    """What pages show of a collection, or of several."""

    @property
    def title(self) -> str: ...
    @property
    def collection(self) -> Sized: ...
    @property
    def imprint(self) -> Imprint | None: ...


def rendered(library: OnPages, template: str, **values: Any) -> str:
    """A template with these values and those of every page."""
    return page(
        f"web/{template}",
        library=library,
        start=path_here().rpartition("/")[0] + "/",
        imprint=library.imprint,
        site=library.imprint.site if library.imprint else None,
        language=words().language,
        languages=in_other_languages(),
        words=words_for_scripts(),
        static=static_address,
        where_to=where_to,
        sentence=_sentence,
        by_chance=chance_words,
        method=method_words,
        in_bars=in_bars,
        key_words=key_words,
        query_name=query_name,
        search_title=_search_title,
        result_sentence=result_sentence,
        mode_words=MODE_WORDS,
        CHANCE_LINE=CHANCE_LINE,
        usual_matcher=DEFAULT_MATCHER,
        **values,
    )


def _sentence(text: str) -> str:
    """A message of an error as a sentence on a page.

    >>> _sentence("there is no such file")
    'There is no such file.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _search_title(asked: SearchParams, found: Found | None) -> str:
    """The query for the title of a page: the melody and the aspects compared; "" without a query."""
    if found is None:
        return ""
    chosen = [MODE_WORDS[name][value] for name in MODES if (value := getattr(asked, name))]
    return ", ".join([_("Melodies like {name}").format(name=query_name(found.query)), *map(_, chosen)])
