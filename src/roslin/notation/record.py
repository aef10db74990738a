"""Readers yield one record for each melody of a source, read or refused.

A reader never stops at a bad record. Strict reading refuses a record with any problem. By default a record is refused
only if nothing useful can be read from it, and its problems are warnings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from roslin.display.text import deviations, problem_words, translated
from roslin.errors import MelodyError, NotationError, Problem, RoslinError
from roslin.melody import Melody

if TYPE_CHECKING:
    from roslin.notation.midi.melodies import Grid

# A melody for each voice of a score, or one melody of all of them.
Voices = Literal["apart", "together"]
VOICES: tuple[Voices, ...] = ("apart", "together")


class Options(TypedDict, total=False):
    """Options of `load` and `records`. None and False ask for nothing. A format refuses options that it does not have.

    part             the staves of one part: its name, or its number from 1
    voice            one voice of each staff, from 0
    voices           "apart": a melody for each staff of a score, track or channel of a MIDI file;
                     "together": one of all. Other formats have one melody anyway, and nothing to change
    written_pitch    transposing instruments as written, not as they sound
    track, channel   those notes of a MIDI file only, both from 1
    quantise         the grid that played notes are moved to, such as "1/16" or "1/16+1/8t"
    expand_repeats   repeats and endings played out
    """

    part: str | int | None
    voice: int | None
    voices: Voices | None
    written_pitch: bool
    track: int | None
    channel: int | None
    quantise: Grid | None
    expand_repeats: bool


# Problems of one melody that are kept: a file of nothing else must not fill the memory.
MAX_PROBLEMS = 100

# More than this in one melody is a runaway repetition, not music.
MAX_NOTES = 200_000

# So many notes may be added to one melody by repeats that are played out, and to all melodies of a file together, or
# four times as many as are written in it if those are more. In the RISM sample, repeats add at most 18 notes to a
# melody, and 1,377 to 538,572 in all. Without these limits, a few kilobytes of repeats are minutes of work.
MAX_REPEATED_NOTES = 50_000
MAX_REPEATED_IN_FILE = 200_000
MOST_TIMES_PLAYED = 4

# The reason of a refusal for which no reader had foreseen one.
FAILED = "the reader failed"

# Notations of chant, which have no rhythm; two notes of one pitch are two notes.
CHANT = ("volpiano", "gabc")

# What a text field of the same name in a source becomes in a Melody; other fields go to `Melody.extra`.
METADATA_FIELDS = ("id", "title", "composer", "voice", "key", "text", "source")

_INCIPIT = re.compile(r"(.+)-[^-]*\d\.[^-]*")


def record_of(melody: Melody | str) -> str:
    """The catalogue record to which a melody belongs: the one that it names, else the one in its id.

    Of an id RECORD-a.b.c that is the part before the numbers, which may have letters and spaces, of any other id all.

    >>> record_of("840010216-1.2.1"), record_of("840010216-1.1. 2~2"), record_of("roslin-castle-2")
    ('840010216', '840010216', 'roslin-castle-2')
    >>> record_of(Melody.from_notes([0], [1], [60], id="mss-7-1-2.1", extra={"record": "mss-7"}))
    'mss-7'
    """
    if not isinstance(melody, str):
        return melody.extra.get("record") or record_of(melody.id or "")
    known = _INCIPIT.fullmatch(melody)
    return known[1] if known else melody


class Origin(NamedTuple):
    """The catalogue record that an incipit comes from: its number, its name in OAI-PMH, a digest of what was read.

    `raw` is a digest of its bytes, where they can be told from those around them.
    """

    record: str
    identifier: str
    digest: bytes
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Record:
    """A melody with the problems met on the way, or (melody is None) the problem for which it was refused.

    `is_skipped` marks an entry without music that is no refusal; `silent` is a melody without notes, if the entry has a
    clef, a key signature or a metre. `repeated` of the notes were added by repeats, also in what was then refused.
    """

    melody: Melody | None
    problems: tuple[Problem, ...] = ()
    is_skipped: bool = False
    repeated: int = 0
    origin: Origin | None = None
    silent: Melody | None = None

    def at(self, *, file: str = "", line: int = 0, record: str = "") -> Record:
        if not self.problems:
            return self
        return replace(self, problems=tuple(p.at(file=file, line=line, record=record) for p in self.problems))

    def melody_or_raise(self) -> Melody:
        """The melody with its problems, or the problem for which it was refused as a `NotationError`."""
        if self.melody is None:
            raise NotationError(self.problems[0])
        return self.melody.with_metadata(problems=self.problems) if self.problems else self.melody


def refusal(reason: str, expected: str = "", found: str = "", line: int = 0, column: int = 0) -> NotationError:
    """A problem to raise."""
    return NotationError(Problem(reason, expected, found, column, line=line))


def at_its_line(problem: Problem, text: str) -> Problem:
    """A problem whose column counts from the beginning of a text, with the line and the column there."""
    if not problem.column:
        return problem
    before = text[: problem.column - 1]
    return replace(problem, line=before.count("\n") + 1, column=len(before) - before.rfind("\n"))


def metadata_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """The text fields of a source as arguments of a `Melody`."""
    own: dict[str, Any] = {name: fields[name] for name in METADATA_FIELDS if name in fields}
    return own | {"extra": {name: text for name, text in fields.items() if name not in METADATA_FIELDS}}


def note_problem(problems: list[Problem], problem: Problem, *, strict: bool = False) -> None:
    """Add a problem to those of a melody, up to `MAX_PROBLEMS`; strict reading ends with it."""
    if len(problems) < MAX_PROBLEMS:
        if strict:
            raise NotationError(problem)
        problems.append(problem)


@dataclass(slots=True)
class Repeats:
    """Counts the notes that repeats add, to a melody or to all of a file, and refuses too many."""

    most: int = MAX_REPEATED_NOTES
    to: str = "one melody"
    count: int = 0

    def add(self, notes: int, line: int = 0, column: int = 0) -> None:
        self.count += notes
        if self.count > self.most:
            expected = f"at most {self.most} added to {self.to} by repeats"
            raise refusal("too many repeated notes", expected, str(self.count), line, column)


def failed(error: Exception, *, file: str = "", line: int = 0, record: str = "") -> Problem:
    """Why a file or a melody is refused whose reader did not foresee what it met.

    Other errors, and a lack of memory, are raised again.
    """
    if isinstance(error, NotationError):
        return error.problem.at(file=file, line=line, record=record)
    if isinstance(error, MemoryError) or (isinstance(error, RoslinError) and not isinstance(error, MelodyError)):
        raise error
    place = extract_tb(error.__traceback__)[-1]
    found = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}: {error}"
    return Problem(FAILED, found=found, column=0 if file or line else 1, file=file, line=line, record=record)


# The problems of records before they are published, each with its severity, as a linter has them: an incipit or a file
# that cannot be read, a sign that is read differently from how it is written, an incipit without music or an id again.
SEVERITIES = ("error", "warning", "note")


def checked(found: Iterable[Record]) -> Iterator[tuple[str, Problem]]:
    """The severity of each problem, and the problem with the id of its record."""
    seen: Counter[str] = Counter()
    for record in found:
        name = (record.melody.id if record.melody is not None else "") or ""
        severity = "note" if record.is_skipped else "error" if record.melody is None else "warning"
        for problem in record.problems:
            yield severity, problem if problem.record else replace(problem, record=name)
        if record.melody is not None:
            seen[name] += 1
            if seen[name] == 2:
                yield "note", Problem("this id occurs more than once", record=name)


def words_of(problem: Problem) -> str:
    """The problem without its place, in the words in use."""
    what = Problem(problem.reason, problem.expected, problem.found, taken=problem.taken)
    return f"{translated(what).reason}: {deviations([what])[0]}" if what.taken else problem_words(what)
