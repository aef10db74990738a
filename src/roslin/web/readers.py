"""Reader processes read everything that clients send, with limits of time and memory.

Input that takes too long or too much memory, or crashes a reader, costs its own request and no other: the process is
ended, the client gets an error, and the next request gets a new process. Typed text and files have separate processes,
so that slow files do not delay typing.
"""

from __future__ import annotations

import base64
import logging
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from roslin.errors import FormatError, HungError, SandboxError
from roslin.melody import Melody
from roslin.sandbox import Worker
from roslin.web.answers import UploadAnswer
from roslin.web.library import BusyError
from roslin.web.reader_process import melody_from_values, raise_refusal
from roslin.web.settings import MAX_QUERY, Settings

_MEMORY_BYTES = 2**30  # 4 MB of XML, taken apart, need a fifth of it
_PROCESSES = 2  # of each kind; they are started when they are needed

_LOG = logging.getLogger("roslin.web")


class Desk:
    """A few reader processes of one kind. The last one used is the next one used: others may never be started."""

    def __init__(self, processes: int):
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._all = [
            Worker(module="roslin.web.reader_process", memory_limit_bytes=_MEMORY_BYTES) for _ in range(processes)
        ]
        for worker in self._all:
            self._free.put(worker)

    def ask(self, function: str, payload: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer of a reader; an error has a sentence for the client."""
        with self._reader(seconds) as worker:
            worker.time_limit_seconds = seconds
            try:
                answer = worker.call(function, {**payload, "seconds": seconds})
            except HungError:
                _LOG.warning("a reader was ended: no answer to %r within %g seconds", function, seconds)
                raise FormatError(f"reading it takes longer than {seconds:g} seconds, the most allowed here") from None
            except SandboxError as error:
                _LOG.warning("a reader failed: %s", error)
                raise FormatError("it cannot be read: its reader failed") from None
            if answer.get("refusal", {}).get("is_spent"):
                worker.close()
        raise_refusal(answer)
        return answer

    def close(self) -> None:
        """End the processes; they start again when they are needed."""
        for worker in self._all:
            worker.close()

    @contextmanager
    def _reader(self, seconds: float) -> Iterator[Worker]:
        try:
            worker = self._free.get(timeout=seconds)
        except queue.Empty:
            raise BusyError("the server is busy reading other files; try again in a minute") from None
        try:
            yield worker
        finally:
            self._free.put(worker)


class Readers:
    """The reader processes of a server."""

    def __init__(self) -> None:
        self._texts, self._files = Desk(_PROCESSES), Desk(_PROCESSES)

    def readings(self, text: str, notation: str | None, strict: bool, settings: Settings) -> list[Melody]:
        """The melody that a reader typed or pasted, and the others that the text may mean."""
        asked = {"text": text, "notation": notation, "strict": strict, "notes": settings.query_notes}
        return list(map(melody_from_values, self._texts.ask("query", asked, settings.reading_seconds)["melodies"]))

    def source(self, data: bytes, settings: Settings) -> list[Melody]:
        """The incipits of a source; of one that is too long for a query, the beginning."""
        asked = {"data": base64.b64encode(data).decode(), "notes": settings.query_notes}
        return list(map(melody_from_values, self._files.ask("source", asked, settings.reading_seconds)["melodies"]))

    def file(self, data: bytes, name: str, settings: Settings) -> UploadAnswer:
        """The queries that a file holds. Its name only helps to recognise the notation."""
        asked = {
            "data": base64.b64encode(data).decode(),
            "name": name,
            "notes": settings.query_notes,
            "letters": MAX_QUERY,
            "melodies": settings.upload_melodies,
        }
        return UploadAnswer(**self._files.ask("file", asked, settings.reading_seconds))

    def close(self) -> None:
        self._texts.close()
        self._files.close()


READERS = Readers()  # of this program; their processes start when they are needed
