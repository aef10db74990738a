"""What the fuzz tests share: a reader that runs for too long, or takes too much memory, fails its test."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

__all__ = ["bounded", "memory_limit", "no_hang"]

HANG_SECONDS = 5
MEMORY_MEGABYTES = 128

_STATM = Path("/proc/self/statm")  # its first number: pages of address space


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


@contextmanager
def memory_limit(megabytes: float = MEMORY_MEGABYTES) -> Iterator[None]:
    """Stop what needs this much more address space than the process has now, in Python or in C.

    Asking for more raises MemoryError. Memory that was freed but not given back is not counted again. Where the system
    does not tell how much is in use (it is not Linux), nothing is limited.
    """
    if not _STATM.exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(_STATM.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(megabytes * 2**20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def bounded(megabytes: float = MEMORY_MEGABYTES) -> Iterator[None]:
    """No hang, and no more memory than the limit."""
    with no_hang(), memory_limit(megabytes):
        yield
