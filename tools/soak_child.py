"""A function in a process of its own, forked from this one: everything is loaded already, and it may be killed.

    outcome = in_child(lambda: check(path))      what it returned, or how it ended

A signal that ends the child is an outcome here, not an end of the soak.
"""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_HANGING_S = 120.0  # far more than anything here takes, also on a busy machine
_LOOK_S = 0.002


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: what it returned, what it raised, or the signal that ended it."""

    value: Any = None
    error: str = ""
    signal: str = ""
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it came to its end."""
        return not self.error and not self.signal


def in_child(function: Callable[[], Any]) -> Ended:
    """Call a function in a child and wait for it. What it returns must be possible in JSON."""
    return _child(function, None)


def killed_child(function: Callable[[], Any], after_s: float) -> Ended:
    """The same, but after so many seconds the child is killed (SIGKILL), unless it has come to its end."""
    return _child(function, after_s)


def _child(function: Callable[[], Any], after_s: float | None) -> Ended:
    receiver, sender = os.pipe()
    began = time.monotonic()
    number = os.fork()
    if number == 0:
        _run_and_leave(function, sender)
    os.close(sender)
    limit, is_killed = (after_s if after_s is not None else _HANGING_S), False
    os.set_blocking(receiver, False)
    said = b""
    while True:
        with suppress(BlockingIOError):
            said += os.read(receiver, 2**20)
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            break
        if not is_killed and time.monotonic() - began > limit:
            os.kill(number, signal.SIGKILL)
            is_killed = True
        time.sleep(_LOOK_S)
    os.set_blocking(receiver, True)
    while more := os.read(receiver, 2**20):
        said += more
    os.close(receiver)
    seconds = time.monotonic() - began
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return Ended(signal="hang" if is_killed and after_s is None else name, seconds=seconds)
    answer = json.loads(said or b'{"error": "it left without a word"}')
    return Ended(answer.get("value"), answer.get("error", ""), seconds=seconds)


def _run_and_leave(function: Callable[[], Any], sender: int) -> None:
    """In the child: nothing of the parent's may be cleaned up here, so it leaves at once."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        answer = {"value": function()}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(sender, data) :]
    os._exit(0)
