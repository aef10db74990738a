"""MusicXML, plain (.musicxml, .xml) and compressed (.mxl): one melody for each staff, through verovio and `mei`.

The XML is checked here first, so that broken or unsafe XML is refused with its line and column and never reaches
verovio. What verovio cannot do is done before: one unit of time for the whole score (its MEI has a single unit for all
parts), pitches as they sound whatever accidental is printed, the voices of a bar one after another, and a score written
bar by bar (`score-timewise`) turned into one written part by part. Afterwards the notes are counted on both sides; if
any were lost, every record says so.

A compressed file is a zip archive. It is refused by the limits below, all of them checked while it is unpacked, not
only against what the archive says of itself.
"""

from __future__ import annotations

import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, islice
from xml.sax.saxutils import escape, quoteattr

from roslin.errors import NotationError, Problem, shortened
from roslin.notation import mei
from roslin.notation.record import MAX_PROBLEMS, Record
from roslin.notation.scores import (
    MAX_FILE_BYTES,
    Element,
    StaffChoice,
    decode_xml,
    first_elements,
    parse_xml,
    reader,
    refusal,
    to_mei,
)

MAX_UNPACKED_BYTES = MAX_FILE_BYTES
MAX_MEMBERS = 1000  # of an archive: a score and perhaps some pictures
MAX_RATIO = 200  # unpacked to packed; 55 at most in music21's corpus

_ROOTS = frozenset({"score-partwise", "score-timewise"})
_ZIP = b"PK\x03\x04"
_CONTAINER = "META-INF/container.xml"
_MXL_TYPE = b"application/vnd.recordare.musicxml"
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    LookupError,
    OverflowError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)
_RATIO_COUNTS_FROM_BYTES = 2**20  # small files may pack as well as they like
_MAX_UNITS = 10**6
_LETTERS, _DIGITS = frozenset("ABCDEFG"), frozenset("0123456789")

_NOT_MUSIC = re.compile(
    r"<!--.*?-->|<!\[CDATA\[(?P<text>.*?)\]\]>|<\?.*?\?>|<!DOCTYPE(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.DOTALL
)
_ACCIDENTALS = re.compile(r"<accidental(?:\s[^>]*)?(?:/>|(?<!/)>[^<]*</accidental\s*>)")
# The rest of a tag, whatever stands in its attributes. An element is taken from its start to the first end tag of its
# name, so that no part of a score is looked at twice.
_IN_TAG = r"(?:\s(?:[^>\"']|\"[^\"]*\"|'[^']*')*)?"
_NOTE = re.compile(rf"(<note{_IN_TAG}(?<!/)>)(.*?)(?=</note)", re.DOTALL)
_ANY_NOTE = re.compile(rf"<note(?=[\s/>]){_IN_TAG}(?:/>|(?<=/)>|>(.*?)</note\s*>)", re.DOTALL)
_WITHOUT_PITCH = re.compile(r"<(?:rest|unpitched)[\s/>]")
_STEP = re.compile(r"<step(?:\s[^>]*)?>\s*([^<]*?)\s*</step")
_OCTAVE = re.compile(r"<octave(?:\s[^>]*)?>\s*([^<]*?)\s*</octave")
_TIE_START = re.compile(r"<tie\s[^>]*[\"']start[\"']")
_TIMES = re.compile(
    r"<(?P<tag>divisions|duration)(?P<rest>\s[^>]*)?>\s*(?P<value>[0-9]{1,9}(?:\.[0-9]{0,9})?)\s*</(?P=tag)\s*>"
)
_MEASURE = re.compile(rf"(<measure{_IN_TAG}(?<!/)>)(.*?)(?=</measure)", re.DOTALL)
_EVENT = re.compile(rf"<(?P<tag>note|backup|forward){_IN_TAG}(?<!/)>.*?</(?P=tag)\s*>", re.DOTALL)
_DURATION = re.compile(r"<duration(?:\s[^>]*)?>\s*([0-9]{1,9})\s*<")
_VOICE = re.compile(r"<voice(?:\s[^>]*)?>([^<]*)<")
_STAFF = re.compile(r"<staff(?:\s[^>]*)?>([^<]*)<")
_CHORD = re.compile(r"<chord[\s/>]")


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
    counts: Counter[str] = Counter()
    root = parse_xml(text, _ROOTS, "MusicXML", seen=lambda tag: counts.update((tag,)))
    # Without comments and the like, what looks like an element below is one; lines stay.
    text = _NOT_MUSIC.sub(lambda match: escape(match["text"] or "\n" * match[0].count("\n")), text)
    problems = list(islice(_unreadable(text), MAX_PROBLEMS))
    if strict and problems:
        raise NotationError(problems[0])
    if not counts["pitch"]:
        nothing = Problem("no notes", "at least one note with a pitch", "none", line=root.line)
        raise NotationError(problems[0] if problems else nothing)
    if root.tag == "score-timewise":
        text = _partwise(text)
    text = _voice_by_voice(_one_unit(_as_it_sounds(text)))
    document = mei.tree(decode_xml(to_mei(text, "xml", root.line).encode()))
    found = mei.pitched_notes(document)
    if found != counts["pitch"] and not problems:
        problems.append(Problem("notes lost in conversion", f"{counts['pitch']} notes", str(found), line=root.line))
    return mei.read_tree(document, "musicxml", selection, strict=strict, problems=tuple(problems), made_from=root.line)


read = reader(_read)


def _unreadable(text: str) -> Iterator[Problem]:
    """The notes that verovio leaves out, or gives some octave, without a word: those without a step and an octave."""
    line, counted = 1, 0
    for note in _ANY_NOTE.finditer(text):
        inside = note[1] or ""
        if _WITHOUT_PITCH.search(inside):
            continue
        step, octave = _STEP.search(inside), _OCTAVE.search(inside)
        if step and step[1] in _LETTERS and octave and octave[1] in _DIGITS:
            continue
        line, counted = line + text.count("\n", counted, note.start()), note.start()
        column = note.start() - (text.rfind("\n", 0, note.start()) + 1) + 1
        expected = "a step from A to G and an octave from 0 to 9"
        found = ", ".join(repr(shortened(each[1], 20)) if each else "none" for each in (step, octave))
        taken = "octave 0" if step and step[1] in _LETTERS else "nothing"
        yield Problem("note without a pitch", expected, found, column, line=line, taken=taken)


def _as_it_sounds(text: str) -> str:
    """The same score with the alteration and the ties of the sound, where verovio takes those of the print.

    It prefers an <accidental>, even an empty one, to <alter>; and it knows a tie by <tied> only, not by <tie>.
    """

    def with_tied(note: re.Match[str]) -> str:
        is_told = "<tied" in note[2] or _TIE_START.search(note[2]) is None
        return note[0] if is_told else note[0] + '<notations><tied type="start"/></notations>'

    return _NOTE.sub(with_tied, _ACCIDENTALS.sub("", text))


def _one_unit(text: str) -> str:
    """The same score with one value of <divisions> throughout, the least that keeps every duration whole."""
    units = {Fraction(m["value"]) for m in _TIMES.finditer(text) if m["tag"] == "divisions"}
    units.discard(Fraction(0))
    if len(units) < 2:
        return text
    common = Fraction(1)
    for one in units:  # not all at once: of many numbers it would have no end of digits
        common = Fraction(math.lcm(common.numerator, one.numerator))
        if common > _MAX_UNITS:
            return text
    unit = next(iter(units))

    def scaled(match: re.Match[str]) -> str:
        nonlocal unit
        tag, value = match["tag"], Fraction(match["value"])
        if tag == "divisions":
            unit = value or unit
            value = common
        else:
            value = value * common / unit
        return f"<{tag}{match['rest'] or ''}>{round(value)}</{tag}>"

    return _TIMES.sub(scaled, text)


# Bars in which voices take turns


@dataclass(slots=True)
class _Voice:
    """The notes of one voice in a bar: (onset, length, texts), in units of the file.

    The texts are those of the note and of what stands with it: the rest of its chord, a clef before or after it.
    """

    number: str
    staff: str
    notes: list[tuple[int, int, list[str]]] = field(default_factory=list)


def _voice_by_voice(text: str) -> str:
    """The same score with each voice of a bar written to its end before the next begins, where that is not so.

    Verovio takes the notes of a voice that comes back for those of the voice before it, and now and then forgets a
    <forward>: rests that are not printed take its place.
    """
    return _MEASURE.sub(lambda match: match[1] + _regrouped(match[2]), text)


def _regrouped(bar: str) -> str:
    turns = [voice for voice, _ in groupby(map(str.strip, _VOICE.findall(bar)))]
    if len(turns) == len(set(turns)) and "<forward" not in bar:
        return bar
    voices: dict[str, _Voice] = {}
    last: _Voice | None = None
    first = _EVENT.search(bar)
    start = end = first.start() if first else len(bar)
    now = 0
    between = ""
    for match in _EVENT.finditer(bar, start):
        between += bar[end : match.start()]
        end = match.end()
        length = int(found[1]) if (found := _DURATION.search(match[0])) else 0
        if match["tag"] != "note":
            now += length if match["tag"] == "forward" else -length
            if last is not None:
                last.notes[-1][2].append(between)
                between = ""
        elif last is not None and _CHORD.search(match[0]):
            last.notes[-1][2].extend((between, match[0]))
            between = ""
        else:
            number, staff = (found[1].strip() if (found := tag.search(match[0])) else "" for tag in (_VOICE, _STAFF))
            last = voices.setdefault(number, _Voice(number, staff))
            last.notes.append((now, length, [between, match[0]]))
            between = ""
            now += length
    return bar[:start] + "".join(_written(list(voices.values()))) + between + bar[end:]


def _written(voices: list[_Voice]) -> Iterator[str]:
    now = 0
    for voice in voices:
        yield _backup(now)
        now = 0
        for onset, length, texts in voice.notes:
            if onset < now:
                yield _backup(now - onset)
            elif onset > now:
                staff = f"<staff>{voice.staff}</staff>" if voice.staff else ""
                # The type is there because verovio takes a rest without one for a bar of rest; the duration counts.
                yield (
                    f'<note print-object="no"><rest/><duration>{onset - now}</duration><voice>{voice.number}</voice>'
                    f"<type>quarter</type>{staff}</note>"
                )
            yield from texts
            now = onset + length


def _backup(length: int) -> str:
    return f"<backup><duration>{length}</duration></backup>" if length else ""


# A score written bar by bar


def _partwise(text: str) -> str:
    root = parse_xml(text, _ROOTS, "MusicXML")
    bars = [child for child in root.children if child.tag == "measure"]
    parts: dict[str, list[Element]] = {}
    for bar in bars:
        for part in bar.children:
            if part.tag == "part":
                one = Element("measure", bar.attributes, part.line, part.column, part.children)
                parts.setdefault(part.get("id"), []).append(one)
    children = [child for child in root.children if child.tag != "measure"]
    children += [Element("part", {"id": id}, 0, 0, measures) for id, measures in parts.items()]
    return "".join(_xml(Element("score-partwise", root.attributes, root.line, root.column, children)))


def _xml(element: Element) -> Iterator[str]:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    yield f"<{element.tag}{attributes}>{escape(element.text.strip())}"
    for child in element.children:
        yield from _xml(child)
    yield f"</{element.tag}>"


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
    """What is refused inside is a member of an archive: lines and columns are those of the member."""
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
