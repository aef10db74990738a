"""What the tests of score readers share."""

from __future__ import annotations

import io
from typing import Any

from roslin.notation import kern, mei, musicxml
from roslin.notation.record import Record

READERS = {"musicxml": musicxml.read, "mei": mei.read, "kern": kern.read}


def read_score(data: bytes, kind: str, *, strict: bool = True, **wanted: Any) -> list[Record]:
    """The records of one file, from the reader of its format."""
    return list(READERS[kind](io.BytesIO(data), strict=strict, **wanted))
