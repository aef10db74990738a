"""MARC 21 and UNIMARC: where each keeps what is known about a record and its incipits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from roslin.notation.marcxml.fields import CatalogueRecord, MarcField


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


def _unimarc_catalogue(record: CatalogueRecord) -> list[str]:
    return record.all("500", "s")


def _marc21_scoring(record: CatalogueRecord) -> list[str]:
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


def _unimarc_scoring(record: CatalogueRecord) -> list[str]:
    return record.all("500", "r")


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
        catalogue=_unimarc_catalogue,
        scoring=_unimarc_scoring,
        works=(),
        dates=(("210", "d"), ("214", "d")),
    ),
}
# All that is kept of a record: what the dialects name, its number, and the links between records (787).
WANTED_TAGS = frozenset({
    "001", "031", "036", "100", "200", "210", "214", "240", "245", "260", "264", "382", "383", "500", "594", "690",
    "700", "787", "852", "930", "931",
})  # fmt: skip


def about_record(record: CatalogueRecord, dialect: Dialect) -> dict[str, str]:
    """What is known about a record, by the names of the metadata."""
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
    )


def about_incipit(incipit: MarcField, dialect: Dialect) -> dict[str, str]:
    """What is known about one incipit of a record."""
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
