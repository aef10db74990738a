"""The letters that stand for intervals.

    chromatic   the interval in semitones: A = 1 up ... Z = 26 or more up, a = 1 down ... z, "=" the same pitch
    diatonic    the number of the interval: B = second, C = third, D = fourth ... Z = 26th or more; upper case up, lower
                case down, "=" a unison

`parse_intervals` turns what a musicologist writes (`melody/intervals.py`) into such letters, `interval_words` turns
them back.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

from roslin.display.words import _
from roslin.errors import FilterError, UnknownNameError
from roslin.melody.intervals import (
    EXAMPLES,
    Kind,
    NamedInterval,
    diatonic_name,
    interval_name,
    read_intervals,
    refusal,
)

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


def parse_intervals(text: str, kind: Kind = "diatonic") -> str:
    """The letters of a sequence of intervals as people write it.

    Diatonic: plain names ("fifth up, third down, unison", "up a fifth") or numbers ("+5 -3 1", "5+ 3- 1"). Chromatic:
    names with their quality ("perfect fifth up, minor third down, unison") or semitones ("+7 -3 0").

    >>> parse_intervals("fifth up, third down, unison, sixth up")
    'Ec=F'
    >>> parse_intervals("+7 -4 0 +9", "chromatic")
    'Gd=I'
    """
    items = _items(text, kind)
    if not items:
        raise FilterError(f"no intervals; expected {EXAMPLES[kind]}; found {text!r}")
    for item in items:
        if item.size and not item.direction:
            raise refusal(item.column, "'up' or 'down' (+ or -) with every interval but the unison", item.words)
    return "".join(_letters(kind)[item.size * item.direction] for item in items)


def parse_interval(text: str, kind: Kind = "diatonic") -> str:
    """The letters that stand for one interval: one when a direction is given, both when not.

    >>> parse_interval("third"), parse_interval("third up"), parse_interval("unison")
    ('Cc', 'C', '=')
    """
    items = _items(text, kind)
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
    items = _items(text, "chromatic")
    if len(items) != 1 or items[0].direction:
        raise FilterError(f"expected the name of one interval, such as 'minor tenth'; found {text!r}")
    return items[0].size


def interval_words(pattern: str, kind: Kind = "diatonic", *, has_direction: bool = True) -> str:
    """The inverse of `parse_intervals`.

    >>> interval_words("Ec=F"), interval_words("C", has_direction=False)
    ('fifth up, third down, unison, sixth up', 'third')
    """
    name = interval_name if _known_kind(kind) == "chromatic" else diatonic_name
    words = []
    for column, letter in enumerate(pattern, start=1):
        if not (letter == "=" or (letter.isascii() and letter.isalpha())):
            raise FilterError(f"column {column}: expected a letter or '='; found {letter!r}")
        size = 0 if letter == "=" else ord(letter.lower()) - ord("a") + 1
        if size == 1 and kind == "diatonic":
            raise FilterError(f"column {column}: expected '=' for a unison; found {letter!r}")
        way = (_("{interval} up") if letter.isupper() else _("{interval} down")) if has_direction else "{interval}"
        words.append(way.format(interval=name(size)) if size else _("unison"))
    return ", ".join(words)


def _items(text: str, kind: Kind) -> list[NamedInterval]:
    """The intervals of a text, none larger than has a letter."""
    items = read_intervals(text, _known_kind(kind))
    largest, name = (LARGEST, "26 semitones") if kind == "chromatic" else (LARGEST - 1, "a 26th")
    for item in items:
        if item.size > largest:
            raise refusal(item.column, f"at most {name}, the largest interval that has a letter", item.words)
    return items


def _letters(kind: Kind) -> Letters:
    return CHROMATIC_LETTERS if kind == "chromatic" else DIATONIC_LETTERS


def _known_kind(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise UnknownNameError("kind of interval", kind, sorted(KINDS))
    return kind
