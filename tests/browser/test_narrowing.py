"""Lists narrowed, ordered and unfolded in a browser: at a desk, on a phone, and without any script."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import wait_until
from tests.browser.pages import complaints, is_too_wide
from tests.web.catalogue import FRERE
from tests.web.running import Server

SEARCH = f"/?q={quote(FRERE)}"
SIZES = [(1200, 900), (390, 800)]
both = pytest.mark.parametrize("page", SIZES, indirect=True, ids=["desk", "phone"])


@pytest.fixture(scope="module")
def server(catalogue_server: Server) -> Server:
    return catalogue_server


def titles(page: Page) -> list[str]:
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    return page.locator(".cards .head h3 a").all_inner_texts()


@both
def test_narrow_order_and_unfold(page: Page) -> None:
    page.goto(SEARCH)
    expect(page.locator(".cards .card")).to_have_count(3)
    copies = page.locator(".copies").first
    expect(copies.get_by_text("F-Pn")).not_to_be_visible()
    copies.locator("summary").click()
    expect(copies.get_by_role("link", name="Tune 101")).to_be_visible()
    page.get_by_text("Narrow this list").click()
    library = page.get_by_role("region", name="Library")
    expect(library.get_by_role("listitem").filter(has_text="D-Dl")).to_contain_text("2")
    library.get_by_role("link", name="D-Dl").click()
    expect(page.get_by_text("2 of 5 are shown.")).to_be_visible()
    assert set(titles(page)) == {"Tune 101", "Tune 103"}
    expect(page).to_have_url(re.compile("only=library%3Dd-dl"))
    page.get_by_role("region", name="Library").get_by_role("link", name="D-B").click()
    expect(page.get_by_text("3 of 5 are shown.")).to_be_visible()
    expect(page.locator(".chosen-list a")).to_have_count(3)
    page.get_by_role("link", name="by date").click()
    expect(page.locator(".orders [aria-current]")).to_have_text("by date")
    assert titles(page) == ["Tune 103", "Tune 101", "Tune 105"]  # the last is below the line
    page.go_back()
    expect(page.locator(".orders [aria-current]")).to_have_text("most similar first")
    page.get_by_role("link", name="Remove all").click()
    expect(page.locator(".chosen-list")).to_have_count(0)
    page.get_by_role("link", name="List them one by one").click()
    expect(page.locator(".cards .card")).to_have_count(6)
    assert not is_too_wide(page)


@both
def test_words_alone_list_melodies(page: Page) -> None:
    page.goto("/")
    page.get_by_text("Narrow the collection").click()
    page.locator("#f-words").fill("bach")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#results-heading")).to_have_text("2 melodies")
    assert titles(page) == ["Tune 103", "Tune 105"]


@both
def test_a_keyboard_is_enough(page: Page) -> None:
    page.goto(SEARCH)
    page.locator(".facets > summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("region", name="Key").get_by_role("link", name="G major").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("One of 5 is shown.")).to_be_visible()
    wait_until(page, "document.activeElement.id === 'results-heading'")


@pytest.mark.parametrize("same_page", SIZES, indirect=True, ids=["desk", "phone"])
def test_no_barriers(same_page: Page) -> None:
    for address in (f"{SEARCH}&only=century%3D18", "/?words=tune&only=key%3Dc"):
        same_page.goto(address)
        assert complaints(same_page) == []


def test_links_are_enough(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.address, java_script_enabled=False)
    page = context.new_page()
    page.goto(SEARCH)
    page.get_by_text("Narrow this list").click()
    page.get_by_role("link", name="C major").click()
    expect(page.get_by_text("3 of 5 are shown.")).to_be_visible()
    page.get_by_role("link", name="by composer").click()
    expect(page.locator(".orders [aria-current]")).to_have_text("by composer")
    expect(page.get_by_role("button", name="Copy link")).to_have_count(0)
    context.close()


@both
def test_methods_side_by_side(page: Page) -> None:
    """Two columns at a desk, one below the other on a phone."""
    page.goto(SEARCH)
    page.get_by_role("link", name="Compare matchers side by side").click()
    expect(page.get_by_text("Also found by matcher 2.").first).to_be_visible()
    page.wait_for_load_state()  # with the style sheets
    first, second = (page.locator(".columns > section").nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert second is not None
    viewport = page.viewport_size
    assert viewport is not None
    assert (first["x"] + first["width"] <= second["x"]) == (viewport["width"] > 1000)
    page.get_by_label("Matcher 3").select_option("us")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".columns > section")).to_have_count(3)
    assert complaints(page) == []
    assert not is_too_wide(page)
    page.get_by_role("link", name="Back to the results").click()
    expect(page.locator("#results-heading")).to_be_visible()
