"""Work: the threads, the time limit and the progress report of a search.

    with Work(threads=2, seconds=10) as work:
        for result in work.map(function, pieces): ...

Results come in the order of the pieces, so nothing depends on the number of threads. Work that takes too long raises
`TimeLimitError`: when it reports progress, or inside a kernel that looks at the deadline (`roslin.deadline`). An
interrupt from the keyboard ends it after the pieces that have begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from roslin.deadline import Deadline
from roslin.errors import ArgumentError, TimeLimitError
from roslin.types import Progress

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


class Work:
    """Threads, a time limit in seconds (None for no limit), and a function that receives progress.

    `partial`: when the time is over, the search returns the results found by then.
    """

    def __init__(
        self,
        threads: int = 1,
        seconds: float | None = None,
        progress: Progress | None = None,
        *,
        partial: bool = True,
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

    def map(self, function: Callable[[_Piece], _Result], pieces: Iterable[_Piece]) -> Iterator[_Result]:
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
            f"the search was stopped after {self.seconds:g} seconds, {100 * self._done:.0f} % done; "
            "allow more time, filter the collection first, or choose a faster matcher"
        )
