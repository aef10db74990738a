"""Work in a thread for somebody who may leave: the work is told when the client has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

__all__ = ["while_waited_for"]

_LOOK_EVERY_SECONDS = 0.2

_Answer = TypeVar("_Answer")


async def while_waited_for(request: Request, work: Callable[[Callable[[], bool]], _Answer]) -> _Answer:
    """What the work gives. It is handed a function that says whether the client has gone."""
    gone = threading.Event()
    task = asyncio.ensure_future(run_in_threadpool(work, gone.is_set))
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=_LOOK_EVERY_SECONDS)
            if done:
                return task.result()
            if not gone.is_set() and await request.is_disconnected():
                gone.set()
    finally:
        gone.set()
