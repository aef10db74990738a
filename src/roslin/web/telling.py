"""An answer that may take a while, as lines of JSON: how far it is, as often as that changes, and last the page.

    {"done": 0.25}
    {"done": 0.5}
    {"page": "<div ..."}

The status line is sent before the answer is known, so what went wrong is a page too. Lines are compressed one by one:
a compressor left to itself would keep them back.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse

from roslin.web.waiting import Wait, begun, progress_of

__all__ = ["LINES", "told", "wants_to_be_told"]

LINES = "application/x-ndjson"
_GZIP, _LEVEL = 31, 3

_Answer = TypeVar("_Answer")


def wants_to_be_told(request: Request) -> bool:
    """Whether the client asks for lines of JSON, and not only for the page."""
    return LINES in request.headers.get("accept", "")


def told(
    request: Request,
    work: Callable[[Wait], _Answer],
    page: Callable[[_Answer], str],
    refused: Callable[[Exception], str],
) -> StreamingResponse:
    """The lines for some work: `page` makes the last one of its answer, or `refused` of what it raised."""
    lines, headers = _lines(work, page, refused), {"Cache-Control": "no-store"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        lines, headers["Content-Encoding"] = _squeezed(lines), "gzip"
    return StreamingResponse(lines, media_type=LINES, headers=headers)


async def _lines(
    work: Callable[[Wait], _Answer], page: Callable[[_Answer], str], refused: Callable[[Exception], str]
) -> AsyncIterator[bytes]:
    task, wait = begun(work)
    before = 0.0
    async for done in progress_of(task, wait):
        if done > before:
            before = done
            yield _line({"done": round(done, 3)})
    try:
        last = page(await task)
    except Exception as error:  # the answer has begun: there is no other way left to say it
        last = refused(error)
    yield _line({"page": last})


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"


async def _squeezed(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    squeezer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    async for line in lines:
        yield squeezer.compress(line) + squeezer.flush(zlib.Z_SYNC_FLUSH)
    yield squeezer.flush()
