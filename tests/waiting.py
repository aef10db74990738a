"""Waiting for a condition, in place of sleeping for as long as it may take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path


def until(condition: Callable[[], object], within_seconds: float = 90.0) -> None:
    """Return when the condition holds; fail where it does not in time."""
    limit = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < limit, "it never came true"
        time.sleep(0.01)


def unread(process_id: int) -> int:
    """The number of bytes that a process was sent by its standard input and has not read."""
    import fcntl
    import termios

    with Path(f"/proc/{process_id}/fd/0").open("rb") as received:
        return int.from_bytes(fcntl.ioctl(received, termios.FIONREAD, bytes(4)), sys.byteorder)
