"""A function in a process of its own, forked from this one: everything is loaded already, and it may be killed.

    outcome = in_child(lambda: check(path))      its result, or how it ended

A signal that ends the child is an outcome here, not an end of the soak.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

_HANGING_S = 120.0  # far more than anything here takes, even on a busy machine


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its result, the error that it raised, or the signal that ended it."""

    value: Any = None
    error: str = ""
    signal: str = ""
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it completed."""
        return not self.error and not self.signal


def in_child(function: Callable[[], Any]) -> Ended:
    """Call a function in a child and wait for its result, which must be possible to pickle."""
    ended = killed_child(function, _HANGING_S)
    return Ended(signal="hang", seconds=ended.seconds) if ended.seconds >= _HANGING_S else ended


def killed_child(function: Callable[[], Any], after_s: float) -> Ended:
    """The same, but after this many seconds the child is killed (SIGKILL), unless it has completed."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run_and_leave, args=(function, sender))
    began = time.monotonic()
    child.start()
    sender.close()
    if not receiver.poll(after_s):
        child.kill()
    try:
        value, error = receiver.recv()
    except (EOFError, OSError):  # killed before or while it answered
        value, error = None, "it left without a word"
    child.join()
    receiver.close()
    seconds = time.monotonic() - began
    if child.exitcode is not None and child.exitcode < 0:
        return Ended(signal=signal.Signals(-child.exitcode).name, seconds=seconds)
    return Ended(value, error, seconds=seconds)


def _run_and_leave(function: Callable[[], Any], sender: Connection) -> None:
    """In the child: nothing of the parent's may be cleaned up here, so it leaves at once."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        answer = function(), ""
    except BaseException:
        answer = None, traceback.format_exc()
    sender.send(answer)
    os._exit(0)
