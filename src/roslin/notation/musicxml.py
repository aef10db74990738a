"""MusicXML, plain (.musicxml, .xml) and compressed (.mxl): one melody for each staff, through verovio and `mei`.

The XML is checked here first, so that broken or unsafe XML is refused with its line and column and never reaches
verovio. Roslin first does what verovio cannot: one unit of time for the whole score, pitches as they sound whatever
accidental is printed, the voices of a bar one after another, and a score written bar by bar (`score-timewise`) turned
into one written part by part. The elements keep their lines, because verovio names them where it refuses a score.

A compressed file is a zip archive. The limits below are checked while it is unpacked, not only against the archive's
own figures.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, islice
from xml.sax.saxutils import escape, quoteattr

from roslin.errors import NotationError, Problem, shortened
from roslin.notation import mei
from roslin.notation.record import MAX_PROBLEMS, Record, refusal
from roslin.notation.scores import MAX_FILE_BYTES, Element, StaffChoice, decode_xml, first_elements, parse_xml, reader
from roslin.notation.sources import DAMAGED

MAX_UNPACKED_BYTES = MAX_FILE_BYTES
MAX_MEMBERS = 1000  # of an archive: a score and perhaps some pictures
MAX_RATIO = 200  # unpacked to packed; 55 at most in music21's corpus

_ROOTS = frozenset({"score-partwise", "score-timewise"})
_ZIP = b"PK\x03\x04"
_CONTAINER = "META-INF/container.xml"
_MXL_TYPE = b"application/vnd.recordare.musicxml"
_BROKEN = (*DAMAGED, struct.error, LookupError, OverflowError, ValueError)
_RATIO_COUNTS_FROM_BYTES = 2**20  # small files may pack as well as they like
_MAX_UNITS = 10**6
_LETTERS, _DIGITS = frozenset("ABCDEFG"), frozenset("0123456789")
_AS_REFERENCE = {"\r": "&#13;"}  # alone it would be a line end
_TIME = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?")
_WHOLE = re.compile(r"[0-9]{1,9}")


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of MusicXML, plain or compressed."""
    if head.startswith(_ZIP):
        return _CONTAINER.encode() in head or _MXL_TYPE in head
    _, names = first_elements(head)
    return bool(names) and names[0] in _ROOTS


def _read(data: bytes, selection: StaffChoice, *, strict: bool) -> list[Record]:
    name, score = _score(data)
    with _within(name):
        return _read_score(decode_xml(score), selection, strict=strict)


def _read_score(text: str, selection: StaffChoice, *, strict: bool) -> list[Record]:
    root = parse_xml(text, _ROOTS, "MusicXML")
    problems = list(islice(_unreadable(root), MAX_PROBLEMS))
    if strict and problems:
        raise NotationError(problems[0])
    notes = sum(1 for _ in root.iter("pitch"))
    if not notes:
        nothing = Problem("no notes", "at least one note with a pitch", "none", line=root.line)
        raise NotationError(problems[0] if problems else nothing)
    if root.tag == "score-timewise":
        _write_part_by_part(root)
    _write_as_it_sounds(root)
    _write_in_one_unit(root)
    for bar in root.iter("measure"):
        bar.children = _voice_by_voice(bar)
    return mei.read_converted(
        _xml(root),
        "musicxml",
        selection,
        strict=strict,
        problems=problems,
        line=root.line,
        notes=None if problems else notes,
    )


read = reader(_read)


def _text(element: Element, tag: str) -> str | None:
    found = next(element.iter(tag), None)
    return None if found is None else found.text.strip()


def _unreadable(root: Element) -> Iterator[Problem]:
    """The notes that verovio leaves out, or gives some octave, without a word: those without a step and an octave."""
    for note in root.iter("note"):
        if next(note.iter("rest", "unpitched"), None) is not None:
            continue
        step, octave = _text(note, "step"), _text(note, "octave")
        if step in _LETTERS and octave in _DIGITS:
            continue
        expected = "a step from A to G and an octave from 0 to 9"
        found = ", ".join("none" if text is None else repr(shortened(text, 20)) for text in (step, octave))
        taken = "octave 0" if step in _LETTERS else "nothing"
        yield Problem("note without a pitch", expected, found, note.column, line=note.line, taken=taken)


def _write_as_it_sounds(root: Element) -> None:
    """Give the notes the alteration and the ties of the sound, where verovio takes those of the print.

    It prefers an <accidental>, even an empty one, to <alter>; and it knows a tie by <tied> only, not by <tie>.
    """
    for note in root.iter("note"):
        note.children = [child for child in note.children if child.tag != "accidental"]
        is_tied = any(tie.get("type") == "start" for tie in note.iter("tie"))
        if is_tied and next(note.iter("tied"), None) is None:
            note.children.append(_made("notations", _made("tied", type="start")))


def _write_in_one_unit(root: Element) -> None:
    """Write one value of <divisions> throughout, the least that keeps every duration whole."""
    times = [
        (element, Fraction(element.text.strip()))
        for element in root.iter("divisions", "duration")
        if _TIME.fullmatch(element.text.strip())
    ]
    units = {value for element, value in times if element.tag == "divisions" and value}
    if len(units) < 2:
        return
    common = 1
    for unit in units:  # not all at once: of many numbers it would have no end of digits
        common = math.lcm(common, unit.numerator)
        if common > _MAX_UNITS:
            return
    unit = next(iter(units))
    for element, value in times:
        if element.tag == "divisions":
            unit = value or unit
            element.text = str(common)
        else:
            element.text = str(round(value * common / unit))


# Bars in which voices take turns


@dataclass(slots=True)
class _Voice:
    """The notes of one voice in a bar: (onset, length, the note with its chord and clefs), in units of the file."""

    number: str
    staff: str
    notes: list[tuple[int, int, list[Element]]] = field(default_factory=list)


def _voice_by_voice(bar: Element) -> list[Element]:
    """The elements of a bar with each voice written to its end before the next begins.

    Verovio takes the notes of a voice that comes back for those of the voice before it, and may forget a <forward>.
    """
    turns = [voice for voice, _ in groupby(each.text.strip() for each in bar.iter("voice"))]
    if len(turns) == len(set(turns)) and next(bar.iter("forward"), None) is None:
        return bar.children
    voices: dict[str, _Voice] = {}
    last: _Voice | None = None
    now = 0
    start = next((place for place, element in enumerate(bar.children) if _takes_time(element)), len(bar.children))
    between: list[Element] = []
    for element in bar.children[start:]:
        if not _takes_time(element):
            between.append(element)
            continue
        duration = _text(element, "duration") or ""
        length = int(duration) if _WHOLE.fullmatch(duration) else 0
        if element.tag != "note":
            now += length if element.tag == "forward" else -length
            if last is None:
                continue
            last.notes[-1][2].extend(between)
        elif last is not None and element.first("chord"):
            last.notes[-1][2].extend((*between, element))
        else:
            number = _text(element, "voice") or ""
            last = voices.setdefault(number, _Voice(number, _text(element, "staff") or ""))
            last.notes.append((now, length, [*between, element]))
            now += length
        between = []
    return [*bar.children[:start], *_written(list(voices.values())), *between]


def _takes_time(element: Element) -> bool:
    return element.tag in ("note", "backup", "forward") and bool(element.children)


def _written(voices: list[_Voice]) -> Iterator[Element]:
    now = 0
    for voice in voices:
        yield from _backup(now)
        now = 0
        for onset, length, elements in voice.notes:
            if onset < now:
                yield from _backup(now - onset)
            elif onset > now:
                # The type is there because verovio takes a rest without one for a bar of rest; the duration counts.
                texts = {"duration": str(onset - now), "voice": voice.number, "type": "quarter", "staff": voice.staff}
                written = [_made(tag, text=text) for tag, text in texts.items() if text or tag == "voice"]
                rest = _made("note", _made("rest"), *written)
                rest.attributes["print-object"] = "no"
                yield rest
            yield from elements
            now = onset + length


def _backup(length: int) -> Iterator[Element]:
    if length:
        yield _made("backup", _made("duration", text=str(length)))


# A score written bar by bar, and the text of a score


def _write_part_by_part(root: Element) -> None:
    parts: dict[str, list[Element]] = {}
    for bar in root.children:
        for part in bar.children if bar.tag == "measure" else ():
            if part.tag == "part":
                one = Element("measure", bar.attributes, part.line, part.column, part.children)
                parts.setdefault(part.get("id"), []).append(one)
    root.tag = "score-partwise"
    root.children = [child for child in root.children if child.tag != "measure"]
    root.children += [_made("part", *bars, id=id) for id, bars in parts.items()]


def _made(tag: str, *children: Element, text: str = "", **attributes: str) -> Element:
    return Element(tag, attributes, 0, 0, list(children), text)


def _xml(root: Element) -> str:
    """The text of a score, each element on its line where their order allows it."""
    written: list[str] = []
    line = 1

    def write(element: Element) -> None:
        nonlocal line
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
        text = "" if element.children else element.text
        lines = max(element.line - line, 0)
        written.append("\n" * lines + f"<{element.tag}{attributes}>{escape(text, _AS_REFERENCE)}")
        line += lines + text.count("\n")
        for child in element.children:
            write(child)
        written.append(f"</{element.tag}>")

    write(root)
    return "".join(written)


# Compressed files


def unpacked(data: bytes) -> bytes:
    """The score in an archive: the first that its container names, or else its first XML file. XML is left as it is."""
    return _score(data)[1]


def _score(data: bytes) -> tuple[str, bytes]:
    if not data.startswith(_ZIP):
        return "", data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise refusal("archive with too many files", f"at most {MAX_MEMBERS}", str(len(members)), column=1)
            name = _score_name(archive)
            return name, _member(archive, name)
    except _BROKEN as error:
        raise _broken(error) from error


def _broken(error: Exception, member: str = "") -> NotationError:
    found = str(error) or type(error).__name__
    column = 0 if member else 1
    return NotationError(Problem("broken archive", "a compressed MusicXML file", found, column, record=member))


@contextmanager
def _within(member: str) -> Iterator[None]:
    """Errors inside name the member of the archive; lines and columns are those of the member."""
    try:
        yield
    except NotationError as error:
        raise NotationError(error.problem.at(record=shortened(member))) from error


def _score_name(archive: zipfile.ZipFile) -> str:
    names = archive.namelist()
    if _CONTAINER in names:
        text = _member(archive, _CONTAINER)
        with _within(_CONTAINER):
            container = parse_xml(decode_xml(text), frozenset({"container"}), "a container")
        for file in container.iter("rootfile"):
            if file.get("full-path") in names:
                return file.get("full-path")
    for name in names:
        if name.lower().endswith((".xml", ".musicxml")) and not name.startswith(("META-INF/", "__MACOSX/")):
            return name
    raise refusal("archive without a score", f"a score named in {_CONTAINER}", f"{len(names)} other files", column=1)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    most = max(_RATIO_COUNTS_FROM_BYTES, MAX_RATIO * info.compress_size)
    limit = min(MAX_UNPACKED_BYTES, most)
    try:
        with archive.open(info) as file:
            data = file.read(limit + 1)
    except _BROKEN as error:
        raise _broken(error, shortened(name)) from error
    if len(data) > limit:
        expected = f"at most {limit} bytes unpacked from {info.compress_size}"
        raise NotationError(Problem("archive unpacks to too much", expected, "more", record=shortened(name)))
    return data
