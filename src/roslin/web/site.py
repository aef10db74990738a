"""The melodies for other programs: files and linked data of each, addresses for crawlers, addresses of RISM Online.

`FILES` has the formats of a melody as a file. `linked_data` describes a melody in JSON-LD, with the terms of schema.org
and, for the incipit, those of RISM Online (docs/reference/api.md). The context is a part of each document: a reader of
it loads nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from roslin.collection.folding import said_of
from roslin.display.words import N_
from roslin.engrave import mei_from_melody
from roslin.errors import ArgumentError, NotationError, Problem
from roslin.melody import Melody
from roslin.notation.pae import as_catalogued, write
from roslin.notation.record import record_of
from roslin.playback import midi_bytes
from roslin.report.player import drawing
from roslin.web.library import Library, Opened
from roslin.web.requests import Choice, SearchParams, where_to
from roslin.web.settings import MAX_QUERY

LINKED = "application/ld+json"
SITEMAP_ADDRESSES = 50_000  # the most that the protocol allows in one file
_CONTEXT = {
    "@vocab": "https://schema.org/",
    "rism": "https://rism.online/api/v1#",
    "url": {"@type": "@id"},
    "contentUrl": {"@type": "@id"},
    "image": {"@type": "@id"},
    "incipit": "rism:hasIncipit",
    "clef": "rism:hasPAEClef",
    "keysig": "rism:hasPAEKeysig",
    "timesig": "rism:hasPAETimesig",
    "notation": "rism:hasPAEData",
    "mei": {"@id": "rism:meiEncoding", "@type": "@id"},
}

router = APIRouter(include_in_schema=False)


# -- a melody as a file ------------------------------------------------------------------------------------------------


def _pae(melody: Melody) -> str:
    return as_catalogued(melody) if melody.notation == "pae" and melody.music else write(melody)


def _abc(melody: Melody) -> str:
    if melody.notation != "abc" or not melody.music:
        raise NotationError(Problem("not available in ABC", "a melody that its source has in ABC"))
    return melody.music


@dataclass(frozen=True, slots=True)
class Download:
    """A format of one melody: its name on a page, its media type, the suffix of its files, and its writer."""

    name: str
    media_type: str
    suffix: str
    write: Callable[[Melody], str | bytes]


FILES = {
    "midi": Download(N_("MIDI file"), "audio/midi", "mid", midi_bytes),
    "svg": Download(N_("Drawing"), "image/svg+xml", "svg", lambda melody: drawing(melody).svg),
    "pae": Download("Plaine & Easie", "text/plain", "pae", _pae),
    "abc": Download("ABC", "text/vnd.abc", "abc", _abc),
    "mei": Download("MEI", "application/mei+xml", "mei", mei_from_melody),
}
FileFormat = Literal["midi", "svg", "pae", "abc", "mei"]


def as_file(melody: Melody, format: str) -> Response:
    """A melody in one of `FILES`. A drawing is shown by a browser, and other files are downloaded."""
    file = FILES[format]
    headers = {} if format == "svg" else {"Content-Disposition": f'attachment; filename="melody.{file.suffix}"'}
    return Response(file.write(melody), media_type=file.media_type, headers=headers)


def formats_of(melody: Melody) -> list[str]:
    """The names of the formats in which a melody can be written; none without notes."""
    found = ["midi", "svg"] if len(melody) else []
    for format in ("pae", "abc", "mei") if found else ():
        with suppress(NotationError):
            FILES[format].write(melody)
            found.append(format)
    return found


# -- linked data -------------------------------------------------------------------------------------------------------


def base_of(request: Request) -> str:
    """The address of this site as its clients know it, without a slash at its end."""
    return str(request.base_url).rstrip("/")


def page_of(base: str, id: str) -> str:
    """The one address of a melody's page."""
    return f"{base}/melodies/{quote(id)}"


def file_of(base: str, id: str, format: str) -> str:
    """The address of a melody as a file."""
    return f"{base}/api/melodies/{quote(id)}?format={format}"


def wants_linked_data(request: Request) -> bool:
    """Whether the client prefers JSON-LD to a page."""
    weights = dict(map(_weight, request.headers.get("accept", "").split(",")))
    wanted = weights.get(LINKED, 0.0)
    return wanted > max(weights.get(page, 0.0) for page in ("text/html", "application/xhtml+xml"))


def _weight(part: str) -> tuple[str, float]:
    """The media type in a part of an Accept header, and its weight."""
    kind, *parameters = (each.strip() for each in part.lower().split(";"))
    given = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    return kind, float(given) if re.fullmatch(r"[01](\.\d{0,3})?", given) else 0.0


def linked_answer(library: Library, melody: Melody, base: str) -> Response:
    """A melody as JSON-LD."""
    return JSONResponse(linked_data(library, melody, base), media_type=LINKED, headers={"Vary": "Accept"})


def linked_data(library: Library, melody: Melody, base: str) -> dict[str, Any]:
    """What is known about a melody, as a MusicComposition of schema.org. Fields without a value are omitted."""
    id = melody.id or ""
    page, formats = page_of(base, id), formats_of(melody)
    composer = {"@type": "Person", "name": melody.composer} if melody.composer else None
    lyrics = {"@type": "CreativeWork", "text": melody.text} if melody.text else None
    files = [
        {"@type": "MediaObject", "encodingFormat": FILES[format].media_type, "contentUrl": file_of(base, id, format)}
        for format in formats
    ]
    collection = {"@type": "Collection", "@id": f"{base}/", "name": library.title}
    return _known(
        {
            "@context": _CONTEXT,
            "@id": page,
            "@type": "MusicComposition",
            "identifier": id,
            "name": melody.title,
            "composer": composer,
            "musicalKey": melody.key,
            "lyrics": lyrics,
            "url": page,
            "image": file_of(base, id, "svg") if "svg" in formats else None,
            "isPartOf": [collection, *_source(melody, library.settings.link_to(melody))],
            "encoding": files,
            "incipit": _incipit(melody, page, file_of(base, id, "mei") if "mei" in formats else None),
        }
    )


def _source(melody: Melody, link: str | None) -> list[dict[str, Any]]:
    """The record that a melody belongs to; nothing if there is no more than the melody itself."""
    record, held = record_of(melody), said_of(melody, "library")
    archive = {"@type": "ArchiveOrganization", "name": held}
    known = _known(
        {
            "identifier": record if record != melody.id else None,
            "name": melody.source,
            "holdingArchive": archive if held and held != melody.source else None,
            "itemLocation": melody.extra.get("shelfmark"),
            "temporal": said_of(melody, "date"),
            "url": link,
        }
    )
    return [{"@type": "ArchiveComponent", **known}] if known else []


def _incipit(melody: Melody, page: str, mei: str | None) -> dict[str, Any]:
    """The clef, the key signature and the metre, and the music where Plaine & Easie can write it."""
    known = {"clef": melody.clef, "keysig": melody.key_signature, "timesig": melody.metre, "mei": mei}
    if len(melody):
        with suppress(NotationError):
            is_own = melody.notation == "pae" and melody.music
            known |= {"text": _pae(melody), "notation": melody.music if is_own else write(melody, "music")}
    return {"@id": f"{page}#incipit", "@type": "rism:Incipit", **_known(known)}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


# -- crawlers ----------------------------------------------------------------------------------------------------------


@router.get("/robots.txt")
def robots(request: Request) -> Response:
    """What crawlers may read: pages of melodies and their drawings, but no searches."""
    path = str(request.scope.get("root_path", "")).rstrip("/")
    closed = ("/?", "/results", "/explain", "/side-by-side", "/identify", "/list", "/reconcile", "/search", "/api/")
    lines = ["User-agent: *", f"Allow: {path}/api/melodies/", *(f"Disallow: {path}{each}" for each in closed)]
    return PlainTextResponse("\n".join([*lines, f"Sitemap: {base_of(request)}/sitemap.xml", ""]))


@router.get("/sitemap.xml")
def sitemap(request: Request, library: Opened) -> Response:
    """The parts of the sitemap."""
    parts = -(-len(library.collection) // SITEMAP_ADDRESSES)
    return _xml("sitemapindex", "sitemap", [f"{base_of(request)}/sitemap-{part + 1}.xml" for part in range(parts)])


@router.get("/sitemap-{part:int}.xml")
def sitemap_part(request: Request, library: Opened, part: int) -> Response:
    """The pages of up to 50,000 melodies."""
    first, last = (part - 1) * SITEMAP_ADDRESSES, min(part * SITEMAP_ADDRESSES, len(library.collection))
    if not 0 <= first < last:
        raise HTTPException(404, f"the sitemap has no part {part}")
    base = base_of(request)
    return _xml("urlset", "url", [page_of(base, id) for id in library.collection.ids(range(first, last))])


def _xml(whole: str, part: str, addresses: list[str]) -> Response:
    root = Element(whole, xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    for address in addresses:
        SubElement(SubElement(root, part), "loc").text = address
    return Response(tostring(root, encoding="utf-8", xml_declaration=True), media_type="application/xml")


# -- addresses of RISM Online ------------------------------------------------------------------------------------------

_COMPARED = {  # by `im`; the lengths of notes do not count there
    "": {"compare": "melody"},
    "interval": {"compare": "melody"},
    "intervals": {"compare": "melody"},
    "exact-pitches": {"compare": "melody", "key": "written"},
    "contour": {"compare": "contour"},
}
_FILTERS = {"composer": "composer", "time-signature": "metre"}
_LIFE = re.compile(r"\s*\([^()]*\)$")  # the dates after a composer's name


class RismParams(BaseModel):
    """Parameters of RISM Online's incipit search; others, such as the order of its list, are ignored."""

    mode: str = "incipits"
    n: str = Field(default="", max_length=MAX_QUERY - 200)
    im: str = ""
    ic: str = Field(default="", max_length=50)
    it: str = Field(default="", max_length=50)
    ik: str = Field(default="", max_length=50)
    q: str = Field(default="", max_length=200)
    fq: tuple[Choice, ...] = Field(default=(), max_length=40)
    rows: int = Field(default=20, ge=1, le=100)
    page: int = Field(default=1, ge=1, le=100)


@router.get("/search")
def rism_search(request: Request, asked: Annotated[RismParams, Query()]) -> Response:
    """The search that an address of RISM Online's incipit search means (dev/decisions/search-page.md)."""
    if asked.mode != "incipits":
        raise ArgumentError(f"mode={asked.mode}: this site searches incipits; use mode=incipits")
    if asked.im not in _COMPARED:
        raise ArgumentError(f"im={asked.im}: use {', '.join(filter(None, _COMPARED))}")
    wanted = {"words": asked.q, "only": _filters(asked.fq), "k": asked.rows, "page": asked.page}
    if music := asked.n.strip():
        metre, key = f"@{asked.it}" if asked.it else "", f"${asked.ik}" if asked.ik else ""
        text = f"%{asked.ic or 'G-2'}{metre}{key} {music}"
        wanted |= {"q": text, "notation": "pae", **_COMPARED[asked.im]}
    address = where_to(SearchParams.model_validate(wanted), f"{request.scope.get('root_path', '')}/")
    return RedirectResponse(address, 303)


def _filters(given: tuple[str, ...]) -> tuple[str, ...]:
    """The filters that this page has too, as it writes them."""
    found = []
    for each in given:
        name, _, value = each.partition(":")
        text = _LIFE.sub("", value.strip().strip('"'))
        if name in _FILTERS and text:
            found.append(f"{_FILTERS[name]}={text}")
    return tuple(found)
