"""Clef, key signature and time signature of the Plaine & Easie Code: what they say about pitch and time.

Only what changes the notes is read: which letters are sharp or flat, and how long a bar is (for bars of rest).
A clef changes how music looks, not how it sounds; it is checked and kept.

Catalogues are untidy ("xFMajeur", "G2", "3/4[6/4]"). Each reader returns what could be understood in the code's own
spelling, and the problem when that is not what stood there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from roslin.errors import Problem
from roslin.melody import TICKS_PER_QUARTER
from roslin.melody.pitches import alterations, signature_text

WHOLE_NOTE_TICKS = 4 * TICKS_PER_QUARTER
_LONGEST_SIGN = 100  # signs of a clef or signature that are looked at; answers are kept, so they must not be large
NO_ALTERATIONS: Mapping[str, int] = MappingProxyType({})

_CLEF = re.compile(r"[GgCF][-+*:][1-5]")
_UNTIDY_CLEF = re.compile(r"\s*([GgCFcf])\s*([-+*:]?)\s*([1-5])\b")
_KEY_SIGNATURE = re.compile(r"(?:[xbn](?:[A-G]|\[[A-G]+\])*)*|\[[xbn][A-G]*\]")
_UNTIDY_KEY_SIGNATURE = re.compile(r"(?:[xbn](?:[A-G](?![a-z]{2}|[0-9])|[A-G](?=[A-Z][a-z])|[\[\]\s])*)+")
_FRACTION = re.compile(r"([1-9]\d{0,2})/([1-9]\d{0,2})")

# Signs without a fraction, as multiples of a whole note. A lone number is read as catalogues use it: on the bars of
# real incipits (docs/concepts/reading/pae.md), "3" stands over bars of three quarters and "2" over bars of two halves.
_SIGN_WHOLES = {"2": Fraction(1), "3": Fraction(3, 4), "c": Fraction(1), "c/": Fraction(1), "c3/2": Fraction(3)}
# Mensural signs: tempus (c or o), diminution, prolation, proportion. The code has no bars of rest under them, so their
# lengths are nominal: three whole notes under o, two under c, three halves under c3.
_MENSURATION = re.compile(r"([co])(?:/\.?|\./?)?([23](?:/[23])?)?")


@dataclass(frozen=True, slots=True)
class KeySignature:
    """A key signature in the code's spelling, and the letters that it alters."""

    text: str
    alterations: Mapping[str, int]
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class TimeSignature:
    """A time signature in the code's spelling, and the length of its bar (of the first, where two alternate)."""

    text: str
    measure_ticks: int
    problem: Problem | None = None


def read_clef(text: str) -> tuple[str, Problem | None]:
    """A clef of either version of the code; "" when it cannot be understood.

    >>> read_clef("G-2")
    ('G-2', None)
    """
    return _clef(text[:_LONGEST_SIGN])


@lru_cache(maxsize=1024)
def _clef(text: str) -> tuple[str, Problem | None]:
    if _CLEF.fullmatch(text):
        return text, None
    untidy = _UNTIDY_CLEF.match(text)
    shape = "" if untidy is None else untidy[1] if untidy[1] == "g" else untidy[1].upper()
    clef = "" if untidy is None else f"{shape}{untidy[2] or '-'}{untidy[3]}"
    expected = "a letter G, g, C or F, a sign - + * or :, and a line 1 to 5"
    return clef, Problem("unreadable clef", expected, repr(text), taken=clef or "no clef")


def read_key_signature(text: str) -> KeySignature:
    """The altered letters of "xFC", "bB[EA]", "n"; what is written otherwise is read as far as it can be.

    >>> dict(read_key_signature("bB[EA]").alterations)
    {'B': -1, 'E': -1, 'A': -1}
    """
    return _key_signature(text[:_LONGEST_SIGN])


@lru_cache(maxsize=1024)
def _key_signature(text: str) -> KeySignature:
    if _KEY_SIGNATURE.fullmatch(text):
        altered = alterations(text)
        if altered or "n" in text or not text:
            return KeySignature(text, altered)
    tidy = text.strip().replace("X", "x")
    if tidy in ("x", "b"):
        one = tidy + {"x": "F", "b": "B"}[tidy]
        return KeySignature(one, {"F": 1} if tidy == "x" else {"B": -1}, _unreadable_key(text, one))
    found = _UNTIDY_KEY_SIGNATURE.match(tidy)
    altered = alterations(found[0]) if found else {}
    spelled = signature_text(altered)
    return KeySignature(spelled, altered, _unreadable_key(text, spelled))


def _unreadable_key(text: str, spelled: str) -> Problem:
    expected = "x or b with the altered letters, such as bBE"
    return Problem("unreadable key signature", expected, repr(text), taken=spelled or "no key signature")


def read_time_signature(text: str) -> TimeSignature:
    """The bar of "3/4", "c", "c/", "o", "3/4|4/4"; without one that can be read, a whole note."""
    return _time_signature(text[:_LONGEST_SIGN])


@lru_cache(maxsize=1024)
def _time_signature(text: str) -> TimeSignature:
    tidy = "|".join(re.split(r"[| ]+", text.strip()))
    parts = [_measure_ticks(part) for part in tidy.split("|")]
    if all(parts):
        return TimeSignature(tidy, parts[0])
    found = _FRACTION.search(text.replace(":", "/"))
    guess = found[0] if found else tidy.lower().rstrip("/") if tidy != "C/" else "c/"
    measure = _measure_ticks(guess)
    taken = guess if measure else "no time signature"
    problem = Problem("unreadable time signature", "such as 3/4, c, c/ or o", repr(text), taken=taken)
    return TimeSignature(guess if measure else "", measure or WHOLE_NOTE_TICKS, problem)


def _measure_ticks(text: str) -> int:
    if text in _SIGN_WHOLES:
        return int(WHOLE_NOTE_TICKS * _SIGN_WHOLES[text])
    mensuration = _MENSURATION.fullmatch(text)
    if mensuration:
        perfect, triple = mensuration[1] == "o", (mensuration[2] or "").startswith("3")
        return WHOLE_NOTE_TICKS * 3 if perfect else WHOLE_NOTE_TICKS * 3 // 2 if triple else WHOLE_NOTE_TICKS * 2
    fraction = _FRACTION.fullmatch(text)
    return round(Fraction(int(fraction[1]), int(fraction[2])) * WHOLE_NOTE_TICKS) if fraction else 0
