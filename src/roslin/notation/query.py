"""The melody of a query that was typed or pasted, the incipits of a source, and a query as the editor takes it.

A text that makes sense in two notations has two readings, names without octaves have up to four, and repeated notes may
be ties in another source. `surest` searches for these readings too, and keeps the list with the most certain result.
Every reading has its own chance matches, so each E of that list is multiplied by the number of readings.

If no list has all notes of names without octaves, but a result has all the names, its octaves are one more reading. Not
all octaves can be searched for, so each E is also multiplied by how much likelier the likeliest octaves are.

A melody pasted over several lines is one melody: lines without a header are joined, with a remark. Places of problems
are those of the text as it was typed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from roslin.display.words import N_, _
from roslin.errors import NotationError, Problem, TimeLimitError, shortened
from roslin.melody import Melody
from roslin.notation import Options, Record, Source, is_path, records
from roslin.notation.names import in_octaves_of, in_other_octaves, with_octaves
from roslin.notation.pae import as_catalogued, write
from roslin.notation.pae import read as read_pae
from roslin.notation.pae.incipit import capitals
from roslin.notation.record import CHANT, at_its_line, refusal
from roslin.notation.typed import other_notation, plain

if TYPE_CHECKING:
    from roslin.run import Run

_LIKELIER = 10.0  # by so much: of 200 queries of 8 notes with a wrong one, none was found less well
_LEAST_TIED = 3  # fewer notes are no evidence
_OCTAVES_FROM = 10  # results
_KINDS = {"names": N_("note names with octaves"), "abc": N_("ABC with lengths"), "pae": "Plaine & Easie"}
_WORDS = re.compile(r"[^\W\d_]{2,}(?:[\s'’.,-]+[^\W\d_]+)*[\s.!?]*")  # a title, say
_NUMBERS = re.compile(r"\s*-?[0-9]+(?:[\s,;]+-?[0-9]+)+\s*")
_HEADER = re.compile(r"\s*(?:[%@$‡{\[]|03[16]\b|[A-Zm]:)")


def read_query(text: str, format: str | None = None, *, strict: bool = False) -> Melody:
    """The one melody in a text, with the problems met on the way; `NotationError` where there is none, or several.

    >>> read_query("%G-2@3/4$bB\\n'4CDE/\\n2.F")
    Melody(None, 4 notes)
    """
    data = text.encode(errors="replace")
    # One more than needed, to see whether there are several.
    found = list(islice(records(data, format, strict=strict), 2)) if text.strip() else []
    if format is None and len(found) == 1 and found[0].melody is None:
        if _WORDS.fullmatch(text):
            raise refusal("not music", "notes, such as c c g g a a g", repr(shortened(text.strip(), 40)))
        if not strict and _NUMBERS.fullmatch(text):
            raise refusal("no notes", "MIDI numbers from 21 to 108", repr(shortened(text.strip(), 40)))
    notation = next((record.melody.notation for record in found if record.melody is not None), "pae")
    if len(found) == 2 and not strict and (format or notation) == "pae":
        found = _of_lines(text) or found
    if len(found) != 1:
        raise refusal("no query" if not found else "several melodies", "one melody")
    return found[0].melody_or_raise()


def readings(text: str, format: str | None = None, *, strict: bool = False) -> list[Melody]:
    """The melody in a text as `read_query` reads it, and the others that the text may mean.

    >>> [melody.notation for text in ("c4 e g c4", "'4CDEF", "C2 D2 E2") for melody in readings(text)]
    ['names', 'abc', 'pae', 'abc']
    >>> [with_octaves(melody) for melody in readings("c c g g")]
    ["c' c' g g", "c' c' g' g'"]
    """
    first = read_query(text, format, strict=strict)
    if strict:
        return [first]
    others = [] if first.notation != "names" else [record.melody_or_raise() for record in in_other_octaves(text)]
    other = None if format else other_notation(text, first.notation)
    if other is not None:
        with suppress(NotationError):
            others.append(read_query(text, other))
    return [first, *(melody for melody in others if _sound(melody) != _sound(first))]


class Surest(NamedTuple):
    """The reading of a query that was used, its list, and by how many readings each E was multiplied."""

    melody: Melody
    run: Run
    readings: int


def surest(found: Sequence[Melody], search: Callable[[Melody], Run], melody_of: Callable[[str], Melody]) -> Surest:
    """The reading of a query whose list has the most certain result, and that list; the first of equal ones.

    `melody_of` has the melodies that `search` finds, by their ids.

    Where no list has anything close, the query is also searched for with its repeated notes as ties. That list has to
    be much better, because it belongs to music that was not typed. The remarks of the list show how the query was read.
    Its E are those of all readings together. A list that is incomplete is returned as it is.
    """
    used, run = found[0], search(found[0])
    if not run.has_meaning or not run.is_complete:
        return Surest(used, run.with_remarks(_remarks(found, used, None)), 1)
    lists, count = {0: run}, 1
    for place, melody in enumerate(found[1:], start=1):
        other = _searched(melody, search)
        if other is not None:
            lists[place] = other
    best, *rest = sorted(lists, key=lambda place: (_expected(lists[place]), place))
    used, run, count = found[best], lists[best], len(lists)
    second = found[rest[0]] if rest else None
    named = None if not rest or _has_all(run) else _octaves_found(used, run, melody_of)
    other = None if named is None else _searched(named[0], search)
    if named is not None and other is not None and _has_all(other):
        used, run, second, count = named[0], other, used, (count + 1) * math.ceil(named[1])
    remarks = _remarks(found, used, second)
    tied = None if run.times(count).is_close else _tied(used)
    other = None if tied is None else _searched(tied, search)
    if tied is not None and other is not None:
        count += 1
        if _expected(other) * _LIKELIER < _expected(run):
            used, run = tied, other
            remarks.append(
                _("Repeated notes were read as ties, because the list is better with one long note for each.")
            )
    return Surest(used, run.times(count).with_remarks(remarks), count)


def has_readings(found: Sequence[Melody]) -> bool:
    """Whether `surest` may search for more than the first reading."""
    return len(found) > 1 or _tied(found[0]) is not None


def _searched(melody: Melody, search: Callable[[Melody], Run]) -> Run | None:
    with suppress(TimeLimitError):
        return search(melody)
    return None


def _octaves_found(names: Melody, run: Run, melody_of: Callable[[str], Melody]) -> tuple[Melody, float] | None:
    """The reading in the octaves of the first result that has all the names, and how much likelier others are."""
    if names.notation != "names":
        return None
    notes = (melody_of(id).notes for id in run.ids[:_OCTAVES_FROM])
    lines = (each["pitch_midi"][~each["is_grace"]].tolist() for each in notes)
    return next((made for line in lines if (made := in_octaves_of(names, line)) is not None), None)


def _has_all(run: Run) -> bool:
    """Whether a melody has every note of the query."""
    return any(ranking.agreeing for ranking in run.rankings.values())


def _expected(run: Run) -> float:
    return min((hit.expected for hit in run if hit.expected is not None), default=math.inf)


def _remarks(found: Sequence[Melody], used: Melody, second: Melody | None) -> list[str]:
    others = [melody for melody in found if melody is not used]
    if not others:
        return []
    other = second or others[0]
    if other.notation == used.notation:
        octaves = _("The octaves were read as {names}. Another reading is {others}: type the marks to search for it.")
        return [octaves.format(names=with_octaves(used), others=with_octaves(other))]
    kind, other_kind = (_(_KINDS[str(melody.notation)]) for melody in (used, other))
    read = _("The query was read as {kind}. It can also be read as {other}: choose the notation {notation}.")
    return [read.format(kind=kind, other=other_kind, notation=other.notation)]


def _tied(melody: Melody) -> Melody | None:
    if melody.notation in CHANT:
        return None
    notes = melody.notes[~melody.notes["is_grace"]]
    onsets, durations, pitches = notes["onset_ticks"], notes["duration_ticks"], notes["pitch_midi"]
    is_again = (pitches[1:] == pitches[:-1]) & (onsets[1:] == (onsets + durations)[:-1])
    starts = np.flatnonzero(np.concatenate(([True], ~is_again)))
    if not is_again.any() or len(starts) < _LEAST_TIED or (np.diff(onsets) <= 0).any():
        return None
    tied = notes[starts]
    tied["duration_ticks"] = np.add.reduceat(durations, starts)
    return replace(melody, notes=tied, music=None, notation=None)


def _sound(melody: Melody) -> tuple[list[int], list[float]]:
    durations = melody.notes["duration_ticks"]
    return np.diff(melody.notes["pitch_midi"]).tolist(), (durations / durations[0]).tolist()


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


def _of_lines(text: str) -> list[Record]:
    """The melody that all lines make together; none if one of them starts another melody."""
    lines = text.splitlines()
    filled = [line for line in lines if line.strip()]
    if any(_HEADER.match(line) for line in filled[1:]):
        return []
    joined = Problem("several lines", "one line", f"{len(filled)} lines", taken="one melody")
    found = []
    for record in records(" ".join(lines).encode(errors="replace"), "pae"):
        problems = tuple(at_its_line(problem, "\n".join(lines)) for problem in record.problems)
        found.append(Record(record.melody, (joined, *problems) if record.melody is not None else problems))
    return found


# For the editor of the search page

_LINE_END = re.compile(r"[\r\n]")
_OWN_HEADER = re.compile(r"\s*(?:%\S*\s+)?")


@dataclass(frozen=True, slots=True)
class Editable:
    """A line of Plaine & Easie, and for each row of the note table its column in it, from 1."""

    text: str
    columns: list[int]


def editable(typed: str, melody: Melody) -> Editable | None:
    """The query as an editor of the search page takes it; None where Plaine & Easie cannot write it.

    A query that is such a line already stays as it was typed, except for letters in lower case and typographic signs.
    Fields, MARC subfields, ABC, note names and lists of notes are written as a new line.

    >>> editable("%G-2 '4cd", read_query("%G-2 '4cd"))
    Editable(text="%G-2 '4CD", columns=[8, 9])
    >>> editable("c d e", read_query("c d e")).text
    "%G-2 '4CDE"
    """
    if melody.notation == "pae" and melody.music:
        return _as_it_stands(typed, melody, melody.music)
    try:
        text = write(melody)
        again = read_pae(text)
    except NotationError:
        return None
    return Editable(text, _columns(again, len(text) - len(again.music or ""))) if len(again) == len(melody) else None


def _as_it_stands(typed: str, melody: Melody, music: str) -> Editable:
    line = plain(_LINE_END.sub(" ", typed))[0]
    start = line.rfind(music)
    if start < 0 or not _OWN_HEADER.fullmatch(line, 0, start):
        line = as_catalogued(melody)
        start = len(line) - len(music)
    return Editable(capitals(line, start)[0], _columns(melody, start))


def _columns(melody: Melody, start: int) -> list[int]:
    return [start + column for column in melody.notes["source_column"].tolist()]
