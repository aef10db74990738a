"""Volpiano: chant as typed for the font of that name, the notation of Cantus Database; one melody per line.

    1---g--gh--g---f4       clef, then a letter for each note; one hyphen between neumes, two between syllables,
                            three between words; 3, 4 and 5 are bar lines

Notes are 8 9 a to s without i, from F3 to D6, and the same in capitals for liquescent notes: `(` and `)` for 8 and 9.
A flat (i y z w x) or natural (the capital) applies to its line of the staff up to the next bar line. Chant has no
written rhythm, so every note is a quarter, and notes that are repeated stay apart. Notes behind a double bar (4) are
the differentia, the end of the psalm tone: they are kept in `Melody.extra["differentia"]`, not among the notes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np

from roslin.errors import NotationError, Problem, shortened
from roslin.melody import TICKS_PER_QUARTER, Melody, note_table
from roslin.melody.pitches import LETTERS, pitch_numbers
from roslin.notation.record import Record, note_problem, refusal
from roslin.notation.sources import read_all, text_of

_NOTES = "89abcdefghjklmnopqrs"
_STEPS = {sign: 7 * 3 + LETTERS.index("F") + place for place, sign in enumerate(_NOTES)}  # above C0
_STEPS |= {sign.upper(): steps for sign, steps in _STEPS.items()} | {"(": _STEPS["8"], ")": _STEPS["9"]}
_FLATS = {"y": "b", "w": "e", "i": "j", "x": "m", "z": "q"}  # the line that each alters
_BARS, _DOUBLE_BAR = "345", "4"
_CLEFS = {"1": "G-2", "2": "F-4"}
_SILENT = "-67¶"  # distance, a gap in the source, the end of a line or page
_UNREAD = re.compile(r"[\[{][?x. -]*[\]}]")  # [?], [x--x]: unreadable notes
_ENDS = re.compile(rf"[^{_NOTES}A-HJ-S()]*[{_NOTES}A-HJ-S()][^{_DOUBLE_BAR}]*{_DOUBLE_BAR}")
_STARTS = re.compile(r"\s*[12]-{3,}[-3-7\s]*(?:[a-z(\[{]|[89][89a-z-])[a-zA-Z0-9()\[\]{}?.,¶\s-]*")


def matches(head: bytes) -> bool:
    """Whether a text starts with a clef and three hyphens, and has nothing but signs of the font.

    >>> [matches(text) for text in (b"1---g--gh--g---4", b"1---'4CDE", b"1-/2-4-")]
    [True, False, False]
    """
    first = next(iter(text_of(head).splitlines()), "")
    return _STARTS.fullmatch(first) is not None


def read(stream: io.BufferedReader, *, strict: bool) -> Iterator[Record]:
    """One record for each line that is not empty."""
    for number, line in enumerate(text_of(read_all(stream)).splitlines(), start=1):
        if line.strip():
            yield read_line(line, strict=strict).at(line=number)


def read_line(text: str, *, strict: bool = False) -> Record:
    """The melody of a line.

    >>> print(read_line("1---gh--ij---j---4---kj4").melody)
    4 notes: G4 A4 B♭4 B♭4
    """
    problems: list[Problem] = []
    try:
        return Record(_melody(text, problems, strict=strict), tuple(problems))
    except NotationError as error:
        return Record(None, (error.problem,))


def _melody(text: str, problems: list[Problem], *, strict: bool) -> Melody:
    music, differentia = _apart(text)
    rows: list[tuple[int, int, int, int, bool, int, int]] = []
    bars: list[int] = []
    flats: set[str] = set()
    clef, unknown = "", 0
    for column, sign in enumerate(_without_unread(music, problems, strict=strict), start=1):
        if sign in _STEPS:
            octave, letter = divmod(_STEPS[sign], 7)
            midi, base40 = pitch_numbers(letter, octave, -1 if sign.lower() in flats else 0)
            rows.append((len(rows) * TICKS_PER_QUARTER, TICKS_PER_QUARTER, midi, base40, False, 0, column))
        elif sign in _BARS:
            flats.clear()
            if rows and bars[-1:] != [len(rows) * TICKS_PER_QUARTER]:
                bars.append(len(rows) * TICKS_PER_QUARTER)
        elif sign in _FLATS:
            flats.add(_FLATS[sign])
        elif sign.lower() in _FLATS:
            flats.discard(_FLATS[sign.lower()])
        elif sign in _CLEFS and (not rows or clef == _CLEFS[sign]):
            clef = clef or _CLEFS[sign]
        elif sign not in _SILENT and not sign.isspace():
            unknown += 1
            problem = Problem("no sign of Volpiano", "a note", repr(sign), column, taken="nothing")
            note_problem(problems, problem, strict=strict)
    if unknown > len(rows) > 0:
        raise refusal("not music", "more notes than other signs", problems[0].found, column=problems[0].column)
    if not rows:
        nothing = Problem("no notes", "at least one note", repr(shortened(text.strip(), 40)), 1)
        raise NotationError(problems[0] if problems else nothing)
    if not clef:
        missing = Problem("no clef", "1 or 2 before the first note", repr(text.strip()[0]), 1, taken="the treble clef")
        note_problem(problems, missing, strict=strict)
    return Melody(
        note_table(rows, in_order=True),
        music=text,
        notation="volpiano",
        clef=clef or "G-2",
        barlines_ticks=np.array(bars, dtype=np.int64),
        extra={"differentia": differentia} if differentia else {},
    )


def _apart(text: str) -> tuple[str, str]:
    """The music up to the double bar, and the notes behind it."""
    end = _ENDS.match(text)
    if end is None:
        return text, ""
    behind = text[end.end() :].strip("-34 ")
    return end[0], behind if any(sign in _STEPS for sign in behind) else ""


def _without_unread(music: str, problems: list[Problem], *, strict: bool) -> str:
    def blank(found: re.Match[str]) -> str:
        problem = Problem("illegible", "notes", repr(shortened(found[0], 20)), found.start() + 1, taken="nothing")
        note_problem(problems, problem, strict=strict)
        return "-" * len(found[0])

    return _UNREAD.sub(blank, music)
