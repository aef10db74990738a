"""The collection of a server, the work of requests in it, and whether it is well.

Many threads use the `Library`. The collection is read-only and its arrays are mapped into memory, so worker processes
share them. It is opened again when a new state is published. A search waits for one of `searches_at_once` slots.
Waiting counts as searching, and a request that waits longer than a search may take is refused. One search answers equal
simultaneous requests.

Work in a thread reports its progress to the request that waits for it (`Wait`), and ends if the client disconnects. The
progress of a search is sent on the connection of its result, so worker processes share nothing: lines of JSON such as
{"done": 0.25}, and {"page": "<div ..."} last. The status line is sent before the answer is known, so an error is a page
too. Each line is compressed and flushed by itself, so that none waits in the compressor.

`Health` answers at once, even if many people search. A look at the collection has its own thread, because it takes
turns with all the threads of a busy server. A request waits for it only a moment, and then receives the result of the
last look. Nothing is prepared after the start, so a server that answers at all is ready.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from fastapi.responses import StreamingResponse

from roslin.api import Collection
from roslin.collection.files import DATABASE
from roslin.concordances.concordance import concordances_folder
from roslin.display.words import words
from roslin.errors import BusyError, CollectionError, RoslinError, TimeLimitError
from roslin.web.answers import HealthAnswer
from roslin.web.imprint import read_imprint
from roslin.web.settings import Settings

_STATE_SECONDS = 1.0  # until the state of the collection is looked at again
_ANSWERS_KEPT = 192  # lists, pages of them, and their drawings: some hundred kilobytes at most

LINES = "application/x-ndjson"
_GZIP, _LEVEL = 31, 3
_TELL_EVERY_SECONDS = 0.2
_LOOK_EVERY_SECONDS = 1.0  # whether the client is still there; hundreds may wait, and each look costs
_THREADS = CapacityLimiter(16)  # most of them wait for their turn to search; those of other requests are apart

HEALTH_SECONDS = 1.0  # until it is looked at again
_HEALTH_PATIENCE_SECONDS = 0.2
_LONGEST_LOOK_SECONDS = 30.0

_Answer = TypeVar("_Answer")


class GoneError(RoslinError):
    """The client disconnected."""


class Library:
    """One collection, and the answers of the last searches in it."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.imprint = read_imprint(Path(settings.site)) if settings.site else None
        self._collection = Collection(settings.collection)
        self._before: Collection | None = None
        self._is_closed = False
        self._state = self._published()
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(settings.searches_at_once)
        self._answers: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self.searching = 0

    @property
    def collection(self) -> Collection:
        """The collection in its newest state that can be opened."""
        with self._lock:
            if time.monotonic() - self._looked > _STATE_SECONDS:
                self._looked = time.monotonic()
                state = self._published()
                if state != self._state:
                    self._open_again(state)
            return self._collection

    @property
    def has_concordances(self) -> bool:
        """Whether `roslin concordances` has found any, for pages to link to them."""
        return (concordances_folder(self.settings.collection) / "about.json").is_file()

    @property
    def title(self) -> str:
        return self.settings.title or self._collection.path.name.removesuffix(".roslin")

    @contextmanager
    def slot(self, allowed: float | None = None) -> Iterator[float]:
        """A slot to search in; gives the seconds that are left of those allowed (by default, of a whole search)."""
        began, allowed = time.monotonic(), self.settings.search_seconds if allowed is None else max(allowed, 0.0)
        if not self._slots.acquire(timeout=allowed):
            raise BusyError("the server is busy with other searches; try again in a minute")
        self._count(1)
        try:
            left = allowed - (time.monotonic() - began)
            if left <= 0:
                raise TimeLimitError(
                    f"the search could not start within the time limit, after {allowed:g} seconds of waiting"
                )
            yield left
        finally:
            self._count(-1)
            self._slots.release()

    def kept(
        self, key: Hashable, make: Callable[[], _Answer], is_complete: Callable[[_Answer], bool] = lambda _: True
    ) -> _Answer:
        """The answer saved under a key, or made now. The key must differ between states of the collection.

        Answers contain sentences, so each language has its own. Incomplete answers are not saved. Equal requests wait
        for the first of them and share its answer or its error. If its client disconnects, the next one takes over.
        """
        key = words().language, key
        making: Future[_Answer] = Future()
        while (first := self._first(key, making)) is not making:
            try:
                return first.result()
            except GoneError:
                continue
        try:
            answer = make()
            is_kept = is_complete(answer)
        except BaseException as error:
            self._forget(key, making)
            making.set_exception(error)
            raise
        if not is_kept:
            self._forget(key, making)
        making.set_result(answer)
        return answer

    def _first(self, key: Hashable, making: Future[_Answer]) -> Future[_Answer]:
        """The saved answer, or the one that an earlier request is making, else `making`."""
        with self._lock:
            first = self._answers.setdefault(key, making)
            self._answers.move_to_end(key)
            while len(self._answers) > _ANSWERS_KEPT:
                self._answers.popitem(last=False)
            return first

    def _forget(self, key: Hashable, making: Future[_Answer]) -> None:
        with self._lock:
            if self._answers.get(key) is making:
                del self._answers[key]

    def open(self) -> None:
        """Open the collection again after `close`. An application may start more than once."""
        with self._lock:
            if self._is_closed:
                self._collection, self._is_closed = Collection(self.settings.collection), False

    def close(self) -> None:
        with self._lock:
            self._collection.close()
            if self._before is not None:
                self._before.close()
            self._before, self._is_closed = None, True

    def _count(self, change: int) -> None:
        with self._lock:
            self.searching += change

    def _published(self) -> tuple[int, int]:
        try:
            status = (self._collection.path / DATABASE).stat()
        except OSError:
            return (0, 0)
        return status.st_ino, status.st_mtime_ns

    def _open_again(self, state: tuple[int, int]) -> None:
        try:
            opened = Collection(self.settings.collection)
        except CollectionError:
            return
        # A search may still be reading the old one: it is closed when the next state comes.
        if self._before is not None:
            self._before.close()
        self._before, self._collection, self._state = self._collection, opened, state


def of_state(name: str) -> Any:
    """A parameter of routes: a value of the application's state."""

    # A coroutine, though it waits for nothing: another function would be run in a thread of its own each time.
    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(found)


# The collection that is served.
Opened = Annotated[Library, of_state("library")]


# -- work that a client waits for --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Wait:
    """The link between a thread that works and the request that waits for it."""

    is_gone: bool = False  # the client disconnected
    done: float = 0.0  # the share of the work that is done; 0 while that is not known

    def report(self, done: float, _what: str = "") -> None:
        self.done = done
        self.check()

    def check(self) -> None:
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
    """The result of the work. A client that disconnects ends it."""
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
    except Exception as error:  # the answer has begun: the error can only be sent in it
        last = refused(error)
    yield _line({"page": last})


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"


async def _squeezed(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    squeezer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    async for line in lines:
        yield squeezer.compress(line) + squeezer.flush(zlib.Z_SYNC_FLUSH)
    yield squeezer.flush()


# -- health ------------------------------------------------------------------------------------------------------------


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
        if self._looking is None or (self._looking.done() and now - self._began >= HEALTH_SECONDS):
            self._looking, self._began = asyncio.get_running_loop().run_in_executor(self._thread, self._open), now
            self._looking.add_done_callback(self._note)
        await asyncio.wait([self._looking], timeout=None if self._found is None else _HEALTH_PATIENCE_SECONDS)
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
        """Start again after `close`. An application may start more than once."""
        self._thread, self._looking, self._found = ThreadPoolExecutor(1, "health"), None, None

    def _open(self) -> int:
        with Collection(self._library.settings.collection) as opened:
            return len(opened)
