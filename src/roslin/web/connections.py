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
time for bodies and answers, and notifies the connection when a request begins and ends.

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
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from types import FrameType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from roslin.web.answers import refusal
from roslin.web.security import Guard, Sending, household_of, refused

HEADER_SECONDS = 10.0
BODY_SECONDS = 10.0
BODY_BYTES = 4096
WRITE_SECONDS = 30.0
_SHARES = 4  # one address may have this part of all connections
_SENDERS = 8  # this part of all may be sending bodies that do not come at once, and one address this part of that
_OTHER_FILES = 200  # that a process has open besides connections: arrays, databases, pipes
_TOO_SLOW = "the request took too long to arrive"
_CLOSING = {"Connection": "close", "Retry-After": "30"}
STATE = "roslin.connection"

GRACE_SECONDS = 2.0
LAST_SECONDS = 5.0
HURRIED_SECONDS = 1.0

Group = dict["Connection", None]
"""Connections in the order in which they came."""


def room_for(connections: int) -> int:
    """This many connections, or as many as the system allows. It is asked for more if it allows few."""
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
    """The connections of one process, in the order in which they came. uvicorn calls it for a protocol."""

    def __init__(self, most: int, proxies: tuple[str, ...] = ()):
        self.most, self.proxies = most, [ip_network(each) for each in proxies]
        self._all, self.waiting, self._sending = Group(), Group(), Group()

    def __call__(self, **options: Any) -> Connection:
        return Connection(self, **options)

    def lets_in(self, connection: Connection) -> bool:
        """Make room for a connection; False if all others have complete requests."""
        if _count(self._all, connection.address) >= max(self.most // _SHARES, 1) and not connection.is_from_proxy:
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
        """Whether a connection may send a body that does not come at once. An address has a small share of those.

        When there are too many, an address with fewer takes the place of one of those with the most.
        """
        most = max(self.most // _SENDERS, 1)
        count = _count(self._sending, connection.address)
        if count >= max(most // _SENDERS, 1) and not connection.is_from_proxy:
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
        self.inner = H11Protocol(app_state={**app_state, STATE: self}, **options)
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

    @property
    def is_from_proxy(self) -> bool:
        """Whether a proxy of the operator has made the connection."""
        try:
            address = ip_address(self.peer)
        except ValueError:  # a socket of this computer without an address
            return False
        return any(address in network for network in self.others.proxies)

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
        body = json.dumps(refusal(status, message).model_dump())
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
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
            self.refuse(408, _TOO_SLOW)
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
        connection: Connection | None = scope.get("state", {}).pop(STATE, None)
        if connection is None:  # the request came another way, and has no limits
            await self.app(scope, receive, send)
            return
        sending = Sending(send)

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await sending(message)
            except TimeoutError:
                connection.end()

        connection.begins()
        try:
            await self.app(scope, _Body(connection, scope, receive), send_in_time)
        except HTTPException as error:  # of an application that does not answer it
            if sending.status:
                connection.end()
            else:
                await refused(error.status_code, error.detail, error.headers)(scope, receive, send_in_time)
        finally:
            connection.is_answered()


class _Body:
    """The body of a request on a connection: the `receive` of its application, within the limits."""

    def __init__(self, connection: Connection, scope: Scope, receive: Receive):
        self._connection, self._receive = connection, receive
        self._received, self._waited = 0, 0.0
        self._is_coming = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        if not self._is_coming:
            connection.others.works(connection)

    async def __call__(self) -> Message:
        """The next part of the body. The time in which the application does not ask for it does not count."""
        if not self._is_coming:
            return await self._receive()
        clock, is_first = asyncio.get_running_loop().time, not self._received
        began = clock()
        try:
            async with asyncio.timeout(BODY_SECONDS + self._received / BODY_BYTES - self._waited):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, _TOO_SLOW, _CLOSING) from None
        self._waited += clock() - began
        self._received += len(message.get("body", b""))
        self._is_coming = bool(message.get("more_body"))
        if not self._is_coming:
            self._connection.others.works(self._connection)
        elif is_first and not self._connection.others.lets_send(self._connection):
            raise HTTPException(503, "too many uploads at this moment; try again in a minute", _CLOSING)
        return message


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
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, partial(self._heard, loop, signal.getsignal(number)))

    def _heard(self, loop: asyncio.AbstractEventLoop, before: Any, number: int, frame: FrameType | None) -> None:
        last = threading.Timer(HURRIED_SECONDS if self._has_begun else LAST_SECONDS, os._exit, (0,))
        last.daemon = True
        last.start()
        if not self._has_begun:
            loop.call_soon_threadsafe(loop.call_later, GRACE_SECONDS, self._refuse)
        self._has_begun = True
        if callable(before):
            before(number, frame)

    def _refuse(self) -> None:
        self.is_over = True
        for task in self.in_hand:
            task.cancel()


class UntilTheEnd(Guard):
    """Answer requests that the end of the server cuts off."""

    def __init__(self, app: ASGIApp, ending: Ending):
        super().__init__(app)
        self.ending = ending

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        task, sending = asyncio.current_task(), Sending(send)
        assert task is not None
        self.ending.in_hand.add(task)
        try:
            await self.app(scope, receive, sending)
        except asyncio.CancelledError:
            if not self.ending.is_over:
                raise
            task.uncancel()
            if not sending.status:
                words = "the server is being shut down; try again in a minute"
                await refused(503, words, {"Retry-After": "60", "Connection": "close"})(scope, receive, send)
            elif not sending.is_complete:  # what has been sent stays
                await send({"type": "http.response.body", "body": b""})
        finally:
            self.ending.in_hand.discard(task)
