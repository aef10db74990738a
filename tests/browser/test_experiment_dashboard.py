"""The dashboard of the experimenter in a real browser: at a desk and on a phone, readable for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.experts import Served, served
from tests.browser.pages import is_too_wide, keep, serious_complaints
from tests.experiment.filling import filled
from tests.experiment.studies import PASSWORD_FILE, starter_study

PAGES = ("/study", "/study/queries/1", "/study/invitations", "/study/people", "/study/people/1", "/study/receipts")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("dashboard")
    folder = starter_study(place, queries=4, others=3, quota=15, query_among_candidates=True)
    with served(folder, place) as opened:
        filled(opened.store, 11)
        yield opened


DESK, PHONE = (1100, 900), (390, 800)
at_a_desk = pytest.mark.parametrize("manager", [DESK], indirect=True, ids=["desk"])


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def manager(browser: Browser, study: Served, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Somebody who has signed in."""
    width, height = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height}, base_url=study.server.address, has_touch=width < 500
    )
    page = context.new_page()
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("console", lambda said: failed.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto("/study/login")
    page.get_by_label("Password of the dashboard").fill((study.folder.path.parent / PASSWORD_FILE).read_text().strip())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    yield page
    context.close()
    assert not failed


def test_every_page_can_be_read_by_everybody(manager: Page) -> None:
    for address in PAGES:
        manager.goto(address)
        if address == "/study":
            expect(manager.get_by_role("table").first).to_contain_text("are separated")
        assert not is_too_wide(manager), address
        assert serious_complaints(manager) == [], address
        if address == "/study" and manager.viewport_size and manager.viewport_size["width"] > 500:
            keep(manager, "experiment-dashboard.png")
        if address == "/study/queries/1" and manager.viewport_size and manager.viewport_size["width"] > 500:
            keep(manager, "experiment-dashboard-query.png")


@at_a_desk
def test_the_numbers_follow_what_happens(manager: Page, study: Served) -> None:
    invited = int(re.sub(r"\D", "", manager.locator(".funnel tr").first.locator("td").first.inner_text()))
    study.store.invite()
    expect(manager.locator(".funnel tr").first.locator("td").first).to_have_text(str(invited + 1))


def test_a_pause_and_links_by_hand(manager: Page, study: Served) -> None:
    manager.get_by_role("button", name="Pause").click()
    expect(manager.get_by_text("The study is paused.")).to_be_visible()
    assert study.store.status == "paused"
    manager.get_by_role("button", name="Open it").click()
    expect(manager.get_by_text("The study is open.")).to_be_visible()
    manager.get_by_role("link", name="Invitations").click()
    manager.get_by_label("How many").fill("2")
    manager.get_by_role("button", name="Make links").click()
    links = manager.get_by_label("One per participant").input_value().split()
    assert len(links) == 2
    assert all(link.startswith(f"{study.server.address}/e/") for link in links)


@at_a_desk
def test_downloads_arrive(manager: Page, tmp_path: Path) -> None:
    manager.get_by_role("link", name="Downloads").click()
    with manager.expect_download() as download:
        manager.get_by_role("button", name="Download").click()
    assert re.fullmatch(r"test-csv-.*\.zip", download.value.suggested_filename)
    manager.get_by_role("button", name="Make a backup now").click()
    expect(manager.get_by_role("link", name=re.compile(r"test-.*\.backup")).first).to_be_visible()
