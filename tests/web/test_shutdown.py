"""The end of a server with work in hand: who can be answered is, others are told, and it is over in seconds."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.waiting import until
from tests.web.running import Server, running

pytestmark = pytest.mark.long

MATCHERS = Path(__file__).with_name("slow_matchers.py")
# Far from what it takes (25 seconds), and from what it must not take (ten minutes): the computer may be busy.
SOON = 90.0


@pytest.fixture(params=[20])
def server(request: pytest.FixtureRequest, starter: Path, tmp_path: Path) -> Iterator[Server]:
    """A server that leaves so many seconds to requests in hand."""
    environment = {**os.environ, "ROSLIN_TEST_GRACE": str(request.param), "ROSLIN_TEST_GO": str(tmp_path / "go")}
    with running(starter, tmp_path, "--plugin", str(MATCHERS), environment=environment) as started:
        yield started


class Asked:
    """A search in a thread: its status, and what came."""

    def __init__(self, server: Server, matcher: str):
        self.status, self.answer = 0, b""
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
        self._connection.request("GET", f"/api/search?q=%274CDE&matcher={matcher}")
        searching(server)  # a server that answers this has taken the connection before
        self._thread = threading.Thread(target=self._hear)
        self._thread.start()

    def _hear(self) -> None:
        with suppress(OSError, HTTPException):
            answer = self._connection.getresponse()
            self.status, self.answer = answer.status, answer.read()
        self._connection.close()

    def wait(self) -> None:
        self._thread.join(SOON)


def searching(server: Server) -> int:
    """How many searches go on in a process of the server."""
    with urlopen(f"{server.address}/healthz") as answer:
        state = json.load(answer)
    return int(state["searching"])


def is_closed(server: Server) -> bool:
    """Whether it takes no new connections."""
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=SOON).close()
    except ConnectionRefusedError:
        return True
    return False


def ended(server: Server) -> int:
    """The exit code after SIGTERM; it fails if the end does not come soon."""
    server.process.send_signal(signal.SIGTERM)
    return server.process.wait(timeout=SOON)


def test_work_in_hand(server: Server, tmp_path: Path) -> None:
    until(lambda: searching(server) == 0)
    long = Asked(server, "minutes")
    until(lambda: searching(server) == 1)
    short = Asked(server, "moment")
    waiting = Asked(server, "dp")  # for one of the two that may search at a time
    until(lambda: searching(server) == 2)
    server.process.send_signal(signal.SIGTERM)
    until(lambda: is_closed(server))
    (tmp_path / "go").touch()
    code = server.process.wait(timeout=SOON)
    for each in (long, short, waiting):
        each.wait()
    assert code == 0
    assert long.status == 503
    assert json.loads(long.answer)["error"] == {
        "code": "unavailable",
        "message": "the server is being shut down; try again in a minute",
        "problem": None,
    }
    assert short.status == 200
    assert waiting.status in (200, 503)
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "Error" not in log
    statuses = [json.loads(line)["status"] for line in log.splitlines() if "/api/search" in line]
    assert sorted(statuses) == sorted([200, 503, waiting.status])


@pytest.mark.parametrize("server", [600], indirect=True)
def test_a_second_signal_ends_it_at_once(server: Server) -> None:
    until(lambda: searching(server) == 0)
    asked = Asked(server, "minutes")
    until(lambda: searching(server) == 1)
    server.process.send_signal(signal.SIGTERM)
    until(lambda: is_closed(server))
    assert server.process.poll() is None  # it is still polite
    assert ended(server) == 0
    asked.wait()
    assert "Traceback" not in server.log.read_text()


def test_several_processes(starter: Path, tmp_path: Path) -> None:
    with running(starter, tmp_path, "--plugin", str(MATCHERS), "--workers", "2") as server:
        asked = [Asked(server, "minutes") for _ in range(3)]
        until(lambda: searching(server))
        code = ended(server)
        for each in asked:
            each.wait()
    assert code == 0
    assert {each.status for each in asked} <= {503, 0}  # 0: it had not come in yet
    assert 503 in {each.status for each in asked}
    assert "Traceback" not in server.log.read_text()


def children_of(server: Server) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, check=True)
    return list(map(int, listed.stdout.split()))


def test_nothing_is_left_behind(server: Server) -> None:
    """Readers and engravers end with the server, also when it is killed."""
    with urlopen(f"{server.address}/results?q=%274CDE&matcher=dp") as answer:
        assert answer.status == 200
    until(lambda: len(children_of(server)) >= 2)
    children = children_of(server)
    server.process.kill()
    server.process.wait()
    until(lambda: not [each for each in children if Path(f"/proc/{each}").exists()])
