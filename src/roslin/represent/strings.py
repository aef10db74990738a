"""Melodies as strings, one letter for each pair of notes that follow each other (Typke et al. 2007, section 3.1).

    chromatic   the interval in semitones: A = 1 up ... Z = 26 or more up, a = 1 down ... z, "=" the same pitch
    diatonic    the number of the interval: B = second, C = third, D = fourth ... Z = 26th or more; upper case up, lower
                case down, "=" a unison, also an altered one (C to C sharp). An augmented second is a second: the letter
                comes from the spelling (`pitch_base40`), not from the sound
    contour     gross contour: U up, D down, R repeat
    rhythm      the duration of the note against the one before: L longer, S shorter, "=" the same

A melody of n notes has strings of n - 1 letters. One without notes, or with a single one, has empty strings. The line
that is read is `line.melodic_line`.

`parse_intervals` turns intervals as a musicologist writes them (`melody/intervals.py`) into such letters,
`interval_words` turns them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import sub
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from roslin.display.words import _
from roslin.errors import FilterError, UnknownNameError
from roslin.melody import Melody
from roslin.melody.intervals import EXAMPLES, Kind, NamedInterval, diatonic_name, interval_name, read_intervals, refusal
from roslin.represent.line import melodic_line

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


class Strings(NamedTuple):
    """The four strings of one melody."""

    chromatic: str
    diatonic: str
    contour: str
    rhythm: str


def strings_of(melody: Melody, voice: int | None = None) -> Strings:
    """The strings of a melody, or of one of its voices.

    >>> strings_of(Melody.from_notes([0, 1, 2, 3], [1, 1, 1, 2], [60, 67, 64, 64]))
    Strings(chromatic='Gc=', diatonic='Ec=', contour='UDR', rhythm='==L')
    """
    line = melodic_line(melody, voice)
    return line_strings(line["pitch_midi"].tolist(), line["pitch_base40"].tolist(), line["duration_ticks"].tolist())


_GROSS = bytes.maketrans((ascii_uppercase + ascii_lowercase + "=").encode(), b"U" * 26 + b"D" * 26 + b"R")

# Seven letters of five numbers each, with an unused number after C, D, F, G and A (Hewlett); an unused one counts as
# the letter below it.
_LETTER_OF_BASE40 = tuple(letter for letter, numbers in enumerate((6, 6, 5, 6, 6, 6, 5)) for _ in range(numbers))


def steps_from_base40(base40: Iterable[int]) -> list[int]:
    """Staff positions, seven to the octave: the accidental is forgotten. C of octave 0 is 0."""
    return [7 * (number // 40) + _LETTER_OF_BASE40[number % 40] for number in base40]


def line_strings(midi: Sequence[int], base40: Sequence[int], durations_ticks: Sequence[int]) -> Strings:
    """The strings of a line given as three plain lists: the fast way, once for each melody of a collection."""
    steps = steps_from_base40(base40)
    chromatic = "".join(map(CHROMATIC_LETTERS.__getitem__, map(sub, midi[1:], midi)))
    diatonic = "".join(map(DIATONIC_LETTERS.__getitem__, map(sub, steps[1:], steps)))
    contour = chromatic.encode().translate(_GROSS).decode()
    rhythm = "".join(["=" if a == b else "L" if a < b else "S" for a, b in pairwise(durations_ticks)])
    return Strings(chromatic, diatonic, contour, rhythm)


# Intervals as a musicologist writes them


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
    """The letters of one interval: one if a direction is given, else both.

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
