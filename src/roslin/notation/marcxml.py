"""MARCXML exports of library catalogues: a record for each incipit, in field 031 (MARC 21) or 036 (UNIMARC).

The file is read as a stream by expat: what is kept at any moment is one catalogue record, so an export of any size
needs the same few megabytes. Elements are known by their local names, so a prefix, another namespace (MarcXchange) or
a wrapper (OAI-PMH, SRU) makes no difference. The id of an incipit is `RECORD-a.b.c`: the control number of its record
(field 001) and the numbers of work, movement and incipit, each as written, 1 where there is none.

A file is not trusted. A document type with declarations or an external part is refused before any of it is read, so
there are no entities to expand; a record, a tag or a nesting beyond what any catalogue holds is refused too. Where the
XML breaks, the records before that place are delivered, and then one refusal with its line and column.

Lines count from 1 and are those of the XML: the line of the field, for a problem in its music. The column of such a
problem counts in the music; that of broken XML in its line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.parsers import expat

from roslin.errors import NotationError, Problem
from roslin.notation import pae
from roslin.notation.charsets import EXPECTED, character_set
from roslin.notation.pae.signatures import read_clef, read_key_signature, read_time_signature
from roslin.notation.record import Record
from roslin.notation.sources import DAMAGED

__all__ = ["MAX_DEPTH", "MAX_NAMES", "MAX_RECORD_CHARACTERS", "MAX_TAG_BYTES", "linked_records", "matches", "read"]

MAX_RECORD_CHARACTERS = 16 * 2**20  # of the fields that are kept; real records have some thousands
MAX_TAG_BYTES = 2**20  # one tag, comment or processing instruction, which expat must hold as a whole
MAX_DEPTH = 64
MAX_NAMES = 10_000  # different names of elements and attributes, which expat never forgets

_CHUNK_BYTES = 64 * 2**10
_ELEMENT_CHARACTERS = 100  # what an element costs in memory beside its text

_FIELD_ELEMENTS = frozenset({"leader", "controlfield", "datafield"})
_MARC_ROOTS = frozenset({"collection", "record"})
_WRAPPERS = frozenset({"OAI-PMH", "searchRetrieveResponse"})
_MUSIC_ROOTS = frozenset({"score-partwise", "score-timewise", "opus", "mei", "meiCorpus", "music"})
_NAMESPACES = ("http://www.loc.gov/MARC21/slim", "marcxchange")
_NOT_ELEMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_ELEMENT_NAME = re.compile(r"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")

_DECLARED_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
_EXPAT_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "us-ascii", "iso-8859-1"})
_PLAINE_AND_EASIE = frozenset({"", "pe", "pe1", "pe2", "pae", "paec"})
_OTHER_SYSTEMS = {"da": "DARMS"}
_SORTING_MARKS = re.compile("[\x80-\x9f]")  # catalogues mark words that sorting skips with control characters


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of MARCXML, bare or in an OAI-PMH or SRU answer."""
    utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<"))
    codec = "utf-16" if head[:1] in b"\xff\xfe" else "utf-16-le" if head[:1] == b"<" else "utf-16-be"
    text = head.decode(codec if utf16 else "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if not text.startswith("<"):
        return False
    names = _ELEMENT_NAME.findall(_NOT_ELEMENTS.sub("", text))
    if not names or names[0] in _MUSIC_ROOTS:
        return False
    return (
        not _FIELD_ELEMENTS.isdisjoint(names)
        or any(namespace in text for namespace in _NAMESPACES)
        or (names[0] in _WRAPPERS and "marc" in text.lower())
        or _MARC_ROOTS.issuperset(names)
    )


def read(stream: BinaryIO, *, strict: bool) -> Iterator[Record]:
    """A record for each incipit of music. An incipit of text alone is not one."""
    parser = _Parser()
    while not parser.finished:
        problem = parser.read_some(stream)
        for found in parser.take():
            if isinstance(found, Problem):
                yield Record(None, (found,))
            else:
                yield from _incipits(found, strict=strict)
        if problem is not None:
            yield Record(None, (problem,))
            return


def linked_records(stream: BinaryIO) -> Iterator[tuple[str, list[str]]]:
    """For each record of MARC 21 its number, and the numbers of those that its fields 787 link to, as written.

    A file that is not whole is refused where that shows: what comes after is not known.
    """
    parser = _Parser()
    while not parser.finished:
        problem = parser.read_some(stream)
        for found in parser.take():
            if isinstance(found, Problem):
                raise NotationError(found)
            yield found.control_number, found.all("787", "w")
        if problem is not None:
            raise NotationError(problem)


# What the music of a catalogue record is, and what is known about it.


@dataclass(slots=True)
class _Field:
    line: int
    subfields: list[tuple[str, str]] = field(default_factory=list)

    def all(self, code: str) -> list[str]:
        """The texts of a subfield that are not empty, without line ends and sorting marks."""
        texts = (" ".join(_SORTING_MARKS.sub("", text).split()) for name, text in self.subfields if name == code)
        return [text for text in texts if text]

    def first(self, code: str) -> str:
        return next(iter(self.all(code)), "")


@dataclass(slots=True)
class _CatalogueRecord:
    number: int
    control_number: str = ""
    fields: dict[str, list[_Field]] = field(default_factory=dict)
    characters: int = 0

    def all(self, tag: str, code: str) -> list[str]:
        return [text for entry in self.fields.get(tag, ()) for text in entry.all(code)]

    def first(self, tag: str, code: str) -> str:
        return next(iter(self.all(tag, code)), "")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Where a kind of MARC keeps what we need: subfields of the incipit, tags and subfields of the record."""

    clef: str
    voice: str
    movement: str
    key: str
    composer: tuple[str, str]
    titles: tuple[str, ...]
    shelfmarks: tuple[str, ...]  # subfields of 852; the first that is there
    catalogue: Callable[[_CatalogueRecord], list[str]]
    scoring: Callable[[_CatalogueRecord], list[str]]
    works: tuple[str, ...]  # tags of links to works
    dates: tuple[tuple[str, str], ...]  # tags and subfields; the first that is there


def _marc21_catalogue(record: _CatalogueRecord) -> list[str]:
    numbers = [" ".join(entry.all("a") + entry.all("n")) for entry in record.fields.get("690", ())]
    for opus in record.fields.get("383", ()):
        thematic, compiler = ", ".join(opus.all("c")), opus.first("d")
        numbers += opus.all("b")
        numbers.append(f"{thematic} ({compiler})" if thematic and compiler else thematic or compiler)
    return numbers


def _unimarc_catalogue(record: _CatalogueRecord) -> list[str]:
    return record.all("500", "s")


def _marc21_scoring(record: _CatalogueRecord) -> list[str]:
    """Of all fields that say it, the fullest: RISM's total scoring, the medium of performance, or the title's."""
    parts = [(entry.first("b"), entry.first("c")) for entry in record.fields.get("594", ())]
    mediums = [(entry.all("a"), entry.all("n")) for entry in record.fields.get("382", ())]
    mediums = [(names, numbers if len(numbers) == len(names) else [""] * len(names)) for names, numbers in mediums]
    return (
        record.all("594", "a")
        or _counted(parts)
        or [text for names, numbers in mediums for text in _counted(list(zip(names, numbers, strict=True)))]
        or record.all("240", "m")
    )


def _counted(parts: list[tuple[str, str]]) -> list[str]:
    """One text: "S, vl (2), org"."""
    named = [f"{name} ({number})" if number not in ("", "1") else name for name, number in parts if name]
    return [", ".join(named)] if named else []


def _unimarc_scoring(record: _CatalogueRecord) -> list[str]:
    return record.all("500", "r")


def _works(record: _CatalogueRecord, tags: tuple[str, ...]) -> list[str]:
    """The works that a record is linked to: "Stabat mater [930 177]"."""
    found = []
    for tag in tags:
        for entry in record.fields.get(tag, ()):
            numbers = ", ".join(entry.all("0"))
            found.append(" ".join([*entry.all("a"), f"[{tag} {numbers}]" if numbers else ""]).strip())
    return found


# https://www.loc.gov/marc/bibliographic/bd031.html and the UNIMARC manual, bibliographic format, field 036. The two
# use the same letters for other things: $m is the voice in one, the clef in the other.
_DIALECTS = {
    "031": _Dialect(
        clef="g",
        voice="m",
        movement="d",
        key="r",
        composer=("100", "a"),
        titles=("240", "245"),
        shelfmarks=("c", "j", "p"),
        catalogue=_marc21_catalogue,
        scoring=_marc21_scoring,
        works=("930", "931"),  # RISM's: 930 for authorities of others, 931 for its own
        dates=(("260", "c"), ("264", "c")),
    ),
    "036": _Dialect(
        clef="m",
        voice="d",
        movement="f",
        key="g",
        composer=("700", "ab"),
        titles=("500", "200"),
        shelfmarks=("j",),
        catalogue=_unimarc_catalogue,
        scoring=_unimarc_scoring,
        works=(),
        dates=(("210", "d"), ("214", "d")),
    ),
}
_WANTED = frozenset(
    [
        "001",
        "031",
        "036",
        "100",
        "200",
        "210",
        "214",
        "240",
        "245",
        "260",
        "264",
        "382",
        "383",
        "500",
        "594",
        "690",
        "700",
        "787",
        "852",
        "930",
        "931",
    ]
)


def _incipits(record: _CatalogueRecord, *, strict: bool) -> Iterator[Record]:
    for tag, dialect in _DIALECTS.items():
        about_record = _about_record(record, dialect) if tag in record.fields else {}
        for incipit in record.fields.get(tag, ()):
            music = next((text.strip() for code, text in incipit.subfields if code == "p" and text.strip()), "")
            if music:
                numbers = ".".join(incipit.first(code) or "1" for code in "abc")
                name = f"{record.control_number or f'record{record.number}'}-{numbers}"
                metadata = {"id": name} | about_record | _about_incipit(incipit, dialect)
                yield _read_incipit(incipit, dialect, music, metadata, strict=strict)


def _read_incipit(incipit: _Field, dialect: _Dialect, music: str, metadata: dict[str, str], *, strict: bool) -> Record:
    system = incipit.first("2").lower()
    if system not in _PLAINE_AND_EASIE:
        found = repr(system) + (f" ({_OTHER_SYSTEMS[system]})" if system in _OTHER_SYSTEMS else "")
        problem = Problem("another system than Plaine & Easie", "pe or pe2 in subfield $2", found)
        return Record(None, (problem,)).at(line=incipit.line, record=metadata["id"])
    return pae.read_incipit(
        pae.Incipit(
            music=music,
            clef=_readable(incipit.all(dialect.clef), lambda text: read_clef(text)[1]),
            key_signature=_readable(incipit.all("n"), lambda text: read_key_signature(text).problem),
            time_signature=_readable(incipit.all("o"), lambda text: read_time_signature(text).problem),
            version=2 if system == "pe2" else 1 if system else None,
            line=incipit.line,
            metadata=metadata,
        ),
        strict=strict,
    )


def _readable(texts: list[str], problem: Callable[[str], Problem | None]) -> str:
    """The first text that has no problem. Cataloguers put a tempo into $n, and the key signature into a second $n."""
    return next((text for text in texts if problem(text) is None), texts[0] if texts else "")


def _about_record(record: _CatalogueRecord, dialect: _Dialect) -> dict[str, str]:
    tag, codes = dialect.composer
    composer = next(iter(record.fields.get(tag, ())), _Field(0))
    return _filled(
        composer=", ".join(filter(None, map(composer.first, codes))),
        title=next(filter(None, (record.first(tag, "a") for tag in dialect.titles)), ""),
        catalogue=_joined(dialect.catalogue(record)),
        scoring=_joined(dialect.scoring(record)),
        work=_joined(_works(record, dialect.works)),
        siglum=record.first("852", "a"),
        shelfmark=next(filter(None, (_joined(record.all("852", code)) for code in dialect.shelfmarks)), ""),
        date=next(filter(None, (record.first(tag, code) for tag, code in dialect.dates)), ""),
    )


def _about_incipit(incipit: _Field, dialect: _Dialect) -> dict[str, str]:
    return _filled(
        voice=incipit.first(dialect.voice),
        key=incipit.first(dialect.key),
        text=_joined(incipit.all("t")),
        role=incipit.first("e"),
        movement=_joined(incipit.all(dialect.movement)),
    )


def _filled(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def _joined(texts: list[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))


# The XML.


class _RefusedError(Exception):
    """The rest of the file is refused; raised inside expat's callbacks."""

    def __init__(self, reason: str, expected: str, found: str):
        super().__init__(reason)
        self.reason, self.expected, self.found = reason, expected, found


class _Parser:
    """Expat with a memory of one catalogue record. Feed it with `read_some`, then `take` what it found."""

    def __init__(self) -> None:
        self.finished = False
        self._found: list[_CatalogueRecord | Problem] = []
        self._names: dict[str, str] = {}
        self._decoder: codecs.IncrementalDecoder | None = None
        self._expat: expat.XMLParserType | None = None
        self._bytes = 0
        self._root = ""
        self._depth = 0
        self._records = 0
        self._record: _CatalogueRecord | None = None
        self._field: _Field | None = None
        self._text: list[str] | None = None
        self._code = ""

    def take(self) -> list[_CatalogueRecord | Problem]:
        """What was found since the last time, in the order of the file."""
        found, self._found = self._found, []
        return found

    def read_some(self, stream: BinaryIO) -> Problem | None:
        """Read the next piece of the stream; the problem for which the rest is refused, if there is one."""
        try:
            self._feed(stream.read(_CHUNK_BYTES))
        except DAMAGED as error:
            return self._problem("damaged file", "a file that can be read to its end", str(error))
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
            raise _RefusedError("unknown encoding", EXPECTED, str(error)) from error
        if self._bytes - parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise _RefusedError("tag or comment too long", f"at most {MAX_TAG_BYTES} bytes", "more")
        if len(self._names) > MAX_NAMES:
            raise _RefusedError(
                "too many different names", f"at most {MAX_NAMES} names of elements and attributes", "more"
            )
        if self.finished and not self._records and self._root not in _MARC_ROOTS | _WRAPPERS:
            raise _RefusedError("not MARCXML", "MARC records", f"<{self._root}>")

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
        if _local(name) not in _MARC_ROOTS | _WRAPPERS:
            raise _RefusedError("not MARCXML", "MARC records", f"<{name[:40]}>")
        if system or public or declarations:
            found = "declarations of its own" if declarations else f"{(system or public or '')[:80]!r}"
            raise _RefusedError("unsafe document type", "none, or one without declarations and external files", found)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _RefusedError("elements too deep", f"at most {MAX_DEPTH} inside each other", "more")
        local = _local(name)
        self._root = self._root or local
        if local == "record":
            self._records += 1
            self._record, self._field, self._text = _CatalogueRecord(self._records), None, None
        elif self._record is None:
            return
        elif local in ("datafield", "controlfield"):
            self._start_field(attributes.get("tag", ""), control=local == "controlfield")
        elif local == "subfield" and self._field is not None:
            self._code, self._text = attributes.get("code", ""), []
            self._count(_ELEMENT_CHARACTERS + len(self._code))

    def _start_field(self, tag: str, *, control: bool) -> None:
        self._field = self._text = None
        if tag not in _WANTED or self._record is None or self._expat is None:
            return
        if control:
            self._text = []
        else:
            self._field = _Field(self._expat.CurrentLineNumber)
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
        elif local == "datafield":
            self._field = None
        elif self._text is not None and self._record is not None:
            if local == "subfield" and self._field is not None:
                self._field.subfields.append((self._code, "".join(self._text)))
                self._text = None
            elif local == "controlfield":
                self._record.control_number = self._record.control_number or "".join(self._text).strip()
                self._text = None

    def _count(self, characters: int) -> None:
        """Give up a record that grows beyond all measure: it is refused, and the next one is read."""
        if self._record is None:
            return
        self._record.characters += characters
        if self._record.characters > MAX_RECORD_CHARACTERS:
            limit = f"at most {MAX_RECORD_CHARACTERS} characters"
            self._found.append(self._problem("catalogue record too large", limit, "more"))
            self._record = self._field = self._text = None


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    codec = character_set(encoding)
    if codec is None or codec.incrementaldecoder is None:
        raise _RefusedError("unknown encoding", EXPECTED, repr(encoding))
    return codec.incrementaldecoder("surrogateescape")
