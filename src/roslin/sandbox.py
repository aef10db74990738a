"""Verovio, and other code that may crash or hang, in a separate process: a bad input costs only one answer.

`Worker.call(function, payload)` sends a request through a pipe and waits for the answer, at most `time_limit_seconds`.
A worker that crashes or does not answer in time is ended, the caller gets a `SandboxError`, and the next call starts a
new one. Calls from several threads wait for each other.

The functions are those in the table `FUNCTIONS` of a module, which the worker imports when it starts. Payload and
answer are JSON values. Unless another module is named it is this one, with verovio:

    engrave   {"data", "format", "options"} -> {"svg", "pages"}: the first page
    to_mei    {"data", "format"} -> {"mei"}: any notation that verovio reads
    sounding  {"data", "format"} -> {"notes": [[onset in quarters, MIDI pitch, element id], ...]}

A message is its length in bytes (4 bytes, big-endian) and then JSON. Verovio talks on stdout, so the worker keeps the
pipe for answers under another number and sends stdout to nowhere. This is the only module that imports verovio.
"""

from __future__ import annotations

import atexit
import importlib
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import IO, Any, Self

from roslin.errors import CrashedError, HungError, SandboxError

TIME_LIMIT_SECONDS = 20.0
MEMORY_LIMIT_BYTES = 4 * 2**30
MAX_MESSAGE_BYTES = 256 * 2**20

# An orphan ends itself this long after the time at which its parent would have ended it.
_ORPHAN_SECONDS = 5
_LENGTH = struct.Struct(">I")

Functions = dict[str, Callable[[dict[str, Any]], dict[str, Any]]]


class Worker:
    """A process that is started at the first call, and again after a crash. Close it, or use it in a `with`."""

    def __init__(
        self,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        *,
        module: str = "roslin.sandbox",
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    ):
        self.time_limit_seconds = time_limit_seconds
        self._command = [sys.executable, "-P", "-m", "roslin.sandbox", module, str(memory_limit_bytes)]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        _WORKERS.add(self)

    def call(self, function: str, payload: dict[str, Any]) -> dict[str, Any]:
        limit = self.time_limit_seconds
        message = json.dumps([function, payload, math.ceil(limit) + _ORPHAN_SECONDS]).encode()
        if len(message) > MAX_MESSAGE_BYTES:
            raise SandboxError(f"{function}: the input is too large: {len(message)} bytes, at most {MAX_MESSAGE_BYTES}")
        with self._lock:
            reply = self._exchange(function, message, limit)
        answer: dict[str, Any] = json.loads(reply)
        if "error" in answer:
            raise SandboxError(f"{function}: {answer['error']}")
        return answer

    @property
    def process_id(self) -> int | None:
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def close(self) -> None:
        """End the process, and with it a call that waits for it. A later call starts a new one."""
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self._stop()  # no call can be running: it would hold a reference

    def _exchange(self, function: str, message: bytes, limit: float) -> bytes:
        if self._process is not None and self._process.poll() is not None:
            self._stop()
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        process = self._process
        hung = threading.Event()

        def end() -> None:
            hung.set()
            process.kill()

        timer = threading.Timer(limit, end)  # also ends a write without a reader
        timer.daemon = True
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _write_message(process.stdin, message)
            reply = _read_message(process.stdout)
        except OSError:  # the pipe broke: the process is gone
            reply = None
        except BaseException:  # an interrupt: the answer to this question must not be taken for that to the next
            timer.cancel()
            self._stop()
            raise
        timer.cancel()
        timer.join()
        if reply is None:
            code = self._stop()
            if hung.is_set():
                raise HungError(f"{function}: no answer within {limit:g} seconds")
            raise CrashedError(f"{function}: the worker process crashed ({_reason(code)})")
        if hung.is_set():
            self._stop()
        return reply

    def _stop(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        code = process.wait()
        _close_pipes(process)
        return code

    def _forget(self) -> None:
        """After a fork: the process belongs to the parent. Let go of it without a word to it."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # it is not our child: nothing to wait for
            _close_pipes(process)


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()


@cache
def shared_worker() -> Worker:
    """The worker of this program, made when it is first asked for."""
    return Worker()


@atexit.register
def _close_all() -> None:
    for worker in list(_WORKERS):
        worker.close()


def _forget_all() -> None:
    for worker in list(_WORKERS):
        worker._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _reason(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


# The pipes are not buffered: they can be closed at any moment, in a forked child too, with nothing left to be written.


def _write_message(pipe: IO[bytes], message: bytes) -> None:
    rest = memoryview(_LENGTH.pack(len(message)) + message)
    while rest:
        rest = rest[pipe.write(rest) :]


def _read_message(pipe: IO[bytes]) -> bytes | None:
    head = _read_exactly(pipe, _LENGTH.size)
    return None if head is None else _read_exactly(pipe, *_LENGTH.unpack(head))


def _read_exactly(pipe: IO[bytes], length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = pipe.read(length)
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


# -- what runs in the worker ------------------------------------------------------------------------------------------


def _toolkit(payload: dict[str, Any]) -> Any:
    """Verovio with the data loaded, and no option or id left over from the job before."""
    toolkit = _verovio()
    toolkit.resetOptions()
    toolkit.setOptions({"inputFrom": payload["format"], **payload.get("options", {})})
    toolkit.resetXmlIdSeed(1)
    if not toolkit.loadData(payload["data"]):
        said = " ".join(str(toolkit.getLog()).split())[:200]
        raise ValueError("verovio refused the music" + (f": {said}" if said else ""))
    return toolkit


@cache
def _verovio() -> Any:
    """One toolkit for the life of the process: making one takes longer than a drawing."""
    try:
        verovio = importlib.import_module("verovio")
    except ImportError as error:
        raise ValueError(f'verovio cannot be loaded ({error}); run: pip install "roslin[scores]"') from error
    return verovio.toolkit()


def _engrave(payload: dict[str, Any]) -> dict[str, Any]:
    toolkit = _toolkit(payload)
    return {"svg": toolkit.renderToSVG(1), "pages": toolkit.getPageCount()}


def _sounding(payload: dict[str, Any]) -> dict[str, Any]:
    toolkit = _toolkit(payload)
    notes = []
    for moment in toolkit.renderToTimemap({"includeRests": False}):
        for element in moment.get("on", ()):
            notes.append([moment["qstamp"], toolkit.getMIDIValuesForElement(element)["pitch"], element])
    return {"notes": notes}


FUNCTIONS: Functions = {
    "engrave": _engrave,
    "to_mei": lambda payload: {"mei": _toolkit(payload).getMEI()},
    "sounding": _sounding,
}


def _answer(functions: Functions, function: str, payload: dict[str, Any]) -> dict[str, Any]:
    if function not in functions:
        return {"error": f"no such function; known: {', '.join(functions)}"}
    try:
        return functions[function](payload)
    except Exception as error:  # whatever goes wrong is the answer
        return {"error": str(error) or type(error).__name__}


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not a Unix
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > most_bytes:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (most_bytes, hard))
        except (OSError, ValueError):  # a system that does not let us
            return


def _serve(module: str, memory_limit_bytes: int) -> None:
    """Answer requests with the functions of a module, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started us; it ends us
    answers, requests = os.fdopen(os.dup(1), "wb", buffering=0), os.fdopen(os.dup(0), "rb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _limit_memory(memory_limit_bytes)
    functions: Functions = importlib.import_module(module).FUNCTIONS
    alarm: Callable[[int], Any] = getattr(signal, "alarm", lambda _: None)
    while (request := _read_message(requests)) is not None:
        function, payload, seconds = json.loads(request)
        alarm(seconds)  # the default deed of the alarm is to end the process: for an orphan in an endless loop
        answer = json.dumps(_answer(functions, function, payload)).encode()
        alarm(0)
        _write_message(answers, answer)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
