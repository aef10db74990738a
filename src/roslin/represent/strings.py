"""Melodies as strings, one letter for each pair of notes that follow each other, and the numbers that filters ask for
(Typke et al. 2007, section 3.1). The line that is read is `line.melodic_line`.

    chromatic   the interval in semitones: A = 1 up ... Z = 26 or more up, a = 1 down ... z, "=" the same pitch
    diatonic    the number of the interval: B = second, C = third, D = fourth ... Z = 26th or more; upper case up, lower
                case down, "=" a unison, also an altered one (C to C sharp). An augmented second is a second: the letter
                comes from the spelling (`pitch_base40`), not from the sound
    contour     gross contour: U up, D down, R repeat
    rhythm      the duration of the note against the one before: L longer, S shorter, "=" the same

    pitch_range      semitones between the lowest and the highest note
    duration_ratio   shortest note over longest note (rests do not count), in (0, 1]; 1: all equally long
    max_interval     semitones, the largest step between notes that follow each other; rests are ignored
    motives          repeated sequences of intervals, and how often each occurs

A melody of n notes has strings of n - 1 letters. A number that needs more notes is None: without notes every one, with
one note the largest interval (its range is 0, its ratio 1).

Motives. The paper says that its detection "maximizes the motive length, even if this means fewer repetitions" and gives
no details. Our reading: take the longest sequence of at least two intervals that occurs at least twice without
overlapping itself; of several equally long ones the one that starts earliest. Count its occurrences from left to right
without overlap, note them, take these places out of the string (nothing found later may touch them), and go on until
nothing is repeated. So a short motive that only occurs inside longer ones is not listed by itself. Motives are looked
for up to `LONGEST_MOTIVE` intervals, which bounds the work; a longer repetition appears as several motives.
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
LONGEST_MOTIVE = 100  # intervals


class Letters(dict[int, str]):
    """Steps to letters; larger ones get the last letter."""

    def __missing__(self, step: int) -> str:
        return "Z" if step > 0 else "z"


CHROMATIC_LETTERS = Letters({0: "="})
DIATONIC_LETTERS = Letters({0: "="})  # one staff step up is a second, the second letter
for _way, _letters_of_way in ((1, ascii_uppercase), (-1, ascii_lowercase)):
    CHROMATIC_LETTERS |= {_way * size: letter for size, letter in enumerate(_letters_of_way, start=1)}
    DIATONIC_LETTERS |= {_way * size: letter for size, letter in enumerate(_letters_of_way[1:], start=1)}


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
    """Staff positions, seven to the octave, whatever the accidental. C of octave 0 is 0."""
    return [7 * (number // 40) + _LETTER_OF_BASE40[number % 40] for number in base40]


def line_strings(midi: Sequence[int], base40: Sequence[int], durations_ticks: Sequence[int]) -> Strings:
    """The strings of a line given as three plain lists: the fast way, once for each melody of a collection."""
    steps = steps_from_base40(base40)
    chromatic = "".join(map(CHROMATIC_LETTERS.__getitem__, map(sub, midi[1:], midi)))
    diatonic = "".join(map(DIATONIC_LETTERS.__getitem__, map(sub, steps[1:], steps)))
    contour = chromatic.encode().translate(_GROSS).decode()
    rhythm = "".join(["=" if a == b else "L" if a < b else "S" for a, b in pairwise(durations_ticks)])
    return Strings(chromatic, diatonic, contour, rhythm)


# The numbers of a melody, and its motives


class Description(NamedTuple):
    """All features and strings of one melody."""

    note_count: int
    pitch_range: int | None
    max_interval: int | None
    duration_ratio: float | None
    chromatic: str
    diatonic: str
    contour: str
    rhythm: str
    motives: dict[str, int]


def describe(melody: Melody) -> Description:
    """Everything at once, cheaply: a collection calls this once for each melody.

    >>> describe(Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 67, 64])).max_interval
    7
    """
    line = melodic_line(melody)
    midi, durations = line["pitch_midi"].tolist(), line["duration_ticks"].tolist()
    strings = line_strings(midi, line["pitch_base40"].tolist(), durations)
    return Description(
        len(midi),
        max(midi) - min(midi) if midi else None,
        max(map(abs, map(sub, midi[1:], midi)), default=None),
        min(durations) / max(durations) if durations else None,
        *strings,
        motives(strings.chromatic),
    )


def motives(intervals: str) -> dict[str, int]:
    """Repeated sequences of intervals in a string, longest first, with the number of their occurrences.

    >>> motives("ABcABcAB")
    {'ABc': 2}
    >>> motives("==A==")
    {'==': 2}
    """
    levels = _repeated(intervals)
    found: dict[str, int] = {}
    free = bytearray(b"\1" * len(intervals))
    for length in range(len(levels) + 1, 1, -1):
        groups = levels[length - 2]
        untouched = b"\1" * length
        for first in sorted(position for positions in groups.values() for position in positions):
            if free[first : first + length] != untouched:
                continue
            motive = intervals[first : first + length]
            # A motive is tried once, at its first free place: later there can only be fewer.
            places = [place for place in groups.pop(motive, ()) if free[place : place + length] == untouched]
            chosen = _without_overlap(places, length)
            if len(chosen) > 1:
                found[motive] = len(chosen)
                for place in chosen:
                    free[place : place + length] = bytes(length)
    return found


def _repeated(intervals: str) -> list[dict[str, list[int]]]:
    """For each length from 2, the sequences that occur at least twice without overlap, and where they start.

    Each starts with a repeated one that is one shorter, so only those need to be made longer.
    """
    levels: list[dict[str, list[int]]] = []
    starts: list[int] = list(range(len(intervals) - 1))
    for length in range(2, min(LONGEST_MOTIVE, len(intervals) // 2) + 1):
        groups: dict[str, list[int]] = {}
        for start in starts:
            groups.setdefault(intervals[start : start + length], []).append(start)
        groups = {text: places for text, places in groups.items() if places[-1] - places[0] >= length}
        if not groups:
            break
        levels.append(groups)
        last = len(intervals) - length - 1
        starts = sorted(place for places in groups.values() for place in places if place <= last)
    return levels


def _without_overlap(places: list[int], length: int) -> list[int]:
    chosen: list[int] = []
    free_from = 0
    for place in places:
        if place >= free_from:
            chosen.append(place)
            free_from = place + length
    return chosen


# Intervals as a musicologist writes them


def parse_intervals(text: str, kind: Kind = "diatonic") -> str:
    """The letters of intervals as people write them: `melody/intervals.py` has the two kinds.

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
    [item] = items
    ways = (1, -1) if item.size and not item.direction else (item.direction,)
    return "".join(_letters(kind)[item.size * way] for way in ways)


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
