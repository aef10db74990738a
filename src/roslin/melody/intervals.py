"""Intervals as people name them: "perfect fifth up", "up a minor third", "octave down", "+7"; read in English.

diatonic    plain names ("fifth up, third down, unison") or their numbers ("+5 -3 1"); sizes are staff steps
chromatic   names with their quality ("perfect fifth up, minor third down") or semitones ("+7 -3"), sizes too
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from roslin.display.words import N_, _
from roslin.errors import FilterError
from roslin.melody.pitches import NATURAL_SEMITONES

Kind = Literal["diatonic", "chromatic"]

_ORDINALS = (
    N_("unison"), N_("second"), N_("third"), N_("fourth"), N_("fifth"), N_("sixth"), N_("seventh"), N_("octave"),
    N_("ninth"), N_("tenth"), N_("eleventh"), N_("twelfth"), N_("thirteenth"), N_("fourteenth"), N_("fifteenth"),
)  # fmt: skip
_NUMBER_OF_WORD = {word: number for number, word in enumerate(_ORDINALS, start=1)} | {"prime": 1}
_PERFECT_STEPS = (0, 3, 4)
# What a quality adds to a perfect interval, and to a major one; None: there is no such interval.
_QUALITIES: dict[str, tuple[int | None, int | None]] = {
    "perfect": (0, None),
    "major": (None, 0),
    "minor": (None, -1),
    "augmented": (1, 1),
    "diminished": (-1, -2),
}
_SEMITONES_OF_WORD = {"semitone": 1, "tone": 2, "tritone": 6}
_MINOR, _MAJOR, _PERFECT = N_("minor {interval}"), N_("major {interval}"), N_("perfect {interval}")
_AUGMENTED = N_("augmented {interval}")
# Quality and number of what has 1 to 11 semitones.
_IN_OCTAVE = (
    (_MINOR, 2), (_MAJOR, 2), (_MINOR, 3), (_MAJOR, 3), (_PERFECT, 4), (_AUGMENTED, 4), (_PERFECT, 5), (_MINOR, 6),
    (_MAJOR, 6), (_MINOR, 7), (_MAJOR, 7),
)  # fmt: skip
_LARGE = {1: N_("{size}st"), 2: N_("{size}nd"), 3: N_("{size}rd")}  # by the last digit
_LARGER = N_("{size}th")
_DIRECTIONS = {
    **dict.fromkeys(("up", "upward", "upwards", "rising", "ascending", "+"), 1),
    **dict.fromkeys(("down", "downward", "downwards", "falling", "descending", "-", "\N{MINUS SIGN}"), -1),
}
_SIGNED = re.compile("([-+\N{MINUS SIGN}]?)([0-9]{1,3})([-+\N{MINUS SIGN}]?)")
_NUMERAL = re.compile("([0-9]{1,3})(?:st|nd|rd|th)")
_TOKEN = re.compile(r"[,;]|[^\s,;]+")
EXAMPLES = {
    "diatonic": "an interval such as 'fifth up', '+5', '5+' or 'unison'",
    "chromatic": "an interval such as 'perfect fifth up', '+7' or 'unison'",
}


@dataclass(frozen=True, slots=True)
class NamedInterval:
    """One interval: semitones or staff steps, and its place in the text."""

    size: int
    direction: int  # 1 up, -1 down, 0 either
    column: int
    words: str
    steps: int | None = None  # staff steps, if the name has them in addition to the semitones


def read_intervals(text: str, kind: Kind) -> list[NamedInterval]:
    """The intervals of a text, in order; what is none is refused with its column.

    >>> [(each.size, each.direction) for each in read_intervals("up a fifth, third down, unison", "diatonic")]
    [(4, 1), (2, -1), (0, 0)]
    """
    return _Reader(text, kind).items()


def interval_name(semitones: int) -> str:
    """The usual name of a number of semitones.

    >>> interval_name(15), interval_name(6), interval_name(12)
    ('minor tenth', 'augmented fourth', 'octave')
    """
    octaves, rest = divmod(semitones, 12)
    if rest == 0:
        return diatonic_name(7 * octaves + 1)
    quality, number = _IN_OCTAVE[rest - 1]
    return _(quality).format(interval=diatonic_name(7 * octaves + number))


def an_interval(semitones: int) -> str:
    """The same with its article.

    >>> an_interval(15), an_interval(12), an_interval(0)
    ('a minor tenth', 'an octave', 'a unison')
    """
    if semitones == 0:
        return _("a unison")
    name = interval_name(semitones)
    article = _("an {interval}") if name.startswith(("a", "e", "i", "o", "u", "18")) else _("a {interval}")
    return article.format(interval=name)


def diatonic_name(number: int) -> str:
    """The name of an interval's number: third for 3, 22nd for 22."""
    if number <= len(_ORDINALS):
        return _(_ORDINALS[number - 1])
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return _(_LARGE.get(last, _LARGER)).format(size=number)


def refusal(column: int, expected: str, found: str) -> FilterError:
    """The error with the place where a text of intervals is wrong."""
    return FilterError(f"column {column}: expected {expected}; found {found!r}")


class _Reader:
    """Reads `[direction [by] [a]] size` or `size [direction]` or a number with a sign, one after the other."""

    def __init__(self, text: str, kind: Kind):
        self.kind: Kind = kind
        self.tokens = [(match.group().lower(), match.start() + 1) for match in _TOKEN.finditer(text)]
        self.tokens.append(("", len(text) + 1))
        self.at = 0

    def items(self) -> list[NamedInterval]:
        items: list[NamedInterval] = []
        while self.tokens[self.at][0]:
            if items and not self._take(",", ";"):
                self._take("then")
            items.append(self._item())
        return items

    def _take(self, *words: str) -> str:
        word = self.tokens[self.at][0]
        self.at += word in words
        return word if word in words else ""

    def _item(self) -> NamedInterval:
        start = self.at
        if signed := _SIGNED.fullmatch(self.tokens[start][0]):
            self.at += 1
            if not self._take("semitones", "semitone"):
                number = int(signed[2]) - (self.kind == "diatonic")
                if number < 0:
                    raise refusal(self.tokens[start][1], "interval numbers from 1 (unison)", "0")
                return self._made((number, None), signed[1] + signed[3], start)
            self._refuse_kind("diatonic", start)
            return self._made((int(signed[2]), None), signed[1] + signed[3] or self._take(*_DIRECTIONS), start)
        if direction := self._take(*_DIRECTIONS):
            self._take("by")
            self._take("a", "an")
            return self._made(self._named_size(start), direction, start)
        size = self._named_size(start)
        if size[0] == 0 and self.tokens[min(self.at + 1, len(self.tokens) - 1)][0] not in (",", ";", ""):
            return self._made(size, "", start)  # "unison up a sixth": the direction belongs to what follows
        return self._made(size, self._take(*_DIRECTIONS), start)

    def _made(self, size: tuple[int, int | None], direction: str, start: int) -> NamedInterval:
        column, words = self.tokens[start][1], self._words(start)
        if len(direction) == 2 and direction not in _DIRECTIONS:
            raise refusal(column, "one sign, before or after the number", words)
        return NamedInterval(size[0], _DIRECTIONS.get(direction, 0), column, words, size[1])

    def _named_size(self, start: int) -> tuple[int, int | None]:
        quality = self._take(*_QUALITIES)
        if not quality and (special := self._take(*_SEMITONES_OF_WORD)):
            self._refuse_kind("diatonic", start)
            return _SEMITONES_OF_WORD[special], None
        word, column = self.tokens[self.at]
        numeral = _NUMERAL.fullmatch(word)
        number = int(numeral[1]) if numeral else _NUMBER_OF_WORD.get(word, 0)
        if number == 0:
            raise refusal(column, EXAMPLES[self.kind], word or "the end")
        self.at += 1
        steps = number - 1
        if quality:
            self._refuse_kind("diatonic", start)
            octaves, step = divmod(steps, 7)
            change = _QUALITIES[quality][step not in _PERFECT_STEPS]
            size = 12 * octaves + NATURAL_SEMITONES[step] + (change or 0)
            if change is None or size < 0:
                raise refusal(self.tokens[start][1], "an interval that exists", self._words(start))
            return size, steps
        if self.kind == "chromatic" and steps % 7:
            self._refuse_kind("chromatic", start)
        return (steps, None) if self.kind == "diatonic" else (12 * (steps // 7), steps)

    def _refuse_kind(self, kind: Kind, start: int) -> None:
        """Refuse a name with a quality among diatonic intervals, and one without among chromatic ones."""
        if self.kind == kind:
            expected = {
                "diatonic": "a plain name such as 'fifth up' (names that fix the semitones need chromatic intervals)",
                "chromatic": "a quality, as in 'perfect fifth up' or 'minor third down', or a number of semitones",
            }
            raise refusal(self.tokens[start][1], expected[kind], self._words(start))

    def _words(self, start: int) -> str:
        return " ".join(word for word, _column in self.tokens[start : self.at])
