"""Work in a thread for somebody who waits, and may leave: the work says how far it is, and is told when nobody waits.

Both live in the process that answers the request, so nothing has to be shared between worker processes: how far a
search is goes out on the connection on which its result will come.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

__all__ = ["Wait", "begun", "progress_of", "while_waited_for"]

_LOOK_EVERY_SECONDS = 0.2

_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class Wait:
    """What a thread that works and the request that waits for it tell each other."""

    is_gone: bool = False  # nobody waits any more
    done: float = 0.0  # the share of the work that is done; 0 while that is not known


def begun(work: Callable[[Wait], _Answer]) -> tuple[asyncio.Future[_Answer], Wait]:
    """The work, begun in a thread, and what it is told and tells."""
    wait = Wait()
    task = asyncio.ensure_future(run_in_threadpool(work, wait))
    # Whoever leaves does not ask how it ended: that is no error to be logged.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task, wait


async def progress_of(task: asyncio.Future[_Answer], wait: Wait) -> AsyncIterator[float]:
    """The share that is done, now and again until all is. Whoever stops listening has gone."""
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_LOOK_EVERY_SECONDS)
            yield wait.done
    finally:
        wait.is_gone = True


async def while_waited_for(request: Request, work: Callable[[Wait], _Answer]) -> _Answer:
    """What the work gives."""
    task, wait = begun(work)
    async for _ in progress_of(task, wait):
        if not wait.is_gone and await request.is_disconnected():
            wait.is_gone = True
    return await task
