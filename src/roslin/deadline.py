"""Deadline: a time limit that kernels respect. A timer sets a flag, and long loops look at it regularly.

    with Deadline(seconds=10):
        found = loop(..., stop_flag())      returns early once the flag is set, with incomplete results,
        check_stopped()                     so this raises `TimeLimitError`

Kernels read the flag with `is_stopped` (native/common.h). The flag belongs to the context, so functions between a
search and its loops need no parameter for it. Threads that share the work use the same flag (`Deadline.carried`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import ParamSpec, Self, TypeVar

import numpy as np

from roslin.errors import TimeLimitError
from roslin.types import Flags

Given = ParamSpec("Given")
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
        """End all loops of this context."""
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
