"""MARCXML exports of library catalogues: a record for each incipit, in field 031 (MARC 21) or 036 (UNIMARC).

    parser    the XML, one catalogue record at a time
    fields    a record and its fields
    dialects  where MARC 21 and UNIMARC keep what is known about a record and its incipits

An export of any size needs the same few megabytes. Elements are known by their local names, so a prefix, another
namespace (MarcXchange) or a wrapper (OAI-PMH, SRU) makes no difference. The id of an incipit is `RECORD-a.b.c`: the
control number of its record (field 001) and the numbers of work, movement and incipit, each as written, 1 where there
is none. Some libraries write the whole number into $a, as 1.2.1: the id is then `RECORD-1.2.1`.

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
from roslin.notation.record import Record, record_of

__all__ = ["linked_records", "matches", "read"]

_FIELD_ELEMENTS = frozenset({"leader", "controlfield", "datafield"})
_MUSIC_ROOTS = frozenset({"score-partwise", "score-timewise", "opus", "mei", "meiCorpus", "music"})
_NAMESPACES = ("http://www.loc.gov/MARC21/slim", "marcxchange")
_NOT_ELEMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_ELEMENT_NAME = re.compile(r"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_BETWEEN_NUMBERS = re.compile(r"[.\s]+")
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


def read(stream: BinaryIO, *, strict: bool, skipped: bool = False) -> Iterator[Record]:
    """A record for each incipit of music. Incipits without music are among them only where `skipped` asks for them."""
    for found in catalogue_records(stream):
        if isinstance(found, Problem):
            yield Record(None, (found,))
        else:
            yield from (record for record in _incipits(found, strict=strict) if skipped or not record.is_skipped)


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
            name = f"{record.control_number or f'record{record.number}'}-{_numbers(incipit)}"
            if music:
                metadata = {"id": name} | of_record | about_incipit(incipit, dialect)
                if record.control_number and record_of(name) != record.control_number:
                    metadata["record"] = record.control_number
                yield _read_incipit(incipit, dialect, music, metadata, strict=strict)
            elif tag == "031" or incipit.first("c"):  # in MARC 21, field 036 is something else, without $c
                problem = Problem(f"no music in field {tag}", "subfield $p", line=incipit.line, record=name)
                yield Record(None, (problem,), is_skipped=True)


def _numbers(incipit: MarcField) -> str:
    """The numbers of work, movement and incipit, with dots between them."""
    work, *others = (incipit.first(code) for code in "abc")
    if "." in work and not any(others):
        return ".".join(filter(None, _BETWEEN_NUMBERS.split(work)))
    return ".".join(number or "1" for number in (work, *others))


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
