"""Whether the server can answer, and whether it has warmed up, for programs that watch it.

Both answers come at once, even if many people search. A look at the collection has its own thread, because it takes
turns with all the threads of a busy server. A request waits for it only a moment, and then receives the result of the
last look. Looks that are less than a second old are not repeated.

Warming up is a few searches, so that the first person does not wait for indexes. It has a time limit: a collection in
which a search takes very long is served nevertheless.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from roslin.api import Collection
from roslin.collection.facets import facets_of
from roslin.errors import CollectionError, RoslinError
from roslin.matchers import DEFAULT_MATCHER
from roslin.web.answers import HealthAnswer
from roslin.web.errors import RESPONSES
from roslin.web.library import Library
from roslin.web.readers import shared_readers

WARM_UP_SECONDS = 120.0  # compiling takes half a minute where nothing is compiled yet
LOOK_EVERY_SECONDS = 1.0
_WAIT_SECONDS = 0.2
_LONGEST_LOOK_SECONDS = 30.0
_WARM_UP_QUERY = "'4CDEFGABG"

_LOG = logging.getLogger("roslin.web")


class Health:
    """How a server is."""

    def __init__(self, library: Library):
        self._library = library
        self._looking: asyncio.Future[int] | None = None  # the newest look
        self._found: asyncio.Future[int] | None = None  # the last one that is done
        self._began = 0.0
        self._thread = ThreadPoolExecutor(1, "health")
        self._warm_until = 0.0  # it is ready from then on; 0: from the start

    @property
    def is_ready(self) -> bool:
        """Whether the first searches are done, or have had their time."""
        return time.monotonic() >= self._warm_until

    async def look(self) -> HealthAnswer:
        """Whether the collection can be opened, as a worker that starts now would have to."""
        now = time.monotonic()
        if self._looking is None or (self._looking.done() and now - self._began >= LOOK_EVERY_SECONDS):
            self._looking, self._began = asyncio.get_running_loop().run_in_executor(self._thread, self._open), now
            self._looking.add_done_callback(self._note)
        await asyncio.wait([self._looking], timeout=None if self._found is None else _WAIT_SECONDS)
        if self._looking.done():
            self._note(self._looking)
        elif now - self._began > _LONGEST_LOOK_SECONDS:
            raise CollectionError(f"it was not opened within {_LONGEST_LOOK_SECONDS:g} seconds")
        assert self._found is not None
        melodies = self._found.result()
        return HealthAnswer(status="ok", melodies=melodies, searching=self._library.searching, is_ready=self.is_ready)

    def _note(self, found: asyncio.Future[int]) -> None:
        self._found = found
        found.exception()  # whoever asks is told

    def warm_up(self) -> None:
        """Begin to warm up, in a thread."""
        self._warm_until = time.monotonic() + WARM_UP_SECONDS
        threading.Thread(target=self._warm_up, args=(self._warm_until,), daemon=True).start()

    def close(self) -> None:
        """Give the thread back."""
        self._thread.shutdown(wait=False)

    def open(self) -> None:
        """Open it again after `close`: an application may be started more than once."""
        self._thread, self._looking, self._found = ThreadPoolExecutor(1, "health"), None, None

    def _open(self) -> int:
        with Collection(self._library.settings.collection) as opened:
            return len(opened)

    def _warm_up(self, until: float) -> None:
        library = self._library
        try:
            with suppress(RoslinError), library.slot():
                facets_of(library.collection)
                query = shared_readers().query(_WARM_UP_QUERY, "pae", False, library.settings)
                for name in dict.fromkeys((DEFAULT_MATCHER, "emd", "dp")):
                    left = until - time.monotonic()
                    if left > 0:
                        library.collection.search(query, name, 3, seconds=left)
        finally:
            is_late = self.is_ready
            self._warm_until = 0.0
            _LOG.info("ready%s", ", though the first searches took too long to finish" if is_late else "")


router = APIRouter(responses=RESPONSES)


async def _health(request: Request) -> Health:
    health: Health = request.app.state.health
    return health


Watched = Annotated[Health, Depends(_health)]


@router.get("/healthz")
async def healthz(health: Watched) -> HealthAnswer:
    """Whether the collection can be opened, as a worker that starts now would have to."""
    return await health.look()


@router.get("/readyz")
async def readyz(health: Watched) -> HealthAnswer:
    """The same, and whether the first searches are done: 503 until then."""
    found = await health.look()
    if not found.is_ready:
        raise HTTPException(503, "the first searches are being prepared; until then answers may take longer")
    return found
