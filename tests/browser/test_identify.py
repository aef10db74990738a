"""Who is it by, in a real browser: a record is pasted or sent, and the sources of its tune are seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.pages import is_too_wide, keep, serious_complaints
from tests.web.running import Server
from tests.web.test_identify import FAULTY, MARC, record

JOY = "'4xFFGA/AGFE/DDEF/4.F8E2E/4FFGA/AGFE/DDEF/4.E8D2D/"
OTHER = "'8D4.A8{GFE}2D/8xC4.B8{AGF}2E/"
RECORD = record("990012345", JOY, OTHER)


def test_a_record_is_pasted(page: Page) -> None:
    page.set_viewport_size({"width": 1100, "height": 1500})
    page.goto("/")
    page.get_by_role("link", name="Identify").click()
    page.get_by_label("A MARCXML record, an incipit").fill(RECORD)
    page.get_by_role("button", name="Identify").click()
    expect(page.get_by_role("heading", name="Record 990012345")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text("Ludwig van Beethoven in 4 sources;")
    expect(page.get_by_text("1 of 2 incipits were found there.")).to_be_visible()
    first = page.locator(".cards .card").first
    expect(first.locator("svg.notation")).to_have_count(2)
    expect(first.locator(".matched").first).to_be_visible()
    keep(page, "web-identify.png")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert not serious_complaints(page)
    first.get_by_role("link", name="Why ode-to-joy?").click()
    expect(page.get_by_role("heading", name="Corresponding notes")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_encoding_is_checked(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/identify")
    page.get_by_label("A MARCXML record, an incipit").fill(FAULTY)
    page.get_by_role("button", name="Identify").click()
    table = page.get_by_role("region", name="The encoding")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table).to_contain_text("unreadable clef: read 'G2' as G-2")
    expect(page.locator(".lead")).to_contain_text("Ludwig van Beethoven in ")
    assert not is_too_wide(page)
    assert not serious_complaints(page)


def test_a_file_without_scripts_on_a_phone(browser: Browser, server: Server, tmp_path: Path) -> None:
    (tmp_path / "two.xml").write_text(MARC)
    context = browser.new_context(
        java_script_enabled=False, base_url=server.address, viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    page.goto("/identify")
    page.get_by_label("Or a file, in any notation").set_input_files(tmp_path / "two.xml")
    page.get_by_label("If it contains several records").fill("78")
    page.get_by_role("button", name="Identify").click()
    expect(page.get_by_role("heading", name="Nothing close was found")).to_be_visible()
    expect(page.get_by_text("This is the answer for 78.")).to_be_visible()
    page.get_by_label("A MARCXML record, an incipit").fill("no music")
    page.get_by_role("button", name="Identify").click()
    expect(page.get_by_role("heading", name="That did not work")).to_be_visible()
    expect(page.get_by_label("A MARCXML record, an incipit")).to_have_value("no music")
    context.close()
