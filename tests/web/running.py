"""A server in a process of its own, for tests that need a real one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_STARTS_WITHIN = 60


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
        return self.process.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


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
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server) -> None:
    limit = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < limit:
        assert server.process.poll() is None, server.log.read_text()
        try:
            with urlopen(f"{server.address}/healthz", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {server.log.read_text()}")
