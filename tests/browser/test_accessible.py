"""The page for everybody: axe on every page, by keyboard alone, as a screen reader has it, in each language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.pages import complaints, is_too_wide
from tests.report.concording import concorded
from tests.web.running import Server, running

from roslin.web.language import LANGUAGES

TUNE = "%G-2@c '4CDEF/GAGE/2D'C//"
FOUND = f"/?q={quote(TUNE)}"
PAGES = {
    "search": "/",
    "results": FOUND,
    "nothing close": f"/?q={quote(chr(39) + '4C,xG' + chr(39) * 2 + 'F,,A' + chr(39) + 'D,,bB')}",
    "explain": f"/explain?q={quote(TUNE)}&candidate=401-1.1.1",
    "melody": "/melodies/400-1.1.1",
    "about": "/about",
    "identify": "/identify",
    "identified": "/identify?id=411-1.1.1",
    "refusal": "/melodies/nobody",
    "concordances": "/concordances",
    "group": "/concordances/groups/400-1.1.1",
}
NARROW, WIDE = (390, 800), (1200, 900)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("accessible")
    concorded(folder)[0].close()
    with running(folder / "tunes.roslin", folder, "--title", "Ten tunes") as started:
        yield started


@pytest.mark.parametrize("same_page", [NARROW, WIDE], ids=["390", "1200"], indirect=True)
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_axe_has_nothing_to_say(same_page: Page, path: str) -> None:
    same_page.goto(path)
    assert complaints(same_page) == []
    assert not is_too_wide(same_page), "nobody has to move it sideways"


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
@pytest.mark.parametrize("same_page", [NARROW, WIDE], ids=["390", "1200"], indirect=True)
def test_axe_has_nothing_to_say_in_other_languages(same_page: Page, language: str) -> None:
    for path in ("/?", f"{FOUND}&"):
        same_page.goto(f"{path}lang={language}")
        assert same_page.locator("html").get_attribute("lang") == language
        assert complaints(same_page) == []
        assert not is_too_wide(same_page)


HEADINGS = {
    "de": "Melodien finden, die Ihrer ähneln",
    "fr": "Trouvez des mélodies qui ressemblent à la vôtre",
    "it": "Trovare melodie simili",
    "en": "Find melodies that resemble yours",
}


@pytest.mark.parametrize("page", [NARROW, WIDE], ids=["phone", "desktop"], indirect=True)
def test_choose_a_language_and_keep_it(page: Page) -> None:
    page.goto("/")
    page.locator("#q").fill(TUNE)
    page.locator("#search .find").click()
    expect(page.locator(".cards .card").first).to_be_visible()
    for code, name in (("de", "Deutsch"), ("fr", "Français"), ("it", "Italiano"), ("en", "English")):
        page.get_by_role("contentinfo").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS[code])
        expect(page.locator("html")).to_have_attribute("lang", code)
        expect(page.locator(".cards .card").first).to_be_visible()
        expect(page).to_have_url(re.compile(f"lang={code}"))
        expect(page.locator(".languages [aria-current]")).to_have_attribute("hreflang", code)
        page.goto("/about")
        expect(page.locator("html")).to_have_attribute("lang", code)
        page.go_back()


def test_the_browser_says_which_language_it_reads(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.address, locale="it-CH")
    page = context.new_page()
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["it"])
    page.locator("#q").fill(TUNE)
    expect(page.locator("#q-message")).to_contain_text("note, lette come Plaine & Easie")
    page.locator("#search .find").click()
    expect(page.locator(".cards .match").first).to_contain_text("tutte le note concordano")
    expect(page).to_have_title(re.compile("^Melodie come do-re-mi-fa-sol-la …"))
    context.close()


FOCUSED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  return { name: (at.getAttribute("aria-label") || at.textContent || at.id).trim().split("\\n")[0], id: at.id,
    tag: at.localName, isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
}"""


def tab_to(page: Page, name: str, key: str = "Tab", most: int = 80) -> list[str]:
    """Go on with a key until something of this name has the focus, which must be seen at every stop."""
    page.wait_for_load_state()  # with the style sheets
    passed: list[str] = []
    for _ in range(most):
        page.keyboard.press(key)
        at = page.evaluate(FOCUSED)
        assert at["isSeen"] or at["tag"] == "body", f"nobody sees that {at} has the focus"
        passed.append(at["id"] or at["name"])
        if name in (at["id"], at["name"]):
            return passed
    raise AssertionError(f"{name!r} is not reached; passed {passed}")


@pytest.mark.parametrize("page", [WIDE], indirect=True)
def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    assert tab_to(page, "Skip to the content") == ["Skip to the content"], "it comes first"
    page.keyboard.press("Enter")
    tab_to(page, "q")
    page.keyboard.type(TUNE)
    passed = tab_to(page, "Find")
    assert passed.index("notation") < passed.index("matcher") < len(passed) - 1
    page.keyboard.press("Enter")
    expect(page.locator("#results-heading")).to_be_focused()
    first = page.locator(".cards h3 a").first.inner_text()
    order = tab_to(page, "Why?")
    assert first in order, "the name of a melody comes before what can be done with it"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("was found")
    tab_to(page, "For researchers: how the distance is calculated")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Distance", exact=True).first).to_be_visible()
    tab_to(page, "Back to the results", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".cards h3 a").first).to_have_text(first)


@pytest.mark.parametrize("page", [WIDE], indirect=True)
def test_as_a_screen_reader_has_it(page: Page) -> None:
    page.goto("/")
    tree = page.locator("body").aria_snapshot()
    for landmark in ("banner:", "main:", "contentinfo:", 'search "Search by melody":', 'navigation "Pages":'):
        assert f"- {landmark}" in tree
    assert re.findall(r'heading "(.*?)" \[level=(\d)\]', tree)[:2] == [
        ("Find melodies that resemble yours", "1"), ("Your melody", "2")
    ]  # fmt: skip
    nameless = re.findall(
        r"^\s*- (?:button|link|textbox|combobox|checkbox|radio|slider)(?!.*\")[^\n]*$", tree, re.MULTILINE
    )
    assert nameless == [], "every control has a name"
    page.locator("#q").fill(TUNE)
    page.locator("#search .find").click()
    expect(page.locator("#told")).to_have_text(re.compile(r"^Found\. \d+ melodies have exactly these 10 notes\."))
    assert page.locator("#told").get_attribute("role") == "status"
    results = page.get_by_role("region", name="Results", exact=True).aria_snapshot()
    levels = [int(level) for level in re.findall(r"heading .*?\[level=(\d)\]", results)]
    assert levels[0] == 2
    assert set(levels[1:]) == {3}, "each melody is a heading below that of the results"
    assert re.search(r'img "Notation of .*?Salve Regina', results)
    assert "every note agrees" in results
    page.locator(".cards .as-text summary").first.click()
    expect(page.locator(".cards .as-text li").first).to_contain_text("Bar 1: C 4 quarter note, D 4 quarter note")


@pytest.mark.parametrize("page", [WIDE], indirect=True)
def test_matches_are_seen_without_colours(page: Page) -> None:
    page.goto(f"/?q={quote(TUNE[:16])}")
    width = "each => each.querySelector('.notehead').getBoundingClientRect().width"
    longer = page.locator(".cards .card svg:has(.matched):has(.note:not(.matched))").first
    matched = longer.locator(".note.matched").first.evaluate(width)
    other = longer.locator(".note:not(.matched)").first.evaluate(width)
    assert matched > 1.25 * other
