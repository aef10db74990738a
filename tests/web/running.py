"""A server in a process of its own, for tests that need a real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from tests.ports import free_port
from tests.waiting import until

_SECONDS = 90  # in which it starts, and ends


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens, its process, and the file with what it says."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=_SECONDS)


@contextmanager
def running(
    collection: Path,
    folder: Path,
    *options: str,
    command: tuple[str, ...] = ("serve",),
    python: str | Path = sys.executable,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Server]:
    """`roslin serve`, or another command that serves, with these options, until the block ends."""
    port, log = free_port(), folder / "server.log"
    line = [str(python), "-m", "roslin", *command, str(collection), "--port", str(port), *options]
    with log.open("wb") as out:
        process = subprocess.Popen(line, stdout=out, stderr=out, env={**environment})
    server = Server(port, process, log)
    try:
        _wait_for(server)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server) -> None:
    until(lambda: server.process.poll() is not None or _is_well(server))
    assert server.process.poll() is None, server.log.read_text()


def _is_well(server: Server) -> bool:
    try:
        with urlopen(f"{server.address}/healthz", timeout=_SECONDS):
            return True
    except OSError:
        return False
