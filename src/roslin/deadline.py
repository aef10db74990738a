"""Deadline and Work: a time limit that kernels respect, and the threads and progress of work under it.

    with Deadline(seconds=10):
        found = loop(..., stop_flag())      returns early once the flag is set, with incomplete results,
        check_stopped()                     so this raises `TimeLimitError`

Kernels read the flag with `is_stopped` (native/common.h). The flag belongs to the context, so functions between a
search and its loops need no parameter for it. Threads that share the work use the same flag (`Deadline.carried`).

    with Work(threads=2, seconds=10) as work:
        for result in work.map(function, pieces): ...

Results come in the order of the pieces, so nothing depends on the number of threads. Work that takes too long raises
`TimeLimitError`: when it reports progress, or inside a kernel that reads the flag. An interrupt from the keyboard ends
it after the pieces that have begun.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, Token
from typing import ParamSpec, Self, TypeVar

import numpy as np

from roslin.errors import ArgumentError, TimeLimitError
from roslin.types import Flags, Progress

Given = ParamSpec("Given")
_Piece = TypeVar("_Piece")
Result = TypeVar("Result")

_CURRENT: ContextVar[Deadline | None] = ContextVar("the deadline of the current work", default=None)


def stop_flag() -> Flags:
    """The flag of the current work, for a loop to read. Without a time limit it is never set."""
    deadline = _CURRENT.get()
    return np.zeros(1, np.bool_) if deadline is None else deadline.flag


def check_stopped() -> None:
    """Raise `TimeLimitError` if the time is over: a loop that has just returned may be incomplete."""
    deadline = _CURRENT.get()
    if deadline is not None and deadline.flag[0]:
        raise TimeLimitError(deadline.words())


class Deadline:
    """A context in which loops stop after this many seconds; None: never. `words` gives the message of the error.

    >>> with Deadline(seconds=None):
    ...     bool(stop_flag()[0])
    False
    """

    def __init__(self, seconds: float | None, words: Callable[[], str] = lambda: "the comparison took too long"):
        self.words = words
        self.flag = np.zeros(1, np.bool_)
        self._seconds = seconds
        self._clock: threading.Timer | None = None
        self._token: Token[Deadline | None] | None = None

    def __enter__(self) -> Self:
        self._token = _CURRENT.set(self)
        if self._seconds is not None:
            self._clock = threading.Timer(self._seconds, self.stop)
            self._clock.daemon = True
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._clock is not None:
            self._clock.cancel()
        if self._token is not None:
            _CURRENT.reset(self._token)

    def stop(self) -> None:
        self.flag[0] = True

    def carried(self, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """The function with this flag in any thread."""

        def inside(*given: Given.args, **named: Given.kwargs) -> Result:
            before = _CURRENT.set(self)
            try:
                return function(*given, **named)
            finally:
                _CURRENT.reset(before)

        return inside


class Work:
    """Threads, a time limit in seconds (None: none), and a function that receives progress.

    `partial`: when the time is over, the search returns the results found by then.
    """

    def __init__(
        self, threads: int = 1, seconds: float | None = None, progress: Progress | None = None, *, partial: bool = True
    ):
        if not isinstance(threads, int) or threads < 1:
            raise ArgumentError(f"threads must be a whole number, at least 1; got {threads!r}")
        if seconds is not None and not seconds > 0:
            raise ArgumentError(f"the time limit must be above 0 seconds; got {seconds!r}")
        self.threads, self.seconds, self.progress, self.partial = threads, seconds, progress, partial
        self._began, self._done = time.monotonic(), 0.0
        self._pool: ThreadPoolExecutor | None = None
        self._deadline = Deadline(None)

    def __enter__(self) -> Self:
        left = None if self.seconds is None else max(self.seconds - (time.monotonic() - self._began), 0.0)
        self._deadline = Deadline(left, self._too_long)
        self._deadline.__enter__()
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads)
        return self

    def __exit__(self, *_: object) -> None:
        self._deadline.__exit__()
        if self._pool is not None:
            self._deadline.stop()  # the results of other threads are not needed any more
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[_Piece], Result], pieces: Iterable[_Piece]) -> Iterator[Result]:
        if self._pool is None:
            return map(function, pieces)
        return self._pool.map(self._deadline.carried(function), pieces)

    def report(self, done: float, what: str) -> None:
        """Report progress, and stop when the time is over."""
        self._done = done
        if self.progress is not None:
            self.progress(done, what)
        self.check_time()

    def check_time(self) -> None:
        if self.seconds is not None and time.monotonic() - self._began > self.seconds:
            raise TimeLimitError(self._too_long())

    def _too_long(self) -> str:
        return (
            f"the search was stopped after {self.seconds:g} seconds, {100 * self._done:.0f}% done; "
            "allow more time, filter the collection first, or choose a faster matcher"
        )
