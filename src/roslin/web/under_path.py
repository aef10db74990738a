"""Pages below a path of another site, such as https://library.example.org/tunes.

Routes, guards and templates know their addresses as those of a whole site. `UnderPath` removes the path from requests
and adds it to redirects and cookies, `page` adds it to the addresses in HTML, and scripts read it from the element
`html`. Other addresses are made with `path_here`.

The path is that of `--root-path`, or of the header X-Forwarded-Prefix if a trusted proxy sends one. The proxy may
remove it from requests or leave it there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roslin.display.templates import render
from roslin.web.connections import STATE, Connection
from roslin.web.security import Guard
from roslin.web.settings import PATH

_ADDRESS = re.compile(r'(?<= )((?:href|src|action|formaction|data-root|data-source)=")/(?!/)')
_COOKIE_PATH = re.compile(r"(?<=; path=)/", re.IGNORECASE)

_here: ContextVar[str] = ContextVar("path", default="")


def path_here() -> str:
    """The path below which this request is answered, without a slash at its end; empty for a whole site."""
    return _here.get()


def page(template: str, **values: Any) -> str:
    """A template with these values as HTML, with the addresses of this request."""
    made, path = render(template, **values), path_here()
    return _ADDRESS.sub(rf"\g<1>{path}/", made) if path else made


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
