"""Whether the server can answer, for programs that watch it.

The answer comes at once, even if many people search. A look at the collection has its own thread, because it takes
turns with all the threads of a busy server. A request waits for it only a moment, and then receives the result of the
last look. Looks that are less than a second old are not repeated.

Nothing is prepared after the start: the kernels are compiled when Roslin is installed, so a server that answers at all
is ready.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from roslin.api import Collection
from roslin.errors import CollectionError
from roslin.web.answers import HealthAnswer
from roslin.web.errors import RESPONSES
from roslin.web.library import Library

LOOK_EVERY_SECONDS = 1.0
_LOOK_PATIENCE_SECONDS = 0.2
_LONGEST_LOOK_SECONDS = 30.0


class Health:
    """Whether a server can answer: the result of the last look at its collection."""

    def __init__(self, library: Library):
        self._library = library
        self._looking: asyncio.Future[int] | None = None  # the newest look
        self._found: asyncio.Future[int] | None = None  # the last one that is done
        self._began = 0.0
        self._thread = ThreadPoolExecutor(1, "health")

    async def look(self) -> HealthAnswer:
        """Whether the collection can be opened, as a worker that starts now would have to."""
        now = time.monotonic()
        if self._looking is None or (self._looking.done() and now - self._began >= LOOK_EVERY_SECONDS):
            self._looking, self._began = asyncio.get_running_loop().run_in_executor(self._thread, self._open), now
            self._looking.add_done_callback(self._note)
        await asyncio.wait([self._looking], timeout=None if self._found is None else _LOOK_PATIENCE_SECONDS)
        if self._looking.done():
            self._note(self._looking)
        elif now - self._began > _LONGEST_LOOK_SECONDS:
            raise CollectionError(f"it was not opened within {_LONGEST_LOOK_SECONDS:g} seconds")
        assert self._found is not None
        melodies = self._found.result()
        return HealthAnswer(status="ok", melodies=melodies, searching=self._library.searching)

    def _note(self, found: asyncio.Future[int]) -> None:
        self._found = found
        found.exception()  # for the next request, not for the log

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    def open(self) -> None:
        """Start again after `close`; an application may start more than once."""
        self._thread, self._looking, self._found = ThreadPoolExecutor(1, "health"), None, None

    def _open(self) -> int:
        with Collection(self._library.settings.collection) as opened:
            return len(opened)


router = APIRouter(responses=RESPONSES)


async def _health(request: Request) -> Health:
    health: Health = request.app.state.health
    return health


Watched = Annotated[Health, Depends(_health)]


@router.get("/healthz")
@router.get("/readyz")
async def healthz(health: Watched) -> HealthAnswer:
    """Whether the collection can be opened, as a worker that starts now would have to."""
    return await health.look()
