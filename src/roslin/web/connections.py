"""Connections that get on: whoever is slow, or does not ask at all, keeps nobody else from being answered.

uvicorn waits for a request as long as it takes to come, and turns everybody away when it has too many connections. So
a few hundred sockets that say nothing close a server. Here a connection has limits of time,

    its request          `HEADER_SECONDS` from the first byte, or from the start, to the end of the headers
    a body               `BODY_SECONDS`, and one more for each `BODY_BYTES` that have come
    an answer            `WRITE_SECONDS` in which the client takes none of it
    between requests     uvicorn's `timeout_keep_alive`

and there are limits of number: `limit_concurrency` connections, and a quarter of them from one address (of IPv6: from
one /64 network), unless that is a proxy of the operator. When there is no room, one that has not yet sent a whole
request makes place: of the address with the most of them, the one that has waited longest. Only where all have requests
in hand is the new one refused. Bodies that do not come at once are worked on while they come, so fewer of them are let
in.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

import h11
from starlette.responses import JSONResponse
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from roslin.web.answers import refusal
from roslin.web.security import household_of

HEADER_SECONDS = 10.0
BODY_SECONDS = 10.0
BODY_BYTES = 4096
WRITE_SECONDS = 30.0
_LOOK_EVERY_SECONDS = 1.0
_SHARES = 4  # one address may have this part of all connections
_SENDERS = 8  # this part of all may be sending bodies that do not come at once, and one address this part of that
_OTHER_FILES = 200  # what a process has open besides connections: arrays, databases, pipes
_REASONS = {408: b"Request Timeout", 503: b"Service Unavailable"}


def room_for(connections: int) -> int:
    """So many connections, or as many as the system lets this process have, which is asked for more if it is few."""
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
        self._of: dict[str, OrderedDict[Connection, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._of.get(connection.address, ())

    def add(self, connection: Connection) -> None:
        """At the end, unless it is there."""
        if connection not in self:
            self._of.setdefault(connection.address, OrderedDict())[connection] = None
            self._count += 1

    def remove(self, connection: Connection) -> None:
        """If it is there."""
        if connection in self:
            del self._of[connection.address][connection]
            self._count -= 1
            if not self._of[connection.address]:
                del self._of[connection.address]

    def of(self, address: str) -> int:
        """How many an address has."""
        return len(self._of.get(address, ()))

    def longest(self, address: str) -> Connection | None:
        """The first that came of those of an address."""
        return next(iter(self._of.get(address, ())), None)

    @property
    def largest(self) -> str:
        """The address that has the most."""
        return max(self._of, key=self.of, default="")


class Doorkeeper:
    """Who is connected to one server, who of them has sent no whole request, and who of those is sending a body."""

    def __init__(self, config: Config):
        self.most = config.limit_concurrency or 1000
        self.most_of_one = max(self.most // _SHARES, 1)
        named = config.forwarded_allow_ips if config.proxy_headers else ()
        self._proxies = [ip_network(each) for each in named or ()]
        self._inside, self._waiting, self._sending = Crowd(), Crowd(), Crowd()

    def lets_in(self, connection: Connection) -> bool:
        """Make room for a connection; False where there is none, because all the others have requests in hand."""
        address, longest = connection.address, None
        if self._inside.of(address) >= self.most_of_one and not self._is_proxy(connection):
            longest = self._waiting.longest(address)
        elif len(self._inside) >= self.most:
            longest = self._waiting.longest(self._waiting.largest)
        else:
            self._enter(connection)
            return True
        return self._takes_the_place_of(longest, connection)

    def lets_send(self, connection: Connection) -> bool:
        """Whether a connection may send a body that does not come at once; of those, an address has a small share.

        When there are too many, whoever has fewer takes the place of one of those who have the most.
        """
        address, most = connection.address, max(self.most // _SENDERS, 1)
        largest = self._sending.largest
        has_share = self._sending.of(address) < max(most // _SENDERS, 1) or self._is_proxy(connection)
        if has_share and len(self._sending) >= most and self._sending.of(address) < self._sending.of(largest):
            longest = self._sending.longest(largest)
            if longest is not None:
                self._end(longest)
        if not has_share or len(self._sending) >= most:
            return False
        self._sending.add(connection)
        return True

    def waits(self, connection: Connection) -> None:
        """It has no whole request in hand; from now on, if it had one."""
        if connection in self._inside:
            self._waiting.add(connection)

    def works(self, connection: Connection) -> None:
        """It has a whole request in hand."""
        self._waiting.remove(connection)
        self._sending.remove(connection)

    def forget(self, connection: Connection) -> None:
        """It is gone."""
        self.works(connection)
        self._inside.remove(connection)

    def _enter(self, connection: Connection) -> None:
        self._inside.add(connection)
        self._waiting.add(connection)

    def _takes_the_place_of(self, other: Connection | None, connection: Connection) -> bool:
        if other is None:
            return False
        self._end(other)
        self._enter(connection)
        return True

    def _end(self, connection: Connection) -> None:
        self.forget(connection)
        connection.transport.abort()

    def _is_proxy(self, connection: Connection) -> bool:
        try:
            address = ip_address(connection.client[0] if connection.client else "")
            return any(address in network for network in self._proxies)
        except ValueError:  # a socket of this computer without an address
            return False


_DOORKEEPERS: weakref.WeakKeyDictionary[ServerState, Doorkeeper] = weakref.WeakKeyDictionary()


class Connection(H11Protocol):
    """A connection of uvicorn, with limits."""

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any):
        super().__init__(config, server_state, app_state, **more)
        self.limit_concurrency = None  # the doorkeeper's
        self._application, self.app = self.app, self._answer
        if server_state not in _DOORKEEPERS:
            _DOORKEEPERS[server_state] = Doorkeeper(config)
        self.door = _DOORKEEPERS[server_state]
        self.address = ""
        self._limit: asyncio.TimerHandle | None = None  # of a request that comes
        self._write_limit: asyncio.TimerHandle | None = None
        self._body_of: object = None  # the request whose body comes
        self._body_bytes, self._body_began = 0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, and wait for its request."""
        super().connection_made(transport)
        self.address = household_of(self.client[0]) if self.client else ""
        if self.door.lets_in(self):
            self._within(HEADER_SECONDS, self._give_up)
        else:
            self._refuse(503, "too many connections at this moment; try again in a minute")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.door.forget(self)
        self._cancel_limits()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes, and see what is still to come."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._has_request:  # a beginning of one, or what is left of the last one's body
            self.door.waits(self)
            if self._limit is None:
                self._within(HEADER_SECONDS, self._give_up)
            return
        if not self.cycle.more_body:
            self.door.works(self)
            self._cancel_limit()
        elif self._body_of is self.cycle:
            self._body_bytes += len(data)
        else:
            self._body_of, self._body_bytes, self._body_began = self.cycle, 0, self.loop.time()
            self._within(_LOOK_EVERY_SECONDS, self._look_at_body)

    def on_response_complete(self) -> None:
        """The answer is written; the next request may come."""
        self._cancel_limit()
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_unless_taken()
        elif not self._has_request:
            self.door.waits(self)

    def pause_writing(self) -> None:
        """The client takes the answer more slowly than it is made."""
        super().pause_writing()
        self._abort_unless_taken()

    def resume_writing(self) -> None:
        """The client has taken what there was."""
        if self._write_limit is not None:
            self._write_limit.cancel()
            self._write_limit = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing was asked for a while. What the client did not take by then is not kept for it."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, unless too many are sending bodies: before that has cost more than reading its headers."""
        if self.cycle.more_body and not self.door.lets_send(self):
            words = refusal(503, "too many uploads at this moment; try again in a minute").model_dump()
            refused = JSONResponse(words, 503, {"Connection": "close", "Retry-After": "30"})
            await refused(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _within(self, seconds: float, otherwise: Callable[[], None]) -> None:
        self._cancel_limit()
        self._limit = self.loop.call_later(seconds, otherwise)

    def _look_at_body(self) -> None:
        """Give up on a body that comes too slowly; while we do not read, the client is not to blame."""
        if not self._has_request or not self.cycle.more_body:
            self._limit = None
            return
        if self.flow.read_paused:
            self._body_began += _LOOK_EVERY_SECONDS
        allowed = BODY_SECONDS + self._body_bytes / BODY_BYTES
        if self.loop.time() - self._body_began > allowed:
            self._give_up()
        else:
            self._within(_LOOK_EVERY_SECONDS, self._look_at_body)

    def _give_up(self) -> None:
        """End a connection whose request does not come. Who has said nothing is told nothing."""
        self._limit = None
        is_answered = self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)
        if is_answered or (self.cycle is None and not self.conn.trailing_data[0]):
            self.transport.abort()
        else:
            self._refuse(408, "the request took too long to arrive")

    def _refuse(self, status: int, message: str) -> None:
        body = json.dumps(refusal(status, message).model_dump()).encode()
        head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nretry-after: 30\r\n" % (
            status,
            _REASONS[status],
            len(body),
        )
        self.transport.write(head + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _abort_unless_taken(self) -> None:
        if self._write_limit is None and self.transport.get_write_buffer_size():
            self._write_limit = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def _cancel_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _cancel_limits(self) -> None:
        self._cancel_limit()
        if self._write_limit is not None:
            self._write_limit.cancel()
            self._write_limit = None
