"""Text and files from clients become melodies, or a refusal with its place, in processes with limits.

Input that takes too long or too much memory, or crashes a reader, costs its own request and no other: the process is
ended, the client gets an error, and the next request gets a new process. Typed text and files have separate processes,
so that slow files do not delay typing. A process imports this module, so it imports readers of notation and little
else: a process starts in a third of a second.

Payloads and answers are JSON values, so a process that was taken over can send nothing that is run:

    query   {"text", "notation", "strict", "notes"} -> {"melodies": [melody, ...]}, its readings
    source  {"data", "notes"} -> {"melodies": [melody, ...]}, each cut to this many notes
    check   {"data"} -> {"problems": [[severity, problem], ...]} of the records of a catalogue
    file    {"data", "name", "notes", "letters", "melodies"} -> the values of an `UploadAnswer`

`data` are bytes in base64, `notes` is the most that a query may have. Each also has the `seconds` that it may take. A
refusal is the answer {"refusal": {"message", "problem", "is_spent"}}: the parts of the problem if it has a place, and
whether the process should end, because memory was short.

A query from a file must fit into an address. It is written in Plaine & Easie, or as a line of JSON with its notes
where Plaine & Easie cannot express it (lengths as they were played). A long melody is cut to its beginning.
"""

from __future__ import annotations

import base64
import logging
import queue
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, fields, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from roslin.display.text import deviations
from roslin.errors import (
    BusyError,
    FormatError,
    HungError,
    MelodyError,
    NotationError,
    Problem,
    RoslinError,
    SandboxError,
)
from roslin.melody import NOTE_DTYPE, Melody, SignatureChange
from roslin.notation import FORMATS, Record, records
from roslin.notation.jsonl import write_jsonl
from roslin.notation.pae import write
from roslin.notation.query import read_source, readings
from roslin.notation.record import FAILED, checked
from roslin.represent.line import melodic_line
from roslin.sandbox import Worker, shared_worker
from roslin.web.settings import MAX_QUERY, Settings

_MEMORY_BYTES = 2**30  # 4 MB of XML, taken apart, need a fifth of it
_PROCESSES = 2  # of each kind; they are started when they are needed
# Of all melodies of a source together: what travels between processes has a limit, as what comes in has.
_MOST_NOTES = 200_000
_SHARE_OF_VEROVIO = 0.8
_TABLES = ("notes", "barlines_ticks", "changes", "extra", "problems")
_PLAIN = ("id", "title", "composer", "voice", "key", "text", "source")
_MOST_COMPLAINTS = 5

Values = dict[str, Any]

_LOG = logging.getLogger("roslin.web")


class Desk:
    """A few reader processes of one kind. The last one used is the next one used: others may never be started."""

    def __init__(self) -> None:
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._all = [Worker(module=__name__, memory_limit_bytes=_MEMORY_BYTES) for _ in range(_PROCESSES)]
        for worker in self._all:
            self._free.put(worker)

    def ask(self, function: str, payload: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer of a reader. An error has a sentence for the client."""
        try:
            worker = self._free.get(timeout=seconds)
        except queue.Empty:
            raise BusyError("the server is busy reading other files; try again in a minute") from None
        worker.time_limit_seconds = seconds
        try:
            answer = worker.call(function, {**payload, "seconds": seconds})
            if answer.get("refusal", {}).get("is_spent"):
                worker.close()
        except HungError:
            _LOG.warning("a reader was ended: no answer to %r within %g seconds", function, seconds)
            raise FormatError(f"reading it takes longer than {seconds:g} seconds, the most allowed here") from None
        except SandboxError as error:
            _LOG.warning("a reader failed: %s", error)
            raise FormatError("it cannot be read: its reader failed") from None
        finally:
            self._free.put(worker)
        if refusal := answer.get("refusal"):
            problem = refusal["problem"]
            raise FormatError(refusal["message"]) if problem is None else NotationError(Problem(**problem))
        return answer

    def close(self) -> None:
        """End the processes. They start again when they are needed."""
        for worker in self._all:
            worker.close()


class Readers:
    """The reader processes of a server."""

    def __init__(self) -> None:
        self._texts, self._files = Desk(), Desk()

    def readings(self, text: str, notation: str | None, strict: bool, settings: Settings) -> list[Melody]:
        """The melody that a reader typed or pasted, and the others that the text may mean."""
        asked = {"text": text, "notation": notation, "strict": strict, "notes": settings.query_notes}
        return list(map(melody_from_values, self._texts.ask("query", asked, settings.reading_seconds)["melodies"]))

    def source(self, data: bytes, settings: Settings) -> list[Melody]:
        """The incipits of a source; of one that is too long for a query, the beginning."""
        asked = {"data": base64.b64encode(data).decode(), "notes": settings.query_notes}
        return list(map(melody_from_values, self._files.ask("source", asked, settings.reading_seconds)["melodies"]))

    def check(self, data: bytes, settings: Settings) -> list[tuple[str, Problem]]:
        """The problems of the records in a file, each with its severity."""
        answer = self._files.ask("check", {"data": base64.b64encode(data).decode()}, settings.reading_seconds)
        return [(severity, Problem(**problem)) for severity, problem in answer["problems"]]

    def file(self, data: bytes, name: str, settings: Settings) -> Values:
        """The queries in a file: the values of an `UploadAnswer`. Its name only helps to recognise the notation."""
        asked = {
            "data": base64.b64encode(data).decode(),
            "name": name,
            "notes": settings.query_notes,
            "letters": MAX_QUERY,
            "melodies": settings.upload_melodies,
        }
        answer = self._files.ask("file", asked, settings.reading_seconds)
        for choice in answer["choices"]:
            choice["deviations"] = deviations(Problem(**each) for each in choice.pop("problems"))
        return answer

    def close(self) -> None:
        self._texts.close()
        self._files.close()


READERS = Readers()  # of this program; their processes start when they are needed


# -- what travels between processes ------------------------------------------------------------------------------------


def values_of_melody(melody: Melody) -> Values:
    """A melody as JSON values, with all that is known about it."""
    return {
        **{each.name: getattr(melody, each.name) for each in fields(melody) if each.name not in _TABLES},
        "notes": melody.notes.tolist(),
        "barlines_ticks": melody.barlines_ticks.tolist(),
        "changes": [asdict(change) for change in melody.changes],
        "extra": dict(melody.extra),
        "problems": [asdict(problem) for problem in melody.problems],
    }


def melody_from_values(values: Values) -> Melody:
    """The melody that `values_of_melody` gave."""
    tables = {
        "notes": np.array([tuple(row) for row in values["notes"]], dtype=NOTE_DTYPE),
        "barlines_ticks": np.array(values["barlines_ticks"], dtype=np.int64),
        "changes": tuple(SignatureChange(**change) for change in values["changes"]),
        "problems": tuple(Problem(**problem) for problem in values["problems"]),
    }
    return Melody(**{**values, **tables})


# -- what happens in a reader process ----------------------------------------------------------------------------------


def _query(payload: Values) -> Values:
    found = readings(payload["text"], payload["notation"], strict=payload["strict"])
    if len(found[0]) > payload["notes"]:
        raise MelodyError(f"the query has {len(found[0])} notes; expected at most {payload['notes']}")
    return {"melodies": [values_of_melody(melody.with_metadata(id=None)) for melody in found]}


def _source(payload: Values) -> Values:
    given = [shortened_to(payload["notes"], melody) for melody in read_source(base64.b64decode(payload["data"]))]
    if sum(map(len, given)) > _MOST_NOTES:
        raise FormatError(f"the incipits have more than {_MOST_NOTES} notes; expected those of a few sources")
    return {"melodies": [values_of_melody(melody) for melody in given]}


def _check(payload: Values) -> Values:
    found = []
    with suppress(RoslinError):  # of the rest, which is refused as a source
        for each in checked(records(base64.b64decode(payload["data"]), skipped=True)):
            found.append(each)
    has_records = any(problem.record for _, problem in found)  # lines of music have none
    return {"problems": [[severity, asdict(problem)] for severity, problem in found if has_records]}


def _file(payload: Values) -> Values:
    data = base64.b64decode(payload.pop("data"))
    return choices(data, payload.pop("name"), **payload)


def _or_refused(function: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """A function that returns refusals as answers, and unforeseen errors with their place."""

    def called(payload: Values) -> Values:
        # Verovio must give up before we are given up: it would go on without us.
        shared_worker().time_limit_seconds = payload.pop("seconds") * _SHARE_OF_VEROVIO
        try:
            return _sayable(function(payload))  # type: ignore[no-any-return]  # the same kind of value
        except NotationError as error:
            if error.problem.reason == FAILED:
                raise RuntimeError(error.problem.found) from error
            return _sayable(_refused(str(error), asdict(error.problem)))  # type: ignore[no-any-return]
        except RoslinError as error:
            return _sayable(_refused(str(error)))  # type: ignore[no-any-return]
        except MemoryError:
            return _refused("reading it takes more memory than is allowed here", is_spent=True)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise RuntimeError(f"{type(error).__name__} in {place.filename}, line {place.lineno}: {error}") from error

    return called


def _refused(message: str, problem: Values | None = None, *, is_spent: bool = False) -> Values:
    return {"refusal": {"message": message, "problem": problem, "is_spent": is_spent}}


def _sayable(value: Any) -> Any:
    """The same values with text that can be sent: half of a pair of surrogates, as JSON may hold, is no character."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, list):
        return value if value and isinstance(value[0], int | tuple) else [_sayable(each) for each in value]
    return {_sayable(name): _sayable(each) for name, each in value.items()} if isinstance(value, dict) else value


FUNCTIONS = {
    name: _or_refused(function)
    for name, function in (("query", _query), ("source", _source), ("check", _check), ("file", _file))
}


def choices(data: bytes, name: str, *, melodies: int, notes: int, letters: int) -> dict[str, Any]:
    """At most this many `melodies` of a file that can be searched for, as the values of an `UploadAnswer`.

    Its `name` helps to recognise the notation. A query has at most this many `notes` and, as text, `letters`.
    """
    found = list(islice(_read(data, name), melodies + 1))
    taken = [record.melody_or_raise() for record in found[:melodies] if record.melody is not None]
    refused = [str(record.problems[0]) for record in found if record.melody is None]
    if not taken:
        raise FormatError(f"no melody could be read{f': {refused[0]}' if refused else ''}")
    listed = [
        choice for number, melody in enumerate(taken, start=1) for choice in _of_melody(melody, number, notes, letters)
    ]
    if not listed:
        raise FormatError("the file holds no melody with notes")
    return {
        "format": taken[0].notation or "unknown",
        "choices": listed,
        "refused": refused[:_MOST_COMPLAINTS],
        "has_more": len(found) > melodies,
    }


def _read(data: bytes, name: str) -> Iterator[Record]:
    """By its first bytes; when nothing there is readable, by the end of its name."""
    suffix = PurePosixPath(name.lower()).suffix
    by_name = next((format.name for format in FORMATS.values() if suffix and suffix in format.suffixes), None)
    is_own = by_name is not None and by_name not in ("marcxml", "pae")
    return records(data, by_name if is_own else None, strict=False)


def _of_melody(melody: Melody, number: int, most: int, letters: int) -> Iterator[dict[str, Any]]:
    voices = sorted(set(melody.notes["voice"][~melody.notes["is_grace"]].tolist()))
    for voice in voices:
        line = melodic_line(melody, voice)
        if not len(line):
            continue
        is_cut = len(line) > most
        query = _beginning(melody, line[:most])
        notation, text = _as_text(query)
        while len(text) > letters:
            query = _beginning(melody, query.notes[: len(query) * 3 // 4])
            is_cut, (notation, text) = True, _as_text(query)
        named = [melody.title or melody.id or f"melody {number}", melody.voice or ""]
        if len(voices) > 1:
            named.append(f"voice {voice + 1}")
        label = ", ".join(part for part in dict.fromkeys(named) if part)
        yield {
            "label": label,
            "notes": len(query),
            "notation": notation,
            "q": text,
            "is_cut": is_cut,
            "problems": [asdict(problem) for problem in melody.problems],
        }


def _beginning(melody: Melody, notes: np.ndarray) -> Melody:
    """These notes as a melody of one voice, from their first onset on."""
    taken = notes.copy()
    taken["voice"] = 0
    first = int(taken["onset_ticks"][0])
    taken["onset_ticks"] -= first
    end = int((taken["onset_ticks"] + taken["duration_ticks"]).max())
    bars = melody.barlines_ticks - first
    unknown: dict[str, Any] = dict.fromkeys(_PLAIN)
    return replace(
        melody,
        notes=taken,
        barlines_ticks=bars[(bars > 0) & (bars <= end)],
        changes=(),
        music=None,
        notation=None,
        extra={},
        **unknown,
    )


def shortened_to(most: int, melody: Melody) -> Melody:
    """A melody that is not too long for a query; of a longer one the beginning, with a word about it."""
    if len(melody) <= most:
        return melody
    cut = Problem(f"only the first {most} notes are taken")
    return _beginning(melody, melodic_line(melody)[:most]).with_metadata(
        id=melody.id, composer=melody.composer, title=melody.title, problems=(*melody.problems, cut)
    )


def _as_text(query: Melody) -> tuple[str, str]:
    try:
        return "pae", write(query)
    except NotationError:
        return "jsonl", write_jsonl(query)
