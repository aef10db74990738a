"""Note names as people write them down: c d e, c# eb, German h and cis, do ré mi; octaves where they are given.

Letters are English unless an h or a name in -is or -es is among them: then they are German, and b is B flat. Syllables
are French, Italian or English (so, ti), with or without accents, with # and b or the words: dièse, bémol, diesis,
bemolle, sharp, flat. Ambiguous names are reported.

    c4 c#5   the octave as a number, 4 from middle C on
    c' C,    marks: c' is middle C, c the octave below, C the one below that
    c d e    no octave at all: each note is the closest to the one before, at most a fourth away; `in_other_octaves` has
             the likeliest of the other readings
    60 62 64 numbers of MIDI, 60 for middle C, if the text has nothing else

Names have no lengths: every note is a quarter.
"""

from __future__ import annotations

import io
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from roslin.errors import NotationError, Problem, shortened
from roslin.melody import TICKS_PER_QUARTER, Melody, note_name, note_table
from roslin.melody.pitches import LETTERS, MOST_SIGNS, pitch_numbers
from roslin.notation.record import MAX_PROBLEMS, Record, at_its_line
from roslin.notation.sources import read_all
from roslin.notation.typed import plain

_LEAST_NOTES = 3  # fewer are as likely a word or a key
_LEAST_SYLLABLES = 2
_NAMES_SHOWN = 12
_LONG_HEAD = 4000  # bytes; the beginning of something longer
_FIRST_OCTAVE = 4
_WIDEST_LEAP = 12  # semitones
_OTHERS = 3  # readings with other octaves
_UNLIKELY = 3.0  # a price this much above that of the likeliest is no reading: one in twenty
# The price of going from a letter to another this many steps above it, or to the same letter below: minus the natural
# logarithm of the share among intervals of these two letters. Counted in 5,000 melodies of RISM and Essen.
_UP = (0.0, 0.0, 0.1, 0.2, 1.0, 2.1, 4.3)
_DOWN = (4.2, 4.6, 2.6, 1.6, 0.4, 0.1, 0.0)
_OCTAVE_UP = 4.0
_USUAL_RANGE = 8  # steps; each one more has the price 1
_BEGINNINGS = 64  # of readings, kept from note to note
_OCTAVES_IN_USE = range(3, 7)  # a melody written c2 d2 e2 has lengths behind its notes, as in ABC

_SYLLABLES = dict(zip(("do", "re", "mi", "fa", "sol", "la", "si"), LETTERS, strict=True)) | {
    "ut": "C",
    "so": "G",
    "ti": "B",
}
_SHARP_WORDS, _FLAT_WORDS, _NATURAL_WORDS = "sharp|diese|diesis", "flat|bemolle|bemol", "natural|becarre|bequadro"
_SIGNS = {"##": 2, "#": 1, "bb": -2, "b": -1, "isis": 2, "is": 1, "eses": -2, "es": -1, "ses": -2, "s": -1, "": 0}
_GERMAN_SIGNS = ("isis", "is", "eses", "es", "ses", "s")
_WORD = re.compile(
    rf"(?P<name>{'|'.join(sorted(_SYLLABLES, key=len, reverse=True))}|[a-h])(?P<sign>##?|bb?|isis|is|eses|es|ses|s)?"
    rf"(?P<octave>[0-9]|'+|,+)?(?:(?:\s*-)?\s*(?:(?P<sharp>{_SHARP_WORDS})|(?P<flat>{_FLAT_WORDS})|{_NATURAL_WORDS}))?"
    r"(?=[\s|/;\-]|$)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s|/;\-]+")
_UP_TO_NEXT = re.compile(r"[^\s|/;]+")
_ONE_NAME = rf"[^,\s]+(?:\s+(?:{_SHARP_WORDS}|{_FLAT_WORDS}))?"
_LIST = re.compile(rf"\s*{_ONE_NAME}(?:,\s+{_ONE_NAME})+,?\s*", re.IGNORECASE)
_ACCIDENTALS = str.maketrans({"♯": "#", "♭": "b"})
_NUMBER = re.compile(r"[0-9]+")
_LAST_NUMBER = re.compile(r"(?<![^\s,;|\-])[0-9]+$")
_NUMBERS = re.compile(r"\s*[0-9]+(?:[\s,;|\-]+[0-9]+)+[\s,;|]*")
_OF_A_PIANO = range(21, 109)  # MIDI numbers
_TWELVE = ("c", "c#", "d", "eb", "e", "f", "f#", "g", "g#", "a", "bb", "b")


@dataclass(frozen=True, slots=True)
class _Name:
    """One name as it is written. The letter may be H, and B is not yet known to be flat or not."""

    word: str
    letter: str
    alter: int
    octave: str
    column: int
    is_syllable: bool
    sign: str
    head: str  # the word up to its octave

    def with_octave(self, octave: int) -> str:
        marks = "'" * (octave - 3) if octave >= 3 else "," * (3 - octave)
        return self.head.lower() + marks + self.word[len(self.head) + len(self.octave) :]


@dataclass(frozen=True)
class _Names:
    """All names of a text, and the words that are none, each with its column."""

    names: tuple[_Name, ...]
    others: tuple[tuple[str, int], ...]
    has_bars: bool

    @cached_property
    def is_german(self) -> bool:
        return any(name.word[0] in "hH" or name.sign in _GERMAN_SIGNS for name in self.names if not name.is_syllable)

    @cached_property
    def are_marked(self) -> bool:
        """Whether octaves are written with ' and commas: then a name without any has an octave too."""
        return any(name.octave and not name.octave.isdigit() for name in self.names)

    @property
    def are_midi_numbers(self) -> bool:
        return self.names[0].word.isdigit()

    @property
    def have_no_octave(self) -> bool:
        return not any(name.octave for name in self.names)

    @property
    def could_be_english_or_german(self) -> bool:
        """Whether only the letter b could show which."""
        return not any(name.is_syllable or name.sign for name in self.names)

    @property
    def are_plain_letters(self) -> bool:
        """Whether every name would be a note in ABC and Plaine & Easie too."""
        return not any(name.is_syllable or name.sign or name.word[0] in "hH" for name in self.names)


def looks_like_names(head: bytes) -> bool:
    """Whether a text has nothing but note names, set apart, and no sign that they are another notation's.

    >>> [looks_like_names(text) for text in (b"c d e", b"do re mi", b"CDE", b"c d e | f", b"C2 D2 E2", b"as you like")]
    [True, True, False, False, False, False]
    >>> [looks_like_names(text) for text in (b"60 62 64", b"60, 62, 64", b"1 2 3", b"60 62")]
    [True, True, False, False]
    """
    text, is_cut = head.decode(errors="replace"), len(head) >= _LONG_HEAD
    found = _scanned(_LAST_NUMBER.sub("", text) if is_cut else text)
    others = found.others[:-1] if is_cut else found.others  # its end may be within a word
    are_words = all(name.is_syllable and not name.word.isdigit() for name in found.names)
    least = _LEAST_SYLLABLES if are_words else _LEAST_NOTES
    if len(found.names) < least or others:
        return False
    if not found.are_plain_letters:
        return True
    octaves = [int(name.octave) for name in found.names if name.octave.isdigit()]
    # Octaves start with the first note; in C C G G A A G4 the number is a length.
    starts_with_octave = not octaves or bool(found.names[0].octave)
    return not found.has_bars and starts_with_octave and all(octave in _OCTAVES_IN_USE for octave in octaves)


def could_have_octaves(text: str) -> bool:
    """Whether the number behind each name may be its octave: every name has one, and none leaps beyond an octave.

    >>> [could_have_octaves(text) for text in ("g2 a2 b2 c3", "c2 c2 g2 g4", "c4 d e", "C2 | D2")]
    [True, False, False, False]
    """
    found = _scanned(text)
    if found.others or found.has_bars or not all(name.octave.isdigit() for name in found.names):
        return False
    heights = [pitch_numbers(place, octave, 0)[0] for place, octave, _ in _pitches(found)]
    return all(abs(b - a) <= _WIDEST_LEAP for a, b in pairwise(heights))


def read(stream: io.BufferedReader, *, strict: bool) -> Iterator[Record]:
    """One record: the melody that all names of a file make."""
    text = read_all(stream).decode("utf-8-sig", errors="replace")
    if text.strip():
        try:
            yield read_names(text, strict=strict)
        except NotationError as error:
            yield Record(None, (error.problem,))


def read_names(text: str, *, strict: bool = False) -> Record:
    """The melody of a text of note names, and how they were understood.

    >>> [problem.taken for problem in read_names("c d e h").problems]
    ['German note names: C4 D4 E4 B3', 'the closest to the one before']
    """
    found = _scanned(text)
    if not found.names:
        first, column = found.others[0] if found.others else ("none", 1)
        return _refused(text, Problem("no notes", "at least one note name", shortened(first), column))
    if len(found.others) >= len(found.names):
        first, column = found.others[0]
        return _refused(text, Problem("not music", "more note names than other words", repr(shortened(first)), column))
    pitches = _pitches(found)
    return _refused(text, next(_told(text, found, pitches))) if strict else _record(text, found, pitches)


def in_other_octaves(text: str) -> Iterator[Record]:
    """The melodies that names without octaves may also mean, the likeliest first.

    The likeliest have intervals that are frequent between these letters, and hardly more than an octave in all.

    >>> [with_octaves(record.melody) for record in in_other_octaves("c c g g a a g") if record.melody]
    ["c' c' g' g' a' a' g'"]
    """
    found = _scanned(text)
    if len(found.others) >= len(found.names) or not found.have_no_octave:
        return
    nearest = [octave for _, octave, _ in _pitches(found)]
    likeliest = [octaves for octaves in _likeliest([place for place, _ in _letters(found)]) if octaves != nearest]
    for octaves in likeliest[:_OTHERS]:
        with suppress(NotationError):  # too high or too low for a note
            yield _record(text, found, _pitches(found, octaves), is_nearest=False)


def in_octaves_of(melody: Melody, pitches: Sequence[int]) -> tuple[Melody, float] | None:
    """Names without octaves, in the octaves of notes that have these names one after the other; None where none do.

    With it comes how many times likelier the likeliest octaves are.

    >>> found = in_octaves_of(read_names("c g c").melody_or_raise(), [64, 60, 55, 72, 67])
    >>> with_octaves(found[0]) if found else None
    "c' g c''"
    """
    text, asked = str(melody.music), melody.notes["pitch_midi"].astype(np.int64)
    found, heights = _scanned(text), np.asarray(pitches, dtype=np.int64)
    if not found.have_no_octave or len(heights) < len(asked):
        return None
    windows = np.lib.stride_tricks.sliding_window_view(heights, len(asked))
    has_names = ((windows - windows[:, :1] - asked + asked[0]) % 12 == 0).all(axis=1)
    if not has_names.any():
        return None
    window = windows[np.flatnonzero(has_names)[0]]
    letters = list(_letters(found))
    lowest = np.array([pitch_numbers(place, 0, alter)[0] for place, alter in letters])
    octaves = ((window - window[0] + lowest[0] - lowest) // 12 + _FIRST_OCTAVE).tolist()
    places = [place for place, _ in letters]
    record = _record(text, found, _pitches(found, octaves), is_nearest=False)
    dearer = _price(places, octaves) - _price(places, _likeliest(places)[0])
    return record.melody_or_raise(), math.exp(max(dearer, 0.0))


def with_octaves(melody: Melody, most: int = 40) -> str:
    """The names that a melody was read from, each with a mark for its octave; at most `most`."""
    names = _scanned(str(melody.music)).names
    octaves = (melody.notes["pitch_base40"] // 40).tolist()
    marked = [name.with_octave(octave) for name, octave in zip(names, octaves, strict=True)]
    return " ".join([*marked[:most], "…"] if len(marked) > most else marked)


def _scanned(text: str) -> _Names:
    written = _on_a_keyboard(text)
    if _NUMBERS.fullmatch(written) and (numbers := _midi_numbers(written)):
        return _Names(numbers, (), has_bars=False)
    names: list[_Name] = []
    others: list[tuple[str, int]] = []
    position = 0
    while position < len(written):
        if between := _BETWEEN.match(written, position):
            position = between.end()
        elif (word := _WORD.match(written, position)) and (name := _name(word)):
            names.append(name)
            position = word.end()
        else:
            other = _UP_TO_NEXT.match(written, position)
            assert other is not None  # what is no separator
            others.append((other[0], position + 1))
            position = other.end()
    return _Names(tuple(names), tuple(others), "|" in text or "/" in text)


def _midi_numbers(text: str) -> tuple[_Name, ...]:
    """The names of MIDI numbers; none if one of them is beyond the keys of a piano."""
    found = [(word[0], word.start() + 1) for word in _NUMBER.finditer(text)]
    if not all(len(word) <= 3 and int(word) in _OF_A_PIANO for word, _ in found):
        return ()
    return tuple(_midi_number(word, column) for word, column in found)


def _midi_number(word: str, column: int) -> _Name:
    octave, within = divmod(int(word), 12)
    name = _TWELVE[within]
    return _Name(word, name[0].upper(), _SIGNS[name[1:]], str(octave - 1), column, True, name[1:], name)


def _on_a_keyboard(text: str) -> str:
    """The text without accents and curly quotes, sign for sign. The commas of a list are spaces."""
    composed = plain(unicodedata.normalize("NFC", text))[0].translate(_ACCIDENTALS)
    written = "".join(unicodedata.normalize("NFD", sign)[0] for sign in composed)
    return written.replace(",", " ") if _LIST.fullmatch(written) else written


def _name(word: re.Match[str]) -> _Name | None:
    name, sign = word["name"].lower(), (word["sign"] or "").lower()
    is_syllable = len(name) > 1
    if sign in _GERMAN_SIGNS and (is_syllable or (sign[0] == "s" and name not in "ae")):  # as and es, but not cs
        return None
    letter = _SYLLABLES.get(name, name.upper())
    alter = _SIGNS[sign] + bool(word["sharp"]) - bool(word["flat"])
    head = word["name"] + (word["sign"] or "")
    return _Name(word[0], letter, alter, word["octave"] or "", word.start() + 1, is_syllable, sign, head)


def _letters(found: _Names) -> Iterator[tuple[int, int]]:
    for name in found.names:
        letter, alter = name.letter, name.alter
        if letter == "H":
            letter = "B"
        elif letter == "B" and found.is_german and not name.is_syllable:
            letter, alter = "B", min(alter, 0) or -1  # bb and bes are B flat too
        yield LETTERS.index(letter), max(-MOST_SIGNS, min(alter, MOST_SIGNS))


def _pitches(found: _Names, octaves: list[int] | None = None) -> list[tuple[int, int, int]]:
    pitches: list[tuple[int, int, int]] = []
    last: int | None = None  # steps above C0
    for number, (name, (place, alter)) in enumerate(zip(found.names, _letters(found), strict=True)):
        octave = _octave(name, found, place, last) if octaves is None else octaves[number]
        last = 7 * octave + place
        pitches.append((place, octave, alter))
    return pitches


def _likeliest(places: list[int]) -> list[list[int]]:
    first = 7 * _FIRST_OCTAVE + places[0]
    kept: list[tuple[float, int, int, int, tuple[Any, ...]]] = [(0.0, first, first, first, (_FIRST_OCTAVE, ()))]
    for before, place in pairwise(places):
        up = (place - before) % 7
        moves = [up, up - 7, *([7] if not up else [])]
        longer = []
        for price, last, low, high, chain in kept:
            for steps in moves:
                height = last + steps
                lowest, highest = min(low, height), max(high, height)
                wider = max(highest - lowest, _USUAL_RANGE) - max(high - low, _USUAL_RANGE)
                longer.append((price + _of_move(steps) + wider, height, lowest, highest, (height // 7, chain)))
        kept = sorted(longer, key=itemgetter(0))[:_BEGINNINGS]
    found = []
    for price, *_, chain in kept[: _OTHERS + 1]:
        if price < kept[0][0] + _UNLIKELY:
            octaves = []
            while chain:  # (the last octave, (the one before it, ...))
                octave, chain = chain
                octaves.append(octave)
            found.append(octaves[::-1])
    return found


def _of_move(steps: int) -> float:
    """The price of going up by this many steps, or down if it is below 0."""
    octaves, up = divmod(steps, 7)
    return _UP[up] + _OCTAVE_UP * octaves if steps >= 0 else _DOWN[up] - _OCTAVE_UP * (octaves + 1)


def _price(places: list[int], octaves: list[int]) -> float:
    heights = [7 * octave + place for place, octave in zip(places, octaves, strict=True)]
    moves = sum(_of_move(height - before) for before, height in pairwise(heights))
    return moves + max(max(heights) - min(heights) - _USUAL_RANGE, 0)


def _octave(name: _Name, found: _Names, place: int, last: int | None) -> int:
    if name.octave.isdigit():
        return int(name.octave)
    if found.are_marked:
        marks = len(name.octave) * (-1 if "," in name.octave else 1)
        return (2 if name.word[0].isupper() and not name.is_syllable else 3) + marks
    if last is None:
        return _FIRST_OCTAVE
    return (last + 3 - place) // 7  # of the letter's octaves, the one within three steps


def _told(
    text: str, found: _Names, pitches: list[tuple[int, int, int]], *, is_nearest: bool = True
) -> Iterator[Problem]:
    kind = "German note names" if found.is_german else "note names"
    if found.names[0].is_syllable:
        kind = "MIDI numbers" if found.are_midi_numbers else "syllables"
    shown = [note_name(pitch_numbers(*pitch)[1]) for pitch in pitches[:_NAMES_SHOWN]]
    names = " ".join([*shown, "…"] if len(pitches) > _NAMES_SHOWN else shown)
    first = " ".join(text.split())
    yield Problem("note names", "a notation", repr(shortened(first, 30)), 1, taken=f"{kind}: {names}")
    if not found.are_marked and not all(name.octave for name in found.names):
        at = next(name.column for name in found.names if not name.octave)
        taken = "the closest to the one before" if is_nearest else "the octaves with the most certain result"
        found_there = "names without an octave"
        yield Problem("no octave", "octave marks", found_there, at, taken=taken)
    flats = [name for name in found.names if name.letter == "B" and not name.is_syllable and not name.sign]
    if flats and (found.is_german or found.could_be_english_or_german):
        taken = "B flat, as in German" if found.is_german else "B natural, as in English; German writes h"
        yield Problem("b", "English or German names", repr(flats[0].word), flats[0].column, taken=taken)
    for word, column in found.others[:MAX_PROBLEMS]:
        yield Problem("no note name", "a note name", repr(shortened(word)), column, taken="nothing")


def _refused(text: str, problem: Problem) -> Record:
    return Record(None, (at_its_line(problem, text),))


def _record(text: str, found: _Names, pitches: list[tuple[int, int, int]], *, is_nearest: bool = True) -> Record:
    rows = []
    for number, (name, (place, octave, alter)) in enumerate(zip(found.names, pitches, strict=True)):
        midi, base40 = pitch_numbers(place, octave, alter)
        if not 0 <= midi <= 127:
            problem = Problem("pitch out of range", "C-1 to G9", repr(name.word), name.column)
            raise NotationError(at_its_line(problem, text))
        onset = number * TICKS_PER_QUARTER
        rows.append((onset, TICKS_PER_QUARTER, midi, base40, False, 0, name.column))
    problems = tuple(at_its_line(problem, text) for problem in _told(text, found, pitches, is_nearest=is_nearest))
    return Record(Melody(note_table(rows, in_order=True), music=text, notation="names"), problems)
