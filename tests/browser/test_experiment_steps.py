"""The pages of a study around its trials, as people see them: by phone in German and in the dark, and at a desk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import wait_for
from tests.browser.experts import Served, served
from tests.browser.pages import is_too_wide, serious_complaints
from tests.experiment.studies import small_study

_QUESTIONS = """
[[questions]]
name = "years"
kind = "number"
label = { en = "Years of music", de = "Jahre mit Musik" }
required = true
[[questions]]
name = "training"
kind = "choice"
label = { en = "Training", de = "Ausbildung" }
required = true
choices = { some = { en = "Lessons", de = "Unterricht" }, none = { en = "None", de = "Keine" } }
[[questions]]
name = "reads"
kind = "choices"
label = { en = "Clefs", de = "Schlüssel" }
choices = { g = { en = "treble", de = "Violinschlüssel" }, f = { en = "bass", de = "Bassschlüssel" } }
[[questions]]
name = "more"
kind = "text"
label = { en = "Anything else?", de = "Sonst noch etwas?" }
"""
_PHONE = {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "has_touch": True}
_PEOPLE: dict[str, dict[str, Any]] = {
    "phone": {**_PHONE, "locale": "de-DE", "color_scheme": "dark"},
    "desk": {"viewport": {"width": 1200, "height": 800}, "locale": "en-GB"},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("steps")
    with served(small_study(place, _QUESTIONS), place) as opened:
        yield opened


@pytest.fixture(params=list(_PEOPLE))
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(**_PEOPLE[request.param])
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    failed: list[str] = []
    context.on("weberror", lambda error: failed.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert not failed


def test_every_page_around_the_trials(study: Served, page: Page, tmp_path: Path) -> None:
    address = study.server.address

    def fine() -> None:
        assert serious_complaints(page) == [], page.url
        assert not is_too_wide(page), f"{page.url} is wider than the screen"
        expect(page.locator("h1")).to_have_count(1)

    def go_on(path: str) -> None:
        with page.expect_navigation(url=f"{address}{path}"):  # it may be the address of this page
            page.locator("main .go").first.click()
        fine()

    page.goto(f"{address}/")
    fine()
    study.store.set_state("invitation", "an-invitation")
    page.goto(f"{address}/join/an-invitation")
    fine()
    go_on("/link")
    link = page.locator("#link").input_value()
    assert re.fullmatch(rf"{address}/e/[0-9a-f]{{20}}\.[\w-]{{43}}", link)
    page.locator("#copy").click()
    expect(page.locator("#copied")).to_have_text(re.compile("Copied|Kopiert"))
    assert page.evaluate("navigator.clipboard.readText()") == link
    go_on("/consent")
    page.locator("#agree").check()
    go_on("/questions")
    page.locator("textarea").fill("Nothing")
    go_on("/questions")
    assert page.locator(".question .problem").count() == 2
    assert page.locator("[aria-invalid]").first.get_attribute("aria-describedby") == "q1-problem"
    expect(page.locator("textarea")).to_have_value("Nothing")
    page.locator("#q1").fill("12")
    page.get_by_label(re.compile("Lessons|Unterricht")).check()
    page.get_by_label(re.compile("treble|Violin")).check()
    go_on("/instructions")
    page.goto(f"{address}/withdraw")
    fine()
    study.store.set_status("paused")
    page.goto(f"{address}/continue")
    assert page.url == f"{address}/wait"
    fine()
    study.store.set_status("open")
    page.goto(f"{address}/e/nobody")
    fine()
    page.goto(f"{address}/withdraw")
    page.locator("#sure").check()
    page.locator("main button.go").click()
    expect(page.locator("h1")).to_have_text(re.compile("You have withdrawn|zurückgezogen"))
    fine()
    page.goto(link)
    expect(page.locator("h1")).to_have_text(re.compile("no such page|gibt es nicht"))
    page.goto(f"{address}/trial")
    fine()


def test_another_language_by_a_button(study: Served, browser: Browser) -> None:
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(study.link(study.store.invite()[0].name))
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page).to_have_url(re.compile("/consent$"))
    context.close()


def test_two_experts_in_one_browser_do_not_answer_for_each_other(study: Served, browser: Browser) -> None:
    first, second = study.invited(), study.invited()
    context = browser.new_context(viewport={"width": 1200, "height": 800}, locale="en-GB")
    mine = study.enter(context, first)
    theirs = study.enter(context, second)
    before = len(study.store.events(second))
    mine.bring_to_front()
    mine.locator('.candidate[data-candidate="0"] [data-verdict-button="no"]').click()
    expect(mine.locator("#kept")).to_contain_text("open your personal link again")
    assert len(study.store.events(second)) == before
    theirs.close()
    mine.close(run_before_unload=False)
    again = study.enter(context, first)
    wait_for(again, lambda: study.numbers(first)["verdicts"] == {1: "no"})  # it waited in the browser for its owner
    context.close()
