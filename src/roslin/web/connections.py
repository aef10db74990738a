"""Limits on connections: slow and silent clients do not keep the server from answering others.

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

At the first signal to end (SIGTERM, Ctrl-C) the server accepts no more connections, and leaves `GRACE_SECONDS` to
requests in hand. A request without an answer by then gets a 503 with a sentence, and its work is stopped. uvicorn ends,
and the command with it, unless a thread still computes: a comparison in a kernel cannot be stopped. So the process ends
`LAST_SECONDS` after the signal in any case, and `HURRIED_SECONDS` after a second signal.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from types import FrameType
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from roslin.web.answers import refusal
from roslin.web.security import Guard, household_of, refused

HEADER_SECONDS = 10.0
BODY_SECONDS = 10.0
BODY_BYTES = 4096
WRITE_SECONDS = 30.0
_SHARES = 4  # one address may have this part of all connections
_SENDERS = 8  # this part of all may be sending bodies that do not come at once, and one address this part of that
_OTHER_FILES = 200  # that a process has open besides connections: arrays, databases, pipes
_REASONS = {408: "Request Timeout", 503: "Service Unavailable"}
_STATE = "roslin.connection"

GRACE_SECONDS = 2.0
LAST_SECONDS = 5.0
HURRIED_SECONDS = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

Group = dict["Connection", None]
"""Connections in the order in which they came."""


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


class Connections:
    """The connections of one process. uvicorn calls it for a protocol when a client connects.

    All connections, those that wait for a complete request, and those that send a body slowly are in the order in which
    they came.
    """

    def __init__(self, most: int, proxies: tuple[str, ...] = ()):
        self.most, self._proxies = most, [ip_network(each) for each in proxies]
        self._all, self.waiting, self._sending = Group(), Group(), Group()

    def __call__(self, **options: Any) -> Connection:
        return Connection(self, **options)

    def lets_in(self, connection: Connection) -> bool:
        """Make room for a connection; False if all others have complete requests."""
        if _count(self._all, connection.address) >= max(self.most // _SHARES, 1) and not self._is_proxy(connection):
            ending = _oldest(self.waiting, connection.address)
        elif len(self._all) >= self.most:
            ending = _oldest(self.waiting)
        else:
            ending = connection
        if ending is None:
            return False
        if ending is not connection:
            ending.end()
        self._all[connection] = None
        return True

    def lets_send(self, connection: Connection) -> bool:
        """Whether a connection may send a body that does not come at once; an address has a small share of those.

        When there are too many, an address with fewer takes the place of one of those with the most.
        """
        most = max(self.most // _SENDERS, 1)
        count = _count(self._sending, connection.address)
        if count >= max(most // _SENDERS, 1) and not self._is_proxy(connection):
            return False
        oldest = _oldest(self._sending)
        if len(self._sending) >= most and oldest is not None:
            if count >= _count(self._sending, oldest.address):
                return False
            oldest.end()
        self._sending[connection] = None
        return True

    def works(self, connection: Connection) -> None:
        """Note that a connection has sent a complete request."""
        self.waiting.pop(connection, None)
        self._sending.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        self.works(connection)
        self._all.pop(connection, None)

    def _is_proxy(self, connection: Connection) -> bool:
        try:
            address = ip_address(connection.peer)
        except ValueError:  # a socket of this computer without an address
            return False
        return any(address in network for network in self._proxies)


def _count(group: Group, address: str) -> int:
    return sum(each.address == address for each in group)


def _oldest(group: Group, address: str | None = None) -> Connection | None:
    """The first connection from an address, by default from the address that has the most."""
    if address is None:
        address = next((most for most, _ in Counter(each.address for each in group).most_common(1)), None)
    return next((each for each in group if each.address == address), None)


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
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
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
        self._cancel_limit()
        self.others.forget(self)
        self.inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass data on. The first byte of a request starts the time limit for its headers."""
        if not self._has_begun:
            self._has_begun = True
            self._within(HEADER_SECONDS, self._give_up)
        self.inner.data_received(data)

    def begins(self) -> None:
        """Note that the headers of a request have come."""
        self._requests += 1
        self._cancel_limit()

    def is_answered(self) -> None:
        """Note that an answer is written, perhaps to a buffer, and wait for the next request unless it has come."""
        self._requests -= 1
        if not self._requests and not self.transport.is_closing():
            self._wait()
            self._look_at_writing()

    def refuse(self, status: int, message: str) -> None:
        """End the connection with a sentence."""
        body = json.dumps(refusal(status, message).model_dump())
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nretry-after: 30\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(f"{head}{body}".encode())
        self.transport.close()

    def end(self) -> None:
        self.others.forget(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._has_begun = False
        self.others.waiting[self] = None

    def _within(self, seconds: float, end: Callable[..., None], *values: int) -> None:
        self._cancel_limit()
        self._limit = asyncio.get_running_loop().call_later(seconds, end, *values)

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

    def _look_at_writing(self, before: int | None = None) -> None:
        """End the connection if the client has taken nothing of the answer since the look before."""
        unsent = self.transport.get_write_buffer_size()
        if before is not None and unsent >= before:
            self.end()
        elif unsent:
            self._within(WRITE_SECONDS, self._look_at_writing, unsent)


class Patience(Guard):
    """Limit the time that a body takes to come, and that a client takes for an answer."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: Connection | None = scope.get("state", {}).pop(_STATE, None)
        if connection is None:  # the request came another way, and has no limits
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
            connection.others.works(connection)

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
            self.connection.others.works(self.connection)
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
            answer = refused(status, message, {"Connection": "close", "Retry-After": "30"})
            await answer(self.scope, self._receive, self.send)
        self.is_refused = True
        return {"type": "http.disconnect"}


# -- the end of the server ---------------------------------------------------------------------------------------------


class Ending:
    """Whether a server is about to end, and the requests that it still has in hand."""

    def __init__(self) -> None:
        self.is_over = False
        self.in_hand: set[asyncio.Task[Any]] = set()
        self._has_begun = False

    def await_signals(self) -> None:
        """Handle signals before the handlers that exist. Only the main thread of a process can."""
        self.is_over, self._has_begun = False, False
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            before = signal.getsignal(number)
            signal.signal(number, self._listener(loop, before if callable(before) else None))

    def begin(self) -> None:
        """Leave requests in hand a little time, and then refuse them."""
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._tell)

    def _listener(
        self, loop: asyncio.AbstractEventLoop, before: Callable[[int, FrameType | None], Any] | None
    ) -> Callable[[int, FrameType | None], None]:
        def heard(number: int, frame: FrameType | None) -> None:
            last = threading.Timer(HURRIED_SECONDS if self._has_begun else LAST_SECONDS, os._exit, (0,))
            last.daemon = True
            last.start()
            if not self._has_begun:
                loop.call_soon_threadsafe(self.begin)
            self._has_begun = True
            if before is not None:
                before(number, frame)

        return heard

    def _tell(self) -> None:
        self.is_over = True
        for task in self.in_hand:
            task.cancel()


class UntilTheEnd(Guard):
    """Answer requests that the end of the server cuts off."""

    def __init__(self, app: ASGIApp, ending: Ending):
        super().__init__(app)
        self.ending = ending

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        task, has_begun, is_complete = asyncio.current_task(), False, False
        assert task is not None

        async def send_noted(message: Message) -> None:
            nonlocal has_begun, is_complete
            has_begun, is_complete = True, not message.get("more_body") and message["type"] == "http.response.body"
            await send(message)

        self.ending.in_hand.add(task)
        try:
            await self.app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if not self.ending.is_over:
                raise
            task.uncancel()
            if not has_begun:
                words = "the server is being shut down; try again in a minute"
                await refused(503, words, {"Retry-After": "60", "Connection": "close"})(scope, receive, send)
            elif not is_complete:  # what has been sent stays
                await send({"type": "http.response.body", "body": b""})
        finally:
            self.ending.in_hand.discard(task)
