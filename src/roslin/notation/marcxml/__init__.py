"""MARCXML exports of library catalogues: a record for each incipit, in field 031 (MARC 21) or 036 (UNIMARC).

    parser    the XML, one catalogue record at a time
    fields    a record and its fields
    dialects  where MARC 21 and UNIMARC keep what is known about a record and its incipits

An export of any size needs the same few megabytes. Elements are known by their local names, so a prefix, another
namespace (MarcXchange) or a wrapper (OAI-PMH, SRU) makes no difference. The id of an incipit is `RECORD-a.b.c`: the
control number of its record (field 001) and the numbers of work, movement and incipit, each as written, 1 where there
is none.

Lines count from 1 and are those of the XML: the line of the field, for a problem in its music. The column of such a
problem counts in the music; that of broken XML in its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from roslin.errors import NotationError, Problem
from roslin.notation import pae
from roslin.notation.marcxml.dialects import DIALECTS, Dialect, about_incipit, about_record
from roslin.notation.marcxml.fields import CatalogueRecord, MarcField
from roslin.notation.marcxml.parser import MARC_ROOTS, WRAPPERS, catalogue_records
from roslin.notation.pae.signatures import read_clef, read_key_signature, read_time_signature
from roslin.notation.record import Record

__all__ = ["linked_records", "matches", "read"]

_FIELD_ELEMENTS = frozenset({"leader", "controlfield", "datafield"})
_MUSIC_ROOTS = frozenset({"score-partwise", "score-timewise", "opus", "mei", "meiCorpus", "music"})
_NAMESPACES = ("http://www.loc.gov/MARC21/slim", "marcxchange")
_NOT_ELEMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_ELEMENT_NAME = re.compile(r"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_PLAINE_AND_EASIE = frozenset({"", "pe", "pe1", "pe2", "pae", "paec"})
_OTHER_SYSTEMS = {"da": "DARMS"}


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
        or (names[0] in WRAPPERS and "marc" in text.lower())
        or MARC_ROOTS.issuperset(names)
    )


def read(stream: BinaryIO, *, strict: bool) -> Iterator[Record]:
    """A record for each incipit of music. An incipit of text alone is not one."""
    for found in catalogue_records(stream):
        if isinstance(found, Problem):
            yield Record(None, (found,))
        else:
            yield from _incipits(found, strict=strict)


def linked_records(stream: BinaryIO) -> Iterator[tuple[str, list[str]]]:
    """For each record of MARC 21 its number, and the numbers of those that its fields 787 link to, as written.

    A file that is not whole is refused where that shows: what comes after is not known.
    """
    for found in catalogue_records(stream):
        if isinstance(found, Problem):
            raise NotationError(found)
        yield found.control_number, found.all("787", "w")


def _incipits(record: CatalogueRecord, *, strict: bool) -> Iterator[Record]:
    for tag, dialect in DIALECTS.items():
        of_record = about_record(record, dialect) if tag in record.fields else {}
        for incipit in record.fields.get(tag, ()):
            music = next((text.strip() for code, text in incipit.subfields if code == "p" and text.strip()), "")
            if music:
                numbers = ".".join(incipit.first(code) or "1" for code in "abc")
                name = f"{record.control_number or f'record{record.number}'}-{numbers}"
                metadata = {"id": name} | of_record | about_incipit(incipit, dialect)
                yield _read_incipit(incipit, dialect, music, metadata, strict=strict)


def _read_incipit(
    incipit: MarcField, dialect: Dialect, music: str, metadata: dict[str, str], *, strict: bool
) -> Record:
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
