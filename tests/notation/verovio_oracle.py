"""Verovio as a second reader of Plaine & Easie, in a process of its own.

Verovio can crash the process that it runs in (`{=6}B` does) or run for long, so it is fed line by line through a pipe;
a crash or a time-out costs one answer and a new process. Run as a program this file is that process.

`Oracle.notes(...)` gives (onset in quarters, MIDI pitch) for each note that verovio's time map holds, sorted.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

TIME_LIMIT_SECONDS = 90.0


class OracleError(Exception):
    """Verovio crashed, hung, or refused the input."""


class Oracle:
    """A verovio process that is started again when it dies. Use as a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def notes(self, clef: str, keysig: str, timesig: str, data: str) -> list[tuple[float, int]]:
        """The notes of an incipit, sorted by onset and pitch; `OracleError` says why there are none."""
        request = {"clef": clef, "keysig": keysig, "timesig": timesig, "data": data}
        answer = self._ask(json.dumps({name: value for name, value in request.items() if value}))
        if "error" in answer:
            raise OracleError(answer["error"])
        return sorted((float(onset), int(pitch)) for onset, pitch in answer["notes"])

    def _ask(self, line: str) -> dict[str, Any]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], TIME_LIMIT_SECONDS)
            reply = self._process.stdout.readline() if ready else b""
        except BrokenPipeError:
            reply = b""
        if not reply:
            code = self._process.poll()
            self._stop()
            raise OracleError("verovio crashed" if ready or code is not None else "verovio hung")
        result: dict[str, Any] = json.loads(reply)
        return result

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _serve() -> None:
    """Answer requests until the pipe closes. Verovio writes its complaints to stdout: keep the pipe for answers."""
    import verovio

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    toolkit = verovio.toolkit()
    toolkit.setInputFrom("pae")
    toolkit.setOptions({"expandNever": True})  # repeats as written, not as played
    for line in sys.stdin:
        answers.write(json.dumps(_read(toolkit, line)) + "\n")
        answers.flush()


def _read(toolkit: Any, line: str) -> dict[str, Any]:
    if not toolkit.loadData(line):
        return {"error": "verovio refused it"}
    time_map = toolkit.renderToTimemap({"includeRests": False})
    notes = []
    for moment in json.loads(time_map) if isinstance(time_map, str) else time_map:
        for element in moment.get("on", ()):
            values = toolkit.getMIDIValuesForElement(element)
            values = json.loads(values) if isinstance(values, str) else values
            notes.append((moment["qstamp"], values["pitch"]))
    return {"notes": notes}


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).resolve().parent))
    _serve()
