"""Connections that do not get on: whoever is slow is cut off, and whoever asks is answered."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from tests.waiting import until
from uvicorn.server import ServerState

from roslin.errors import ArgumentError
from roslin.web import connections
from roslin.web.experiment.study import ExperimentSettings
from roslin.web.security import RateLimit
from roslin.web.server import uvicorn_options
from roslin.web.settings import Settings

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 90.0


class Application:
    """Answers with the client's address and the length of the body; `/wait` when it is told to, `/much` at length."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.waiting, self.pieces = 0, 0  # requests for `/wait`, and pieces of bodies that have come

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length, more = length + len(message["body"]), message["more_body"]
            self.pieces += bool(message["body"])
        self.waiting += scope["path"] == "/wait"
        while scope["path"] == "/wait" and not self.go_on.is_set():
            await asyncio.sleep(0.01)
        body = b"x" * 2**24 if scope["path"] == "/much" else f"{scope['client'][0]} {length}".encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(app: Any, most: int = 20, proxies: tuple[str, ...] = ()) -> Iterator[tuple[int, uvicorn.Server]]:
    listening = socket.create_server(("127.0.0.1", 0))
    options = uvicorn_options(most, proxies) | {"lifespan": "off"}
    server = uvicorn.Server(uvicorn.Config(connections.Patience(app), **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join()


def connect(port: int, *, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0))


def answer_to(connection: socket.socket, data: bytes = b"") -> bytes:
    """All that comes until the end of an answer, or of the connection."""
    connection.sendall(data)
    received = b""
    while b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < length_in(received):
        part = connection.recv(65536)
        if not part:
            break
        received += part
    return received


def length_in(received: bytes) -> int:
    head = received.partition(b"\r\n\r\n")[0].lower()
    return int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)


def is_ended(connection: socket.socket) -> bool:
    """Whether the other side has ended a connection, after all that it still had to say."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


Impatient = Callable[[uvicorn.Server, int], None]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Impatient:
    """Makes all limits short once a server has so many connections, which have a long limit until they send."""

    def wait_and_change(server: uvicorn.Server, count: int) -> None:
        until(lambda: len(server.server_state.connections) == count)
        for name in ("HEADER_SECONDS", "BODY_SECONDS", "WRITE_SECONDS"):
            monkeypatch.setattr(connections, name, 0.5)

    monkeypatch.setattr(connections, "HEADER_SECONDS", PATIENCE)
    return wait_and_change


@pytest.mark.long
def test_headers_that_do_not_end(impatient: Impatient) -> None:
    with serving(Application()) as (port, server), connect(port) as slow, connect(port) as later, ExitStack() as stack:
        assert answer_to(later, REQUEST).endswith(b"127.0.0.1 0")
        impatient(server, 2)
        silent = stack.enter_context(connect(port))
        slow.sendall(REQUEST[:20])
        later.sendall(REQUEST[:20])  # the second request of a connection has the same limit
        for each in (slow, later):
            refused = answer_to(each)
            assert refused.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            message = json.loads(refused.partition(b"\r\n\r\n")[2])["error"]["message"]
            assert message == "the request took too long to arrive"
            assert is_ended(each)
        assert is_ended(silent)


@pytest.mark.long
def test_headers_that_drip(impatient: Impatient) -> None:
    """A byte now and then is no progress: the limit is for all of them."""
    with serving(Application()) as (port, server), connect(port) as dripping:
        impatient(server, 1)
        began, is_open = time.monotonic(), True
        while is_open and time.monotonic() - began < PATIENCE:
            time.sleep(0.05)
            try:
                dripping.sendall(b"x")
            except (ConnectionResetError, BrokenPipeError):
                is_open = False
        assert not is_open


@pytest.mark.long
def test_bodies_that_do_not_come(impatient: Impatient, monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    with serving(Application()) as (port, server), connect(port) as slow, connect(port) as steady:
        impatient(server, 2)
        slow.sendall(head + b"x")
        assert answer_to(slow).startswith(b"HTTP/1.1 408")
        assert is_ended(slow)
        monkeypatch.setattr(connections, "BODY_BYTES", 100)  # so many in a second: 10,000 may take 100 seconds
        piece = b"x" * 10_000
        steady.sendall(head + piece)
        for _ in range(9):  # it takes longer than half a second, but at a speed that is allowed
            time.sleep(0.1)
            steady.sendall(piece)
        assert answer_to(steady).endswith(b"127.0.0.1 100000")


@pytest.mark.long
def test_an_answer_that_nobody_takes(impatient: Impatient) -> None:
    with serving(Application()) as (port, server), connect(port) as deaf:
        impatient(server, 1)
        deaf.sendall(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: not server.server_state.connections)


@pytest.mark.long
def test_a_search_may_take_longer_than_a_request_may_take_to_come(impatient: Impatient) -> None:
    app = Application()
    with serving(app) as (port, server), connect(port) as patient:
        impatient(server, 1)
        patient.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        threading.Timer(1.5, app.go_on.set).start()
        assert answer_to(patient).startswith(b"HTTP/1.1 200")


@pytest.mark.long
def test_who_asks_is_answered_though_others_only_sit_there() -> None:
    with serving(Application(), most=20) as (port, server), ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(100)]
        for each in idle[50:]:
            each.sendall(REQUEST[:20])
        for _ in range(5):
            with connect(port) as asking:
                assert answer_to(asking, REQUEST).endswith(b"127.0.0.1 0")
        assert len(server.server_state.connections) <= 20
        assert is_ended(idle[0])


@pytest.mark.long
def test_one_address_leaves_room_for_others() -> None:
    app = Application()
    with serving(app, most=20) as (port, _), ExitStack() as stack:
        busy = [stack.enter_context(connect(port)) for _ in range(5)]
        for each in busy:
            each.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: app.waiting == len(busy))
        refused = answer_to(stack.enter_context(connect(port)))
        assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"]["code"] == "unavailable"
        other = stack.enter_context(connect(port, source="127.0.0.2"))
        assert answer_to(other, REQUEST).endswith(b"127.0.0.2 0")
        app.go_on.set()
        assert all(answer_to(each).startswith(b"HTTP/1.1 200") for each in busy)


@pytest.mark.long
def test_a_proxy_speaks_for_many() -> None:
    app = Application()
    with serving(app, most=20, proxies=("127.0.0.0/30",)) as (port, _), ExitStack() as stack:
        busy = [stack.enter_context(connect(port)) for _ in range(10)]
        for each in busy:
            each.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: app.waiting == len(busy))
        named = REQUEST.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 192.0.2.7")
        assert answer_to(stack.enter_context(connect(port)), named).endswith(b"192.0.2.7 0")
        app.go_on.set()


@pytest.mark.long
def test_nobody_else_is_believed() -> None:
    """Not even this computer: whoever asks could name another address for each request, and would have no limit."""
    named = REQUEST.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 192.0.2.%d")
    with serving(RateLimit(Application(), 3)) as (port, _), connect(port) as asking:
        answers = [answer_to(asking, named % number) for number in range(5)]
        assert [answer.split()[1] for answer in answers] == [b"200", b"200", b"200", b"429", b"429"]
        assert b"127.0.0.1" in answers[0]


@pytest.mark.long
def test_a_chain_of_proxies_is_believed_up_to_a_stranger() -> None:
    named = REQUEST.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.1.2.3")
    with serving(Application(), proxies=("127.0.0.1", "10.1.2.0/24")) as (port, _), connect(port) as asking:
        assert answer_to(asking, named).endswith(b"192.0.2.7 0")


@pytest.mark.parametrize("named", ["proxy.example.org", "*", "10.1.2.3/8", ""])
def test_a_proxy_is_an_address(named: str) -> None:
    for make in (Settings, ExperimentSettings):
        with pytest.raises(ArgumentError, match="a proxy must be given as an address or a network"):
            make("x", proxies=(named,))


def test_the_settings_travel() -> None:
    settings = Settings("x", proxies=("127.0.0.1",))
    os.environ["ROSLIN_WEB_SETTINGS"] = settings.to_environment()
    try:
        assert Settings.from_environment() == settings
    finally:
        del os.environ["ROSLIN_WEB_SETTINGS"]


def test_the_system_is_asked_for_more_files(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 2048))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert connections.room_for(500) == 500
    assert connections.room_for(1000) == 1000
    assert connections.room_for(4000) == 1848
    assert asked == [(1200, 2048), (2048, 2048)]


@pytest.mark.long
def test_who_has_sent_half_of_a_body_makes_place_too() -> None:
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
    with serving(Application(), most=20) as (port, _), ExitStack() as stack:
        for number in range(40):
            stack.enter_context(connect(port, source=f"127.0.0.{2 + number % 8}")).sendall(half)
        for _ in range(3):
            with connect(port) as asking:
                assert answer_to(asking, REQUEST).endswith(b"127.0.0.1 0")


@pytest.mark.long
def test_those_with_many_connections_make_place_for_those_with_few() -> None:
    """However many come between a connection and its request."""
    with serving(Application(), most=20) as (port, _), ExitStack() as stack:
        few = stack.enter_context(connect(port))
        many = [stack.enter_context(connect(port, source=f"127.0.0.{2 + number % 8}")) for number in range(100)]
        assert answer_to(few, REQUEST).endswith(b"127.0.0.1 0")
        assert is_ended(many[0])


class Wire(asyncio.Transport):
    """Nothing but an address at the other end."""

    is_ended = False

    def abort(self) -> None:
        self.is_ended = True


def test_the_addresses_of_one_ipv6_network_share_their_connections() -> None:
    loop = asyncio.new_event_loop()
    options = uvicorn_options(20, ("2001:db8:9::/48",))
    config = uvicorn.Config(Application(), **options)
    config.load()
    server, wires = ServerState(), list[Wire]()
    for network in ("2001:db8:1:2::", "2001:db8:1:3::", "2001:db8:9:2::"):  # the last one is the operator's proxy
        for number in range(7):
            wires.append(Wire({"peername": (f"{network}{number}", 5000)}))
            made = options["http"](config=config, server_state=server, app_state={}, _loop=loop)
            loop.call_soon(made.connection_made, wires[-1])
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert [wire.is_ended for wire in wires] == [True] * 2 + [False] * 5 + [True] * 2 + [False] * 5 + [False] * 7


@pytest.mark.long
def test_bodies_that_come_slowly_are_few() -> None:
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
    app = Application()
    with serving(app, most=640) as (port, _), ExitStack() as stack:  # 80 at a time, 10 of one address
        sending = [stack.enter_context(connect(port, source="127.0.0.2")) for _ in range(11)]
        for each in sending:
            each.sendall(half)
        refused = answer_to(sending[-1])
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"too many uploads at this moment" in refused
        with connect(port) as other:
            other.sendall(half)
            until(lambda: app.pieces == 11)  # ten, and this one
            assert answer_to(other, b"x" * 8).endswith(b"127.0.0.1 9")
        with connect(port, source="127.0.0.2") as at_once:
            assert answer_to(at_once, half + b"x" * 8).endswith(b"127.0.0.2 9")
        assert answer_to(sending[0], b"x" * 8).endswith(b"127.0.0.2 9")


@pytest.mark.long
def test_who_sends_few_bodies_takes_the_place_of_who_sends_many() -> None:
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
    app = Application()
    with serving(app, most=128) as (port, _), ExitStack() as stack:  # 16 at a time, 2 of one address
        sending = [stack.enter_context(connect(port, source=f"127.0.0.{2 + number // 2}")) for number in range(16)]
        for each in sending:
            each.sendall(half)
        until(lambda: app.pieces == 16)
        with connect(port) as other:
            other.sendall(half)
            until(lambda: app.pieces == 17)
            assert answer_to(other, b"x" * 8).endswith(b"127.0.0.1 9")
        assert is_ended(sending[0])
