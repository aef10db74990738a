"""Melodies as strings, one letter for each pair of notes that follow each other (paper 002, section 3.1).

    chromatic   the interval in semitones: A = 1 up ... Z = 26 or more up, a = 1 down ... z, "=" the same pitch
    diatonic    the number of the interval: B = second, C = third, D = fourth ... Z = 26th or more; upper case up, lower
                case down, "=" a unison, also an altered one (C to C sharp). An augmented second is a second: the letter
                comes from the spelling (`pitch_base40`), not from the sound
    contour     gross contour: U up, D down, R repeat
    rhythm      the duration of the note against the one before: L longer, S shorter, "=" the same

A melody of n notes has strings of n - 1 letters; one without notes, or with a single one, has empty strings. The line
that is read is `line.melodic_line`.

`parse_intervals` turns what a musicologist writes into such letters, `interval_words` turns them back (intervals.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import sub
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from roslin.melody import Melody
from roslin.represent.intervals import (
    CHROMATIC_LETTERS,
    DIATONIC_LETTERS,
)
from roslin.represent.line import melodic_line


class Strings(NamedTuple):
    """The four strings of one melody."""

    chromatic: str
    diatonic: str
    contour: str
    rhythm: str


def chromatic_string(melody: Melody, voice: int | None = None) -> str:
    """Intervals in semitones.

    >>> chromatic_string(Melody.from_notes([0, 1, 2, 3], [1, 1, 1, 1], [60, 67, 64, 64]))
    'Gc='
    """
    return _strings(melody, voice).chromatic


def diatonic_string(melody: Melody, voice: int | None = None) -> str:
    """Intervals by number, as spelled.

    >>> diatonic_string(Melody.from_notes([0, 1, 2, 3], [1, 1, 1, 1], [60, 67, 64, 64]))
    'Ec='
    """
    return _strings(melody, voice).diatonic


def contour_string(melody: Melody, voice: int | None = None) -> str:
    """Up, down, repeat."""
    return _strings(melody, voice).contour


def rhythm_string(melody: Melody, voice: int | None = None) -> str:
    """Longer, shorter, the same."""
    return _strings(melody, voice).rhythm


def _strings(melody: Melody, voice: int | None) -> Strings:
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
