"""Concordances in a real browser: a cataloguer goes through groups with the keyboard, and reads the report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.pages import is_too_wide, serious_complaints
from tests.report.concording import NASTY, concorded
from tests.web.running import Server, running

from roslin.concordances.concordance import Concordances
from roslin.concordances.review import Review
from roslin.report.concordances import write_report

PHONE = (390, 800)
GROUP = "/concordances/groups/400-1.1.1"


@pytest.fixture(scope="module")
def catalogued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Concordances]]:
    folder = tmp_path_factory.mktemp("concordances")
    opened, found = concorded(folder)
    yield folder, found
    opened.close()


@pytest.fixture(scope="module")
def server(catalogued: tuple[Path, Concordances]) -> Iterator[Server]:
    folder, _ = catalogued
    with running(folder / "tunes.roslin", folder) as started:
        yield started


def readable(page: Page) -> None:
    """Nobody is kept from using the page."""
    assert not is_too_wide(page), page.url
    assert serious_complaints(page) == [], page.url


def sign_in(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("You review as")).to_be_visible()


def press(page: Page, key: str) -> None:
    """A key, once the script of the page is there to hear it."""
    page.wait_for_load_state()
    page.keyboard.press(key)


def decided(folder: Path, name: str) -> list[tuple[str, str, str]]:
    made = Review.open(folder / "tunes.roslin").decisions
    return [(each.first, each.verdict, each.note) for each in made if each.author == name]


def test_a_cataloguer_decides_with_the_keyboard(page: Page, catalogued: tuple[Path, Concordances]) -> None:
    sign_in(page, GROUP, "Keys")
    press(page, "n")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Hasse")
    page.get_by_label("Note", exact=True).fill("are u sure")  # letters in a note decide nothing
    page.get_by_role("heading", level=1).click()
    press(page, "a")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Haydn")
    expect(page.locator(".done")).to_contain_text("accepted")
    press(page, "r")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Vogel")
    page.get_by_label("keys a r u n p").uncheck()
    press(page, "u")
    press(page, "p")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Vogel")
    page.get_by_label("keys a r u n p").check()
    press(page, "p")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Haydn")
    assert decided(catalogued[0], "Keys") == [("410-1.1.1", "accept", "are u sure"), ("420-1.1.1", "reject", "")]


def test_everything_works_without_scripts(
    browser: Browser, server: Server, catalogued: tuple[Path, Concordances]
) -> None:
    context = browser.new_context(base_url=server.address, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, "/concordances", "Plain")
    page.get_by_label("Kind of group").select_option("attribution")
    page.get_by_role("button", name="Show").click()
    page.locator("ol.groups a").first.click()
    pair = page.get_by_role("form", name="Decide about B and C")
    pair.get_by_role("textbox").fill(NASTY)
    pair.get_by_role("button", name="Reject").click()
    expect(page.get_by_text(f"Plain: rejected, {NASTY}")).to_be_visible()
    page.get_by_role("form", name="Decide about the group").get_by_role("button", name="Undecided").click()
    expect(page.get_by_role("heading", name="Concordances")).to_be_visible()  # there is no other group of the kind
    context.close()
    made = decided(catalogued[0], "Plain")
    assert made[0] == ("402-1.1.1", "reject", NASTY)
    assert [verdict for _, verdict, _ in made[1:]] == ["undecided"] * 4


@pytest.mark.parametrize("page", [(1100, 900), PHONE], indirect=True, ids=["desk", "phone"])
def test_the_pages_can_be_read_by_everybody(page: Page) -> None:
    page.goto(GROUP)
    readable(page)
    sign_in(page, "/concordances", "Reader")
    readable(page)
    page.goto(GROUP)
    page.get_by_text("2 pairs of sources").click()
    expect(page.get_by_role("form", name="Decide about 401-1.1.1 and 402-1.1.1")).to_be_visible()
    expect(page.get_by_role("button", name="Listen to A of group 1")).to_be_visible()
    expect(page.locator(".staves .mark.pitch")).not_to_have_count(0)
    readable(page)


@pytest.mark.parametrize("page", [(1280, 900), PHONE], indirect=True, ids=["desk", "phone"])
def test_a_cataloguer_looks_for_a_record_and_its_group(page: Page) -> None:
    page.goto("/concordances")
    page.get_by_role("link", name="By record").click()
    listed = page.locator("ol.groups > li")
    expect(listed).to_have_count(6)
    readable(page)
    page.get_by_label("Library").select_option("D-Dl")
    page.get_by_label("Composer").fill("  HASSE ")
    page.get_by_role("button", name="Show").click()
    expect(listed).to_have_count(1)
    expect(page).to_have_url(re.compile("/concordances/records[?].*library=D-Dl"))
    page.get_by_role("link", name="By group").click()
    expect(page).not_to_have_url(re.compile("/concordances/records"))
    expect(listed).to_have_count(1)
    page.get_by_role("link", name="By record").click()
    expect(page).to_have_url(re.compile("/concordances/records"))
    listed.get_by_role("link", name="410 and 411").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Hasse")
    expect(page.get_by_text("in this selection")).to_be_visible()


@pytest.mark.parametrize("size", [(1100, 900), PHONE], ids=["desk", "phone"])
def test_the_report_filters_and_plays(
    browser: Browser, catalogued: tuple[Path, Concordances], tmp_path: Path, size: tuple[int, int]
) -> None:
    _, found = catalogued
    address = write_report(found, tmp_path / "page.html").as_uri()
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda made: asked.append(made.url))
    page.goto(address)
    readable(page)
    shown = page.locator("section.group:visible")
    expect(shown).to_have_count(4)
    page.locator("#filters [name=library]").select_option("D-Dl")
    expect(shown).to_have_count(2)
    expect(page.locator("#left")).to_have_text("2 of 4 groups")
    page.locator("#filters [name=composer]").fill("hasse")
    expect(shown).to_have_count(1)
    page.get_by_role("button", name="All").click()
    expect(shown).to_have_count(4)
    page.get_by_role("heading", level=1).click()
    for _ in range(2):
        page.keyboard.press("n")
    expect(page.locator("#group-2")).to_be_focused()
    page.get_by_role("button", name="Listen to A of group 2").click()
    expect(page.get_by_role("button", name="Listen to A of group 2")).to_have_attribute("aria-pressed", "true")
    folder = write_report(found, tmp_path / "folder")
    page.goto(folder.as_uri())
    readable(page)
    page.locator("#filters [name=kind]").select_option("libraries")
    page.get_by_role("link", name="3", exact=True).click()
    expect(page.locator("#group-3")).to_be_visible()
    context.close()
    assert all(each.startswith("file:") for each in asked), asked
