"""Melodies for other programs: files, linked data, addresses for crawlers, addresses of RISM Online."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from fastapi.testclient import TestClient
from markupsafe import Markup
from PIL import Image
from pyld import jsonld

from roslin import Collection, Melody, load
from roslin.melody import NOTE_DTYPE
from roslin.notation import records as records_of
from roslin.notation.pae.writer import write_music
from roslin.report.player import pianoroll_svg
from roslin.starter import tunes_path
from roslin.web import site
from roslin.web.app import create_app
from roslin.web.settings import Settings

BASE = "http://testserver"
SCHEMA, RISM = "https://schema.org/", "https://rism.online/api/v1#"
_SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
# The shapes of docs/reference/api.md: the properties of each type, and the kind of their values.
_TEXT, _ADDRESS = "@value", "@id"
SHAPES: dict[str, dict[str, str]] = {
    f"{SCHEMA}MusicComposition": {
        f"{SCHEMA}identifier": _TEXT,
        f"{SCHEMA}name": _TEXT,
        f"{SCHEMA}composer": f"{SCHEMA}Person",
        f"{SCHEMA}musicalKey": _TEXT,
        f"{SCHEMA}lyrics": f"{SCHEMA}CreativeWork",
        f"{SCHEMA}url": _ADDRESS,
        f"{SCHEMA}image": _ADDRESS,
        f"{SCHEMA}isPartOf": f"{SCHEMA}Collection {SCHEMA}ArchiveComponent",
        f"{SCHEMA}encoding": f"{SCHEMA}MediaObject",
        f"{RISM}hasIncipit": f"{RISM}Incipit",
    },
    f"{SCHEMA}Person": {f"{SCHEMA}name": _TEXT},
    f"{SCHEMA}CreativeWork": {f"{SCHEMA}text": _TEXT},
    f"{SCHEMA}Collection": {
        f"{SCHEMA}name": _TEXT,
        f"{SCHEMA}provider": f"{SCHEMA}Organization",
        f"{SCHEMA}license": _ADDRESS,
    },
    f"{SCHEMA}Organization": {f"{SCHEMA}name": _TEXT, f"{SCHEMA}url": _ADDRESS},
    f"{SCHEMA}ArchiveOrganization": {f"{SCHEMA}name": _TEXT},
    f"{SCHEMA}ArchiveComponent": {
        f"{SCHEMA}identifier": _TEXT,
        f"{SCHEMA}name": _TEXT,
        f"{SCHEMA}holdingArchive": f"{SCHEMA}ArchiveOrganization",
        f"{SCHEMA}itemLocation": _TEXT,
        f"{SCHEMA}temporal": _TEXT,
        f"{SCHEMA}url": _ADDRESS,
        f"{SCHEMA}associatedMedia": f"{SCHEMA}MediaObject",
    },
    f"{SCHEMA}MediaObject": {
        f"{SCHEMA}encodingFormat": _TEXT,
        f"{SCHEMA}contentUrl": _ADDRESS,
        f"{RISM}resourceType": _TEXT,
    },
    f"{RISM}Incipit": {
        f"{SCHEMA}text": _TEXT,
        f"{RISM}hasPAEClef": _TEXT,
        f"{RISM}hasPAEKeysig": _TEXT,
        f"{RISM}hasPAETimesig": _TEXT,
        f"{RISM}hasPAEData": _TEXT,
        f"{RISM}meiEncoding": _ADDRESS,
    },
}


def _nothing_is_loaded(address: str, _options: object) -> Any:
    raise AssertionError(f"{address} would be loaded")


def expanded(document: dict[str, Any]) -> dict[str, Any]:
    [whole] = jsonld.expand(document, {"documentLoader": _nothing_is_loaded})
    return dict(whole)


def check_shape(node: dict[str, Any]) -> None:
    """A node has the properties of its type alone, with values of the right kind."""
    kind, *others = node["@type"]
    assert others == [f"{RISM}ExternalResource"] * (f"{RISM}resourceType" in node)
    for name, values in node.items():
        if name in ("@id", "@type"):
            continue
        expected = SHAPES[kind][name]
        for value in values:
            if "@type" in value and expected not in (_TEXT, _ADDRESS):
                assert value["@type"][0] in expected.split()
                check_shape(value)
            else:
                assert list(value) == [expected]
                assert value[expected].strip()


@pytest.fixture(scope="module")
def records(catalogue_settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(catalogue_settings)) as opened:
        yield opened


@pytest.mark.long
def test_every_tune_is_linked_data(client: TestClient) -> None:
    """All of the starter collection: valid JSON-LD of the documented shape, as RDF, and with the music of the tune."""
    tunes = load(tunes_path())
    assert len(tunes) == 243
    for tune in tunes:
        answer = client.get(f"/melodies/{tune.id}", headers={"Accept": "application/ld+json"})
        assert answer.headers["content-type"] == "application/ld+json"
        node = expanded(answer.json())
        check_shape(node)
        assert node["@id"] == f"{BASE}/melodies/{tune.id}"
        [incipit] = node[f"{RISM}hasIncipit"]
        [music] = load(incipit[f"{SCHEMA}text"][0]["@value"])
        assert (music.notes == tune.notes).all()
        triples = jsonld.to_rdf(answer.json(), {"format": "application/n-quads"})
        assert f"<{BASE}/melodies/{tune.id}> <{RISM}hasIncipit> <{BASE}/melodies/{tune.id}#incipit> .\n" in triples


def test_a_record_of_a_catalogue_is_linked_data(records: TestClient) -> None:
    document = records.get("/api/melodies/100-1.1.1?format=jsonld").json()
    check_shape(expanded(document))
    files = [
        {"@type": "MediaObject", "encodingFormat": kind, "contentUrl": f"{BASE}/api/melodies/100-1.1.1?format={name}"}
        for name, kind in [
            ("midi", "audio/midi"), ("svg", "image/svg+xml"), ("png", "image/png"), ("pae", "text/plain"),
            ("abc", "text/vnd.abc"), ("musicxml", "application/vnd.recordare.musicxml+xml"),
            ("mei", "application/mei+xml"),
        ]
    ]  # fmt: skip
    assert document.pop("@context") == {
        "@vocab": SCHEMA,
        "rism": RISM,
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
    assert document == {
        "@id": f"{BASE}/melodies/100-1.1.1",
        "@type": "MusicComposition",
        "identifier": "100-1.1.1",
        "name": "Tune 100",
        "composer": {"@type": "Person", "name": "Grétry, André"},
        "musicalKey": "C",
        "url": f"{BASE}/melodies/100-1.1.1",
        "image": f"{BASE}/api/melodies/100-1.1.1?format=svg",
        "isPartOf": [
            {"@type": "Collection", "@id": f"{BASE}/", "name": "catalogue"},
            {
                "@type": "ArchiveComponent",
                "identifier": "100",
                "name": "catalogue.jsonl",
                "holdingArchive": {"@type": "ArchiveOrganization", "name": "F-Pn"},
                "itemLocation": "D. 1",
                "temporal": "1780",
                "url": "https://example.org/100",
            },
        ],
        "encoding": files,
        "incipit": {
            "@id": f"{BASE}/melodies/100-1.1.1#incipit",
            "@type": "rism:Incipit",
            "text": "%G-2@4/4 '4CDEC/CDEC/EF2G/",
            "clef": "G-2",
            "timesig": "4/4",
            "notation": "'4CDEC/CDEC/EF2G/",
            "mei": f"{BASE}/api/melodies/100-1.1.1?format=mei",
        },
    }


@pytest.mark.parametrize(
    ("accept", "is_linked"),
    [
        ("application/ld+json", True),
        ("application/ld+json, application/json;q=0.9, */*;q=0.1", True),
        ("application/ld+json;profile=x, text/html;q=0.8", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        ("text/html, application/ld+json", False),
        ("application/ld+json;q=0", False),
        ("application/ld+json;q=much", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_a_client_chooses_page_or_linked_data(client: TestClient, accept: str, is_linked: bool) -> None:
    answer = client.get("/melodies/roslin-castle", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith("application/ld+json" if is_linked else "text/html")
    assert "Accept" in re.split(r",\s*", answer.headers["vary"])


def test_melodies_as_files(client: TestClient) -> None:
    assert set(get_args(site.FileFormat)) == set(site.FILES)
    [tune] = (tune for tune in load(tunes_path()) if tune.id == "roslin-castle")
    for format in ("pae", "mei", "musicxml", "abc"):
        answer = client.get(f"/api/melodies/roslin-castle?format={format}")
        assert answer.headers["content-type"].startswith(site.FILES[format].media_type)
        assert answer.headers["content-disposition"] == f'attachment; filename="melody.{format}"'
        [again] = load(answer.content)
        assert (again.notes["pitch_midi"] == tune.notes["pitch_midi"]).all()
        assert (again.notes["duration_ticks"] == tune.notes["duration_ticks"]).all()
    assert client.get("/api/melodies/roslin-castle?format=gif").status_code == 422


def pixels(data: bytes) -> tuple[int, int, float]:
    """Width and height of a picture, and the share of it that is dark."""
    with Image.open(BytesIO(data)) as opened:
        assert opened.format == "PNG"
        grey = np.asarray(opened.convert("L"))
        return opened.width, opened.height, float((grey < 128).mean())


def test_a_melody_as_a_picture(client: TestClient) -> None:
    drawn = client.get("/api/melodies/roslin-castle?format=svg").text
    answer = client.get("/api/melodies/roslin-castle?format=png")
    assert answer.headers["content-type"] == "image/png"
    width, height, dark = pixels(answer.content)
    assert f'width="{width // 2}" height="{height // 2}"' in drawn
    assert 0.03 < dark < 0.3
    card = client.get("/card/roslin-castle")
    assert card.headers["content-type"] == "image/png"
    assert pixels(card.content)[:2] == site.CARD
    assert 0.02 < pixels(card.content)[2] < 0.3
    assert client.get("/card/nothing").status_code == 404


def test_a_long_melody_is_a_picture_of_bounded_size() -> None:
    notes = range(20_000)
    long = Melody.from_notes(notes, [1] * len(notes), [60 + each % 12 for each in notes])
    width, height, dark = pixels(site.picture(pianoroll_svg(long, "")))
    assert width * height <= site.MOST_PIXELS
    assert dark > 0


def test_a_page_offers_the_files_that_there_are(client: TestClient, tmp_path: Path) -> None:
    page = client.get("/melodies/roslin-castle").text
    assert re.findall(r'\?format=(\w+)" download="melody\.(\w+)"', page) == [
        ("midi", "mid"), ("svg", "svg"), ("png", "png"), ("pae", "pae"), ("abc", "abc"),
        ("musicxml", "musicxml"), ("mei", "mei"),
    ]  # fmt: skip
    path = tmp_path / "two.abc"
    path.write_text("X:1\nT:A & B\nK:G\nGABc|d4|\n\nX:2\nM:3/4\nK:D\nV:1\nDEF|\nV:2\nA,B,C|\n", "utf-8")
    with Collection.build(path, tmp_path / "two.roslin") as built:
        one, two = (built[id] for id in built.ids())
    assert site.formats_of(one) == ["midi", "svg", "png", "pae", "abc", "musicxml", "mei"]
    assert site.as_file(one, "abc").body == (one.music or "").encode()
    assert len(set(two.notes["voice"].tolist())) == 2
    assert site.formats_of(two) == ["midi", "svg", "png", "abc", "musicxml", "mei"]
    with TestClient(create_app(Settings(str(tmp_path / "two.roslin"), log_requests=False))) as others:
        check_shape(expanded(others.get(f"/api/melodies/{two.id}?format=jsonld").json()))


@pytest.mark.parametrize(
    ("named", "manifest"),
    [
        ("https://iiif.example.org/9/manifest.json", "https://iiif.example.org/9/manifest.json"),
        ("javascript:alert(1)", "https://x.example/9.json"),
        ("", "https://x.example/9.json"),
    ],
)
def test_the_manifest_of_a_record_goes_before_the_pattern(
    named: str, manifest: str, catalogue_settings: Settings
) -> None:
    melody = load("'4CDEC")[0].with_metadata(id="9-1.1.1", extra={"iiif": named} if named else {})
    settings = replace(catalogue_settings, iiif="https://x.example/{record}.json")
    assert settings.manifest_of(melody) == manifest
    document = site.linked_data(create_app(settings).state.library, melody, BASE)
    check_shape(expanded(document))
    assert document["isPartOf"][1]["associatedMedia"] == {
        "@type": ["MediaObject", "rism:ExternalResource"],
        "encodingFormat": "application/ld+json",
        "contentUrl": manifest,
        "resourceType": "rism:IIIFManifestLink",
    }


def test_a_page_links_to_the_manifest_that_its_record_names(tmp_path: Path) -> None:
    manifest = "https://iiif.example.org/9/manifest.json?a=1&b=2"
    row = {"id": "9-1.1.1", "pae": "'4CDEC", "clef": "G-2", "iiif": manifest}
    (tmp_path / "one.jsonl").write_text(json.dumps(row), "utf-8")
    Collection.build(tmp_path / "one.jsonl", tmp_path / "one.roslin").close()
    with TestClient(create_app(Settings(str(tmp_path / "one.roslin"), log_requests=False))) as client:
        page = client.get("/melodies/9-1.1.1").text
    assert f'<a href="{escape(manifest)}" rel="noopener noreferrer external">Images (IIIF)</a>' in page
    assert page.count(escape(manifest)) == 1  # not among the other fields again


def test_an_incipit_without_notes_has_no_files(catalogue_settings: Settings) -> None:
    melody = Melody(np.empty(0, NOTE_DTYPE), id="9-1.1.2", clef="G-2", key_signature="xF", metre="3/4")
    assert site.formats_of(melody) == []
    document = site.linked_data(create_app(catalogue_settings).state.library, melody, BASE)
    check_shape(expanded(document))
    assert not {"encoding", "image"} & set(document)
    assert document["incipit"] == {
        "@id": f"{BASE}/melodies/9-1.1.2#incipit",
        "@type": "rism:Incipit",
        "clef": "G-2",
        "keysig": "xF",
        "timesig": "3/4",
    }


def test_the_head_of_a_page(records: TestClient) -> None:
    head = records.get("/melodies/100-1.1.1?lang=de").text.partition("</head>")[0]
    assert f'<link rel="canonical" href="{BASE}/melodies/100-1.1.1">' in head
    assert '<link rel="alternate" type="application/ld+json" href="/api/melodies/100-1.1.1?format=jsonld">' in head
    said = dict(re.findall(r'<meta property="og:([^"]*)" content="([^"]*)">', head))
    assert said == {
        "type": "website",
        "site_name": "catalogue",
        "title": "Tune 100",
        "description": "Grétry, André: Tune 100. F-Pn, D. 1. 1780. 100, incipit 1.1.1. https://example.org/100",
        "url": f"{BASE}/melodies/100-1.1.1",
        "image": f"{BASE}/card/100-1.1.1",
        "image:type": "image/png",
        "image:width": "1200",
        "image:height": "630",
        "image:alt": "Noten: Tune 100",
    }
    assert '<meta name="twitter:card" content="summary_large_image">' in head
    assert pixels(records.get(said["image"].removeprefix(BASE)).content)[:2] == site.CARD
    assert "canonical" not in records.get("/").text


def test_ids_are_quoted_in_addresses(tmp_path: Path) -> None:
    id = 'a b/c?d&"<é>'
    row = {"id": id, "pae": "'4CDE", "clef": "G-2"}
    (tmp_path / "odd.jsonl").write_text(json.dumps(row), "utf-8")
    Collection.build(tmp_path / "odd.jsonl", tmp_path / "odd.roslin").close()
    with TestClient(create_app(Settings(str(tmp_path / "odd.roslin"), log_requests=False))) as odd:
        [address] = _addresses(odd, "/sitemap-1.xml")
        assert address == f"{BASE}/melodies/a%20b/c%3Fd%26%22%3C%C3%A9%3E"
        document = odd.get(address, headers={"Accept": "application/ld+json"}).json()
        assert (document["identifier"], document["@id"]) == (id, address)
        assert odd.get(document["incipit"]["mei"]).text.startswith("<mei xmlns=")


def _addresses(client: TestClient, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.headers["content-type"].startswith("application/xml")
    return [str(each.text) for each in ElementTree.fromstring(answer.content).iter(_SITEMAP)]


def test_the_sitemap_has_every_melody_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.SITEMAP_ADDRESSES == 50_000
    assert _addresses(client, "/sitemap.xml") == [f"{BASE}/sitemap-1.xml"]
    expected = [f"{BASE}/melodies/{tune.id}" for tune in load(tunes_path())]
    assert _addresses(client, "/sitemap-1.xml") == expected
    monkeypatch.setattr(site, "SITEMAP_ADDRESSES", 100)
    parts = _addresses(client, "/sitemap.xml")
    assert parts == [f"{BASE}/sitemap-{part}.xml" for part in (1, 2, 3)]
    found = [_addresses(client, part.removeprefix(BASE)) for part in parts]
    assert [len(part) for part in found] == [100, 100, 43]
    assert [address for part in found for address in part] == expected
    for part in (0, 4):
        refused = client.get(f"/sitemap-{part}.xml")
        assert (refused.status_code, f"The sitemap has no part {part}." in refused.text) == (404, True)
    assert client.get("/sitemap-x.xml").status_code == 404


def test_crawlers_read_melodies_and_do_not_search(client: TestClient) -> None:
    lines = client.get("/robots.txt").text.splitlines()
    assert lines[0] == "User-agent: *"
    assert lines[-1] == f"Sitemap: {BASE}/sitemap.xml"
    closed = [line.removeprefix("Disallow: ") for line in lines if line.startswith("Disallow: ")]
    assert not any("/melodies/roslin-castle".startswith(path) or path == "/" for path in closed)
    assert {"/?", "/api/", "/results", "/explain"} <= set(closed)
    assert "Allow: /api/melodies/" in lines
    assert not any("/card/roslin-castle".startswith(path) for path in closed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "query"),
    [
        ("mode=incipits&n=bBA''C'nB", {"q": "%G-2 bBA''C'nB", "notation": "pae", "compare": "melody", "k": "20"}),
        (
            "mode=incipits&n='CDEFG&ic=C-1&ik=bB&it=3/4&im=exact-pitches&rows=40&page=2&sort=relevance",
            {
                "q": "%C-1@3/4$bB 'CDEFG",
                "notation": "pae",
                "compare": "melody",
                "key": "written",
                "k": "40",
                "page": "2",
            },
        ),
        ("n=CDEFG&im=intervals", {"q": "%G-2 CDEFG", "notation": "pae", "compare": "melody", "k": "20"}),
        ("n=CDEFG&im=interval", {"q": "%G-2 CDEFG", "notation": "pae", "compare": "melody", "k": "20"}),
        ("n=CDEFG&im=contour", {"q": "%G-2 CDEFG", "notation": "pae", "compare": "contour", "k": "20"}),
        ("mode=incipits&q=castle&im=contour", {"words": "castle", "k": "20"}),
        (
            'mode=incipits&fq=composer:"Bach, Johann (1685-1750)"&fq=time-signature:4/4&fq=clef:G-2&fq=composer:',
            {"only": ["composer=Bach, Johann", "metre=4/4"], "k": "20"},
        ),
        ("mode=incipits", {"k": "20"}),
    ],
)
def test_addresses_of_rism_online(client: TestClient, address: str, query: dict[str, Any]) -> None:
    answer = client.get(f"/search?{address}", follow_redirects=False)
    assert answer.status_code == 303
    target = urlsplit(answer.headers["location"])
    assert (target.netloc, target.path) == ("", "/")
    expected = {name: value if isinstance(value, list) else [value] for name, value in query.items()}
    assert parse_qs(target.query) == expected
    assert client.get(answer.headers["location"]).status_code == 200


def test_an_address_of_rism_online_finds_its_melody(records: TestClient) -> None:
    found = records.get("/search?mode=incipits&n=CDECCDECEFG&fq=composer:Bach, Johann")
    assert re.findall(r'href="/melodies/([^"]*)"', found.text)[0] == "103-1.1.1"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mode=people&q=Bach", "Mode=people: this site searches incipits; use mode=incipits."),
        ("n=CDE&im=rhythm", "Im=rhythm: use interval, intervals, exact-pitches, contour."),
        ("n=CDE&rows=0", "Rows: Input should be greater than or equal to 1"),
        (f"n={'C' * 8000}", "N: String should have at most 7800 characters"),
    ],
)
def test_other_addresses_of_rism_online_are_refused(client: TestClient, address: str, words: str) -> None:
    refused = client.get(f"/search?{address}")
    assert refused.status_code == 422
    assert words in refused.text


@pytest.mark.long
def test_a_thousand_pages_of_a_catalogue_are_linked_data(catalogue_settings: Settings, data_folder: Path) -> None:
    """Real records, with all that catalogues write: valid JSON-LD of the documented shape, with readable music."""
    library = create_app(catalogue_settings).state.library
    found = [
        record.melody
        for record in islice(records_of(data_folder / "rism" / "muscat_sample_0.xml.gz"), 1200)
        if record.melody
    ]
    assert len(found) >= 1000
    for melody in found[:1000]:
        document = json.loads(json.dumps(site.linked_data(library, melody, BASE)))
        node = expanded(document)
        check_shape(node)
        assert node["@id"].startswith(f"{BASE}/melodies/")
        [music] = load(document["incipit"]["text"])
        assert (music.notes["pitch_midi"] == melody.notes["pitch_midi"]).all()


@pytest.mark.long
def test_a_hundred_addresses_of_rism_online_find_their_tunes(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tune of the starter collection by its first notes, with each mode and the parameters that go with it.

    Nothing is drawn: some of these lists have a hundred melodies.
    """
    monkeypatch.setattr("roslin.web.pages.melody_figure", lambda *_: Markup(""))
    asked = 0
    for tune in load(tunes_path())[::9][:25]:
        clef, music = tune.clef or "G-2", write_music(tune[:12])
        for mode in ("", "&im=intervals", f"&im=exact-pitches&ic={clef}", "&im=contour&rows=100&it=3/4"):
            key = f"&ik={tune.key_signature}" if tune.key_signature else ""
            answer = client.get(f"/search?mode=incipits&n={quote(music)}{key}{mode}")
            assert answer.status_code == 200
            ids = re.findall(r'href="/melodies/([^"?]*)"', answer.text)
            assert tune.id in ids, (tune.id, mode)
            asked += 1
    assert asked == 100
