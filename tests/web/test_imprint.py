"""site.toml: what is refused, and where the pages show what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.web.conftest import QUIET
from tests.web.test_site import check_shape, expanded

from roslin.errors import ExperimentError
from roslin.web.app import create_app
from roslin.web.imprint import LEAST_CONTRAST, contrast, read_imprint
from roslin.web.settings import Settings

ROOT = Path(__file__).parents[2]
EXAMPLE = re.search(r"```toml\n(.*?)```", (ROOT / "docs/reference/server.md").read_text("utf-8"), re.DOTALL)
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the documentation, with its logo."""
    path = tmp_path_factory.mktemp("site") / "site.toml"
    assert EXAMPLE
    path.write_text(EXAMPLE[1], "utf-8")
    (path.parent / "logo.svg").write_text(LOGO, "utf-8")
    return path


@pytest.fixture(scope="module")
def site(starter: Path, file: Path) -> Iterator[TestClient]:
    served = read_imprint(file).site.served(starter)
    settings = Settings(str(starter), served.name, served.link, iiif=served.iiif, site=str(file), **QUIET)
    with TestClient(create_app(settings)) as opened:
        yield opened


def test_the_contrast_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert LEAST_CONTRAST == 4.5


def test_the_colours_behind_texts_are_those_of_the_style_sheet() -> None:
    from roslin.web import imprint

    sheet = (ROOT / "src/roslin/web/static/style.css").read_text("utf-8")
    for colour in (*imprint._LIGHT, *imprint._DARK):
        assert colour in sheet


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", r"site\.toml: name is missing; expected a line name = \.\.\."),
        ('name = ""', r"site\.toml:1, name: must be text"),
        ('name = "A"\nnme = "B"', r"site\.toml:2, nme: unknown key; expected 'name'\?; found 'nme'"),
        ('name = "A"\nlink = "https://x.example/"', r":2, link: the link must hold at least one of"),
        ('name = "A"\niiif = "https://x.example/{no}"', r":2, iiif: the link must hold at least one of"),
        ('name = "A"\nhome = "x.example"', r":2, home: must be an address; expected https://\.\.\.; found 'x\.ex"),
        ('name = "A"\n[colours]\nlight = "blue"', r":3, colours\.light: must be a colour; expected six digits"),
        (
            'name = "A"\n[colours]\nlight = "#8cc4e8"',
            r":3, colours\.light: the contrast to the background is 1\.6; expected at least 4\.5",
        ),
        (
            'name = "A"\n[colours]\ndark = "#1a5a86"',
            r":3, colours\.dark: the contrast to the background is 1\.9; expected",
        ),
        ('name = "A"\nlogo = "logo.exe"', r":2, logo: must be a picture; expected a file that ends in \.svg or"),
        ('name = "A"\nlogo = "nothing.svg"', r":2, logo: there is no such file; expected a file beside this one"),
        ('name = "A"\nlogo = "large.png"', r":2, logo: the file is too large; expected at most 200 kB"),
        (
            'name = "A"\n[[collections]]\nfolder = "x"\npath = "a b"',
            r":4, collections\[1\]\.path: a root path must be like /tunes",
        ),
    ],
)
def test_refusals(tmp_path: Path, lines: str, words: str) -> None:
    (tmp_path / "site.toml").write_text(lines, "utf-8")
    (tmp_path / "large.png").write_bytes(b"x" * 200_001)
    with pytest.raises(ExperimentError, match=words):
        read_imprint(tmp_path / "site.toml")


def test_every_page_has_the_name_the_logo_and_the_colours(site: TestClient) -> None:
    for address in ("/", "/about", "/melodies/greensleeves", "/nothing"):
        page = site.get(address).text
        assert "Example Library</a>" in page
        assert '<img class="logo" src="/logo" alt="">' in page
        assert '<link rel="stylesheet" href="/site.css">' in page
        assert '<a href="/imprint">Imprint</a>' in page
        assert 'href="mailto:melodies@example.org"' in page
        assert '<a rel="license" href="https://creativecommons.org/publicdomain/zero/1.0/">CC0 1.0</a>' in page
    assert site.get("/logo").text == LOGO
    assert site.get("/logo").headers["content-type"] == "image/svg+xml"
    assert "--link: #7a1f2b" in site.get("/site.css").text
    assert "prefers-color-scheme: dark" in site.get("/site.css").text


@pytest.mark.parametrize(
    ("page", "language", "words"),
    [
        ("imprint", "en", "Library Street 1"),
        ("imprint", "de", "<h1>Impressum</h1>"),
        ("privacy", "en", "deleted after seven days"),
        ("privacy", "fr", "Un cookie enregistre la langue"),
        ("accessibility", "en", "WCAG 2.2 at level AA"),
        ("accessibility", "en", "Last checked: 1 November 2026"),
        ("accessibility", "it", "Segnalare una barriera"),
    ],
)
def test_the_pages_of_the_operator(site: TestClient, page: str, language: str, words: str) -> None:
    assert words in site.get(f"/{page}?lang={language}").text


def test_what_is_written_is_text(starter: Path, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('name = "<b>A</b>"\nprivacy = "<script>x</script>\\n\\nhttps://a.example"')
    with TestClient(create_app(Settings(str(starter), site=str(tmp_path / "site.toml"), **QUIET))) as client:
        page = client.get("/privacy").text
        assert client.get("/imprint").status_code == client.get("/logo").status_code == 404
        assert "/site.css" not in page
    assert "&lt;b&gt;A&lt;/b&gt;" in page
    assert "&lt;script&gt;x" in page
    assert '<a href="https://a.example"' in page


def test_without_a_file_there_are_no_such_pages(client: TestClient) -> None:
    for page in ("imprint", "privacy", "accessibility", "logo"):
        assert client.get(f"/{page}").status_code == 404
    assert client.get("/site.css").text == ""
    assert '<a class="name" href="/">Roslin</a>' in client.get("/").text


def test_linked_data_names_the_provider_the_licence_and_the_images(site: TestClient) -> None:
    known = site.get("/api/melodies/greensleeves?format=jsonld").json()
    check_shape(expanded(known))
    collection, record = known["isPartOf"]
    assert collection["provider"] == {
        "@type": "Organization",
        "name": "Example Library",
        "url": "https://library.example.org/",
    }
    assert collection["license"] == {"@id": "https://creativecommons.org/publicdomain/zero/1.0/"}
    assert record["url"] == "https://catalogue.example.org/records/greensleeves"
    manifest = "https://iiif.example.org/greensleeves/manifest.json"
    assert record["associatedMedia"]["contentUrl"] == manifest
    assert f'<a href="{manifest}"' in site.get("/melodies/greensleeves").text


def test_a_collection_has_its_own_name_and_links(file: Path, starter: Path) -> None:
    site = read_imprint(file).site
    assert site.served(Path("/srv/other.roslin")).path == "other"
    assert site.served(Path("/srv/other.roslin")).link == site.link
    chant = site.served(Path("/srv/cantus-2026.roslin"))
    assert (chant.path, chant.name) == ("chant", "Chant")
    assert chant.link == "https://cantusdatabase.org/id/{id}"
    settings = replace(Settings(str(starter)), iiif="https://x.example/{record}")
    assert settings.iiif
