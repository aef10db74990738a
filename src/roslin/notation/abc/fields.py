"""The information fields of ABC: key, metre, unit note length, voice, and text. Lengths are in ticks.

Every function takes the text of a field and gives a value. The value's `unread` has what was not understood (an empty
string when all is well), so that the caller, who knows line and column, can report it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from roslin.melody import TICKS_PER_QUARTER
from roslin.melody.pitches import LETTERS, altered_by, in_usual_order, signature_text

WHOLE_TICKS = 4 * TICKS_PER_QUARTER

_FIFTHS = {"F": -1, "C": 0, "G": 1, "D": 2, "A": 3, "E": 4, "B": 5}
_MODES = {
    "maj": ("major", 0), "ion": ("ionian", 0), "mix": ("mixolydian", -1), "dor": ("dorian", -2), "m": ("minor", -3),
    "min": ("minor", -3), "aeo": ("aeolian", -3), "phr": ("phrygian", -4), "loc": ("locrian", -5), "lyd": ("lydian", 1),
}  # fmt: skip
_TONIC = re.compile(r"\s*(HP|Hp|(?i:none)\b|[A-G][#b♯♭]?|[a-g](?![a-z]))[ \t]*")
_WORD = re.compile(r"[A-Za-z]+")
_MODIFIER = re.compile(r"([A-Za-z]+)\s*=\s*(\"[^\"]*\"|\S+)|(\S+)")
_ACCIDENTALS = re.compile(r"(\^\^|\^|__|_|=)([A-Ga-g])")
_CLEF = re.compile(r"(treble|bass|alto|tenor|perc|none|[GFCP](?=[1-5+-]|$))([1-5]?)([+-]?(?:8|15)(?:v[ab])?)?")
_OCTAVE_MARK = re.compile(r"([+-])8(?:v[ab])?")
_CLEFS = {"treble": "G-2", "bass": "F-4", "alto": "C-3", "tenor": "C-4", "G": "G-2", "F": "F-4", "C": "C-3"}
ALTERATIONS = {"^^": 2, "^": 1, "=": 0, "_": -1, "__": -2}
_SMALL_NUMBER = re.compile(r"[+-]?\d{1,2}")


@dataclass(frozen=True, slots=True)
class VoiceProperties:
    """The properties of a voice that the modifiers of K: or V: set; None for the others."""

    name: str | None = None
    clef: str | None = None
    clef_octaves: int | None = None
    octaves: int | None = None
    transpose: int | None = None
    unread: str = ""


@dataclass(frozen=True, slots=True)
class KeyField:
    """A key: its name in words, and the alteration of each letter from C to B."""

    name: str | None = None
    alterations: tuple[int, ...] = (0,) * 7
    part: VoiceProperties = VoiceProperties()
    unread: str = ""

    @property
    def signature(self) -> str:
        return _signature(self.alterations)


@lru_cache(maxsize=1024)
def _signature(alterations: tuple[int, ...]) -> str:
    return signature_text(in_usual_order(dict(zip(LETTERS, alterations, strict=True))))


@dataclass(frozen=True, slots=True)
class MetreField:
    """A metre; `text` is empty and `measure_ticks` 0 for free metre."""

    text: str = ""
    measure_ticks: int = 0
    compound: bool = False
    unread: str = ""

    @property
    def unit_ticks(self) -> int:
        return WHOLE_TICKS // (16 if 0 < self.measure_ticks * 4 < 3 * WHOLE_TICKS else 8)


@lru_cache(maxsize=1024)  # one key after another in a long tune is nearly always one of a few
def read_key(text: str, before: KeyField) -> KeyField:
    """`G`, `Amix`, `Hp`, `D exp _b ^f`, `none`, with modifiers. Without a tonic the key `before` stays."""
    tonic = _TONIC.match(text)
    rest = text[tonic.end() :] if tonic else text
    key = KeyField() if tonic else replace(before, unread="")
    if tonic:
        is_middle = tonic[0][-1:].isspace() and rest.startswith("m=")  # "G m=d" is a clef's middle line, "Gm=d" minor
        key, behind = _tonic(tonic[1], "" if is_middle else rest)
        rest = rest if is_middle else behind
    alterations, modifiers, unread = list(key.alterations), [], key.unread
    for name, value, bare in _MODIFIER.findall(rest):
        signs = _ACCIDENTALS.findall(bare)
        if bare and "".join(sign + letter for sign, letter in signs) == bare:
            for sign, letter in signs:
                alterations[LETTERS.index(letter.upper())] = ALTERATIONS[sign]
        else:
            modifiers.append((name, value, bare))
    part = _part(modifiers)
    if not tonic and part == VoiceProperties(unread=part.unread) and alterations == list(key.alterations):
        unread = unread or text.strip()
    return KeyField(key.name, tuple(alterations), part, unread or part.unread)


def _tonic(tonic: str, rest: str) -> tuple[KeyField, str]:
    if tonic.lower() == "none":
        return KeyField(), rest
    if tonic == "HP":
        return KeyField("Highland pipes"), rest
    if tonic == "Hp":  # F and C sharp; G is natural anyway
        return KeyField("Highland pipes", (1, 0, 0, 1, 0, 0, 0)), rest
    mode, offset = "major", 0
    word = _WORD.match(rest)
    name = word[0].lower() if word else ""
    explicit = name == "exp"
    found = _MODES.get(name if name == "m" else name[:3])
    if word and (explicit or found):
        rest = rest[word.end() :]
        if found:
            mode, offset = found
        elif (again := _WORD.match(rest.lstrip())) and again[0].lower() in _MODES:
            mode, offset = _MODES[again[0].lower()]
    accidental = {"#": 1, "♯": 1, "b": -1, "♭": -1}.get(tonic[1:], 0)
    altered = {} if explicit else altered_by(_FIFTHS[tonic[0].upper()] + 7 * accidental + offset)
    alterations = tuple(altered.get(letter, 0) for letter in LETTERS)
    sign = {1: " sharp", -1: " flat"}.get(accidental, "")
    unread = tonic if tonic.islower() else ""
    return KeyField(f"{tonic[0].upper()}{sign} {mode}", alterations, unread=unread), rest


def _part(modifiers: list[tuple[str, str, str]]) -> VoiceProperties:
    found: dict[str, Any] = {}
    unread = ""
    for name, value, bare in modifiers:
        value, name = value.strip('"'), name.lower()
        if bare or name == "clef":
            clef, octaves = _clef(bare or value)
            if clef is None and octaves is None:
                unread = unread or bare or value
            found["clef"], found["clef_octaves"] = clef or found.get("clef"), octaves or 0
        elif name in ("octave", "transpose", "t"):
            if not _SMALL_NUMBER.fullmatch(value):
                unread = unread or f"{name}={value}"
            else:
                found["octaves" if name == "octave" else "transpose"] = int(value)
        elif name in ("name", "nm"):
            found["name"] = value
    return VoiceProperties(**found, unread=unread)


def _clef(text: str) -> tuple[str | None, int | None]:
    """(clef in the manner of Plaine & Easie, octaves by which it sounds higher); (None, None): no clef."""
    if mark := _OCTAVE_MARK.fullmatch(text):
        return None, 1 if mark[1] == "+" else -1
    clef = _CLEF.fullmatch(text)
    if clef is None:
        return None, None
    name = _CLEFS.get(clef[1], "")
    if name and clef[2]:
        name = f"{name[0]}-{clef[2]}"
    octaves = 0 if not clef[3] else (1 if clef[3].startswith("+") else -1) * (2 if "15" in clef[3] else 1)
    if name == "G-2" and octaves == -1:
        name = "g-2"
    return name, octaves


_FRACTION = re.compile(r"\(?\s*(\d{1,3}(?:\s*\+\s*\d{1,3})*)\s*\)?\s*/\s*(\d{1,3})")


def read_metre(text: str) -> MetreField:
    """`6/8`, `C`, `C|`, `2+3/8`, `none`."""
    tidy = text.strip()
    if tidy.lower() in ("none", "", "free"):
        return MetreField()
    if tidy in ("C", "c", "C|", "c|"):
        return MetreField("2/2" if "|" in tidy else "4/4", WHOLE_TICKS)
    found = _FRACTION.search(tidy)
    above = sum(int(number) for number in found[1].split("+")) if found else 0
    below = int(found[2]) if found else 0
    if not found or not above or below not in (1, 2, 4, 8, 16, 32, 64, 128):
        return MetreField(unread=tidy)
    written = "".join(found[1].split())
    compound = above % 3 == 0 and above > 3 and "+" not in written
    return MetreField(f"{written}/{below}", WHOLE_TICKS * above // below, compound, "" if found[0] == tidy else tidy)


def read_unit(text: str) -> int | None:
    """The unit note length in ticks, from `1/8` or `1`; None when it is no length."""
    found = re.fullmatch(r"\s*(\d{1,3})\s*(?:/\s*(\d{1,4}))?\s*", text)
    if not found or not int(found[1]) or (found[2] and not int(found[2])):
        return None
    ticks, rest = divmod(WHOLE_TICKS * int(found[1]), int(found[2] or 1))
    return None if rest else ticks


def read_part(text: str) -> tuple[str, VoiceProperties]:
    """The name of a voice and what is said of it, from the text of V:. Words that are no modifiers are for players."""
    name, _, rest = text.strip().partition(" ")
    modifiers = [found for found in _MODIFIER.findall(rest) if found[0] or _clef(found[2]) != (None, None)]
    return name, _part(modifiers)


def read_words(text: str) -> str:
    """The words of a w: line, syllables joined, without the signs that place them under notes.

    >>> read_words("A- ve _ Ma-ri- - a * ple~na|")
    'Ave Maria ple na'
    """
    joined = re.sub(r"(?<!\\)-[\s\-*_|]*", "", text).replace("\\-", "-")
    return " ".join(read_text(re.sub(r"[*_|~]", " ", joined)).split())


_COMBINING = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "c": "\u0327", "v": "\u030c"}
_LIGATURES = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "/o": "ø", "/O": "Ø"}
_MNEMONIC = re.compile(r"\\(?:(ss|ae|AE|oe|OE|aa|AA|/o|/O)|([`'^~\"cv])([A-Za-z]))")


def read_text(text: str) -> str:
    r"""Words as people read them: `\"u` and `&uuml;` become ü.

    >>> read_text(r' M\"uller &amp; S\oe ')
    'Müller & Sœ'
    """

    def letter(found: re.Match[str]) -> str:
        return _LIGATURES.get(found[1] or "") or unicodedata.normalize("NFC", found[3] + _COMBINING[found[2]])

    if "\\" in text:
        text = _MNEMONIC.sub(letter, text).replace("\\%", "%")
    return (html.unescape(text) if "&" in text else text).strip()
