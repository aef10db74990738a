"""The one melody that somebody typed or pasted to search for it, and the incipits of a source.

A melody pasted over several lines is one melody: lines that have no header of their own are joined, and that is told.
Places of problems are those of the text as it was typed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Unpack

from roslin.errors import NotationError, Problem
from roslin.melody import Melody
from roslin.notation import Options, Record, Source, is_path, records

__all__ = ["read_query", "read_source"]

_HEADER = re.compile(r"\s*(?:[%@$‡{\[]|03[16]\b|[A-Zm]:)")


def read_query(text: str, format: str | None = None, *, strict: bool = False) -> Melody:
    """The one melody in a text, with the problems met on the way; `NotationError` where there is none, or several.

    >>> read_query("%G-2@3/4$bB\\n'4CDE/\\n2.F")
    Melody(None, 4 notes)
    """
    data = text.encode(errors="replace")
    # One more than needed, to see whether there are several.
    found = list(islice(records(data, format, strict=strict), 2)) if text.strip() else []
    if len(found) == 2 and not strict and (format or _notation(found)) == "pae":
        found = _of_lines(text) or found
    if len(found) != 1:
        raise NotationError(Problem("no query" if not found else "several melodies", "one melody"))
    return found[0].melody_or_raise()


def read_source(source: Source, *, strict: bool = False, **options: Unpack[Options]) -> list[Melody]:
    """The incipits of a file, of bytes or of a text that was pasted, each with its problems.

    One that cannot be read does not keep the others from being searched for. Lines of Plaine & Easie without headers of
    their own are one melody. `NotationError` where nothing can be read.

    >>> [len(melody) for melody in read_source("%G-2@3/4 '4CDE/\\n2.F")]
    [4]
    """
    found = list(records(source, strict=strict, **options))
    read = [record.melody_or_raise() for record in found if record.melody is not None]
    if not read:
        raise NotationError(found[0].problems[0] if found else Problem("no incipit", "at least one"))
    is_text = isinstance(source, bytes) or (isinstance(source, str) and not is_path(source))
    if is_text and len(found) > 1 and all(melody.notation == "pae" and melody.id is None for melody in read):
        text = source.decode(errors="replace") if isinstance(source, bytes) else str(source)
        with suppress(NotationError):  # several melodies they are
            return [read_query(text, "pae", strict=strict)]
    return read


def _notation(found: list[Record]) -> str | None:
    return next((record.melody.notation for record in found if record.melody is not None), "pae")


def _of_lines(text: str) -> list[Record]:
    """The melody that all lines make together; none where one of them starts a melody of its own."""
    lines = text.splitlines()
    filled = [line for line in lines if line.strip()]
    if any(_HEADER.match(line) for line in filled[1:]):
        return []
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    joined = Problem("several lines", "one line", f"{len(filled)} lines", taken="one melody")
    return [
        Record(record.melody, (joined, *(_at_its_line(problem, starts) for problem in record.problems)))
        if record.melody is not None
        else Record(None, tuple(_at_its_line(problem, starts) for problem in record.problems))
        for record in records(" ".join(lines).encode(errors="replace"), "pae")
    ]


def _at_its_line(problem: Problem, starts: list[int]) -> Problem:
    if not problem.column:
        return problem
    line = bisect_left(starts, problem.column)
    return replace(problem, line=line, column=problem.column - starts[line - 1])
