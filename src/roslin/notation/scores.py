"""Shared by the readers of scores (MusicXML, MEI, Humdrum): safe XML, the way to MEI, and the choice of staves.

A score becomes one melody for each staff. MusicXML and Humdrum are turned into MEI by verovio, in the worker process of
`sandbox`, because verovio can crash; `mei` reads the MEI.

A file is not trusted. Everything here has a limit, a module constant that can be set: the bytes of a file, the elements
of a document and how deep they lie inside each other. A document type with declarations is refused before any of it is
read, so there are no entities to expand. An external one (every old MusicXML file names one) is never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from xml.parsers import expat

from roslin.errors import MelodyError, NotationError, SandboxError, UnknownNameError
from roslin.notation.record import Record, Voices, refusal
from roslin.notation.sources import EXPECTED_CHARACTER_SET, character_set, read_all
from roslin.sandbox import shared_worker

MAX_FILE_BYTES = 64 * 2**20
MAX_ELEMENTS = 3_000_000  # at most 373,296 in music21's corpus
MAX_DEPTH = 100
MAX_DENOMINATOR = 10**12  # of times in quarters: tuplets of 3, 5, 7, 11 and 13 in one piece have 10**8


@dataclass(frozen=True, slots=True)
class StaffChoice:
    """Which staves and voices are wanted, and how.

    `part` takes the staves of one part only, by its name or by its number from 1 (the highest staff); `voice` one voice
    in each of them, by its number from 0. Transposing instruments sound as they sound, with `written_pitch` as written.
    `voices` is "together" where the staves of a movement are to be one melody.
    """

    part: str | int | None = None
    voice: int | None = None
    written_pitch: bool = False
    voices: Voices = "apart"

    def chosen(self, names: list[str]) -> list[int]:
        if self.part is None:
            return list(range(len(names)))
        if isinstance(self.part, int):
            if not 1 <= self.part <= len(names):
                raise MelodyError(f"part must be a number from 1 to {len(names)}; got {self.part}")
            return [self.part - 1]
        wanted = self.part.casefold()
        places = [place for place, name in enumerate(names) if name.casefold() == wanted]
        if not places:
            raise UnknownNameError("part", self.part, dict.fromkeys(name for name in names if name))
        return places


def reader(read_bytes: Callable[..., list[Record]]) -> Callable[..., Iterator[Record]]:
    """The reader of a format, from what reads a whole file: a file that is refused is one record, with its problem."""

    def read(stream: BinaryIO, *, strict: bool, **wanted: Any) -> Iterator[Record]:
        try:
            records = read_bytes(read_all(stream, MAX_FILE_BYTES), StaffChoice(**wanted), strict=strict)
        except NotationError as error:
            records = [Record(None, (error.problem,))]
        yield from records

    return read


def to_mei(text: str, verovio_format: str, line: int = 1) -> str:
    """A score in another notation as MEI, made by verovio in the worker process.

    A refusal has the line that verovio names, or else `line`, where the score begins.
    """
    try:
        # Without page breaks there is one system to lay out. The layout is never shown.
        options = {"breaks": "none"}
        answer = shared_worker().call("to_mei", {"data": text, "format": verovio_format, "options": options})
    except SandboxError as error:
        named = _NAMED_LINE.search(str(error))
        place = int(named[1]) if named else line
        raise refusal("could not be converted to MEI", "music that verovio reads", str(error), place) from error
    return str(answer["mei"])


# XML


@dataclass(slots=True)
class Element:
    """An XML element with its local name, and where it starts."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default).strip()

    def iter(self, *tags: str) -> Iterator[Element]:
        pending = [self]
        while pending:
            element = pending.pop()
            if not tags or element.tag in tags:
                yield element
            pending.extend(reversed(element.children))

    def first(self, *tags: str) -> Element | None:
        return next((child for child in self.children if child.tag in tags), None)

    def all_text(self) -> str:
        return " ".join(" ".join(element.text for element in self.iter()).split())


_NAMED_LINE = re.compile(r"\bline (\d{1,9})\b")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
_NOT_ELEMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>", re.DOTALL)
_ELEMENT_NAME = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")


def first_elements(head: bytes) -> tuple[str, list[str]]:
    """The first bytes of an XML file as text, and the names of the elements in it, the outermost first."""
    text = head.decode(_utf16(head) or "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith("<"):
        return text, []
    return text, _ELEMENT_NAME.findall(_NOT_ELEMENTS.sub("", text))


def decode_xml(data: bytes) -> str:
    """The text of an XML file in the encoding that it names, without its declaration; line numbers stay."""
    declared = _ENCODING.match(data[:1024])
    name = declared[1].decode("ascii") if declared else "utf-8"
    if utf16 := _utf16(data):
        name = utf16
    elif name.lower().startswith("utf-16"):
        name = "utf-8"  # the first bytes show that it is not UTF-16
    if character_set(name) is None:
        raise refusal("unknown encoding", EXPECTED_CHARACTER_SET, repr(name), 1)
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise refusal("broken text", f"text in {error.encoding}", error.reason, line, column) from error
    text = text.lstrip("\ufeff")
    declaration = _DECLARATION.match(text)
    return "\n" * declaration[0].count("\n") + text[declaration.end() :] if declaration else text


def _utf16(data: bytes) -> str:
    """The form of UTF-16 that the first bytes of a document are in; "" for none."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return "utf-16-le" if data.startswith(b"<\0") else "utf-16-be" if data.startswith(b"\0<") else ""


def parse_xml(text: str, roots: frozenset[str], kind: str) -> Element:
    """The tree of a document."""
    return _TreeParser(roots, kind).parse(text)


class _TreeParser:
    def __init__(self, roots: frozenset[str], kind: str):
        self._roots, self._kind = roots, kind
        self._open: list[Element] = []
        self._texts: list[list[str]] = []  # of the open elements, in pieces: a long text made by adding takes for ever
        self._root: Element | None = None
        self._elements = 0
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        self._parser = parser

    def parse(self, text: str) -> Element:
        try:
            self._parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            found = expat.ErrorString(error.code)
            raise refusal("broken XML", "well-formed XML", found, error.lineno, error.offset + 1) from error
        assert self._root is not None  # expat refuses a document without an element
        return self._root

    def _refusal(self, reason: str, expected: str, found: str) -> NotationError:
        return refusal(reason, expected, found, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _document_type(self, _name: str, _system: str | None, _public: str | None, declarations: bool) -> None:
        if declarations:
            raise self._refusal("unsafe document type", "none with declarations of its own", "declarations")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise self._refusal("score too large", f"at most {MAX_ELEMENTS} elements", "more")
        if len(self._open) >= MAX_DEPTH:
            raise self._refusal("elements too deep", f"at most {MAX_DEPTH} inside each other", "more")
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        element = Element(tag, attributes, line, column)
        if self._root is None:
            if tag not in self._roots:
                raise self._refusal(f"not {self._kind}", " or ".join(f"<{n}>" for n in sorted(self._roots)), f"<{tag}>")
            self._root = element
        else:
            self._open[-1].children.append(element)
        self._open.append(element)
        self._texts.append([])

    def _end(self, _name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)
