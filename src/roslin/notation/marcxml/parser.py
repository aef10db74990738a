"""The records of a catalogue, read as a stream: what is kept at any moment is one record.

MARCXML is read by expat, ISO 2709 (`.mrc`, in UTF-8 or MARC-8) by pymarc. In ISO 2709, lines are numbers of records.

A file is not trusted. A document type with declarations or an external part is refused before any of it is read, so
there are no entities to expand. A record, a tag or a nesting beyond what any catalogue holds is refused too. Where the
XML breaks, the records before that place are delivered, and then one refusal with its line and column.

A record whose bytes are those of one that was read before (`known`) is given as the same, and only its place reaches
expat: an empty element. So all else of the file is checked. A record is deleted where position 5 of its leader is `d`,
or where the header of its OAI-PMH record has that status.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import BinaryIO
from xml.parsers import expat

from roslin.errors import NotationError, Problem
from roslin.notation.record import refusal
from roslin.notation.sources import DAMAGED, DECLARED_ENCODING, EXPECTED_CHARACTER_SET, character_set

MAX_RECORD_CHARACTERS = 16 * 2**20  # of the fields that are kept; real records have some thousands
MAX_TAG_BYTES = 2**20  # one tag, comment or processing instruction, which expat must hold as a whole
MAX_RECORD_DEPTH = 64
MAX_NAMES = 10_000  # different names of elements and attributes, which expat never forgets

_CHUNK_BYTES = 64 * 2**10
_MOST_HELD = 4 * _CHUNK_BYTES  # of a record, to know its bytes
_ELEMENT_CHARACTERS = 100  # what an element costs in memory beside its text

MARC_ROOTS = frozenset({"collection", "record"})
WRAPPERS = frozenset({"OAI-PMH", "searchRetrieveResponse"})
_REFUSALS = frozenset({"error", "diagnostics"})  # of a server, directly inside a wrapper
_EXPAT_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "us-ascii", "iso-8859-1"})


# The fields of a record that are kept: those that the dialects name, its number, the links between records (787), and
# those to pictures (856).
_WANTED_TAGS = frozenset({
    "001", "031", "036", "100", "200", "210", "214", "240", "245", "260", "264", "382", "383", "500", "594", "690",
    "700", "787", "852", "856", "930", "931",
})  # fmt: skip
_LEADER_BYTES = 24
_LEADER = re.compile(rb"\d{5}[ -~]{5}22\d{5}[ -~]{3}45[ -~]{2}")
_RECORD_END = b"\x1d"
_RECORD = re.compile(rb"<((?:[A-Za-z_][\w.-]*:)?)record(?=[\s>])[^<]*<(?:[A-Za-z_][\w.-]*:)?(?:leader|controlfield)\b")
_HARMLESS = re.compile(rb"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_LINKS = "787"
_STATUS = 5  # its place in a leader
_SORTING_MARKS = re.compile("[\x80-\x9f]")  # catalogues mark words that sorting skips with control characters


@dataclass(slots=True)
class MarcField:
    """A field with its subfields, in their order; `line` is its line in the XML."""

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

    `identifier` is its name in OAI-PMH; a deleted record may have nothing else. `raw` is a digest of its bytes. One
    that `is_same` as one that is known has no more than its number.
    """

    number: int
    control_number: str = ""
    fields: dict[str, list[MarcField]] = field(default_factory=dict)
    characters: int = 0
    identifier: str = ""
    is_deleted: bool = False
    raw: bytes = b""
    is_same: bool = False

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


Known = Callable[[bytes], str | None]
"""The number of the record that had bytes with this digest when it was last read; None if no record had."""


def catalogue_records(stream: BinaryIO, known: Known = lambda _: None) -> Iterator[CatalogueRecord | Problem]:
    """The records of a file, in order; a problem in the place of one, or of the rest, that is refused."""
    try:
        head = stream.read(_LEADER_BYTES)
    except DAMAGED as error:
        yield _damaged_file(error, 1)
        return
    if head[:5].isdigit():
        yield from _iso2709_records(head, stream, known)
        return
    if head.strip() and b"<" not in head:
        expected = "the tag or the leader that a file of records begins with"
        yield Problem("neither MARCXML nor ISO 2709", expected, repr(head)[1:], line=1, is_damage=True)
        return
    parser = _Parser(head, known)
    while not parser.finished:
        problem = parser.read_some(stream)
        yield from parser.take()
        if problem is not None:
            yield replace(problem, is_damage=True)  # the rest is not read
            return


class _Parser:
    """Expat with a memory of one catalogue record. Feed it with `read_some`, then `take` what it found."""

    def __init__(self, head: bytes, known: Known) -> None:
        self.finished = False
        self._head = head  # what was read before
        self._known = known
        self._scan: _Scan | None = None
        self._lines = 0  # of records that were left out
        self._short_line = 0  # where the last one was, which has other columns now
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
        """Read the next piece of the stream. The problem for which the rest is refused, if there is one."""
        head, self._head = self._head, b""
        try:
            self._feed(head + stream.read(_CHUNK_BYTES))
        except DAMAGED as error:
            return _damaged_file(error, self._line())
        except expat.ExpatError as error:
            return self._broken(error)
        except NotationError as error:
            return self._problem(error.problem)
        return None

    def _feed(self, data: bytes) -> None:
        parser = self._expat or self._start(data)
        self.finished = not data
        if self._decoder is not None:
            # Undecodable bytes become bytes that expat refuses, so that its error has the place.
            try:
                text = self._decoder.decode(data, self.finished)
            except UnicodeError as error:  # some character sets have no such way, or end within a character
                raise refusal("broken text", "text in the encoding that the file names", str(error)) from error
            data = text.encode("utf-8", "surrogatepass")
        if self._scan is not None:
            data = self._scan.feed(data)
            self.finished = self.finished and not data  # the last bytes first, then their end
        self._bytes += len(data)
        try:
            parser.Parse(data, self.finished)
        except (LookupError, ValueError) as error:  # in UTF-16, only expat sees what the file calls its encoding
            raise refusal("unknown encoding", EXPECTED_CHARACTER_SET, str(error)) from error
        if self._bytes - parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise refusal("tag or comment too long", f"at most {MAX_TAG_BYTES} bytes", "more")
        if len(self._names) > MAX_NAMES:
            raise refusal("too many different names", f"at most {MAX_NAMES} names of elements and attributes", "more")
        if self.finished and not self._records and (self._refusal or self._root not in MARC_ROOTS | WRAPPERS):
            reason = "not MARCXML" if not self._refusal else "the answer of a server that refused"
            raise refusal(reason, "MARC records", self._refusal or f"<{self._root}>")

    def _start(self, head: bytes) -> expat.XMLParserType:
        declared = DECLARED_ENCODING.match(head)
        encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        if encoding not in _EXPAT_ENCODINGS:
            self._decoder = _decoder(encoding)
        elif head[:1] in b"\xef<" and not head.startswith(b"<\0"):
            self._scan = _Scan(encoding, self._known)
        parser = expat.ParserCreate("utf-8" if self._decoder else None, intern=self._names)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._document_type
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._characters
        self._expat = parser
        return parser

    def _problem(self, problem: Problem) -> Problem:
        return problem.at(line=self._line(), record=self._record.control_number if self._record else "")

    def _line(self) -> int:
        return self._expat.CurrentLineNumber + self._lines if self._expat else 1

    def _broken(self, error: expat.ExpatError) -> Problem:
        cut_short = self.finished and self._depth
        expected = "well-formed XML" if not cut_short else f"the end of <{self._root}>"
        found = expat.ErrorString(error.code) if not cut_short else "the end of the file"
        column = error.offset + 1 if error.lineno != self._short_line else 0
        return self._problem(Problem("broken XML", expected, found, column, error.lineno + self._lines))

    def _document_type(self, name: str, system: str | None, public: str | None, declarations: bool) -> None:
        if _local(name) not in MARC_ROOTS | WRAPPERS:
            raise refusal("not MARCXML", "MARC records", f"<{name[:40]}>")
        if system or public or declarations:
            found = "declarations of its own" if declarations else f"{(system or public or '')[:80]!r}"
            raise refusal("unsafe document type", "none, or one without declarations and external files", found)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_RECORD_DEPTH:
            raise refusal("elements too deep", f"at most {MAX_RECORD_DEPTH} inside each other", "more")
        local = _local(name)
        self._root = self._root or local
        if local == "record":
            self._records += 1
            known = self._header
            self._record, self._field, self._text = CatalogueRecord(self._records), None, None
            self._record.identifier, self._record.is_deleted = known.identifier, known.is_deleted
            if self._scan is not None and self._expat is not None:
                self._recognise(self._record, self._scan, self._expat.CurrentByteIndex)
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

    def _recognise(self, record: CatalogueRecord, scan: _Scan, place: int) -> None:
        if same := scan.same.pop(place, None):
            (record.control_number, lines), record.is_same = same, True
            self._lines += lines
            self._short_line = self._expat.CurrentLineNumber if self._expat else 0
        else:
            record.raw = scan.raw.pop(place, b"")

    def _start_field(self, tag: str, *, control: bool) -> None:
        self._field = self._text = None
        if tag not in _WANTED_TAGS or self._record is None or self._expat is None:
            return
        if control:
            self._text = []
        else:
            self._field = MarcField(self._line())
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
            self._found.append(self._problem(Problem("catalogue record too large", limit, "more")))
            self._record = self._field = self._text = None


class _Scan:
    """Finds the records in the bytes of a file, and leaves a record that is known out.

    `raw` and `same` are by the places where records begin in the bytes that are handed on; `same` has the number of the
    record and the lines that it had. A record that is known was a whole element, so nothing of it can begin or end
    anything around it. Where a comment, a CDATA section or a declaration may contain records, all is handed on.
    """

    def __init__(self, encoding: str, known: Known):
        self.known = known
        self.raw: dict[int, bytes] = {}
        self.same: dict[int, tuple[str, int]] = {}
        self._key = f"{_reader()} {encoding}".encode()[:64]
        self._held = b""  # up to the end of the next record
        self._begin = self._end = b""  # the tags of records
        self._given = 0
        self._is_safe = True

    def feed(self, data: bytes) -> bytes:
        """The bytes for expat; none are held back where the file ends (no data) or nothing can be left out."""
        is_end = not data
        data, self._held = self._held + data, b""
        if not self._begin and (found := _RECORD.search(data)):
            self._begin, self._end = b"<" + found[1] + b"record", b"</" + found[1] + b"record>"
        out: list[bytes] = []
        at = 0
        while self._is_safe and self._begin:
            start = data.find(self._begin, at)
            end = data.find(self._end, start) if start >= 0 else -1
            if end < 0:
                break
            end += len(self._end)
            self._take(data[at:start], data[start:end], out)
            at = end
        rest = data[at:]
        if self._is_safe and not is_end and len(rest) < _MOST_HELD:
            self._held = rest
        else:
            self._is_safe = False
            self._give(rest, out)
        return b"".join(out)

    def _give(self, data: bytes, out: list[bytes]) -> None:
        out.append(data)
        self._given += len(data)

    def _take(self, gap: bytes, record: bytes, out: list[bytes]) -> None:
        raw = self._digest(record)
        number = self.known(raw)
        if number is None and (inner := record.rfind(self._begin)):  # a record in the record of an answer
            gap, record = gap + record[:inner], record[inner:]
            raw = self._digest(record)
            number = self.known(raw)
        self._is_safe = _is_plain(gap) and (number is not None or _is_plain(record))
        self._give(gap, out)
        if not self._is_safe:
            self._give(record, out)
        elif number is None:
            self.raw[self._given] = raw
            self._give(record, out)
        else:
            self.same[self._given] = number, record.count(b"\n")
            self._give(self._begin + b"/>", out)

    def _digest(self, record: bytes) -> bytes:
        return hashlib.blake2b(record, digest_size=16, key=self._key).digest()


def _is_plain(data: bytes) -> bool:
    """Whether there is nothing in which a tag is none: comments and the like, unless they end here too."""
    if b"<!" not in data and b"<?" not in data:
        return True
    left = _HARMLESS.sub(b"", data)
    return b"<!" not in left and b"<?" not in left


def _damaged_file(error: Exception, line: int) -> Problem:
    return Problem("damaged file", "a file that can be read to its end", str(error), line=line, is_damage=True)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    codec = character_set(encoding)
    if codec is None or codec.incrementaldecoder is None:
        raise refusal("unknown encoding", EXPECTED_CHARACTER_SET, repr(encoding))
    return codec.incrementaldecoder("surrogateescape")


# -- ISO 2709 ---------------------------------------------------------------------------------------------------------


def is_iso2709(head: bytes) -> bool:
    """Whether a file begins with the leader of a record in ISO 2709."""
    return _LEADER.match(head) is not None


def _iso2709_records(head: bytes, stream: BinaryIO, known: Known) -> Iterator[CatalogueRecord | Problem]:
    number = place = 0
    while head:
        number += 1
        length = int(head[:5]) if is_iso2709(head) else 0
        try:
            data = head + stream.read(max(length - len(head), 0))
            following = stream.read(_LEADER_BYTES)
            head = following.lstrip(b"\r\n")
            gap = len(following) - len(head)
            head += stream.read(gap) if head else b""
        except DAMAGED as error:
            yield _damaged_file(error, number)
            return
        if len(data) != length or data[-1:] != _RECORD_END:
            found = f"record {number}, at byte {place}, "
            if not length:
                found += f"begins with {data[:_LEADER_BYTES]!r}, which is no leader"
            elif len(data) < length:
                found += f"ends after {len(data)} of {length} bytes"
            else:
                found += f"has no end after its {length} bytes"
            yield Problem("broken ISO 2709", "records to their end", found, line=number, is_damage=True)
            return
        place += length + gap
        raw = hashlib.blake2b(data, digest_size=16, key=_reader().encode()).digest()
        if (same := known(raw)) is not None:
            yield CatalogueRecord(number, same, is_same=True)
            continue
        found_one = _from_iso2709(data, number)
        if isinstance(found_one, CatalogueRecord):
            found_one.raw = raw
        yield found_one


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
        return Problem("broken ISO 2709", "a whole record", str(error) or type(error).__name__, line=number)
    record = CatalogueRecord(number, is_deleted=data[_STATUS : _STATUS + 1] == b"d")
    for each in found.fields:
        if each.tag == "001":
            record.control_number = record.control_number or (each.data or "").strip()
        elif each.tag in _WANTED_TAGS and not each.control_field:
            subfields = [(code, text) for code, text in each.subfields]
            record.fields.setdefault(each.tag, []).append(MarcField(number, subfields))
    return record
