"""Humdrum `**kern`: one melody for each spine, through verovio and `mei`.

The table is checked here first, line by line: as many fields as there are spines (splits, joins, exchanges and ends
counted), notes on one line that start together, and tokens that are notes or rests: verovio leaves out any other
without a word, and crashes on a table that is out of order. A wrong number of fields is refused, and the rest are
warnings, all with their line and column. If the MEI has fewer notes, every record has a remark.

Pitches are those of the file, looked up by the line and field that verovio keeps in the ids of its notes: the MEI that
it makes has only the accidentals that would be printed. `**kern` is written at sounding pitch, also for transposing
instruments (`*ITr`), whose written pitch is to be had with `written_pitch`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from roslin.errors import NotationError, Problem, shortened
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation import mei
from roslin.notation.mei.notes import Pitch
from roslin.notation.record import Record, note_problem, refusal
from roslin.notation.scores import MAX_DENOMINATOR, StaffChoice, reader
from roslin.notation.sources import text_of

MAX_SPINES = 500
MAX_DIGITS = 6  # of a length
MAX_QUARTERS = 64  # of a note; verovio fills all other spines with rests as long as it, and they may have no end

_LENGTH = re.compile(r"(\d+)(?:%(\d+))?(\.*)")
_LETTERS = re.compile(r"[a-gA-G]+")
_PITCH = re.compile(r"([a-g]+|[A-G]+)(#+|-+)?")
_PLACE = re.compile(r"note-L(\d{1,9})F(\d{1,9})(?:S(\d{1,9}))?")
_LONG = {"0": Fraction(8), "00": Fraction(16), "000": Fraction(32)}


def matches(head: bytes) -> bool:
    """Whether a text starts with comments and reference records of Humdrum, if any, and then with spines."""
    lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(b"!!")), None)
    if first is None:
        return any(re.match(rb"!!![A-Z]{3}", line) for line in lines)
    return first.startswith(b"**") and b"**kern" in first.split(b"\t")


def _read(data: bytes, selection: StaffChoice, *, strict: bool) -> list[Record]:
    text = text_of(data).replace("\r\n", "\n").replace("\r", "\n")
    table = _Spines()
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        table.read_line(line, number)
    if not table.kern_seen:
        raise refusal("not **kern", "a spine of **kern", "none", 1)
    if not table.notes:
        nothing = Problem("no notes", "at least one note", "none", line=table.first_line)
        raise NotationError(table.problems[0] if table.problems else nothing)
    if strict and table.problems:
        raise NotationError(table.problems[0])
    if table.spines:
        unended = Problem("spines without an end", "*- in every spine", "the end of the file", line=len(lines))
        table.problems.append(unended)
        text = text.rstrip("\n") + "\n" + "\t".join(["*-"] * len(table.spines)) + "\n"
    return mei.read_converted(
        text,
        "kern",
        selection,
        strict=strict,
        problems=table.problems,
        line=table.first_line,
        notes=table.notes,
        sounding=_pitches(lines),
    )


read = reader(_read)


def _pitches(lines: list[str]) -> Callable[[str], Pitch | None]:
    """Finds the pitch of a note by the id that verovio gives it: its line, its field and its place in a chord."""

    @cache
    def fields(line: int) -> list[str]:
        return lines[line - 1].split("\t")

    @cache
    def chord(line: int, field: int) -> list[str]:
        return fields(line)[field - 1].split(" ")

    def found(id: str) -> Pitch | None:
        place = _PLACE.fullmatch(id)
        try:
            return place and _pitch(chord(int(place[1]), int(place[2]))[int(place[3] or 1) - 1])
        except IndexError:
            return None

    return found


def _pitch(token: str) -> Pitch | None:
    pitch = _PITCH.search(token)
    if pitch is None:
        return None
    letters, signs = pitch[1], pitch[2] or ""
    octave = 3 + len(letters) if letters.islower() else 4 - len(letters)
    found = Pitch(7 * octave + "cdefgab".index(letters[0].lower()), signs.count("#") - signs.count("-"))
    return found if 0 <= found.midi <= 127 and len(set(letters)) == 1 else None


@dataclass(frozen=True, slots=True)
class _Spine:
    """A column of the table, and until when its last note lasts, in quarters; None for one that begins later."""

    kind: str
    until: Fraction | None = Fraction(0)


class _Spines:
    def __init__(self) -> None:
        self.spines: list[_Spine] = []
        self.problems: list[Problem] = []
        self.notes = 0
        self.kern_seen = False
        self.first_line = 1
        self._time = Fraction(0)

    def read_line(self, line: str, number: int) -> None:
        if not line.strip() or line.startswith("!!"):
            return
        fields = line.split("\t")
        if not self.spines:
            self._begin(fields, number)
        elif len(fields) != len(self.spines):
            expected = f"{len(self.spines)} fields"
            raise refusal("wrong number of fields", expected, str(len(fields)), number, len(line) + 1)
        elif line.startswith(("*", "!", "=")):
            self._check_all_are(line[0], fields, number)
            if line.startswith("*"):
                self._interpretations(fields, number)
        else:
            self._data(fields, number)

    def _begin(self, fields: list[str], number: int) -> None:
        for place, name in enumerate(fields):
            if not name.startswith("**"):
                raise refusal("not Humdrum", "spines such as **kern", repr(name[:20]), number, _column(fields, place))
        if len(fields) > MAX_SPINES:
            raise refusal("too many spines", f"at most {MAX_SPINES}", str(len(fields)), number)
        self.first_line = number
        self.spines = [_Spine(name) for name in fields]
        self.kern_seen = self.kern_seen or "**kern" in fields

    def _interpretations(self, fields: list[str], number: int) -> None:
        spines: list[_Spine] = []
        place = 0
        while place < len(fields):
            field, spine = fields[place], self.spines[place]
            if field == "*^":
                spines += [spine, spine]
            elif field == "*v":
                last = place
                while last + 1 < len(fields) and fields[last + 1] == "*v":
                    last += 1
                ends = [one.until for one in self.spines[place : last + 1] if one.until is not None]
                spines.append(replace(spine, until=max(ends, default=None)))
                place = last
            elif field == "*+":
                spines += [spine, _Spine("", None)]
            elif field.startswith("**"):
                spines.append(replace(spine, kind=field))
            elif field != "*-":
                spines.append(spine)
            place += 1
        exchanged = [place for place, field in enumerate(fields) if field == "*x"]
        if len(exchanged) == 2 and len(spines) == len(fields):
            one, other = exchanged
            spines[one], spines[other] = spines[other], spines[one]
        if len(spines) > MAX_SPINES:
            raise refusal("too many spines", f"at most {MAX_SPINES}", str(len(spines)), number)
        self.spines = spines
        self.kern_seen = self.kern_seen or "**kern" in fields

    def _problem(self, reason: str, expected: str, found: str, line: int, column: int, taken: str = "") -> None:
        problem = Problem(reason, expected, shortened(repr(found), 20), column, line=line, taken=taken)
        note_problem(self.problems, problem)

    def _check_all_are(self, sign: str, fields: list[str], number: int) -> None:
        """A line of comments, interpretations or bar lines has nothing else in it; verovio reads notes even there."""
        for place, (spine, field) in enumerate(zip(self.spines, fields, strict=True)):
            if spine.kind == "**kern" and not field.startswith((sign, ".")):
                expected = f"{sign} in every field of the line"
                self._problem("field of another kind", expected, field, number, _column(fields, place))
                self.notes += self._check_notes(fields, place, number)

    def _check_notes(self, fields: list[str], place: int, number: int) -> int:
        """The number of notes of a field that verovio reads. A token that is neither a note nor a rest is reported."""
        notes = 0
        for place_in_chord, (column, token) in enumerate(_tokens(fields, place)):
            letters = _LETTERS.findall(token)
            if "r" in token or (not letters and "R" in token):
                continue  # a rest, or percussion
            if not letters:
                self._problem("neither a note nor a rest", "a note such as 4c", token, number, column, "nothing")
            elif "R" in token:
                self._problem("pitch of percussion", "a pitch, or R for percussion", token, number, column, "nothing")
            else:
                notes += 1
                if len(letters) > 1 or _pitch(token) is None:
                    expected = "one letter from a to g, repeated for octaves"
                    self._problem("unreadable pitch", expected, token, number, column)
                elif not place_in_chord and not re.search("[0-9qQ]", token):
                    self._problem("note without a length", "a length such as 4, or q", token, number, column)
        return notes

    def _data(self, fields: list[str], number: int) -> None:
        starts: dict[int, Fraction] = {}
        for place, (spine, field) in enumerate(zip(self.spines, fields, strict=True)):
            if spine.kind != "**kern" or field in (".", ""):
                continue
            self.notes += self._check_notes(fields, place, number)
            if quarters := self._quarters(fields, place, number):
                starts[place] = quarters
        if not starts:
            return
        known = [(until, place) for place in starts if (until := self.spines[place].until) is not None]
        now = max(known)[0] if known else self._time
        if known and min(known)[0] != now:
            late = min(known)[1]
            reason = "notes of one line do not start together"
            self._problem(reason, "times that add up", fields[late], number, _column(fields, late))
        self._time = now
        for place, quarters in starts.items():
            until = now + quarters
            if until.denominator > MAX_DENOMINATOR:
                until = Fraction(round(until * TICKS_PER_QUARTER), TICKS_PER_QUARTER)
            self.spines[place] = replace(self.spines[place], until=until)

    def _quarters(self, fields: list[str], place: int, line: int) -> Fraction:
        """How long the notes of a field last; 0 for grace notes, and for signs that are no notes."""
        first = Fraction(0)
        for place_in_chord, (column, token) in enumerate(_tokens(fields, place)):
            length = _LENGTH.search(token)
            if length is not None and "q" not in token.lower():
                quarters = _quarters(length[1], length[2], length[3])
                if quarters is None:
                    expected = f"at most {MAX_QUARTERS} quarters, in numbers of at most {MAX_DIGITS} digits"
                    found = shortened(length[0], 20)
                    raise refusal("length out of range", expected, found, line, column + length.start())
                first = first if place_in_chord else quarters
        return first


def _column(fields: list[str], place: int) -> int:
    return sum(len(field) + 1 for field in fields[:place]) + 1


def _tokens(fields: list[str], place: int) -> Iterator[tuple[int, str]]:
    column = _column(fields, place)
    for token in fields[place].split(" "):
        yield column, token
        column += len(token) + 1


def _quarters(number: str, over: str | None, dots: str) -> Fraction | None:
    """The length that such a number means, 0 where it means none; None for one that no note has."""
    if max(len(number), len(over or "")) > MAX_DIGITS or (over is not None and not (int(number) and int(over))):
        return None
    if number in _LONG:
        quarters = _LONG[number]
    elif int(number) == 0:
        return Fraction(0)
    else:
        quarters = Fraction(4 * int(over or 1), int(number))
    quarters *= 2 - Fraction(1, 2 ** min(len(dots), 8))
    return quarters if quarters <= MAX_QUARTERS else None
