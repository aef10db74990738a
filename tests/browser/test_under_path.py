"""The search page at a path of another site, and several collections there, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.catalogue import catalogue
from tests.web.running import running

from roslin import Collection
from roslin.starter import tunes_path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "server.md"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("below")
    Collection.build(tunes_path(), folder / "starter.roslin").close()
    with running(folder / "starter.roslin", folder, "--root-path", "/tunes") as server:
        yield f"{server.address}/tunes"


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two collections, with the example of site.toml in the documentation."""
    folder = tmp_path_factory.mktemp("several")
    Collection.build(tunes_path(), folder / "starter.roslin").close()
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert example
    (folder / "site.toml").write_text(example[1].replace("cantus-2026", "catalogue"), "utf-8")
    (folder / "logo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    )
    options = (str(catalogue(folder)), "--root-path", "/tunes", "--site", str(folder / "site.toml"))
    with running(folder / "starter.roslin", folder, *options) as server:
        yield f"{server.address}/tunes"


@pytest.fixture(params=[(390, 844), (1280, 800)], ids=["390", "1280"])
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    found: tuple[int, int] = request.param
    return found


@contextmanager
def visit(browser: Browser, below: str, size: tuple[int, int]) -> Iterator[Page]:
    """A page that asks for nothing outside of its path."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda made: asked.append(made.url))
    opened.goto(f"{below}/")
    yield opened
    context.close()
    assert all(address.startswith(f"{below}/") for address in asked), asked


@pytest.fixture
def visiting(browser: Browser, below: str, size: tuple[int, int]) -> Iterator[Page]:
    with visit(browser, below, size) as page:
        yield page


def check_width(page: Page) -> None:
    page.wait_for_load_state()  # with the style sheet
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url


def test_several_collections(browser: Browser, several: str, size: tuple[int, int]) -> None:
    with visit(browser, several, size) as page:
        page.get_by_label("Search all collections").last.fill("c d e c c d e c")
        check_width(page)
        page.get_by_role("button", name="Find").click()
        cards = page.locator("ol.cards > li.card")
        expect(cards).to_have_count(20)
        expect(cards.first).to_contain_text("Frère Jacques")
        check_width(page)
        page.locator("ol.cards a[href*='/chant/melodies/']").first.click()
        expect(page.get_by_role("link", name="Images (IIIF)")).to_be_visible()
        check_width(page)
        page.get_by_role("button", name="Add to my list").click()
        expect(page.locator("#own-list")).to_contain_text("(1)")
        page.get_by_role("link", name="All collections").click()
        page.get_by_role("link", name="starter", exact=True).click()
        expect(page).to_have_url(f"{several}/starter/")
        expect(page.locator("form#search")).to_be_visible()
        expect(page.locator("nav a").first).to_have_css("color", "rgb(122, 31, 43)")
        page.wait_for_load_state()  # with the script that counts
        expect(page.locator("#own-list")).not_to_contain_text("(")  # each collection has its own
        for name in ("Imprint", "Privacy", "Accessibility"):
            page.get_by_role("link", name=name).click()
            expect(page.locator("h1")).to_have_text(name)
            check_width(page)


def test_search_explain_list_and_download(visiting: Page, below: str, tmp_path: Path) -> None:
    page = visiting
    page.get_by_role("link", name="Greensleeves").click()
    first = page.locator("ol.cards > li.card").first
    expect(first).to_contain_text("Greensleeves")
    expect(page).to_have_url(re.compile(f"^{re.escape(below)}/[?]q="))
    first.get_by_role("button", name="Add to my list").click()
    with page.expect_download() as download:
        first.get_by_role("link", name="MIDI").click()
    download.value.save_as(tmp_path / "melody.mid")
    assert (tmp_path / "melody.mid").read_bytes()[:4] == b"MThd"
    first.get_by_role("link", name="Why?").click()
    expect(page).to_have_url(re.compile(f"^{re.escape(below)}/explain[?]"))
    expect(page.locator("h1")).to_be_visible()
    page.get_by_role("link", name="My list").click()
    expect(page.locator("[data-listed]")).to_have_count(1)
    page.locator("[data-listed]").get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text("Greensleeves")
    expect(page).to_have_url(re.compile(f"^{re.escape(below)}/melodies/"))
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("link", name="Meine Liste")).to_be_visible()
    page.get_by_role("link", name="Suchen", exact=True).click()
    expect(page.locator("form#search")).to_be_visible()
    check_width(page)
