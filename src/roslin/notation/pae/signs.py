"""The signs of the Plaine & Easie Code: what they look like and what they stand for."""

from __future__ import annotations

import re
from functools import lru_cache

from roslin.notation.pae.signatures import WHOLE_NOTE_TICKS

QUARTER_TICKS = WHOLE_NOTE_TICKS // 4
LENGTH_TICKS = {
    "0": 16 * QUARTER_TICKS,
    "9": 8 * QUARTER_TICKS,
    "1": 4 * QUARTER_TICKS,
    "2": 2 * QUARTER_TICKS,
    "4": QUARTER_TICKS,
    "8": QUARTER_TICKS // 2,
    "6": QUARTER_TICKS // 4,
    "3": QUARTER_TICKS // 8,
    "5": QUARTER_TICKS // 16,
    "7": QUARTER_TICKS // 32,
}
MAX_DOTS = 4
NEUME = "7."  # version 1's sign for notes without a length; read as quarters

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
BASE40 = {"C": 2, "D": 8, "E": 14, "F": 19, "G": 25, "A": 31, "B": 37}
ACCIDENTALS = {"x": 1, "xx": 2, "b": -1, "bb": -2, "n": 0}
OLD_ACCIDENTALS = {"#": 1, "♯": 1, "X": 1, "×": 1, "N": 0, "♮": 0, "Y": -1, "♭": -1}
LOWEST_WRITTEN, HIGHEST_WRITTEN = 1, 7  # three commas and four apostrophes are the most that the code allows
LOWEST_OCTAVE, HIGHEST_OCTAVE = -1, 9  # what is read, with a warning

# What looks ahead looks only so far: otherwise a long row of one sign would take time without end.
OCTAVE_MARKS = re.compile(r"'+|,+")
LENGTHS = re.compile(r"(?:[0-9]\.*)+")
ONE_LENGTH = re.compile(r"([0-9])(\.*)")
ACCIDENTAL = re.compile(r"xx?|bb?|n")
BAR_LINE = re.compile(r"://:?|//:?|/|\|")
MEASURE_REST = re.compile(r"=\s?([0-9]*)")
REPEATS = re.compile(r"f+")
TUPLET_COUNT = re.compile(r";\s*([0-9]{0,3})")
CLEF_CHANGE = re.compile(r"%\s?([A-Ga-g][-+*:]?[0-9])?")
KEY_CHANGE = re.compile(r"\$([xbnA-G\[\]]*)")
KEY_IN_ORDER = re.compile(r"\$(x(?:F(?:C(?:G(?:D(?:A(?:EB?)?)?)?)?)?)?|b(?:B(?:E(?:A(?:D(?:G(?:CF?)?)?)?)?)?)?|n?)")
TIME_CHANGE = re.compile(r"@([co](?:/\.?|\./?)?(?:[23](?:/[23])?)?|[0-9]+/[0-9]+(?:\|[0-9]+/[0-9]+)*|[0-9]+)?")
_BEFORE_NOTE = r"['\",0-9.xbnXN#♯\s]{0,40}"
_HEAD = rf"{_BEFORE_NOTE}[A-G][tpu+]{{0,4}}"
# One note, chord or rest, with a grace note before it or not: a fermata, not a tuplet.
FERMATA = re.compile(rf"\((?:['\",]{{0,8}}[gq]{_HEAD})?(?:{_HEAD}(?:\^{_HEAD}){{0,12}}|{_BEFORE_NOTE}-|=[0-9]*)\s*\)")
VALUE_INSIDE = re.compile(r"\([{\s'\",]{0,40}[0-9]")
# This one needs no limit: it looks as far as the next group, so all looks together go through the text once.
GRACE_GROUP_END = re.compile(r"[^qQgy/r]*r")
VALIDITY_NOTE = re.compile(r"~[?+t]?")

# Signs of old catalogues.
OLD_MEASURE_REST = re.compile(r"-([0-9]+)\s*(?=/|$)")
OLD_TIME_CHANGE = re.compile(r"\((\d+/\d+|c/?)\)")
SLUR_END = re.compile(r"[^ry]{0,400}z")
# They write a tie (or a slur) as "_" and then the second note; version 2 writes "_" for both. A string is old when
# a tie is followed by its own note again, or when it has other signs that only those catalogues use.
OLD_TIES = re.compile(r"[\"♯]|-[0-9]+\s*(?:/|$)|(?<![A-G])t[A-G]|([A-G])_[^A-G=\-]{0,40}\1")
NEXT_NOTE = re.compile(r"[^A-G\-=]{0,40}([A-G])")
ENTITY = re.compile(r"&#?[0-9A-Za-z]{1,8};")
REMARK = re.compile(r"\[[^\]]{0,200}?[a-z]{3}[^\]]{0,200}\]?")


def length_pattern(text: str) -> tuple[int, ...]:
    """Ticks of each length in "8.68"; a pattern of several repeats over the notes that follow."""
    return _kept_length_pattern(text) if len(text) <= _LONGEST_KEPT else _length_pattern(text)


def _length_pattern(text: str) -> tuple[int, ...]:
    if text == NEUME:
        return (QUARTER_TICKS,)
    pattern = []
    for digit, dots in ONE_LENGTH.findall(text):
        ticks = LENGTH_TICKS[digit]
        pattern.append(2 * ticks - (ticks >> min(len(dots), MAX_DOTS)))
    return tuple(pattern)


_kept_length_pattern = lru_cache(maxsize=4096)(_length_pattern)
_LONGEST_KEPT = 40  # signs; what is longer is not written twice, and would only fill the memory


def usual_time(count: int) -> int:
    """How many plain notes a tuplet without a stated total takes the time of: 3:2, 5:4, 6:4, 7:4, 9:8; 2:3 and 4:3."""
    return 3 if count in (2, 4) else 1 << max(count - 1, 1).bit_length() - 1


@lru_cache(maxsize=1024)
def pitch_numbers(letter: str, octave: int, alter: int) -> tuple[int, int]:
    """MIDI and base-40 number of a note name."""
    return 12 * octave + 12 + SEMITONES[letter] + alter, 40 * octave + BASE40[letter] + alter
