"""The end of a server with work in hand: who can be answered is, others are told, and it is over in seconds."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.waiting import until
from tests.web.running import Server, running

pytestmark = pytest.mark.long

MATCHERS = Path(__file__).with_name("slow_matchers.py")
# Far from what it takes (5 seconds), and from what it must not take (a minute): the computer may be busy.
SOON = 20.0


@pytest.fixture
def server(starter: Path, tmp_path: Path) -> Iterator[Server]:
    with running(starter, tmp_path, "--plugin", str(MATCHERS)) as started:
        yield started


class Asked:
    """A search in a thread: its status, and what came."""

    def __init__(self, server: Server, matcher: str):
        self.status, self.answer = 0, b""
        self._address = f"{server.address}/api/search?q=%274CDE&matcher={matcher}"
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        try:
            with urlopen(self._address, timeout=60) as answer:
                self.status, self.answer = answer.status, answer.read()
        except HTTPError as error:
            self.status, self.answer = error.code, error.read()
        except OSError:
            pass

    def wait(self) -> None:
        self._thread.join(60)


def searching(server: Server) -> int:
    """How many searches go on in a process of the server."""
    with urlopen(f"{server.address}/healthz") as answer:
        state = json.load(answer)
    return int(state["searching"])


def is_closed(server: Server) -> bool:
    """Whether it takes no new connections."""
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def ended(server: Server) -> tuple[int, float]:
    """The exit code after SIGTERM, and how many seconds it took."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    return server.process.wait(timeout=60), time.monotonic() - began


def test_work_in_hand(server: Server) -> None:
    until(lambda: searching(server) == 0)
    long = Asked(server, "minute")
    until(lambda: searching(server) == 1)
    short = Asked(server, "moment")
    waiting = Asked(server, "dp")  # for one of the two that may search at a time
    until(lambda: searching(server) >= 2)
    code, seconds = ended(server)
    for each in (long, short, waiting):
        each.wait()
    assert code == 0
    assert seconds < SOON
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


def test_a_second_signal_ends_it_at_once(server: Server) -> None:
    until(lambda: searching(server) == 0)
    asked = Asked(server, "minute")
    until(lambda: searching(server) == 1)
    server.process.send_signal(signal.SIGTERM)
    until(lambda: is_closed(server))
    assert server.process.poll() is None  # it is still polite
    code, seconds = ended(server)
    assert (code, seconds < 4) == (0, True)
    asked.wait()
    assert "Traceback" not in server.log.read_text()


def test_several_processes(starter: Path, tmp_path: Path) -> None:
    with running(starter, tmp_path, "--plugin", str(MATCHERS), "--workers", "2") as server:
        asked = [Asked(server, "minute") for _ in range(3)]
        until(lambda: searching(server))
        code, seconds = ended(server)
        for each in asked:
            each.wait()
    assert code == 0
    assert seconds < SOON
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
    until(lambda: not [each for each in children if Path(f"/proc/{each}").exists()], SOON)
