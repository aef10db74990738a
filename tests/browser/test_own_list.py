"""A list of one's own: kept in the browser, with notes, in an order, shared by address, taken along, printed."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import wait_until
from tests.browser.pages import complaints, is_too_wide
from tests.web.catalogue import FRERE
from tests.web.running import Server

SEARCH = f"/?q={quote(FRERE)}&copies=apart"
both = pytest.mark.parametrize("page", [(1200, 900), (390, 800)], indirect=True, ids=["desk", "phone"])


@pytest.fixture(scope="module")
def server(catalogue_server: Server) -> Server:
    return catalogue_server


def gather(page: Page, *numbers: str) -> None:
    page.goto(SEARCH)
    for number in numbers:
        card = page.locator(".cards .card", has_text=f"Tune {number}")
        card.get_by_role("button", name="Add to my list").click()
        expect(card.get_by_role("button", name="In my list")).to_have_attribute("aria-pressed", "true")


def listed(page: Page) -> list[str]:
    expect(page.locator("[data-listed]").first).to_be_visible()
    return page.locator("[data-listed] h2 a").all_inner_texts()


@both
def test_a_list_is_kept_noted_ordered_and_taken_along(page: Page, tmp_path: Path) -> None:
    gather(page, "100", "105", "104")
    expect(page.locator("#own-list")).to_have_text("My list (3)")
    page.locator(".cards .card", has_text="Tune 104").get_by_role("button", name="In my list").click()
    expect(page.locator("#own-list")).to_have_text("My list (2)")
    page.locator("#own-list").click()
    assert listed(page) == ["Tune 100", "Tune 105"]
    expect(page.locator("[data-listed] svg.notation")).to_have_count(2)
    page.get_by_label("My note").first.fill("=1+1 compare with <b>Dresden</b>")
    page.get_by_role("button", name="Move down").click()
    expect(page.locator("[data-listed] h2 a").first).to_have_text("Tune 105")
    wait_until(page, "document.activeElement.dataset.act === 'up'")
    page.reload()
    assert listed(page) == ["Tune 105", "Tune 100"]
    expect(page.get_by_label("My note").nth(1)).to_have_value("=1+1 compare with <b>Dresden</b>")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    saved.value.save_as(tmp_path / "list.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "list.csv").read_text("utf-8"))))
    assert [(row["id"], row["note"]) for row in rows] == [
        ("105-1.1.1", ""), ("100-1.1.1", "'=1+1 compare with <b>Dresden</b>"),
    ]  # fmt: skip
    assert complaints(page) == []
    assert not is_too_wide(page)
    page.get_by_role("button", name="Remove").first.click()
    expect(page.locator("[data-listed]")).to_have_count(1)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Empty my list").click()
    expect(page.get_by_text("Your list is empty.")).to_be_visible()


def test_a_list_is_shared_by_its_address(page: Page, browser: Browser, server: Server) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    gather(page, "103", "100")
    page.locator("#own-list").click()
    listed(page)
    page.get_by_role("button", name="Copy the address of this list").click()
    expect(page.locator("#list-status")).to_have_text("Copied.")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == f"{server.address}/list?id=103-1.1.1&id=100-1.1.1"
    for scripts in (True, False):
        context = browser.new_context(java_script_enabled=scripts)
        other = context.new_page()
        other.goto(address)
        expect(other.locator("[data-listed] h2 a")).to_have_text(["Tune 103", "Tune 100"])
        with other.expect_download() as saved:
            other.get_by_role("button", name="BibTeX").click()
        assert saved.value.suggested_filename == "list.bib"
        if scripts:
            other.get_by_role("button", name="Add all to my list").click()
            expect(other.locator("#own-list")).to_have_text("My list (2)")
        context.close()


def test_the_link_of_a_search_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(SEARCH)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".exports [role=status]")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize("broken", ["{", "[1, null, {}]", '{"id": 3}'])
def test_what_others_left_in_the_browser_does_no_harm(page: Page, broken: str) -> None:
    page.goto("/list")
    page.evaluate("text => localStorage.setItem('roslin.list', text)", broken)
    page.reload()
    expect(page.get_by_text("Your list is empty.")).to_be_visible()
    gather(page, "100")
    expect(page.locator("#own-list")).to_have_text("My list (1)")


def test_a_printed_list_has_notation_notes_and_citations(page: Page, tmp_path: Path) -> None:
    gather(page, "100", "105")
    page.locator("#own-list").click()
    listed(page)
    page.get_by_label("My note").first.fill("a note to print")
    page.emulate_media(media="print")
    expect(page.locator(".printed-note").first).to_be_visible()
    expect(page.locator(".citation").first).to_be_visible()
    expect(page.locator("svg.notation").first).to_be_visible()
    for hidden in (page.get_by_label("My note").first, page.locator("#list-exports"), page.locator(".tools").first):
        expect(hidden).not_to_be_visible()
    assert page.locator("[data-listed]").first.evaluate("card => getComputedStyle(card).breakInside") == "avoid"
    if folder := os.environ.get("ROSLIN_SCREENSHOTS"):
        page.pdf(path=Path(folder) / "list.pdf")
