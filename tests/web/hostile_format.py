"""A format whose files take for ever, take all memory, end the process, or meet a mistake: for tests of the readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from roslin import Melody, register_format
from roslin.notation import Format, Record


def read(stream: BinaryIO, *, strict: bool) -> Iterator[Record]:
    """What the first word of a file asks for."""
    asked = stream.read().split()[1]
    if asked == b"for-ever":
        folder = Path(os.environ["ROSLIN_HOSTILE"])
        (folder / str(os.getpid())).touch()
        while not (folder / "enough").exists():
            pass
    if asked == b"memory":
        bytearray(2**33)
    if asked == b"crash":
        os.abort()
    if asked == b"mistake":
        raise KeyError("H")
    yield Record(Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64], title="caf\udce9"))


register_format(Format("hostile", "Whatever harms", (".hostile",), lambda head: head.startswith(b"hostile"), read))
