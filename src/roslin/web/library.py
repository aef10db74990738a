"""The collection of a server: opened again when a new state is published, and searched by a few requests at a time.

Many threads use it. The collection is read-only and its arrays are mapped into memory, so worker processes share them.
A search waits for one of `searches_at_once` slots. Waiting counts as searching, and a request that waits longer than a
search may take is refused. One search answers equal simultaneous requests.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from roslin.api import Collection
from roslin.collection.files import DATABASE
from roslin.concordances.concordance import concordances_folder
from roslin.display.words import words
from roslin.errors import CollectionError, RoslinError, TimeLimitError
from roslin.web.progress import GoneError
from roslin.web.settings import Settings

_LOOK_EVERY_SECONDS = 1.0
_ANSWERS_KEPT = 192  # lists, pages of them, and their drawings: some hundred kilobytes at most

_Answer = TypeVar("_Answer")


class BusyError(RoslinError):
    """There are too many simultaneous searches."""


class Library:
    """One collection, and the answers of the last searches in it."""

    def __init__(self, settings: Settings):
        self.settings = settings
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
            if time.monotonic() - self._looked > _LOOK_EVERY_SECONDS:
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
        """The answer saved under a key, or made now. The key must tell states of the collection apart.

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
        """The saved answer, or the one that an earlier request is making; otherwise `making`."""
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
        """Open the collection again after `close`; an application may start more than once."""
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


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


# The collection that is served.
Opened = Annotated[Library, Depends(_library)]
