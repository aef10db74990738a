"""What the fuzz tests share: a reader that runs for too long fails its test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["no_hang"]

HANG_SECONDS = 5


@contextmanager
def no_hang() -> Iterator[None]:
    """Stop what takes more than five seconds of this process's own time: a busy machine is no hang."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("the reader hangs")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
