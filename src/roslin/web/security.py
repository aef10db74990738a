"""Guards before and after every route: plain ASGI, so that bodies stream and disconnects are seen.

The policy for browsers is strict: nothing from elsewhere, no inline script or style. Only pages of named origins may
show these pages and use the API; the reconciliation service is for all. The search page and the pages of a study share
the guards (`web.app`).
"""

from __future__ import annotations

import json
import logging
import threading
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
_NO_FRAME = "frame-ancestors 'none'"
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
_ROUNDING_SECONDS = 1e-6
_LOG = logging.getLogger("roslin.access")

Answer = Callable[[Request, Exception], Awaitable[Response]]
"""How an error is answered."""


def refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error in the one shape, as JSON."""
    return JSONResponse(refusal(status, message).model_dump(), status, headers)


# -- clients -----------------------------------------------------------------------------------------------------------


def address_of(scope: Scope) -> str:
    """The IP address of the client."""
    return str((scope.get("client") or ("", 0))[0])


def household_of(address: str) -> str:
    """The address for which limits count: itself, or its /64 network, which usually belongs to one IPv6 client.

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
    """The client of a request, for limits."""
    return household_of(address_of(scope))


class Limiter:
    """Lets each client do something `most` times at once, and again at the rate of `most` times in `seconds`.

    It stores when all turns of a client will be free again, and forgets those that it has not seen for the longest.
    """

    def __init__(self, most: int, seconds: float = 60.0):
        self.most, self._turn = most, seconds / most
        self._free: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, client: str) -> int:
        """Take a turn: 0, or the seconds to wait for one."""
        with self._lock:
            now = time.monotonic()
            free = max(self._free.pop(client, now), now)
            wait = free + self._turn - now - self.most * self._turn
            self._free[client] = free if wait > _ROUNDING_SECONDS else free + self._turn
            while len(self._free) > _CLIENTS_REMEMBERED:
                self._free.popitem(last=False)
        return int(wait) + 1 if wait > _ROUNDING_SECONDS else 0

    def give_back(self, client: str) -> None:
        with self._lock:
            if client in self._free:
                self._free[client] -= self._turn


# -- guards ------------------------------------------------------------------------------------------------------------


class Guard(ABC):
    """A layer around the application, for HTTP requests alone: not for its start and end."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.guard if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""


class SafeHeaders(Guard):
    """Put headers on every answer: the usual ones, changed by `others`; those of `unless_set` if the answer has none.

    Scripts and frames of the `origins` may use the pages and the API, and those of any origin the reconciliation.
    The router builds the address of redirects from the Host of the request, which the client chooses. Here it
    becomes a path.
    """

    def __init__(
        self,
        app: ASGIApp,
        others: Mapping[str, str] | None = None,
        unless_set: Mapping[str, str] | None = None,
        origins: tuple[str, ...] = (),
    ):
        super().__init__(app)
        self.headers, self.unless_set, self.origins = {**_HEADERS, **(others or {})}, unless_set or {}, origins

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self.headers)
                for name, value in self.unless_set.items():
                    headers.setdefault(name, value)
                if message["status"] == _OWN_REDIRECT:
                    headers["Location"] = "/" + headers["location"].partition("://")[2].partition("/")[2].lstrip("/")
                self._open(headers, scope)
            await send(message)

        await self.app(scope, receive, send_safely)

    def _open(self, headers: MutableHeaders, scope: Scope) -> None:
        """Let others use an answer, as far as they may."""
        is_for_all = scope["path"].startswith("/reconcile")
        if not is_for_all and not self.origins:
            return
        ancestors = "*" if is_for_all else " ".join(("'self'", *self.origins))
        headers["Content-Security-Policy"] = POLICY.replace(_NO_FRAME, f"frame-ancestors {ancestors}")
        del headers["X-Frame-Options"]
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        asking = RequestHeaders(scope=scope).get("origin", "")
        if readers := "*" if is_for_all else asking if asking in self.origins else "":
            headers["Access-Control-Allow-Origin"] = readers
            headers.add_vary_header("Origin")


class HeadAsGet(Guard):
    """Answer HEAD as GET is answered, without the body. Routes know only GET."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, send_head)
        else:
            await self.app(scope, receive, send)


class Sending:
    """The `send` of a request, which notes how far the answer is: its status (0 before it begins), size and end."""

    def __init__(self, send: Send):
        self._send = send
        self.status, self.size, self.is_complete = 0, 0, False

    async def __call__(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.size += len(message.get("body", b""))
        self.is_complete = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


class LastResort(Guard):
    """Answer an unforeseen error. It is the innermost guard, so that this answer has headers and is logged."""

    def __init__(self, app: ASGIApp, answer: Answer):
        super().__init__(app)
        self.answer = answer

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = Sending(send)
        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            if sending.status:  # the answer can only break off
                raise
            response = await self.answer(Request(scope), error)
            await response(scope, receive, send)


class BodyLimit(Guard):
    """Refuse a body of more bytes than allowed, and close its connection: the rest is not read."""

    def __init__(self, app: ASGIApp, limit: int):
        super().__init__(app)
        self.limit = limit

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = RequestHeaders(scope=scope).get("content-length", "0")
        words, headers = f"the file is too large; expected at most {self.limit // 1000} kB", {"Connection": "close"}
        if not length.isdecimal() or int(length) > self.limit:
            await refused(413, words, headers)(scope, receive, send)
            return
        received = 0

        async def receive_within() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise HTTPException(413, words, headers)
            return message

        await self.app(scope, receive_within, send)


class OwnHost(Guard):
    """Answer only requests for these names. The refusal names the option for other names: `advice`."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], advice: str):
        super().__init__(app)
        self.hosts, self.advice = hosts, advice

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = RequestHeaders(scope=scope).get("host", "")
        host = named.partition("]")[0].removeprefix("[") if named.startswith("[") else named.partition(":")[0]
        is_own = host.lower() in self.hosts
        app = self.app if is_own else refused(400, f"this server is not called {host!r}; {self.advice}")
        await app(scope, receive, send)


class RateLimit(Guard):
    """Limit the requests of one client per minute; static files and the state of health do not count."""

    def __init__(self, app: ASGIApp, per_minute: int, client_of: Callable[[Scope], str] = client_of):
        super().__init__(app)
        self.limiter, self.client_of = Limiter(per_minute), client_of

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_free = scope["path"].startswith(("/static/", "/healthz", "/readyz"))
        app, wait = self.app, 0 if is_free else self.limiter.take(self.client_of(scope))
        if wait:
            words = f"more than {self.limiter.most} requests in a minute; wait {wait} seconds"
            app = refused(429, words, {"Retry-After": str(wait)})
        await app(scope, receive, send)


def client_and_path(scope: Scope) -> dict[str, str]:
    """The parts of a request that are logged."""
    return {"client": address_of(scope), "method": scope["method"], "path": scope["path"]}


class Log(Guard):
    """Write one line of JSON for each request: status, size, time, and what `about` gives. Queries are not logged."""

    def __init__(self, app: ASGIApp, about: Callable[[Scope], Mapping[str, str]] = client_and_path):
        super().__init__(app)
        self.about = about

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, sending = time.perf_counter(), Sending(send)
        try:
            await self.app(scope, receive, sending)
        finally:
            line = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                **self.about(scope),
                "status": sending.status,
                "bytes": sending.size,
                "ms": round((time.perf_counter() - began) * 1000, 1),
            }
            _LOG.info(json.dumps(line, ensure_ascii=False))
