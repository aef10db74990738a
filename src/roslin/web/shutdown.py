"""The end of a server: requests in hand are answered or refused, and nothing holds the process for long.

The first signal to end (SIGTERM, Ctrl-C) stops new connections and leaves `GRACE_SECONDS` to requests in hand. A
request that is not answered by then gets a 503 with a sentence, and its work is told to stop. uvicorn ends, and the
command with it, unless a thread still computes: a comparison in a kernel cannot be stopped. So the process ends
`LAST_SECONDS` after the signal in any case, and `HURRIED_SECONDS` after a second signal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roslin.web.answers import refusal
from roslin.web.security import Guard

GRACE_SECONDS = 2.0
LAST_SECONDS = 5.0
HURRIED_SECONDS = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """Whether a server is about to end, and the requests that it still has in hand."""

    def __init__(self) -> None:
        self.is_over = False
        self.in_hand: set[asyncio.Task[Any]] = set()
        self._has_begun = False

    def await_signals(self) -> None:
        """Listen to signals, and pass them on to the handler before. Only the main thread of a process can."""
        self.is_over, self._has_begun = False, False
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            before = signal.getsignal(number)
            signal.signal(number, self._listener(loop, before if callable(before) else None))

    def begin(self) -> None:
        """Leave requests in hand a little time, and then refuse them."""
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._tell)

    def _listener(
        self, loop: asyncio.AbstractEventLoop, before: Callable[[int, FrameType | None], Any] | None
    ) -> Callable[[int, FrameType | None], None]:
        def heard(number: int, frame: FrameType | None) -> None:
            last = threading.Timer(HURRIED_SECONDS if self._has_begun else LAST_SECONDS, os._exit, (0,))
            last.daemon = True
            last.start()
            if not self._has_begun:
                loop.call_soon_threadsafe(self.begin)
            self._has_begun = True
            if before is not None:
                before(number, frame)

        return heard

    def _tell(self) -> None:
        self.is_over = True
        for task in self.in_hand:
            task.cancel()


class UntilTheEnd(Guard):
    """Answer those whose requests are cut off by the end of the server."""

    def __init__(self, app: ASGIApp, ending: Ending):
        super().__init__(app)
        self.ending = ending

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on. An answer that has begun when the end comes stays as it is."""
        task, has_begun, is_complete = asyncio.current_task(), False, False
        assert task is not None

        async def send_noted(message: Message) -> None:
            nonlocal has_begun, is_complete
            has_begun, is_complete = True, not message.get("more_body") and message["type"] == "http.response.body"
            await send(message)

        self.ending.in_hand.add(task)
        try:
            await self.app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if not self.ending.is_over:
                raise
            task.uncancel()
            if not has_begun:
                words = refusal(503, "the server is being shut down; try again in a minute").model_dump()
                await JSONResponse(words, 503, {"Retry-After": "60", "Connection": "close"})(scope, receive, send)
            elif not is_complete:
                await send({"type": "http.response.body", "body": b""})
        finally:
            self.ending.in_hand.discard(task)
