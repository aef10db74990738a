"""GABC, the notation of Gregorio: chant on four lines, with its words.

    name: Kyrie;            fields, up to %%
    %%
    (c4) Ky(f)ri(gf)e(d) (,) e(c)lé(d)i(fd)son.(d) (::)

Words are written as syllables, each with its notes in parentheses: letters for the places on the staff, counted from
below, with signs for their shapes. A C clef is C5, so that pitches are those of Volpiano. A flat or natural applies up
to the end of its word or the next bar line, a flat in the clef (cb3) always. Chant has no written rhythm, so every note
is a quarter; `ss` and `vvv` are two and three notes. The differentia, notes over the letters e u o u a e, is kept in
`Melody.extra["differentia"]`, not among the notes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from roslin.errors import NotationError, Problem, shortened
from roslin.melody import TICKS_PER_QUARTER, Melody, note_table
from roslin.melody.pitches import LETTERS, pitch_numbers
from roslin.notation.record import METADATA_FIELDS, Record, at_its_line, note_problem
from roslin.notation.sources import read_all, text_of

_PLACES = "abcdefghijklmnp"
_FIRST_LINE = 3  # the place of d
_CLEF_STEPS = {"c": 7 * 5 + LETTERS.index("C"), "f": 7 * 4 + LETTERS.index("F")}  # above C0
_USUAL_CLEF = "c3"  # of Gregorio, where a score has none
_SIGNS = {"x": -1, "y": 0, "#": 1}
_OF_FIELDS = {"name": "title", "office-part": "genre", "occasion": "feast"}
_DIFFERENTIA = ["e", "u", "o", "u", "a", "e"]

_SCORE = re.compile(r"(?:\A|\n)%%[^(]*\([cf]b?[1-5][)@ ]|\A\s*\([cf]b?[1-5][)@ ]")
_HEADER = re.compile(r"([A-Za-z][\w-]*)\s*:\s*([^;]*);")
_COMMENT = re.compile(r"%[^\n]*")
_SYLLABLE = re.compile(r"([^()]*)\(([^()]*)\)")
_PARENTHESIS = re.compile(r"[()]")
_TAGGED = re.compile(r"<(sp|v|alt|e)>[^<]*</\1>|<[^<>]*>|[{}$^]")
_TOKEN = re.compile(
    r"(?P<clef>[cf]b?[1-5](?:@[cf]b?[1-5])?)"
    r"|(?P<sign>[a-np](?:##?|[xyXY])\??)"
    r"|(?P<custos>[a-np]\+|[zZ][0+-]*|\[[^\[\]]*\])"
    r"|(?P<note>[a-npA-NP](?P<shape>(?:[vVsSoOwWqQrR~<>=][0-9]?|[@'._][0-9]?)*))"
    r"|(?P<bar>::?\??|;[1-8]?|,[0_]?|`[0]?)"
    r"|(?P<space>[-/!\s@'._*|^0-9]+)"
)


def matches(head: bytes) -> bool:
    """Whether a text has a line %% and then a clef in parentheses, or starts with such a clef.

    >>> [matches(text) for text in (b"name: x;\\n%%\\n(c4) A(g)", b"(f3) A(g)", b"X:1\\nK:C\\n(c4)")]
    [True, True, False]
    """
    return _SCORE.search(text_of(head).replace("\r", "\n")) is not None


def read(stream: io.BufferedReader, *, strict: bool) -> Iterator[Record]:
    """One record: the melody of a file."""
    text = text_of(read_all(stream)).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return
    problems: list[Problem] = []
    try:
        melody: Melody | None = _ChantReader(text, strict, problems).melody()
    except NotationError as error:
        melody, problems = None, [error.problem]
    yield Record(melody, tuple(at_its_line(problem, text) for problem in problems))


@dataclass(slots=True)
class _ChantReader:
    """Reads one score; columns of problems count from the beginning of the text."""

    text: str
    strict: bool
    problems: list[Problem]
    rows: list[tuple[int, int, int, int, bool, int, int]] = field(default_factory=list)
    bars: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    clef: str = ""
    signs: dict[int, int] = field(default_factory=dict)  # by the place on the staff

    def melody(self) -> Melody:
        header, mark, _ = self.text.partition("%%")
        start = len(header) + len(mark) if mark else 0
        body = _COMMENT.sub(lambda found: " " * len(found[0]), self.text[start:])
        syllables = list(_SYLLABLE.finditer(body))
        music, differentia = syllables, ""
        end = _before_differentia([_letters(each[1]) for each in syllables])
        if end is not None:
            music, differentia = syllables[:end], body[syllables[end].start() :].strip()
        for each in music:
            self._sing(each[1])
            self._read(each[2], start + each.start(2))
        if sign := _PARENTHESIS.search(body, syllables[-1].end() if syllables else 0):  # never closed, or never opened
            self._note(Problem("a parenthesis alone", "( and )", repr(sign[0]), start + sign.start() + 1))
        if not self.rows:
            nothing = Problem("no notes", "notes in parentheses", repr(shortened(body.strip(), 40)), 1)
            raise NotationError(self.problems[0] if self.problems else nothing)
        fields = [(name, " ".join(text.split())) for name, text in _HEADER.findall(header if mark else "")]
        fields.append(("differentia", differentia))
        known = {_OF_FIELDS.get(name, name): text for name, text in fields if text}
        return Melody(
            note_table(self.rows, in_order=True),
            music=self.text[start:].strip(),
            notation="gabc",
            clef="G-2",
            key_signature="bB" if "b" in self.clef else None,
            barlines_ticks=np.array(self.bars, dtype=np.int64),
            text=" ".join("".join(self.words).split()) or None,
            title=known.pop("title", None),
            extra={name: text for name, text in known.items() if name not in METADATA_FIELDS},
        )

    def _note(self, problem: Problem) -> None:
        note_problem(self.problems, replace(problem, taken="nothing"), strict=self.strict)

    def _sing(self, text: str) -> None:
        sung = _TAGGED.sub("", text).replace("*", " ")
        if sung[:1].isspace():
            self.signs.clear()
        self.words.append(sung)

    def _read(self, music: str, start: int) -> None:
        place = 0
        music = music.partition("|")[0]  # then neumes without lines
        while place < len(music):
            token = _TOKEN.match(music, place)
            if token is None:
                self._note(Problem("no sign of GABC", "a note", repr(music[place]), start + place + 1))
                place += 1
                continue
            place = token.end()
            if token["clef"]:
                self.clef = token["clef"]
                self.signs.clear()
            elif sign := token["sign"]:
                self.signs[_PLACES.index(sign[0])] = _SIGNS[sign[1].lower()]
            elif token["note"]:
                shape = token["shape"]
                for _ in range(next((count for count in (3, 2) if "s" * count in shape or "v" * count in shape), 1)):
                    self._add(token["note"][0].lower(), start + token.start() + 1)
            elif token["bar"]:
                self.signs.clear()
                end = len(self.rows) * TICKS_PER_QUARTER
                if end and self.bars[-1:] != [end]:
                    self.bars.append(end)

    def _add(self, letter: str, column: int) -> None:
        if not self.clef:
            missing = Problem("no clef", "a clef such as (c4) before the first note", repr(letter), column, taken="c3")
            note_problem(self.problems, missing, strict=self.strict)
            self.clef = _USUAL_CLEF
        place, first = _PLACES.index(letter), self.clef.partition("@")[0]
        line = _FIRST_LINE + 2 * (int(first[-1]) - 1)
        octave, step = divmod(_CLEF_STEPS[first[0]] + place - line, 7)
        usual = -1 if "b" in first and LETTERS[step] == "B" else 0
        midi, base40 = pitch_numbers(step, octave, self.signs.get(place, usual))
        self.rows.append((len(self.rows) * TICKS_PER_QUARTER, TICKS_PER_QUARTER, midi, base40, False, 0, column))


def _letters(text: str) -> str:
    return "".join(sign for sign in _TAGGED.sub("", text).lower() if sign.isalpha())


def _before_differentia(texts: list[str]) -> int | None:
    """The place of the first syllable of e u o u a e; syllables without words may be between."""
    sung = [place for place, text in enumerate(texts) if text]
    count = len(_DIFFERENTIA)
    for first in range(len(sung) - count + 1):
        if [texts[place] for place in sung[first : first + count]] == _DIFFERENTIA:
            return sung[first]
    return None
