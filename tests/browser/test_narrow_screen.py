"""Notation on a telephone held upright: all of it is in sight, or a cue shows where the rest is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import wait_until
from tests.browser.experts import ready, served
from tests.browser.pages import cut_drawings, drawn_notes, is_too_wide, keep, serious_complaints
from tests.experiment.studies import starter_study
from tests.report.concording import concorded
from tests.web.running import Server, running

from roslin import Collection, load
from roslin.report.document import explanation_page, results_page
from roslin.starter import tunes_path

PHONE = (390, 844)
TUNE = "'4xFFGA/AGFE/DDEF/4.F8E2E/4FFGA/AGFE/DDEF/4.E8D2D//'4EEFD/E8FG4FD/E8FG4FE/DE,2A/"
phone = pytest.mark.parametrize("page", [PHONE], indirect=True, ids=["phone"])
same_phone = pytest.mark.parametrize("same_page", [PHONE], indirect=True, ids=["phone"])


def whole(page: Page) -> None:
    assert cut_drawings(page) == [], page.url
    assert not is_too_wide(page), page.url


@same_phone
@pytest.mark.parametrize(
    "path",
    [
        f"/?q={quote(TUNE)}",
        "/melodies/white-cockade",
        f"/explain?q={quote(TUNE)}&candidate=ode-to-joy",
        f"/side-by-side?q={quote(TUNE)}&methods=roslin&methods=dp",
        "/list?id=white-cockade&id=ode-to-joy",
    ],
)
def test_all_of_a_drawing_is_in_sight(same_page: Page, path: str) -> None:
    same_page.goto(path)
    expect(same_page.locator("figure.melody .drawing > svg:visible").first).to_be_visible()
    same_page.wait_for_load_state("networkidle")
    whole(same_page)
    same_page.locator(".cards, figure.melody").first.scroll_into_view_if_needed()
    keep(same_page, f"phone-{path.split('?')[0].strip('/').split('/')[0] or 'results'}.png")


@same_phone
def test_what_is_drawn_for_a_phone_is_large_enough_to_read(same_page: Page) -> None:
    """Lines of the staff are at least four pixels apart: half of a printed page."""
    same_page.goto(f"/?q={quote(TUNE)}")
    expect(same_page.locator(".cards .card").first).to_be_visible()
    apart = same_page.evaluate(
        """[...document.querySelectorAll(".drawing > svg")].filter(one => one.checkVisibility()).map(one => {
          const lines = [...one.querySelectorAll(".staff > path")].map(each => each.getBoundingClientRect().top);
          return lines[1] - lines[0];
        })"""
    )
    assert min(apart) > 4


def test_one_drawing_is_shown_and_it_fits_when_the_window_changes(page: Page) -> None:
    page.goto("/melodies/white-cockade")
    for width, kind in ((1100, "notation"), (390, "narrow"), (844, "notation")):
        page.set_viewport_size({"width": width, "height": 700})
        expect(page.locator("figure.melody .drawing > svg:visible")).to_have_count(1)
        expect(page.locator("figure.melody .drawing > svg:visible")).to_have_class(kind)
        whole(page)


@phone
def test_the_entry_draws_for_the_width_that_it_has(page: Page) -> None:
    page.goto("/")
    page.locator("#q").fill(TUNE)
    systems = "document.querySelectorAll('#preview svg .system').length"
    wait_until(page, f"{systems} > 2")
    whole(page)
    count = drawn_notes(page).count()
    page.set_viewport_size({"width": 1100, "height": 800})
    wait_until(page, f"{systems} < 3 && {systems} > 0")
    expect(drawn_notes(page)).to_have_count(count)


def test_aligned_lines_have_a_cue_where_they_go_on(browser: Browser, aligned: Server) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{aligned.address}/concordances/groups/400-1.1.1")
    cue = page.locator(".staves .cue")
    expect(cue).to_be_visible()
    expect(cue).to_have_text("Scroll sideways to see the rest. →")
    place = page.locator(".staves")
    place.scroll_into_view_if_needed()
    keep(page, "phone-concordances.png")
    place.evaluate("place => place.scrollTo(place.scrollWidth, 0)")
    box = cue.bounding_box()
    assert box is not None
    assert 0 <= box["x"] < PHONE[0] / 2  # it stays in sight
    cut = """place => [...place.querySelectorAll(".about-line")].filter(one =>
      one.getBoundingClientRect().left < place.getBoundingClientRect().left
      || one.getBoundingClientRect().right > place.getBoundingClientRect().right + 1).length"""
    assert place.evaluate(cut) == 0  # and so does what is said of each line
    whole(page)
    assert serious_complaints(page) == []
    page.set_viewport_size({"width": 2500, "height": 900})
    expect(cue).to_be_hidden()
    page.close()


def test_all_of_a_report_is_in_sight(browser: Browser, tmp_path: Path) -> None:
    with Collection.build(tunes_path(), tmp_path / "tunes.roslin") as collection:
        found = collection.explain(TUNE, "ode-to-joy")
        run = collection.search(TUNE)
        query = load(TUNE, format="pae")[0]
        listed = results_page(query, run, [collection[hit.id] for hit in run], "")
    for name, text in (("explanation", explanation_page(found, "")), ("results", listed)):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / f"{name}.html").as_uri())
        whole(page)
        keep(page, f"phone-report-{name}.png")
        page.close()


def test_all_of_a_trial_is_in_sight(browser: Browser, tmp_path: Path) -> None:
    with served(starter_study(tmp_path, queries=1, others=8, differences=True), tmp_path) as study:
        context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page = study.enter(context, study.invited(until="practice"))
        whole(page)
        page.goto(study.link(study.invited()))
        ready(page)
        whole(page)
        expect(page.locator("#query .drawing > svg:visible")).to_have_class("narrow")
        query = page.locator("#query .drawing")
        assert query.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
        keep(page, "phone-trial.png")
        page.locator(".candidate .difference").first.tap()
        expect(page.locator("#differences .told")).to_contain_text("partner")
        whole(page)
        marks = "document.querySelectorAll('#differences svg.{} .sign-of-difference').length"
        assert page.evaluate(f"{marks.format('narrow')} === {marks.format('notation')}")
        keep(page, "phone-differences.png")
        page.locator("#differences [data-close]").tap()
        for number in range(page.locator(".candidate").count()):
            page.locator(f'[data-candidate="{number}"] [data-verdict-button="resembles"]').first.tap()
        page.locator(".all-sorted button").tap()
        page.locator(".begin button").tap()
        expect(page.locator("#list li")).to_have_count(1)
        whole(page)
        keep(page, "phone-ordering.png")
        context.close()


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("aligned")
    concorded(folder)[0].close()
    with running(folder / "tunes.roslin", folder) as started:
        yield started
