"""What the fuzz tests share: damage to good files, and limits that fail a reader which takes too long or too much."""

from __future__ import annotations

import random
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import AnyStr

HANG_SECONDS = 5
MEMORY_MEGABYTES = 128

_BOGUS_LENGTHS = (b"\xff\xff\xff\x7f", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\x80\x80\x80")
_MIDI_EVENTS = (b"MTrk", b"\0\xff\x2f\0", b"\0\xff\x58\4\0\xff\0\0", b"RIFF")
MIDI_PIECES = [bytes([value]) for value in range(256)] + [*_BOGUS_LENGTHS, *_MIDI_EVENTS] * 20

_STATM = Path("/proc/self/statm")  # its first number: pages of address space


def mutated(source: random.Random, data: AnyStr, pieces: Sequence[AnyStr]) -> AnyStr:
    """A text or the bytes of a file with one to six changes; `pieces` are what is put in."""
    for _ in range(source.randint(1, 6)):
        place = source.randint(0, len(data))
        piece = source.choice(pieces)
        match source.randrange(6):
            case 0:
                data = data[:place] + piece + data[place:]
            case 1:
                data = data[:place] + data[place + source.randint(1, 4) :]
            case 2:
                data = data[:place] + piece + data[place + len(piece) :]
            case 3:
                data = data[:place] + data[source.randint(0, len(data)) :][:40] + data[place:]
            case 4:
                data = data[:place] + piece * source.randint(2, 40) + data[place:]
            case _:
                data = data[: max(place, len(data) - 60)]
    return data


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
