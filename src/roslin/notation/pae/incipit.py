"""An incipit before its music: the ways in which it is written down, and its clef, key signature and time signature.

    $g G-2 $n bB $o 3/2 $p =3/2--''A/2.F4G2A/       MARC 21 (UNIMARC has $m for the clef)
    %G-2@3/2$bB =3/2--''A/2.F4G2A/                  one line
    @clef:G-2 / @keysig:bB / @timesig:3/2 / @data:  lines with field names, several incipits in a file; pasted text may
                                                    have them on one line
    {"clef": "G-2", "keysig": "bB", "data": "..."}  JSON, one object or a list of them
    =3/2--''A/2.F4G2A/                              music alone

All become an `Incipit`. Of the signatures only what changes the notes is read: which letters are sharp or flat, and how
long a bar is (for bars of rest). A clef is checked and saved. Catalogues are untidy ("xFMajeur", "G2", "3/4[6/4]"), so
each reader returns what it understood, in the code's own spelling, and a problem if that differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any, TypeVar

from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER
from roslin.melody.pitches import alterations, signature_text
from roslin.melody.variants import METRE_FRACTION, metre_fraction
from roslin.notation.record import MAX_PROBLEMS, refusal
from roslin.notation.typed import plain, without_quotes
from roslin.rows import HALF_CHARACTER, half_character


@dataclass(frozen=True, slots=True)
class Incipit:
    """The parts of one encoding. `music[start:]` is the music; columns count from the start of `music`."""

    music: str
    start: int = 0
    clef: str = ""
    key_signature: str = ""
    time_signature: str = ""
    version: int | None = None
    line: int = 0
    problems: tuple[Problem, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)


# A row of one sign must not be scanned again from each of its places: "^" precedes "\\s" without line ends, and what
# takes spaces starts at the first of them.
_JSON_OBJECT = re.compile(r'\s*[\[{]\s*(?:\{\s*)?"[A-Za-z_0-9]+"\s*:')
_FIELD_LINE = re.compile(r"\s*@([a-z]+)\s*:(.*)")
_HAS_FIELD_LINE = re.compile(
    r"^[^\S\n]*@(?:clef|keysig|timesig|key|data|version|start|end|id|title|composer):", re.MULTILINE
)
_NEXT_FIELD = re.compile(r"(?<![ \t\u00a0])[ \t\u00a0]+(?=@(?:clef|keysig|timesig|key|data|version)\s*:)")
_MARC = re.compile(r"(?:\s*(?:031|036)\b[^$‡]*)?\s*[$‡][a-z0-9]")
_MARC_SUBFIELD = re.compile(r"[$‡]([a-z0-9])\s?")
# The music itself may hold $xF, $bB or $n (a change of key): these letters end it only as subfields between spaces.
_AFTER_MUSIC = re.compile(r"\s?[$‡](?:[ac-mo-wyz0-9]|[bnx](?<=\s[$‡][bnx])(?=\s))")
_ALTERNATING = re.compile(r"\s\d+/\d+(?=\s)")
_ONE_LINE = re.compile(r"\s*(?:%\s*(?P<clef>[^\s@$%]*)|@(?P<time>[^\s$%@]*)|\$(?P<key>[^\s@%$]*))")
_OLD_HEADER = re.compile(r"(?:\$e(?P<clef>[^$]*))?(?:\$f(?P<key>[^$]*))?(?:\$g(?P<time>[^$]*))?\$h")


def incipits(text: str) -> Iterator[Incipit | Problem]:
    """Every incipit in a text, whatever its representation. A problem in the place of one that is not recognised.

    >>> list(incipits("@clef:G-2\\n@data:'4CDE"))[0].music
    "'4CDE"
    """
    if _JSON_OBJECT.match(text):
        yield from _from_json(text)
    elif _HAS_FIELD_LINE.search(text):
        yield from _from_field_lines(text)
    else:
        lines = text.splitlines()
        filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
        for number, line in filled or [(1, "")]:
            yield _from_line(line, number if len(lines) > 1 else 0)


def incipit_from_mapping(fields: dict[str, Any], line: int = 0, problems: tuple[Problem, ...] = ()) -> Incipit:
    """An incipit from named fields: `data` or `pae` for the music, the other names as in the JSON representation."""
    music = fields.get("data", fields.get("pae"))
    if not isinstance(music, str):
        raise refusal("incipit without music", 'a field "data" or "pae"', "none", line=line, column=1)
    music, typographic = plain(music)
    metadata = {name: str(value) for name, value in fields.items() if value is not None and name not in _OWN_FIELDS}
    version = 2 if fields.get("version") == "pe2" else 1 if fields.get("version") else None
    start, clef, key, time = 0, *(str(fields.get(name) or "") for name in ("clef", "keysig", "timesig"))
    problems += typographic
    if old := _OLD_HEADER.match(music):
        start, clef, key, time = old.end(), old["clef"] or clef, old["key"] or key, old["time"] or time
        taken = "clef, key and metre"
        problems += (Problem("subfields in front of the music", "music alone", repr(old[0]), 1, taken=taken),)
    return Incipit(music, start, clef, key, time, version, line, problems, metadata)


_OWN_FIELDS = frozenset({"data", "pae", "clef", "keysig", "timesig", "version"})


def _from_json(text: str) -> Iterator[Incipit | Problem]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        yield Problem("broken JSON", "a JSON object", str(error).split(":")[0], column=column, line=line)
        return
    for number, fields in enumerate(value if isinstance(value, list) else [value], start=1):
        record = str(fields.get("id") or f"item {number}") if isinstance(fields, dict) else f"item {number}"
        if half := half_character(fields):
            yield Problem(HALF_CHARACTER, "text", half, 1, record=record.encode(errors="replace").decode())
        elif isinstance(fields, dict):
            yield _incipit_or_problem(fields, 0, (), record)
        else:
            yield Problem("broken JSON", "an object for each incipit", type(fields).__name__, 1, record=record)


def _from_field_lines(text: str) -> Iterator[Incipit | Problem]:
    """Blocks of fields. A block ends at `@end:`, or where `@start:` or a field that it has begins another."""
    fields: dict[str, str] = {}
    problems: list[Problem] = []
    first_line = 1
    lines = enumerate([*text.splitlines(), "@end:"], start=1)
    for number, part in ((number, part) for number, line in lines for part in _NEXT_FIELD.split(line)):
        match = _FIELD_LINE.match(part)
        if match is None:
            if part.strip():
                found = repr(part.strip()[:30])
                problems.append(Problem("not a field", "@name:value on every line", found, column=1, line=number))
            continue
        name, value = match[1], match[2].strip()
        if name in fields or name in ("start", "end"):
            if fields or problems:
                yield _incipit_or_problem(fields, first_line, tuple(problems), fields.get("id", ""))
            fields, problems = {}, []
        if not fields:
            first_line = number
        if name == "start":
            fields["id"] = value
        elif name != "end":
            fields[name] = value


def _incipit_or_problem(
    fields: dict[str, Any], line: int, problems: tuple[Problem, ...], record: str
) -> Incipit | Problem:
    try:
        return incipit_from_mapping(fields, line, problems)
    except NotationError as error:
        return (problems[0] if problems else error.problem).at(record=record)


def _from_line(line: str, number: int) -> Incipit:
    line, quoted = without_quotes(line)
    line, typographic = plain(line)
    problems = quoted + typographic
    marc = _from_marc(line, number, problems) if _MARC.match(line) else None
    if marc is not None:
        return marc
    position, clef, key, time = 0, "", "", ""
    if line.lstrip().startswith("%"):
        while match := _ONE_LINE.match(line, position):
            clef, key, time = match["clef"] or clef, match["key"] or key, match["time"] or time
            position = match.end()
            if line[position : position + 1] == " ":
                second = _ALTERNATING.match(line, position) if match["time"] else None
                if second:  # version 1 writes metres that alternate with a space between them
                    time, position = time + second[0], second.end()
                position += 1
                break  # the space ends the header; what follows is music, even a change of key
    return Incipit(line, position, clef, key, time, line=number, problems=problems)


def _from_marc(line: str, number: int, problems: tuple[Problem, ...]) -> Incipit | None:
    marks = list(_MARC_SUBFIELD.finditer(line))
    values: dict[str, str] = {}
    start = end = -1
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        stop = following.start() if following else len(line)
        if mark[1] == "p":
            tail = _AFTER_MUSIC.search(line, mark.end())
            start, end = mark.end(), tail.start() if tail else len(line)
        elif start < 0 or mark.start() >= end:
            values.setdefault(mark[1], line[mark.end() : stop].strip())
    if start < 0:
        return None
    unimarc = "g" not in values and "m" in values
    named = (("t", "text"),) if unimarc else (("r", "key"), ("t", "text"))
    metadata = {name: values[code] for code, name in named if code in values}
    clef, key, time = (values.get(code, "") for code in ("m" if unimarc else "g", "n", "o"))
    version = 2 if values.get("2") == "pe2" else 1 if values.get("2") else None
    return Incipit(line[:end].rstrip(), start, clef, key, time, version, number, problems, metadata)


# Note names typed in lower case

_LOWER_CASE_SIGNS = r"[a-g0-9xnti'\",.{}()/|:;=!+_^\-~?\s]*"
_ALL_LOWER = re.compile(_LOWER_CASE_SIGNS)
_LOWER_CASE_NAME = re.compile("[ac-g]")
_FLAT_OR_LOWER_CASE_NAME = re.compile(r"(bb?)(?=[ac-g])|[a-g]")
_SIGNS_OF_THE_CODE = "bgf"


def capitals(music: str, start: int) -> tuple[str, tuple[Problem, ...]]:
    """The music with its note names in capitals, if `music[start:]` has none; and the problems reported for it.

    In the code the lower-case letters b, g and f are signs: a flat, a grace note, a repetition. Where no letter is a
    capital, as in '4cdec, they can only be notes, with one exception: b directly before another note name stays a flat.
    Each letter with another possible meaning is reported.

    >>> capitals("'4cdb", 0)[0]
    "'4CDB"
    """
    if _ALL_LOWER.fullmatch(music, start) is None or _LOWER_CASE_NAME.search(music, start) is None:
        return music, ()
    written = list(music)
    names = re.compile("[a-g]").search(music, start)
    problems = [_lower_case("letters in lower case", names.start() + 1 if names else 1, "note names")]
    for found in _FLAT_OR_LOWER_CASE_NAME.finditer(music, start):
        sign, column = found[0], found.start() + 1
        if not found[1]:
            written[column - 1] = sign.upper()
        if (found[1] or sign in _SIGNS_OF_THE_CODE) and len(problems) < MAX_PROBLEMS:
            taken = f"{sign} (flat)" if found[1] else f"the note {sign.upper()}"
            problems.append(_lower_case(repr(sign), column, taken))
    return "".join(written), tuple(problems)


def _lower_case(found: str, column: int, taken: str) -> Problem:
    return Problem("note name in lower case", "note names from A to G", found, column, taken=taken)


WHOLE_NOTE_TICKS = 4 * TICKS_PER_QUARTER
_LONGEST_SIGN = 100  # signs of a clef or signature that are looked at; answers are kept, so they must not be large
_Sign = TypeVar("_Sign")
NO_ALTERATIONS: Mapping[str, int] = MappingProxyType({})

_CLEF = re.compile(r"[GgCF][-+*:][1-5]")
_UNTIDY_CLEF = re.compile(r"\s*([GgCFcf])\s*([-+*:]?)\s*([1-5])\b")
_KEY_SIGNATURE = re.compile(r"(?:[xbn](?:[A-G]|\[[A-G]+\])*)*|\[[xbn][A-G]*\]")
_UNTIDY_KEY_SIGNATURE = re.compile(r"(?:[xbn](?:[A-G](?![a-z]{2}|[0-9])|[A-G](?=[A-Z][a-z])|[\[\]\s])*)+")

# Signs without a fraction, as multiples of a whole note. A lone number is read as catalogues use it: on the bars of
# real incipits (docs/concepts/reading/pae.md), "3" is used for bars of three quarters and "2" for bars of two halves.
_SIGN_WHOLES = {"2": Fraction(1), "3": Fraction(3, 4), "c3/2": Fraction(3)}
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


def _remembered(read: Callable[[str], _Sign]) -> Callable[[str], _Sign]:
    known = lru_cache(maxsize=1024)(read)
    return wraps(read)(lambda text: known(text[:_LONGEST_SIGN]))


@_remembered
def read_clef(text: str) -> tuple[str, Problem | None]:
    """A clef of either version of the code; "" when it cannot be understood.

    >>> read_clef("G-2")
    ('G-2', None)
    """
    if _CLEF.fullmatch(text):
        return text, None
    untidy = _UNTIDY_CLEF.match(text)
    shape = "" if untidy is None else untidy[1] if untidy[1] == "g" else untidy[1].upper()
    clef = "" if untidy is None else f"{shape}{untidy[2] or '-'}{untidy[3]}"
    expected = "a letter G, g, C or F, a sign - + * or :, and a line 1 to 5"
    return clef, Problem("unreadable clef", expected, repr(text), taken=clef or "no clef")


@_remembered
def read_key_signature(text: str) -> KeySignature:
    """The altered letters of "xFC", "bB[EA]", "n". Other spellings are read as far as possible.

    >>> dict(read_key_signature("bB[EA]").alterations)
    {'B': -1, 'E': -1, 'A': -1}
    """
    if _KEY_SIGNATURE.fullmatch(text):
        altered = alterations(text)
        if altered or "n" in text or not text:
            return KeySignature(text, altered)
    tidy = text.strip().replace("X", "x")
    found = _UNTIDY_KEY_SIGNATURE.match({"x": "xF", "b": "bB"}.get(tidy, tidy))
    altered = alterations(found[0]) if found else {}
    spelled = signature_text(altered)
    expected = "x or b with the altered letters, such as bBE"
    problem = Problem("unreadable key signature", expected, repr(text), taken=spelled or "no key signature")
    return KeySignature(spelled, altered, problem)


@_remembered
def read_time_signature(text: str) -> TimeSignature:
    """The bar of "3/4", "c", "c/", "o", "3/4|4/4"; without one that can be read, a whole note."""
    tidy = "|".join(re.split(r"[| ]+", text.strip()))
    parts = [_measure_ticks(part) for part in tidy.split("|")]
    if all(parts):
        return TimeSignature(tidy, parts[0])
    found = METRE_FRACTION.search(text.replace(":", "/"))
    guess = found[0] if found else tidy.lower().rstrip("/") if tidy != "C/" else "c/"
    measure = _measure_ticks(guess)
    taken = guess if measure else "no time signature"
    problem = Problem("unreadable time signature", "such as 3/4, c, c/ or o", repr(text), taken=taken)
    return TimeSignature(guess if measure else "", measure or WHOLE_NOTE_TICKS, problem)


def _measure_ticks(text: str) -> int:
    if text in _SIGN_WHOLES:
        return int(WHOLE_NOTE_TICKS * _SIGN_WHOLES[text])
    if fraction := metre_fraction(text):
        return round(Fraction(*fraction) * WHOLE_NOTE_TICKS)
    if mensuration := _MENSURATION.fullmatch(text):
        perfect, triple = mensuration[1] == "o", (mensuration[2] or "").startswith("3")
        return WHOLE_NOTE_TICKS * 3 if perfect else WHOLE_NOTE_TICKS * 3 // 2 if triple else WHOLE_NOTE_TICKS * 2
    return 0
