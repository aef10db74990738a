"""The letters that stand for intervals, and the words that people use for them.

    chromatic   the interval in semitones: A = 1 up ... Z = 26 or more up, a = 1 down ... z, "=" the same pitch
    diatonic    the number of the interval: B = second, C = third, D = fourth ... Z = 26th or more; upper case up, lower
                case down, "=" a unison

`parse_intervals` turns what a musicologist writes into such letters, `interval_words` turns them back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

from roslin.errors import FilterError, UnknownNameError

__all__ = [
    "CHROMATIC_LETTERS",
    "DIATONIC_LETTERS",
    "KINDS",
    "Kind",
    "interval_name",
    "interval_semitones",
    "interval_words",
    "parse_interval",
    "parse_intervals",
]

Kind = Literal["diatonic", "chromatic"]
KINDS: tuple[Kind, ...] = ("diatonic", "chromatic")
LARGEST = 26  # letters in the alphabet


class Letters(dict[int, str]):
    """Steps to letters; whatever is larger than the alphabet gets its last letter."""

    def __missing__(self, step: int) -> str:
        return "Z" if step > 0 else "z"


CHROMATIC_LETTERS = Letters({0: "="})
DIATONIC_LETTERS = Letters({0: "="})  # one staff step up is a second, the second letter
for _size in range(1, LARGEST + 1):
    CHROMATIC_LETTERS[_size], CHROMATIC_LETTERS[-_size] = ascii_uppercase[_size - 1], ascii_lowercase[_size - 1]
    DIATONIC_LETTERS[_size], DIATONIC_LETTERS[-_size] = (
        letters[min(_size, 25)] for letters in (ascii_uppercase, ascii_lowercase)
    )

_ORDINALS = (
    "unison", "second", "third", "fourth", "fifth", "sixth", "seventh", "octave", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip
_NUMBER_OF_WORD = {word: number for number, word in enumerate(_ORDINALS, start=1)} | {"prime": 1}
_MAJOR_OR_PERFECT_SEMITONES = (0, 2, 4, 5, 7, 9, 11)
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
_NAMES_IN_OCTAVE = (
    "unison", "minor second", "major second", "minor third", "major third", "perfect fourth", "augmented fourth",
    "perfect fifth", "minor sixth", "major sixth", "minor seventh", "major seventh",
)  # fmt: skip
_DIRECTIONS = {
    **dict.fromkeys(("up", "upward", "upwards", "rising", "ascending", "+"), 1),
    **dict.fromkeys(("down", "downward", "downwards", "falling", "descending", "-", "\N{MINUS SIGN}"), -1),
}
_SIGNED = re.compile("([-+\N{MINUS SIGN}]?)([0-9]{1,3})([-+\N{MINUS SIGN}]?)")
_NUMERAL = re.compile("([0-9]{1,3})(?:st|nd|rd|th)")
_TOKEN = re.compile(r"[,;]|[^\s,;]+")
_EXAMPLES = {
    "diatonic": "an interval such as 'fifth up', '+5', '5+' or 'unison'",
    "chromatic": "an interval such as 'perfect fifth up', '+7' or 'unison'",
}


def parse_intervals(text: str, kind: Kind = "diatonic") -> str:
    """The letters of a sequence of intervals as people write it.

    Diatonic: plain names ("fifth up, third down, unison", "up a fifth") or numbers ("+5 -3 1", "5+ 3- 1"). Chromatic:
    names with their quality ("perfect fifth up, minor third down, unison") or semitones ("+7 -3 0").

    >>> parse_intervals("fifth up, third down, unison, sixth up")
    'Ec=F'
    >>> parse_intervals("+7 -4 0 +9", "chromatic")
    'Gd=I'
    """
    items = _Reader(text, _known_kind(kind)).items()
    if not items:
        raise FilterError(f"no intervals; expected {_EXAMPLES[kind]}; found {text!r}")
    for item in items:
        if item.size and not item.direction:
            raise _refusal(item.column, "'up' or 'down' (+ or -) with every interval but the unison", item.words)
    return "".join(_letters(kind)[item.size * item.direction] for item in items)


def parse_interval(text: str, kind: Kind = "diatonic") -> str:
    """The letters that stand for one interval: one when a direction is given, both when not.

    >>> parse_interval("third"), parse_interval("third up"), parse_interval("unison")
    ('Cc', 'C', '=')
    """
    items = _Reader(text, _known_kind(kind)).items()
    if len(items) != 1:
        raise FilterError(f"expected one interval; found {len(items)} in {text!r}")
    size, letters = items[0].size, _letters(kind)
    return "".join(
        letters[size * way] for way in ((1, -1) if size and not items[0].direction else (items[0].direction,))
    )


def interval_semitones(text: str) -> int:
    """The size of a named interval in semitones.

    >>> interval_semitones("minor tenth"), interval_semitones("diminished seventh"), interval_semitones("octave")
    (15, 9, 12)
    """
    items = _Reader(text, "chromatic").items()
    if len(items) != 1 or items[0].direction:
        raise FilterError(f"expected the name of one interval, such as 'minor tenth'; found {text!r}")
    return items[0].size


def interval_words(pattern: str, kind: Kind = "diatonic") -> str:
    """The inverse of `parse_intervals`.

    >>> interval_words("Ec=F")
    'fifth up, third down, unison, sixth up'
    """
    name = interval_name if _known_kind(kind) == "chromatic" else _diatonic_name
    words = []
    for column, letter in enumerate(pattern, start=1):
        if not (letter == "=" or (letter.isascii() and letter.isalpha())):
            raise FilterError(f"column {column}: expected a letter or '='; found {letter!r}")
        size = 0 if letter == "=" else ord(letter.lower()) - ord("a") + 1
        if size == 1 and kind == "diatonic":
            raise FilterError(f"column {column}: expected '=' for a unison; found {letter!r}")
        words.append("unison" if size == 0 else f"{name(size)} {'up' if letter.isupper() else 'down'}")
    return ", ".join(words)


def interval_name(semitones: int) -> str:
    """The usual name of a number of semitones.

    >>> interval_name(15), interval_name(6), interval_name(12)
    ('minor tenth', 'augmented fourth', 'octave')
    """
    octaves, rest = divmod(semitones, 12)
    if rest == 0:
        return _diatonic_name(7 * octaves + 1)
    quality, word = _NAMES_IN_OCTAVE[rest].split()
    return f"{quality} {_diatonic_name(7 * octaves + _NUMBER_OF_WORD[word])}"


def _diatonic_name(number: int) -> str:
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{suffix}"


def _letters(kind: Kind) -> Letters:
    return CHROMATIC_LETTERS if kind == "chromatic" else DIATONIC_LETTERS


def _known_kind(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise UnknownNameError("kind of interval", kind, sorted(KINDS))
    return kind


def _refusal(column: int, expected: str, found: str) -> FilterError:
    return FilterError(f"column {column}: expected {expected}; found {found!r}")


@dataclass(frozen=True, slots=True)
class _Item:
    """One interval: semitones or staff steps, and +1 up, -1 down, 0 not said."""

    size: int
    direction: int
    column: int
    words: str


class _Reader:
    """Reads `[direction [by] [a]] size` or `size [direction]` or a number with a sign, one after the other."""

    def __init__(self, text: str, kind: Kind):
        self.kind: Kind = kind
        self.tokens = [(match.group().lower(), match.start() + 1) for match in _TOKEN.finditer(text)]
        self.tokens.append(("", len(text) + 1))
        self.at = 0

    def items(self) -> list[_Item]:
        items: list[_Item] = []
        while self.tokens[self.at][0]:
            if items and not self._take(",", ";"):
                self._take("then")
            items.append(self._item())
        return items

    def _take(self, *words: str) -> str:
        word = self.tokens[self.at][0]
        if word in words:
            self.at += 1
            return word
        return ""

    def _item(self) -> _Item:
        start = self.at
        if signed := _SIGNED.fullmatch(self.tokens[start][0]):
            self.at += 1
            if not self._take("semitones", "semitone"):
                return self._checked(self._size_of_number(int(signed[2]), start), signed[1] + signed[3], start)
            self._refuse_kind("diatonic", start)
            return self._checked(int(signed[2]), signed[1] + signed[3] or self._take(*_DIRECTIONS), start)
        if direction := self._take(*_DIRECTIONS):
            self._take("by")
            self._take("a", "an")
            return self._checked(self._named_size(start), direction, start)
        size = self._named_size(start)
        if size == 0 and self.tokens[min(self.at + 1, len(self.tokens) - 1)][0] not in (",", ";", ""):
            return self._checked(size, "", start)  # "unison up a sixth": the direction belongs to what follows
        return self._checked(size, self._take(*_DIRECTIONS), start)

    def _checked(self, size: int, direction: str, start: int) -> _Item:
        column, words = self.tokens[start][1], " ".join(word for word, _ in self.tokens[start : self.at])
        if len(direction) == 2 and direction not in _DIRECTIONS:
            raise _refusal(column, "one sign, before or after the number", words)
        largest, name = (LARGEST, "26 semitones") if self.kind == "chromatic" else (LARGEST - 1, "a 26th")
        if size > largest:
            raise _refusal(column, f"at most {name}, the largest interval that has a letter", words)
        return _Item(size, _DIRECTIONS.get(direction, 0), column, words)

    def _size_of_number(self, number: int, start: int) -> int:
        if self.kind == "chromatic":
            return number
        if number == 0:
            raise _refusal(self.tokens[start][1], "interval numbers from 1 (unison)", "0")
        return number - 1

    def _named_size(self, start: int) -> int:
        quality = self._take(*_QUALITIES)
        if not quality and (special := self._take(*_SEMITONES_OF_WORD)):
            self._refuse_kind("diatonic", start)
            return _SEMITONES_OF_WORD[special]
        word, column = self.tokens[self.at]
        numeral = _NUMERAL.fullmatch(word)
        number = int(numeral[1]) if numeral else _NUMBER_OF_WORD.get(word, 0)
        if number == 0:
            raise _refusal(column, _EXAMPLES[self.kind], word or "the end")
        self.at += 1
        steps = number - 1
        if quality:
            self._refuse_kind("diatonic", start)
            return self._with_quality(steps, quality, start)
        if self.kind == "chromatic" and steps % 7:
            self._refuse_kind("chromatic", start)
        return steps if self.kind == "diatonic" else 12 * (steps // 7)

    def _with_quality(self, steps: int, quality: str, start: int) -> int:
        octaves, step = divmod(steps, 7)
        change = _QUALITIES[quality][step not in _PERFECT_STEPS]
        size = 12 * octaves + _MAJOR_OR_PERFECT_SEMITONES[step] + (change or 0)
        if change is None or size < 0:
            words = " ".join(word for word, _ in self.tokens[start : self.at])
            raise _refusal(self.tokens[start][1], "an interval that exists", words)
        return size

    def _refuse_kind(self, kind: Kind, start: int) -> None:
        """Refuse a name with a quality among diatonic intervals, and one without among chromatic ones."""
        if self.kind != kind:
            return
        words = " ".join(word for word, _ in self.tokens[start : self.at])
        if kind == "diatonic":
            expected = "a plain name such as 'fifth up' (names that fix the semitones need chromatic intervals)"
        else:
            expected = "a quality, as in 'perfect fifth up' or 'minor third down', or a number of semitones"
        raise _refusal(self.tokens[start][1], expected, words)
