"""MARC exports of library catalogues: a record for each incipit, in field 031 (MARC 21) or 036 (UNIMARC).

MARCXML and ISO 2709 are read by `parser`, one catalogue record at a time: an export of any size needs the same few
megabytes. Elements are known by their local names, so a prefix, another namespace (MarcXchange) or a wrapper (OAI-PMH,
SRU) makes no difference. Deleted records are left out. The id of an incipit is `RECORD-a.b.c`: the control number of
its record (field 001) and the numbers of work, movement and incipit, each as written, 1 where there is none. Some
libraries write the whole number into $a, as 1.2.1: the id is then `RECORD-1.2.1`, also where $b and $c are always 1.

Lines are those of the XML: the line of the field, for a problem in its music. The column of such a problem counts in
the music; that of broken XML in its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from roslin.errors import NotationError, Problem
from roslin.melody import NOTE_DTYPE, Melody
from roslin.notation import pae
from roslin.notation.marcxml.parser import (
    MARC_ROOTS,
    WRAPPERS,
    CatalogueRecord,
    MarcField,
    catalogue_records,
    is_iso2709,
)
from roslin.notation.pae.incipit import read_clef, read_key_signature, read_time_signature
from roslin.notation.record import Origin, Record, metadata_of, record_of
from roslin.notation.scores import first_elements

__all__ = ["CatalogueRecord", "catalogue_records", "incipits", "linked_records", "matches", "origin_of", "read"]

_FIELD_ELEMENTS = frozenset({"leader", "controlfield", "datafield"})
_MUSIC_ROOTS = frozenset({"score-partwise", "score-timewise", "opus", "mei", "meiCorpus", "music"})
_NAMESPACES = ("http://www.loc.gov/MARC21/slim", "marcxchange")
_BETWEEN_NUMBERS = re.compile(r"[.\s]+")
_PLAINE_AND_EASIE = frozenset({"", "pe", "pe1", "pe2", "pae", "paec"})
_OTHER_SYSTEMS = {"da": "DARMS"}


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of ISO 2709 or MARCXML, bare or in an OAI-PMH or SRU answer."""
    if is_iso2709(head):
        return True
    text, names = first_elements(head)
    if not names or names[0] in _MUSIC_ROOTS:
        return False
    return (
        not _FIELD_ELEMENTS.isdisjoint(names)
        or any(namespace in text for namespace in _NAMESPACES)
        or (names[0] in WRAPPERS and "marc" in text.lower())
        or MARC_ROOTS.issuperset(names)
    )


def read(stream: BinaryIO, *, strict: bool, skipped: bool = False) -> Iterator[Record]:
    """A record for each incipit of music; with `skipped`, also for those without and for records without incipits."""
    for found in catalogue_records(stream):
        if isinstance(found, Problem):
            yield Record(None, (found,))
        elif not found.is_deleted:
            is_empty = True
            for record in incipits(found, strict=strict):
                is_empty = False
                if skipped or not record.is_skipped:
                    yield record
            if is_empty and skipped and (origin := origin_of(found)):
                yield Record(None, (), is_skipped=True, origin=origin)


def origin_of(record: CatalogueRecord) -> Origin | None:
    """The number by which an update recognises a record; None where it has no number."""
    return (
        Origin(record.control_number, record.identifier, record.digest(), record.raw) if record.control_number else None
    )


def linked_records(stream: BinaryIO) -> Iterator[tuple[str, list[str]]]:
    """The number of each MARC 21 record, with the numbers of the records that its fields 787 link to, as written.

    An incomplete file is refused at the place where it breaks off.
    """
    for found in catalogue_records(stream):
        if isinstance(found, Problem):
            raise NotationError(found)
        yield found.control_number, found.all("787", "w")


def incipits(record: CatalogueRecord, *, strict: bool) -> Iterator[Record]:
    """A record for each incipit of a catalogue record, also for those without music."""
    if not DIALECTS.keys().isdisjoint(record.fields):
        origin = origin_of(record)
        yield from (replace(each, origin=origin) for each in _incipits(record, strict=strict))


def _incipits(record: CatalogueRecord, *, strict: bool) -> Iterator[Record]:
    for tag, dialect in DIALECTS.items():
        of_record = about_record(record, dialect) if tag in record.fields else {}
        for incipit in record.fields.get(tag, ()):
            music = next((text.strip() for code, text in incipit.subfields if code == "p" and text.strip()), "")
            name = f"{record.control_number or f'record{record.number}'}-{_numbers(incipit)}"
            metadata = {"id": name} | of_record | about_incipit(incipit, dialect)
            if record.control_number and record_of(name) != record.control_number:
                metadata["record"] = record.control_number
            if music:
                yield _read_incipit(incipit, dialect, music, metadata, strict=strict)
            elif tag == "031" or incipit.first("c"):  # in MARC 21, field 036 is something else, without $c
                problem = Problem(f"no music in field {tag}", "subfield $p", line=incipit.line, record=name)
                yield Record(None, (problem,), is_skipped=True, silent=_silent(incipit, dialect, metadata))


def _silent(incipit: MarcField, dialect: Dialect, metadata: dict[str, str]) -> Melody | None:
    clef, key, metre = (incipit.first(code) for code in (dialect.clef, "n", "o"))
    if not (clef or key or metre):
        return None
    return Melody(
        np.empty(0, NOTE_DTYPE),
        **metadata_of(metadata),
        clef=(read_clef(clef)[0] if clef else "") or None,
        key_signature=read_key_signature(key).text or None,
        metre=read_time_signature(metre).text if metre else None,
    )


def _numbers(incipit: MarcField) -> str:
    work, *others = (incipit.first(code) for code in "abc")
    whole = ".".join(filter(None, _BETWEEN_NUMBERS.split(work)))
    if "." in work and (not any(others) or (whole.count(".") > 1 and set(others) <= {"", "1"})):
        return whole
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


_MANIFESTS = ("IIIF", "IIIF manifest (digitized source)")  # what RISM calls a link to the IIIF manifest of a source


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where a kind of MARC keeps what we need: subfields of the incipit, tags and subfields of the record."""

    clef: str
    voice: str
    movement: str
    key: str
    composer: tuple[str, str]
    titles: tuple[str, ...]
    shelfmarks: tuple[str, ...]  # subfields of 852; the first that is there
    catalogue: Callable[[CatalogueRecord], list[str]]
    scoring: Callable[[CatalogueRecord], list[str]]
    works: tuple[str, ...]  # tags of links to works
    dates: tuple[tuple[str, str], ...]  # tags and subfields; the first that is there


def _marc21_catalogue(record: CatalogueRecord) -> list[str]:
    numbers = [" ".join(entry.all("a") + entry.all("n")) for entry in record.fields.get("690", ())]
    for opus in record.fields.get("383", ()):
        thematic, compiler = ", ".join(opus.all("c")), opus.first("d")
        numbers += opus.all("b")
        numbers.append(f"{thematic} ({compiler})" if thematic and compiler else thematic or compiler)
    return numbers


def _marc21_scoring(record: CatalogueRecord) -> list[str]:
    """The fullest of several fields: RISM's total scoring, the medium of performance, or the title's."""
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
    named = [f"{name} ({number})" if number not in ("", "1") else name for name, number in parts if name]
    return [", ".join(named)] if named else []


# https://www.loc.gov/marc/bibliographic/bd031.html and the UNIMARC manual, bibliographic format, field 036. The two
# use the same letters for other things: $m is the voice in one, the clef in the other.
DIALECTS = {
    "031": Dialect(
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
    "036": Dialect(
        clef="m",
        voice="d",
        movement="f",
        key="g",
        composer=("700", "ab"),
        titles=("500", "200"),
        shelfmarks=("j",),
        catalogue=lambda record: record.all("500", "s"),
        scoring=lambda record: record.all("500", "r"),
        works=(),
        dates=(("210", "d"), ("214", "d")),
    ),
}


def about_record(record: CatalogueRecord, dialect: Dialect) -> dict[str, str]:
    """The metadata of a record."""
    tag, codes = dialect.composer
    composer = next(iter(record.fields.get(tag, ())), MarcField(0))
    return _filled(
        composer=", ".join(filter(None, map(composer.first, codes))),
        title=next(filter(None, (record.first(tag, "a") for tag in dialect.titles)), ""),
        catalogue=_joined(dialect.catalogue(record)),
        scoring=_joined(dialect.scoring(record)),
        work=_joined(_works(record, dialect.works)),
        siglum=record.first("852", "a"),
        shelfmark=next(filter(None, (_joined(record.all("852", code)) for code in dialect.shelfmarks)), ""),
        date=next(filter(None, (record.first(tag, code) for tag, code in dialect.dates)), ""),
        iiif=next((link.first("u") for link in record.fields.get("856", ()) if link.first("x") in _MANIFESTS), ""),
    )


def about_incipit(incipit: MarcField, dialect: Dialect) -> dict[str, str]:
    """The metadata of one incipit of a record."""
    return _filled(
        voice=incipit.first(dialect.voice),
        key=incipit.first(dialect.key),
        text=_joined(incipit.all("t")),
        role=incipit.first("e"),
        movement=_joined(incipit.all(dialect.movement)),
    )


def _works(record: CatalogueRecord, tags: tuple[str, ...]) -> list[str]:
    """The works that a record is linked to: "Stabat mater [930 177]"."""
    found = []
    for tag in tags:
        for entry in record.fields.get(tag, ()):
            numbers = ", ".join(entry.all("0"))
            found.append(" ".join([*entry.all("a"), f"[{tag} {numbers}]" if numbers else ""]).strip())
    return found


def _filled(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def _joined(texts: list[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
