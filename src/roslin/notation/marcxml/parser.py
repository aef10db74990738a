"""The records of a catalogue, read as a stream: what is kept at any moment is one record.

MARCXML is read by expat, ISO 2709 (`.mrc`, in UTF-8 or MARC-8) by pymarc. In ISO 2709, lines are numbers of records.

A file is not trusted. A document type with declarations or an external part is refused before any of it is read, so
there are no entities to expand; a record, a tag or a nesting beyond what any catalogue holds is refused too. Where the
XML breaks, the records before that place are delivered, and then one refusal with its line and column.

A record is deleted where position 5 of its leader is `d`, or where the header of its OAI-PMH record has that status.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import BinaryIO
from xml.parsers import expat

from roslin.errors import Problem
from roslin.notation.sources import DAMAGED, EXPECTED_CHARACTER_SET, character_set

MAX_RECORD_CHARACTERS = 16 * 2**20  # of the fields that are kept; real records have some thousands
MAX_TAG_BYTES = 2**20  # one tag, comment or processing instruction, which expat must hold as a whole
MAX_RECORD_DEPTH = 64
MAX_NAMES = 10_000  # different names of elements and attributes, which expat never forgets

_CHUNK_BYTES = 64 * 2**10
_ELEMENT_CHARACTERS = 100  # what an element costs in memory beside its text

MARC_ROOTS = frozenset({"collection", "record"})
WRAPPERS = frozenset({"OAI-PMH", "searchRetrieveResponse"})
_REFUSALS = frozenset({"error", "diagnostics"})  # of a server, directly inside a wrapper
_DECLARED_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
_EXPAT_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "us-ascii", "iso-8859-1"})


# The fields of a record that are kept: those that the dialects name, its number, and the links between records (787).
_WANTED_TAGS = frozenset({
    "001", "031", "036", "100", "200", "210", "214", "240", "245", "260", "264", "382", "383", "500", "594", "690",
    "700", "787", "852", "930", "931",
})  # fmt: skip
_LEADER_BYTES = 24
_LEADER = re.compile(rb"\d{5}[ -~]{5}22\d{5}[ -~]{3}45[ -~]{2}")
_RECORD_END = b"\x1d"
_LINKS = "787"
_STATUS = 5  # its place in a leader
_SORTING_MARKS = re.compile("[\x80-\x9f]")  # catalogues mark words that sorting skips with control characters


@dataclass(slots=True)
class MarcField:
    """A field with its subfields, in their order; `line` is where it stands in the XML."""

    line: int
    subfields: list[tuple[str, str]] = field(default_factory=list)

    def all(self, code: str) -> list[str]:
        """The texts of a subfield that are not empty, without line ends and sorting marks."""
        texts = (" ".join(_SORTING_MARKS.sub("", text).split()) for name, text in self.subfields if name == code)
        return [text for text in texts if text]

    def first(self, code: str) -> str:
        return next(iter(self.all(code)), "")


@dataclass(slots=True)
class CatalogueRecord:
    """A record of a catalogue, with the fields that are kept; `number` counts the records of the file from 1.

    `identifier` is its name in OAI-PMH, where it has one. A deleted record may have nothing else.
    """

    number: int
    control_number: str = ""
    fields: dict[str, list[MarcField]] = field(default_factory=dict)
    characters: int = 0
    identifier: str = ""
    is_deleted: bool = False

    def digest(self) -> bytes:
        """A digest of all that this version of Roslin reads from the record."""
        read = [(tag, [each.subfields for each in entries]) for tag, entries in self.fields.items() if tag != _LINKS]
        known = repr((_reader(), self.control_number, sorted(read)))
        return hashlib.blake2b(known.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def all(self, tag: str, code: str) -> list[str]:
        return [text for entry in self.fields.get(tag, ()) for text in entry.all(code)]

    def first(self, tag: str, code: str) -> str:
        return next(iter(self.all(tag, code)), "")


@cache
def _reader() -> str:
    return version("roslin")


def catalogue_records(stream: BinaryIO) -> Iterator[CatalogueRecord | Problem]:
    """The records of a file, in order; a problem in the place of one, or of the rest, that is refused."""
    try:
        head = stream.read(_LEADER_BYTES)
    except DAMAGED as error:
        yield _damaged_file(error, 1)
        return
    if head[:5].isdigit():
        yield from _iso2709_records(head, stream)
        return
    parser = _Parser(head)
    while not parser.finished:
        problem = parser.read_some(stream)
        yield from parser.take()
        if problem is not None:
            yield replace(problem, is_damage=True)  # the rest is not read
            return


class _RefusedError(Exception):
    def __init__(self, reason: str, expected: str, found: str):
        super().__init__(reason)
        self.reason, self.expected, self.found = reason, expected, found


class _Parser:
    """Expat with a memory of one catalogue record. Feed it with `read_some`, then `take` what it found."""

    def __init__(self, head: bytes) -> None:
        self.finished = False
        self._head = head  # what was read before
        self._found: list[CatalogueRecord | Problem] = []
        self._names: dict[str, str] = {}
        self._decoder: codecs.IncrementalDecoder | None = None
        self._expat: expat.XMLParserType | None = None
        self._bytes = 0
        self._root = ""
        self._depth = 0
        self._records = 0
        self._record: CatalogueRecord | None = None
        self._field: MarcField | None = None
        self._text: list[str] | None = None
        self._code = ""
        self._refusal = ""
        self._header = CatalogueRecord(0)  # of the OAI-PMH record that is being read

    def take(self) -> list[CatalogueRecord | Problem]:
        found, self._found = self._found, []
        return found

    def read_some(self, stream: BinaryIO) -> Problem | None:
        """Read the next piece of the stream; the problem for which the rest is refused, if there is one."""
        head, self._head = self._head, b""
        try:
            self._feed(head + stream.read(_CHUNK_BYTES))
        except DAMAGED as error:
            return _damaged_file(error, self._expat.CurrentLineNumber if self._expat else 1)
        except expat.ExpatError as error:
            return self._broken(error)
        except _RefusedError as refused:
            return self._problem(refused.reason, refused.expected, refused.found)
        return None

    def _feed(self, data: bytes) -> None:
        parser = self._expat or self._start(data)
        self.finished = not data
        if self._decoder is not None:
            # What cannot be decoded becomes bytes that expat refuses, so that it tells the place.
            try:
                text = self._decoder.decode(data, self.finished)
            except UnicodeError as error:  # some character sets have no such way, or end within a character
                raise _RefusedError("broken text", "text in the encoding that the file names", str(error)) from error
            data = text.encode("utf-8", "surrogatepass")
        self._bytes += len(data)
        try:
            parser.Parse(data, self.finished)
        except (LookupError, ValueError) as error:  # in UTF-16, only expat sees what the file calls its encoding
            raise _RefusedError("unknown encoding", EXPECTED_CHARACTER_SET, str(error)) from error
        if self._bytes - parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise _RefusedError("tag or comment too long", f"at most {MAX_TAG_BYTES} bytes", "more")
        if len(self._names) > MAX_NAMES:
            raise _RefusedError(
                "too many different names", f"at most {MAX_NAMES} names of elements and attributes", "more"
            )
        if self.finished and not self._records and (self._refusal or self._root not in MARC_ROOTS | WRAPPERS):
            reason = "not MARCXML" if not self._refusal else "the answer of a server that refused"
            raise _RefusedError(reason, "MARC records", self._refusal or f"<{self._root}>")

    def _start(self, head: bytes) -> expat.XMLParserType:
        declared = _DECLARED_ENCODING.match(head)
        encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        if encoding not in _EXPAT_ENCODINGS:
            self._decoder = _decoder(encoding)
        parser = expat.ParserCreate("utf-8" if self._decoder else None, intern=self._names)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._document_type
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._characters
        self._expat = parser
        return parser

    def _problem(self, reason: str, expected: str, found: str, column: int = 0, line: int = 0) -> Problem:
        here = self._expat.CurrentLineNumber if self._expat else 1
        record = self._record.control_number if self._record else ""
        return Problem(reason, expected, found, column, line=line or here, record=record)

    def _broken(self, error: expat.ExpatError) -> Problem:
        cut_short = self.finished and self._depth
        expected = "well-formed XML" if not cut_short else f"the end of <{self._root}>"
        found = expat.ErrorString(error.code) if not cut_short else "the end of the file"
        return self._problem("broken XML", expected, found, error.offset + 1, error.lineno)

    def _document_type(self, name: str, system: str | None, public: str | None, declarations: bool) -> None:
        if _local(name) not in MARC_ROOTS | WRAPPERS:
            raise _RefusedError("not MARCXML", "MARC records", f"<{name[:40]}>")
        if system or public or declarations:
            found = "declarations of its own" if declarations else f"{(system or public or '')[:80]!r}"
            raise _RefusedError("unsafe document type", "none, or one without declarations and external files", found)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_RECORD_DEPTH:
            raise _RefusedError("elements too deep", f"at most {MAX_RECORD_DEPTH} inside each other", "more")
        local = _local(name)
        self._root = self._root or local
        if local == "record":
            self._records += 1
            known = self._header
            self._record, self._field, self._text = CatalogueRecord(self._records), None, None
            self._record.identifier, self._record.is_deleted = known.identifier, known.is_deleted
        elif self._record is None:
            code = attributes.get("code", "")[:80]
            if self._depth == 2 and self._root in WRAPPERS and local in _REFUSALS and code != "noRecordsMatch":
                self._refusal = f"<{local}> {code}".strip()
        elif local in ("datafield", "controlfield"):
            self._start_field(attributes.get("tag", ""), control=local == "controlfield")
        elif local == "header":
            self._record.is_deleted = attributes.get("status") == "deleted"
        elif local == "leader" or (local == "identifier" and not self._record.fields):
            self._text = []
        elif local == "subfield" and self._field is not None:
            self._code, self._text = attributes.get("code", ""), []
            self._count(_ELEMENT_CHARACTERS + len(self._code))

    def _start_field(self, tag: str, *, control: bool) -> None:
        self._field = self._text = None
        if tag not in _WANTED_TAGS or self._record is None or self._expat is None:
            return
        if control:
            self._text = []
        else:
            self._field = MarcField(self._expat.CurrentLineNumber)
            self._record.fields.setdefault(tag, []).append(self._field)
            self._count(_ELEMENT_CHARACTERS)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
            self._count(len(text))

    def _end_element(self, name: str) -> None:
        self._depth -= 1
        local = _local(name)
        if local == "record" and self._record is not None:
            self._found.append(self._record)
            self._record = self._field = self._text = None
            self._header = CatalogueRecord(0)
        elif local == "header" and self._record is not None:
            self._header = self._record
        elif local == "datafield":
            self._field = None
        elif self._text is not None and self._record is not None:
            if local == "subfield" and self._field is not None:
                self._field.subfields.append((self._code, "".join(self._text)))
                self._text = None
            elif local == "identifier":
                self._record.identifier = "".join(self._text).strip()
                self._text = None
            elif local == "leader":
                self._record.is_deleted |= "".join(self._text)[_STATUS : _STATUS + 1] == "d"
                self._text = None
            elif local == "controlfield":
                self._record.control_number = self._record.control_number or "".join(self._text).strip()
                self._text = None

    def _count(self, characters: int) -> None:
        if self._record is None:
            return
        self._record.characters += characters
        if self._record.characters > MAX_RECORD_CHARACTERS:
            limit = f"at most {MAX_RECORD_CHARACTERS} characters"
            self._found.append(self._problem("catalogue record too large", limit, "more"))
            self._record = self._field = self._text = None


def _damaged_file(error: Exception, line: int) -> Problem:
    return Problem("damaged file", "a file that can be read to its end", str(error), line=line, is_damage=True)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    codec = character_set(encoding)
    if codec is None or codec.incrementaldecoder is None:
        raise _RefusedError("unknown encoding", EXPECTED_CHARACTER_SET, repr(encoding))
    return codec.incrementaldecoder("surrogateescape")


# -- ISO 2709 ---------------------------------------------------------------------------------------------------------


def is_iso2709(head: bytes) -> bool:
    """Whether a file begins with the leader of a record in ISO 2709."""
    return _LEADER.match(head) is not None


def _iso2709_records(head: bytes, stream: BinaryIO) -> Iterator[CatalogueRecord | Problem]:
    number = 0
    while head:
        number += 1
        length = int(head[:5]) if is_iso2709(head) else 0
        try:
            data = head + stream.read(max(length - len(head), 0))
            head = stream.read(_LEADER_BYTES).lstrip(b"\r\n")
            head += stream.read(_LEADER_BYTES - len(head)) if head else b""
        except DAMAGED as error:
            yield _damaged_file(error, number)
            return
        if len(data) != length or data[-1:] != _RECORD_END:
            expected = "a record of ISO 2709 to its end"
            yield Problem("broken MARC", expected, repr(data[-1:]), line=number, is_damage=True)
            return
        yield _from_iso2709(data, number)


def _from_iso2709(data: bytes, number: int) -> CatalogueRecord | Problem:
    """One record. MARC-8 with a letter beyond ASCII is hardly ever UTF-8, whatever the leader has."""
    import pymarc

    try:
        data.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    try:
        found = pymarc.Record(data, to_unicode=True, force_utf8=is_utf8, hide_utf8_warnings=True)
    except (pymarc.exceptions.PymarcException, UnicodeError, ValueError, IndexError) as error:
        return Problem("broken MARC", "a record of ISO 2709", str(error) or type(error).__name__, line=number)
    record = CatalogueRecord(number, is_deleted=data[_STATUS : _STATUS + 1] == b"d")
    for each in found.fields:
        if each.tag == "001":
            record.control_number = record.control_number or (each.data or "").strip()
        elif each.tag in _WANTED_TAGS and not each.control_field:
            subfields = [(code, text) for code, text in each.subfields]
            record.fields.setdefault(each.tag, []).append(MarcField(number, subfields))
    return record
