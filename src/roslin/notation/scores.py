"""Shared by the readers of scores (MusicXML, MEI, Humdrum): safe XML, the way to MEI, and the choice of staves.

A score becomes one melody for each staff. MusicXML and Humdrum are turned into MEI by verovio, in the worker process of
`sandbox`, because verovio can crash; `mei` reads the MEI.

A file is not trusted: its bytes, the elements of a document and their depth have limits. A document type with
declarations is refused before any of it is read, so there are no entities to expand. An external one (every old
MusicXML file names one) is never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from xml.parsers import expat

from roslin.errors import MelodyError, NotationError, SandboxError, UnknownNameError
from roslin.notation.record import Record, Voices, refusal
from roslin.notation.sources import DECLARED_ENCODING, EXPECTED_CHARACTER_SET, character_set, read_all
from roslin.sandbox import shared_worker

MAX_FILE_BYTES = 64 * 2**20
MAX_ELEMENTS = 3_000_000  # at most 373,296 in music21's corpus
MAX_DEPTH = 100
MAX_DENOMINATOR = 10**12  # of times in quarters: tuplets of 3, 5, 7, 11 and 13 in one piece have 10**8


@dataclass(frozen=True, slots=True)
class StaffChoice:
    """Which staves and voices are wanted, and how.

    `part` is the name of a part or the number of a staff from 1 (the highest); `voice` one voice in each, from 0.
    Instruments sound as they sound, with `written_pitch` as written. `voices`: the staves of a movement "apart" or
    "together" as one melody.
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
    """A score in another notation as MEI, made by verovio. A refusal has the line that verovio names, or `line`."""
    try:
        # Without page breaks there is one system to lay out. The layout is never shown.
        options = {"breaks": "none"}
        answer = shared_worker().call("to_mei", {"data": text, "format": verovio_format, "options": options})
    except SandboxError as error:
        named = _NAMED_LINE.search(str(error))
        place = int(named[1]) if named else line
        raise refusal("could not be converted to MEI", "music that verovio reads", str(error), place) from error
    return str(answer["mei"])


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
    declared = DECLARED_ENCODING.match(data[:1024])
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
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    document = Element("", {}, 0, 0)
    opened = [document]
    texts: list[list[str]] = []  # of the open elements, in pieces: a long text made by adding takes for ever
    elements = 0

    def _refusal(reason: str, expected: str, found: str) -> NotationError:
        return refusal(reason, expected, found, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def document_type(_name: str, _system: str | None, _public: str | None, declarations: bool) -> None:
        if declarations:
            raise _refusal("unsafe document type", "none with declarations of its own", "declarations")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements
        tag = name.rpartition(":")[2]
        elements += 1
        if elements > MAX_ELEMENTS:
            raise _refusal("score too large", f"at most {MAX_ELEMENTS} elements", "more")
        if len(opened) > MAX_DEPTH:
            raise _refusal("elements too deep", f"at most {MAX_DEPTH} inside each other", "more")
        if elements == 1 and tag not in roots:
            raise _refusal(f"not {kind}", " or ".join(f"<{root}>" for root in sorted(roots)), f"<{tag}>")
        element = Element(tag, attributes, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        opened[-1].children.append(element)
        opened.append(element)
        texts.append([])

    def end(_name: str) -> None:
        opened.pop().text = "".join(texts.pop())

    parser.StartDoctypeDeclHandler = document_type
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        found = expat.ErrorString(error.code)
        raise refusal("broken XML", "well-formed XML", found, error.lineno, error.offset + 1) from error
    return document.children[0]  # expat refuses a document without an element
