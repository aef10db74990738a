"""Work in a thread for a client that waits: it reports its progress, and ends if the client disconnects.

The progress of a search is sent on the connection of its result, so worker processes share nothing: lines of JSON, and
the page last:

    {"done": 0.25}
    {"done": 0.5}
    {"page": "<div ..."}

The status line is sent before the answer is known, so an error is a page too. Each line is compressed and flushed by
itself, so that none waits in the compressor.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from fastapi.responses import StreamingResponse

from roslin.errors import RoslinError

LINES = "application/x-ndjson"
_GZIP, _LEVEL = 31, 3
_TELL_EVERY_SECONDS = 0.2
_LOOK_EVERY_SECONDS = 1.0  # whether the client is still there; hundreds may wait, and each look costs
_THREADS = CapacityLimiter(16)  # most of them wait for their turn to search; those of other requests are apart

_Answer = TypeVar("_Answer")


class GoneError(RoslinError):
    """The client disconnected."""


@dataclass(slots=True)
class Wait:
    """The link between a thread that works and the request that waits for it."""

    is_gone: bool = False  # the client disconnected
    done: float = 0.0  # the share of the work that is done; 0 while that is not known

    def report(self, done: float, _what: str = "") -> None:
        self.done = done
        self.check()

    def check(self) -> None:
        """End work if its client disconnected."""
        if self.is_gone:
            raise GoneError("the search was cancelled because the client disconnected")


def begun(work: Callable[[Wait], _Answer]) -> tuple[asyncio.Future[_Answer], Wait]:
    """The work, started in a thread, and the link to it."""
    wait = Wait()
    task = asyncio.ensure_future(to_thread.run_sync(work, wait, limiter=_THREADS))
    # Nothing asks for the error of work whose client left; this keeps it out of the log.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task, wait


async def progress_of(
    task: asyncio.Future[_Answer], wait: Wait, every_seconds: float = _TELL_EVERY_SECONDS
) -> AsyncIterator[float]:
    """The share that is done, at intervals until the work ends. A reader that stops early counts as gone."""
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=every_seconds)
            yield wait.done
    finally:
        wait.is_gone = True


async def while_waited_for(request: Request, work: Callable[[Wait], _Answer]) -> _Answer:
    """The result of the work; a client that disconnects ends it."""
    task, wait = begun(work)
    async for _ in progress_of(task, wait, _LOOK_EVERY_SECONDS):
        if not wait.is_gone and await request.is_disconnected():
            wait.is_gone = True
    return await task


def wants_lines(request: Request) -> bool:
    """Whether the client asks for lines of JSON, and not only for the page."""
    return LINES in request.headers.get("accept", "")


def as_lines(
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
