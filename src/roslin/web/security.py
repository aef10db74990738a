"""Guards before and after every route: plain ASGI, so that bodies stream and disconnects are seen.

SafeHeaders  a strict policy for the browser: nothing from elsewhere, no inline script or style
HeadAsGet    HEAD is answered like GET, without the body
BodyLimit    refuses a body above the limit, at its Content-Length or while it grows
OwnHost      answers only to the names of this server
RateLimit    so many requests per minute from one client, in a bucket that refills
LastResort   answers an unforeseen error in the one shape
Log          one line of JSON per request

The search page and the page of a study share the guards (`web.app`).
"""

from __future__ import annotations

import json
import logging
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roslin.web.answers import refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(self), geolocation=(), midi=(self)",
}
_CLIENTS_REMEMBERED = 10_000
_OWN_REDIRECT = 307  # of the router, from /about/ to /about; the routes use 303
_LOG = logging.getLogger("roslin.access")

Answer = Callable[[Request, Exception], Awaitable[Response]]
"""How an error is answered."""


class Guard(ABC):
    """What stands before the application, for requests by HTTP."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no request: the start and the end of the application."""
        await (self.guard if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""


class SafeHeaders(Guard):
    """Put the headers on every answer; `others`, too, or in place of the usual ones; `unless_set` where it has none.

    The router builds the address of its own redirects from the Host of the request, which the client chooses. Here it
    becomes a path.
    """

    def __init__(
        self, app: ASGIApp, others: Mapping[str, str] | None = None, unless_set: Mapping[str, str] | None = None
    ):
        super().__init__(app)
        self.headers, self.unless_set = {**_HEADERS, **(others or {})}, unless_set or {}

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers[name] = value
                for name, value in self.unless_set.items():
                    headers.setdefault(name, value)
                if message["status"] == _OWN_REDIRECT:
                    headers["Location"] = "/" + headers["location"].partition("://")[2].partition("/")[2].lstrip("/")
            await send(message)

        await self.app(scope, receive, send_safely)


class HeadAsGet(Guard):
    """Answer HEAD as GET is answered, without the body. Routes know only GET."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, send_head)
        else:
            await self.app(scope, receive, send)


class LastResort(Guard):
    """Answer what nobody foresaw. Nearest to the application, so that this answer has headers and is logged too."""

    def __init__(self, app: ASGIApp, answer: Answer):
        super().__init__(app)
        self.answer = answer

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; an error after the answer has begun can only break it off."""
        has_begun = False

        async def send_noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except Exception as error:
            if has_begun:
                raise
            response = await self.answer(Request(scope), error)
            await response(scope, receive, send)


class BodyLimit(Guard):
    """Refuse a body of more bytes than allowed."""

    def __init__(self, app: ASGIApp, limit: int):
        super().__init__(app)
        self.limit = limit

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        length = RequestHeaders(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limit:
            # The connection is closed: whoever still sends is not listened to.
            await self._refusal({"Connection": "close"})(scope, receive, send)
            return
        received = 0

        async def receive_within() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise HTTPException(413, self._words, {"Connection": "close"})
            return message

        await self.app(scope, receive_within, send)

    @property
    def _words(self) -> str:
        return f"the file is too large; expected at most {self.limit // 1000} kB"

    def _refusal(self, headers: dict[str, str]) -> JSONResponse:
        return JSONResponse(refusal(413, self._words).model_dump(), 413, headers)


class OwnHost(Guard):
    """Answer only requests for these names, without their port. `advice` names the option for another one."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], advice: str):
        super().__init__(app)
        self.hosts, self.advice = hosts, advice

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        named = RequestHeaders(scope=scope).get("host", "")
        host = named.partition("]")[0].removeprefix("[") if named.startswith("[") else named.partition(":")[0]
        is_own = host.lower() in self.hosts
        words = f"this server is not called {host!r}; {self.advice}"
        refused = JSONResponse(refusal(400, words).model_dump(), 400)
        await (self.app if is_own else refused)(scope, receive, send)


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    return str((scope.get("client") or ("", 0))[0])


def household_of(address: str) -> str:
    """Whose limits an address counts for: itself, or its /64 network, which one IPv6 client has to itself.

    >>> household_of("192.0.2.7"), household_of("::ffff:192.0.2.7"), household_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64')
    """
    try:
        known = ip_address(address)
    except ValueError:  # a socket of this computer without an address
        return address
    if not isinstance(known, IPv6Address):
        return address
    return str(known.ipv4_mapped or IPv6Network((int(known), 64), strict=False))


def client_of(scope: Scope) -> str:
    """Whose rate counts."""
    return household_of(address_of(scope))


class RateLimit(Guard):
    """Let each client ask so often a minute; short bursts up to that number are fine."""

    def __init__(self, app: ASGIApp, per_minute: int, client_of: Callable[[Scope], str] = client_of):
        super().__init__(app)
        self.per_minute, self.client_of = per_minute, client_of
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or ask to wait. Static files and the state of health cost nothing."""
        if scope["path"].startswith(("/static/", "/healthz", "/readyz")):
            await self.app(scope, receive, send)
            return
        wait = self._wait(self.client_of(scope))
        if wait:
            words = f"more than {self.per_minute} requests in a minute; wait {wait} seconds"
            refused = JSONResponse(refusal(429, words).model_dump(), 429, {"Retry-After": str(wait)})
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _wait(self, client: str) -> int:
        """Seconds until this client may ask again; 0: it may."""
        now = time.monotonic()
        left, then = self._buckets.pop(client, (float(self.per_minute), now))
        left = min(left + (now - then) * self.per_minute / 60, self.per_minute)
        self._buckets[client] = (max(left - 1, 0.0) if left >= 1 else left, now)
        while len(self._buckets) > _CLIENTS_REMEMBERED:
            self._buckets.popitem(last=False)
        return 0 if left >= 1 else int((1 - left) * 60 / self.per_minute) + 1


def client_and_path(scope: Scope) -> dict[str, str]:
    """What of a request is logged."""
    return {"client": address_of(scope), "method": scope["method"], "path": scope["path"]}


class Log(Guard):
    """One line of JSON for each request. The query is not logged: what people look for is theirs.

    `about` says what else is in the line: who asks, and for what.
    """

    def __init__(self, app: ASGIApp, about: Callable[[Scope], Mapping[str, str]] = client_and_path):
        super().__init__(app)
        self.about = about

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and write it down."""
        began, status, sent = time.perf_counter(), 0, 0

        async def send_counted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            line = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                **self.about(scope),
                "status": status,
                "bytes": sent,
                "ms": round((time.perf_counter() - began) * 1000, 1),
            }
            _LOG.info(json.dumps(line, ensure_ascii=False))
