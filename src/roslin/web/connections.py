"""Limits on connections: slow and silent clients do not keep others from being answered.

uvicorn waits for a request without a limit, and refuses every request when it has too many connections, so a few
hundred silent sockets close a server. Here a connection has limits on time:

    its request          `HEADER_SECONDS` from the start, or from the first byte, to the end of the headers
    a body               `BODY_SECONDS`, and one more for each `BODY_BYTES` that have come
    an answer            `WRITE_SECONDS` in which the client takes none of it
    between requests     uvicorn's `timeout_keep_alive`

There are limits on number as well: `most` connections, and a quarter of them from one address (of IPv6: from one /64
network), unless that is a proxy of the operator. If there is no room, a connection without a complete request makes
room: of the address with the most of them, the one that has waited longest. If all have complete requests, the new one
is refused. Fewer connections may send bodies that do not come at once, because the application works on these.

uvicorn makes a `Connection` for each client (its option `http`). It passes everything on to uvicorn's own protocol, and
gives itself to the application in the state of a request. `Patience` is the guard in the application that limits the
time for bodies and answers, and tells the connection when a request begins and ends.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from roslin.web.answers import refusal
from roslin.web.security import Guard, household_of

HEADER_SECONDS = 10.0
BODY_SECONDS = 10.0
BODY_BYTES = 4096
WRITE_SECONDS = 30.0
_SHARES = 4  # one address may have this part of all connections
_SENDERS = 8  # this part of all may be sending bodies that do not come at once, and one address this part of that
_OTHER_FILES = 200  # that a process has open besides connections: arrays, databases, pipes
_REASONS = {408: "Request Timeout", 503: "Service Unavailable"}
_STATE = "roslin.connection"


def room_for(connections: int) -> int:
    """This many connections, or as many as the system allows; it is asked for more if it allows few."""
    try:
        import resource
    except ImportError:  # not a Unix
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(soft - _OTHER_FILES, _SHARES)
    return connections


class Crowd:
    """Connections by their addresses, those of each in the order in which they came."""

    def __init__(self) -> None:
        self._of: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, connection: Connection) -> None:
        """At the end, unless it is there."""
        self._of.setdefault(connection.address, {}).setdefault(connection)

    def remove(self, connection: Connection) -> None:
        """If it is there."""
        own = self._of.get(connection.address, {})
        own.pop(connection, None)
        if not own:
            self._of.pop(connection.address, None)

    def of(self, address: str) -> int:
        """How many an address has."""
        return len(self._of.get(address, ()))

    def oldest(self, address: str | None = None) -> Connection | None:
        """The first that came of an address, by default of the address that has the most."""
        chosen = max(self._of, key=self.of, default="") if address is None else address
        return next(iter(self._of.get(chosen, ())), None)


class Connections:
    """The connections of one process. uvicorn calls it for a protocol when a client connects."""

    def __init__(self, most: int, proxies: tuple[str, ...] = ()):
        self.most, self._proxies = most, [ip_network(each) for each in proxies]
        self._all, self.waiting, self._sending = Crowd(), Crowd(), Crowd()

    def __call__(self, **options: Any) -> Connection:
        """A protocol for a new client."""
        return Connection(self, **options)

    def lets_in(self, connection: Connection) -> bool:
        """Make room for a connection; False where there is none, because all others have complete requests."""
        most_of_one = max(self.most // _SHARES, 1)
        if self._all.of(connection.address) >= most_of_one and not self._is_proxy(connection):
            oldest = self.waiting.oldest(connection.address)
        elif len(self._all) >= self.most:
            oldest = self.waiting.oldest()
        else:
            oldest = connection
        if oldest is None:
            return False
        if oldest is not connection:
            oldest.end()
        self._all.add(connection)
        return True

    def lets_send(self, connection: Connection) -> bool:
        """Whether a connection may send a body that does not come at once; an address has a small share of those.

        When there are too many, an address with fewer takes the place of one of those with the most.
        """
        most = max(self.most // _SENDERS, 1)
        count = self._sending.of(connection.address)
        if count >= max(most // _SENDERS, 1) and not self._is_proxy(connection):
            return False
        oldest = self._sending.oldest()
        if len(self._sending) >= most and oldest is not None:
            if count >= self._sending.of(oldest.address):
                return False
            oldest.end()
        self._sending.add(connection)
        return True

    def works(self, connection: Connection) -> None:
        """It has sent a complete request."""
        self.waiting.remove(connection)
        self._sending.remove(connection)

    def forget(self, connection: Connection) -> None:
        """It is gone."""
        self.works(connection)
        self._all.remove(connection)

    def _is_proxy(self, connection: Connection) -> bool:
        try:
            address = ip_address(connection.peer)
        except ValueError:  # a socket of this computer without an address
            return False
        return any(address in network for network in self._proxies)


class Connection(asyncio.Protocol):
    """A connection to one client, with limits; uvicorn's own protocol does the work."""

    transport: asyncio.Transport

    def __init__(self, others: Connections, app_state: dict[str, Any], **options: Any):
        self.others = others
        self.inner = H11Protocol(app_state={**app_state, _STATE: self}, **options)
        self.eof_received = self.inner.eof_received  # type: ignore[method-assign]
        self.pause_writing = self.inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = self.inner.resume_writing  # type: ignore[method-assign]
        self.peer = self.address = ""
        self._has_begun = False  # whether a part of the next request has come
        self._requests = 0  # that are worked on
        self._unsent = 0
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, and wait for its request."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        name = transport.get_extra_info("peername")
        self.peer = str(name[0]) if isinstance(name, tuple) else ""
        self.address = household_of(self.peer)
        self.inner.connection_made(transport)
        if self.others.lets_in(self):
            self._wait()
            self._within(HEADER_SECONDS, self._give_up)
        else:
            self.refuse(503, "too many connections at this moment; try again in a minute")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._cancel_limit()
        self.others.forget(self)
        self.inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass it on. The first byte of a request starts the time limit for its headers."""
        if not self._has_begun:
            self._has_begun = True
            self._within(HEADER_SECONDS, self._give_up)
        self.inner.data_received(data)

    def begins(self) -> None:
        """The headers of a request have come."""
        self._requests += 1
        self._cancel_limit()

    def is_complete(self) -> None:
        """The body of the request has come, too."""
        self.others.works(self)

    def is_answered(self) -> None:
        """The answer is written, perhaps to a buffer; the next request may come, unless it is there."""
        self._requests -= 1
        if self._requests or self.transport.is_closing():
            return
        self._wait()
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent:
            self._within(WRITE_SECONDS, self._look_at_writing)

    def refuse(self, status: int, message: str) -> None:
        """End it with a sentence."""
        body = json.dumps(refusal(status, message).model_dump())
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "retry-after: 30",
            "connection: close",
        )
        self.transport.write("\r\n".join((*lines, "", body)).encode())
        self.transport.close()

    def end(self) -> None:
        """End it without a word."""
        self.others.forget(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._has_begun = False
        self.others.waiting.add(self)

    def _within(self, seconds: float, end: Callable[[], None]) -> None:
        self._cancel_limit()
        self._limit = asyncio.get_running_loop().call_later(seconds, end)

    def _cancel_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _give_up(self) -> None:
        """End a connection whose request does not come. A silent client gets no answer."""
        if self._has_begun and not self.transport.get_write_buffer_size():
            self.refuse(408, "the request took too long to arrive")
        else:
            self.end()

    def _look_at_writing(self) -> None:
        """End a connection if the client takes nothing of the answer."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent >= before:
            self.end()
        elif self._unsent:
            self._within(WRITE_SECONDS, self._look_at_writing)


class Patience(Guard):
    """Limit the time that a body takes to come, and that a client takes for an answer."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on. One that came by another way than a `Connection` has no limits."""
        connection: Connection | None = scope.get("state", {}).pop(_STATE, None)
        if connection is None:
            await self.app(scope, receive, send)
            return
        answering = _Answering(connection, scope, receive, send)
        connection.begins()
        try:
            await self.app(scope, answering.receive, answering.send)
        finally:
            connection.is_answered()


class _Answering:
    """A request on a connection: what its application receives and sends, within the limits."""

    def __init__(self, connection: Connection, scope: Scope, receive: Receive, send: Send):
        self.connection, self.scope, self._receive, self._send = connection, scope, receive, send
        self.has_begun = self.is_refused = False
        self.received, self.waited = 0, 0.0
        self.is_coming = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        if not self.is_coming:
            connection.is_complete()

    async def receive(self) -> Message:
        """The next part of the body. The time in which the application does not ask for it does not count."""
        if not self.is_coming:
            return await self._receive()
        clock, is_first = asyncio.get_running_loop().time, not self.received
        began = clock()
        try:
            async with asyncio.timeout(BODY_SECONDS + self.received / BODY_BYTES - self.waited):
                message = await self._receive()
        except TimeoutError:
            return await self._refused(408, "the request took too long to arrive")
        self.waited += clock() - began
        self.received += len(message.get("body", b""))
        self.is_coming = bool(message.get("more_body"))
        if not self.is_coming:
            self.connection.is_complete()
        elif is_first and not self.connection.others.lets_send(self.connection):
            return await self._refused(503, "too many uploads at this moment; try again in a minute")
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, unless the request was refused meanwhile."""
        if self.is_refused:
            return
        self.has_begun = True
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._send(message)
        except TimeoutError:
            self.connection.end()

    async def _refused(self, status: int, message: str) -> Message:
        """End the request; for the application, its client has left."""
        if self.has_begun:
            self.connection.end()
        else:
            headers = {"Connection": "close", "Retry-After": "30"}
            await JSONResponse(refusal(status, message).model_dump(), status, headers)(
                self.scope, self._receive, self.send
            )
        self.is_refused = True
        return {"type": "http.disconnect"}
