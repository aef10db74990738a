"""The melodies for other programs: files and linked data of each, addresses for crawlers, addresses of RISM Online.

`FILES` has the formats of a melody as a file. `linked_data` describes a melody in JSON-LD, with the terms of schema.org
and, for the incipit, those of RISM Online (docs/reference/api.md). The context is a part of each document: a reader of
it loads nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import sqrt
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
from roslin.engrave.exports import abc_from_melody, musicxml_from_melody
from roslin.errors import ArgumentError, NotationError
from roslin.melody import Melody
from roslin.notation.pae import as_catalogued, write
from roslin.notation.record import record_of
from roslin.playback import midi_bytes
from roslin.report.player import drawing
from roslin.report.svg import placed
from roslin.report.svg import svg as svg_of
from roslin.web.language import weights
from roslin.web.library import Library, Opened
from roslin.web.rendering import download, path_here
from roslin.web.requests import Choice, SearchParams, where_to
from roslin.web.settings import MAX_QUERY, Settings

LINKED = "application/ld+json"
SITEMAP_ADDRESSES = 50_000  # the most that the protocol allows in one file
MOST_PIXELS = 8_000_000  # of a picture
_ZOOM = 2  # of a picture, whose drawing has the size for a page
CARD = 1200, 630  # pixels of a card, in the shape that social networks show
_CARD_NOTES, _CARD_MARGIN = 24, 30  # the notes that fill it, and the margin of its narrow page
_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')
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
    "resourceType": "rism:resourceType",
}

router = APIRouter(include_in_schema=False)


# -- a melody as a file ------------------------------------------------------------------------------------------------


def _pae(melody: Melody) -> str:
    return as_catalogued(melody) if melody.notation == "pae" and melody.music else write(melody)


def _abc(melody: Melody) -> str:
    return melody.music if melody.notation == "abc" and melody.music else abc_from_melody(melody)


def picture(svg: str) -> bytes:
    """A drawing as PNG, black on white. A very large one gets a smaller scale."""
    import resvg_py

    width, height = map(float, _SIZE.findall(svg)[0])
    zoom = min(_ZOOM, sqrt(MOST_PIXELS / (width * height)))
    return resvg_py.svg_to_bytes(svg_string=svg, background="white", zoom=zoom, skip_system_fonts=True)


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
    "png": Download("PNG", "image/png", "png", lambda melody: picture(drawing(melody).svg)),
    "pae": Download("Plaine & Easie", "text/plain", "pae", _pae),
    "abc": Download("ABC", "text/vnd.abc", "abc", _abc),
    "musicxml": Download("MusicXML", "application/vnd.recordare.musicxml+xml", "musicxml", musicxml_from_melody),
    "mei": Download("MEI", "application/mei+xml", "mei", mei_from_melody),
}
FileFormat = Literal["midi", "svg", "png", "pae", "abc", "musicxml", "mei"]


def as_file(melody: Melody, format: str) -> Response:
    """A melody in one of `FILES`. Drawings are shown by a browser, and other files are downloaded."""
    file = FILES[format]
    if file.media_type.startswith("image/"):
        return Response(file.write(melody), media_type=file.media_type)
    return download(file.write(melody), file.media_type, f"melody.{file.suffix}")


def formats_of(melody: Melody) -> list[str]:
    """The names of the formats in which a melody can be written; none without notes."""
    found = ["midi", "svg", "png"] if len(melody) else []
    for format in ("pae", "abc", "musicxml", "mei") if found else ():
        with suppress(NotationError):
            FILES[format].write(melody)
            found.append(format)
    return found


@router.get("/card/{id:path}")
def card(library: Opened, id: str) -> Response:
    """The beginning of a melody, as the picture that social networks show beside a link to its page."""
    beginning = drawing(library.collection[id][:_CARD_NOTES], layout="narrow").svg
    width, height = (pixels / _ZOOM for pixels in CARD)
    room = placed(beginning, _CARD_MARGIN, _CARD_MARGIN, width - 2 * _CARD_MARGIN, height - 2 * _CARD_MARGIN)
    return Response(picture(svg_of([room], width, height, "")), media_type="image/png")


# -- linked data -------------------------------------------------------------------------------------------------------


def base_of(request: Request) -> str:
    """The address of this site as its clients know it, without a slash at its end."""
    return str(request.base_url).rstrip("/") + path_here()


def page_of(base: str, id: str) -> str:
    """The one address of a melody's page."""
    return f"{base}/melodies/{quote(id)}"


def card_of(base: str, id: str) -> str:
    """The address of the picture of a melody for social networks."""
    return f"{base}/card/{quote(id)}"


def file_of(base: str, id: str, format: str) -> str:
    """The address of a melody as a file."""
    return f"{base}/api/melodies/{quote(id)}?format={format}"


def wants_linked_data(request: Request) -> bool:
    """Whether the client prefers JSON-LD to a page."""
    given = weights(request.headers.get("accept", "").lower())
    return given.get(LINKED, 0.0) > max(given.get(page, 0.0) for page in ("text/html", "application/xhtml+xml"))


def linked_answer(library: Library, melody: Melody, base: str) -> Response:
    """A melody as JSON-LD."""
    return JSONResponse(linked_data(library, melody, base), media_type=LINKED, headers={"Vary": "Accept"})


def linked_data(library: Library, melody: Melody, base: str) -> dict[str, Any]:
    """The metadata of a melody, as a MusicComposition of schema.org. Fields without a value are omitted."""
    id = melody.id or ""
    page, formats = page_of(base, id), formats_of(melody)
    composer = {"@type": "Person", "name": melody.composer} if melody.composer else None
    lyrics = {"@type": "CreativeWork", "text": melody.text} if melody.text else None
    files = [
        {"@type": "MediaObject", "encodingFormat": FILES[format].media_type, "contentUrl": file_of(base, id, format)}
        for format in formats
    ]
    collection = {"@type": "Collection", "@id": f"{base}/", "name": library.title}
    if library.imprint:
        site = library.imprint.site
        provider = _known({"@type": "Organization", "name": site.name, "url": site.home})
        licence = {"@id": site.licence_link} if site.licence_link else None
        collection |= _known({"provider": provider, "license": licence})
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
            "isPartOf": [collection, *_source(melody, library.settings)],
            "encoding": files,
            "incipit": _incipit(melody, page, file_of(base, id, "mei") if "mei" in formats else None),
        }
    )


def _source(melody: Melody, settings: Settings) -> list[dict[str, Any]]:
    """The record that a melody belongs to; nothing if there is no more than the melody itself."""
    record, held = record_of(melody), said_of(melody, "library")
    archive, manifest = {"@type": "ArchiveOrganization", "name": held}, settings.manifest_of(melody)
    pictures = {
        "@type": ["MediaObject", "rism:ExternalResource"],
        "encodingFormat": LINKED,
        "contentUrl": manifest,
        "resourceType": "rism:IIIFManifestLink",
    }
    known = _known(
        {
            "identifier": record if record != melody.id else None,
            "name": melody.source,
            "holdingArchive": archive if held and held != melody.source else None,
            "itemLocation": melody.extra.get("shelfmark"),
            "temporal": said_of(melody, "date"),
            "url": settings.link_to(melody),
            "associatedMedia": pictures if manifest else None,
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
    """Rules for crawlers."""
    return robots_below(request, [""])


def robots_below(request: Request, paths: Iterable[str]) -> Response:
    """Rules for the collections below these paths: crawlers may read melodies and their drawings, but not search."""
    closed = ("/?", "/results", "/explain", "/side-by-side", "/identify", "/list", "/reconcile", "/search", "/api/")
    lines = ["User-agent: *"]
    for path in (path_here() + each for each in paths):
        lines += [f"Allow: {path}/api/melodies/", *(f"Disallow: {path}{each}" for each in closed)]
    return PlainTextResponse("\n".join([*lines, f"Sitemap: {base_of(request)}/sitemap.xml", ""]))


@router.get("/sitemap.xml")
def sitemap(request: Request, library: Opened) -> Response:
    """The parts of the sitemap."""
    return sitemap_index({base_of(request): library})


def sitemap_index(libraries: Mapping[str, Library]) -> Response:
    """The parts of the sitemaps of collections, which are by their addresses."""
    parts = [
        f"{base}/sitemap-{part + 1}.xml"
        for base, library in libraries.items()
        for part in range(-(-len(library.collection) // SITEMAP_ADDRESSES))
    ]
    return _xml("sitemapindex", "sitemap", parts)


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
    """Parameters of RISM Online's incipit search. Others, such as the order of its list, are ignored."""

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
def rism_search(asked: Annotated[RismParams, Query()]) -> Response:
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
    return RedirectResponse(where_to(SearchParams.model_validate(wanted), "/"), 303)


def _filters(given: tuple[str, ...]) -> tuple[str, ...]:
    """The filters that this page has too, as it writes them."""
    found = []
    for each in given:
        name, _, value = each.partition(":")
        text = _LIFE.sub("", value.strip().strip('"'))
        if name in _FILTERS and text:
            found.append(f"{_FILTERS[name]}={text}")
    return tuple(found)
