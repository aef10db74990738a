"""Look after a server from outside, until stdin says something: for `hostile_clients.py`. It imports nothing of Roslin.

    python benchmarks/watching.py PORT PROCESS LIMIT_SECONDS

Prints one line when it begins, and one of JSON at the end: milliseconds of `looks` at /healthz; of those that took
longer than the limit, `repeated` ones, and ones in which a thread of the server could have run and was given no
processor for so long that the computer was to blame (`busy`); and how often `real` requests, for the drawing of a
query, were answered with which status.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

EVERY_SECONDS = 0.1
REAL_EVERY = 10  # looks


def watch(port: int, process: int, limit_seconds: float) -> None:
    """Look until stdin says something. Linux tells how long each thread of the server's process waited for its turn."""
    looks, repeated, busy, real = list[float](), list[tuple[float, float]](), list[float](), Counter[int]()
    print("watching", flush=True)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        time.sleep(EVERY_SECONDS)
        before = _waited(process)
        took = _look(port)
        waited = max((now - before.get(thread, now) for thread, now in _waited(process).items()), default=0.0)
        if took <= limit_seconds * 1000:
            looks.append(took)
        elif took - waited <= limit_seconds * 1000:
            busy.append(took)
        else:
            repeated.append((took, _look(port)))
        number += 1
        if number % REAL_EVERY == 1:
            asked = urlencode({"q": f"'4CDE{'CDEFGAB'[number // REAL_EVERY % 7]}", "format": "svg"})
            real[status_of(port, f"/api/read?{asked}")] += 1
    print(json.dumps({"looks": looks, "repeated": repeated, "busy": busy, "real": real}))


def _waited(process: int) -> dict[str, float]:
    """Milliseconds that each thread of a process could have run, and was given no processor."""
    found = {}
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError, IndexError):
            found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e6
    return found


def _look(port: int) -> float:
    began = time.perf_counter()
    status = status_of(port, "/healthz")
    took = (time.perf_counter() - began) * 1000
    return took if status == 200 else float("inf")


def status_of(port: int, path: str) -> int:
    """The status of an answer; 0 where there was none."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=90) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while part := connection.recv(65536):
            received += part
        return int(received.split(b" ", 2)[1]) if received else 0
    return 0


if __name__ == "__main__":
    watch(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
