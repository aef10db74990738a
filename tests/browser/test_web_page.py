"""The web page in a real browser: a musician plays, types and sends melodies, finds them, hears them, sees why."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import wait_for, wait_until
from tests.browser.pages import drawn_notes, is_too_wide, keep, press, serious_complaints

from roslin import load
from roslin.playback import midi_bytes

ROSLIN = "%G-2@4/4$bBE '4D/4.G8A4B8{AG}/''4.D8E4D8{C'B}/"
FRERE = "'4CDEC/CDEC/EF2G/"
PHONE = (360, 740)


def cards(page: Page) -> list[str]:
    expect(page.locator("#results-heading")).to_be_visible()
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    page.wait_for_load_state()  # with all cards
    return page.locator(".cards h3 a").all_inner_texts()


def test_play_a_tune_and_find_it(page: Page) -> None:
    page.goto("/")
    press(page, 60, 62, 64, 60, 60, 62, 64, 60, 64, 65)
    page.get_by_role("radio", name="Half note").check(force=True)
    press(page, 67, 61)
    expect(page.locator("#q")).to_have_value("'4CDECCDECEF2GxC")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#q")).to_have_value("'4CDECCDECEF2G")
    expect(drawn_notes(page)).to_have_count(11)
    page.get_by_role("button", name="Rest", exact=True).click()
    page.get_by_role("button", name="An octave higher").click()
    press(page, 72)
    expect(page.locator("#q")).to_have_value("'4CDECCDECEF2G-''C")
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Find").click()
    assert cards(page)[0] == "Frère Jacques"
    expect(page).to_have_url(re.compile("q=%274CDECCDECEF2G"))
    expect(page.locator(".cards .card").first.locator(".matched").first).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#q")).to_have_value("")
    expect(page.get_by_text("Play on the keys below")).to_be_visible()


@pytest.mark.parametrize("page", [(1280, 900), (390, 844)], ids=["desk", "phone"], indirect=True)
def test_a_link_to_a_search_shows_its_first_result(page: Page) -> None:
    page.goto(f"/?q={quote(FRERE)}")
    expect(page.locator("#results-heading")).to_be_in_viewport()
    expect(page.locator(".cards h3").first).to_be_in_viewport()
    page.goto("/")
    expect(page.locator("h1")).to_be_in_viewport()


def test_naturals_after_an_accidental_and_text_of_others(page: Page) -> None:
    page.goto("/")
    press(page, 60)
    page.locator('[data-pitch="61"]').focus()
    page.keyboard.press("Enter")
    press(page, 60)
    expect(page.locator("#q")).to_have_value("'4CxCnC")
    page.locator("#q").fill("X:1\nK:G\nGAB")
    expect(drawn_notes(page)).to_have_count(3)
    press(page, 65)
    expect(page.locator("#q")).to_have_value("%G-2$xF '8GAB4nF")


def test_a_midi_keyboard(page: Page) -> None:
    page.add_init_script(
        """window.keyboard = {};
        navigator.requestMIDIAccess = async () => ({ inputs: new Map([["one", window.keyboard]]) });"""
    )
    page.goto("/")
    page.get_by_role("button", name="Use a MIDI keyboard").click()
    expect(page.get_by_role("button", name="MIDI keyboard is on")).to_be_visible()
    for message in ([0x90, 60, 90], [0x80, 60, 0], [0x93, 74, 20], [0x90, 74, 0], [0xB0, 64, 127]):
        page.evaluate("data => keyboard.onmidimessage({ data })", message)
    expect(page.locator("#q")).to_have_value("'4C''D")


def test_an_error_is_shown_at_its_column(page: Page) -> None:
    page.goto("/")
    page.locator("#q").fill("'4CDE?F")
    message = page.locator("#q-message")
    expect(message).to_contain_text("4 notes, read as Plaine & Easie.")
    expect(message).to_contain_text("left out '?' at column 6")
    keep(page, "web-error.png")
    page.locator("#q").fill("'4CDEF")
    expect(message).to_have_text("4 notes, read as Plaine & Easie.")
    page.locator("#q").fill("CDE Q")
    page.locator("#notation").select_option("abc")
    expect(message).to_contain_text("left out 'Q' at line 1, column 5")
    page.locator("#q").fill("?!")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".refusal")).to_contain_text("no notes")


def test_upload_a_midi_file(page: Page, tmp_path: Path) -> None:
    page.goto("/")
    (tmp_path / "tune.mid").write_bytes(midi_bytes(load("%G-2@4/4 " + FRERE)[0]))
    page.locator("#file").set_input_files(tmp_path / "tune.mid")
    expect(page.locator("#q-message")).to_have_text("11 notes, read as Plaine & Easie.")
    page.get_by_role("button", name="Find").click()
    assert cards(page)[0] == "Frère Jacques"
    (tmp_path / "two.abc").write_text("X:1\nT:One\nK:C\nCDEF\n\nX:2\nT:Two\nK:C\nGABc\n")
    page.locator("#file").set_input_files(tmp_path / "two.abc")
    page.locator("#choice").select_option(label="Two (4 notes)")
    expect(page.locator("#q")).to_have_value("%G-2 '8GAB''C")
    (tmp_path / "noise.mid").write_bytes(b"noise")
    page.locator("#file").set_input_files(tmp_path / "noise.mid")
    expect(page.locator("#file-message.bad")).not_to_be_empty()


def test_explain(page: Page) -> None:
    page.set_viewport_size({"width": 1100, "height": 1400})
    page.goto(f"/?q={quote(ROSLIN)}&copies=apart")
    page.locator(".cards .card", has_text="roslin-castle-2").get_by_role("link", name="Why?").click()
    expect(page.get_by_role("heading", name="Corresponding notes")).to_be_visible()
    expect(page.locator("svg.flow")).to_be_visible()
    expect(page.locator("svg.flow line[stroke-linecap]")).not_to_have_count(0)
    expect(page.locator(".lead")).to_have_text("The same notes, a minor third lower; every note agrees.")
    page.get_by_role("link", name="Back to the results").click()
    assert cards(page)[0].startswith("Roslin Castle")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_pattern_is_mended_and_narrows_the_search(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/?q=" + quote(FRERE))
    page.get_by_text("Narrow the collection").click()
    page.get_by_label("Pattern of intervals and rhythm").fill(" +2 +2 ((")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("alert")).to_contain_text("Pattern, column")
    page.get_by_label("Pattern of intervals and rhythm").fill(" ^ +2 +2  -3 ")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".cards h3 a").first).to_have_text("Frère Jacques")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert not is_too_wide(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_melody_backwards(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/?q=" + quote("'4CEDC/CEDC/2GF4E"))  # Frère Jacques from its end
    page.get_by_text("For researchers").click()
    page.get_by_label("Search for the melody").select_option("backwards")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".cards h3 a").first).to_have_text("Frère Jacques")
    expect(page).to_have_url(re.compile("direction=retrograde"))
    page.reload()
    expect(page.get_by_label("Search for the melody")).to_have_value("retrograde")
    assert not is_too_wide(page)


def test_back_from_an_explanation_to_the_whole_search(page: Page) -> None:
    page.goto(f"/?q={quote(ROSLIN)}&matcher=alignment&place=start&note_count=8..&page=2")
    before, address = cards(page), page.url
    page.locator(".cards .card").nth(2).get_by_role("link", name="Why?").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("was found")
    page.get_by_text("For researchers").click()
    expect(page.get_by_role("heading", name="Notes side by side")).to_be_visible()
    page.get_by_role("link", name="Back to the results").click()
    assert cards(page) == before
    assert sorted(parse_qsl(urlsplit(page.url).query)) == sorted(parse_qsl(urlsplit(address).query))
    expect(page.get_by_label("Number of notes")).to_have_value("8..")
    expect(page.get_by_label("Where in a melody")).to_have_value("start")


def test_how_far_a_slow_search_is(page: Page) -> None:
    """Lines come one by one; the line on the page is as long as the share, and the page takes its place."""
    page.goto("/")
    page.evaluate(
        """() => {
          const original = window.fetch, code = new TextEncoder();
          window.fetch = (address, options) => String(address).startsWith("/results") ? Promise.resolve(new Response(
            new ReadableStream({ start(lines) {
              window.say = value => lines.enqueue(code.encode(JSON.stringify(value) + "\\n"));
            } }), { headers: { "content-type": "application/x-ndjson" } })) : original(address, options);
        }"""
    )
    page.locator("#q").fill(FRERE)
    page.get_by_role("button", name="Find").click()
    bar, status = page.get_by_role("progressbar"), page.locator("#share")
    expect(bar).to_be_visible()
    expect(status).to_have_text("Searching …")
    assert bar.get_attribute("aria-valuenow") is None
    page.evaluate("say({ done: 0.25 })")
    expect(bar).to_have_attribute("aria-valuenow", "25")
    expect(status).to_have_text("Searching, 25%")
    expect(bar.locator("rect")).to_have_attribute("width", "25%")
    page.evaluate("say({ done: 1 })")
    expect(status).to_have_text("Drawing …")
    page.evaluate("say({ page: '<h2 id=results-heading tabindex=-1>Here</h2>' })")
    expect(page.locator("#results-heading")).to_have_text("Here")
    expect(bar).to_be_hidden()
    expect(status).to_be_hidden()


def test_hear_it_from_the_match(page: Page) -> None:
    page.goto("/?q='4EF2G/4EF2G&matcher=emd&title=Jacques")
    button = page.locator(".cards .card").first.get_by_role("button", name="from the match")
    page.evaluate(  # the clock of the sound card stops in the first note: a busy computer may miss one that passes
        """() => {
          let clock = 0;
          Object.defineProperty(BaseAudioContext.prototype, "currentTime", { get: () => clock });
          document.addEventListener("roslin:play", () => { clock = 0.1; });
          window.lit = []; new MutationObserver(changes => changes.forEach(({ target }) => {
          if (target.classList.contains("sounding")) window.lit.push(target.dataset.note);
        })).observe(document.body, { subtree: true, attributeFilter: ["class"] }); }"""
    )
    button.click()
    wait_until(page, "roslinPlayer.state() === 'running'")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_contain_text("Stop")
    wait_until(page, "lit.length > 0")
    assert page.evaluate("lit[0]") == "8"
    page.keyboard.press("Escape")
    expect(button).to_contain_text("From the match")
    expect(page.locator(".sounding")).to_have_count(0)


def test_back_button_shared_address_and_more_like_this(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Greensleeves").click()
    first = cards(page)
    assert first[0] == "Greensleeves"
    shared = page.url
    expect(page.locator(".meaning").last).to_have_text("no more alike than chance")
    expect(page.locator(".cards > .chance")).to_have_text("Results below this line are no better than chance.")
    expect(page.locator("#results-heading")).to_have_text("Found")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#results-heading")).to_have_text("Results 11 to 20")
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("#results-heading")).to_have_text("Found")
    page.locator(".cards .card").first.get_by_role("link", name="More like this").click()
    expect(page.locator("#like-name")).to_have_text("Greensleeves")
    expect(page).to_have_url(re.compile("id=greensleeves"))
    page.go_back()
    page.go_back()
    expect(page.locator("#results-heading")).to_have_text("Results 11 to 20")
    page.go_back()
    expect(page.locator("#results-heading")).to_have_text("Found")
    expect(page.locator(".cards > .chance")).to_be_visible()
    assert cards(page) == first
    expect(page.locator("#q")).to_have_value("%G-2@6/8 '8A/''4C8D8.E6xF8E/4D'8B8.G6A8B/''4C'8A8.A6xG8A/")
    page.go_back()
    expect(page.get_by_text("Try one of these")).to_be_visible()
    page.goto(shared)
    assert cards(page) == first


def test_filters_matchers_and_places_are_in_the_address(page: Page) -> None:
    page.goto("/")
    page.locator("#q").fill(FRERE)
    page.get_by_text("Narrow the collection").click()
    page.get_by_label("Number of notes").fill("..12")
    page.get_by_label("Compare by").select_option("dp")
    expect(page.locator("#matcher-sentence")).to_contain_text("Counts the notes to insert")
    page.get_by_label("Where in a melody").select_option("start")
    page.get_by_label("What counts").select_option("melody")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("Number of notes at most 12.")).to_be_visible()
    expect(page).to_have_url(re.compile("note_count=[.][.]12(&|$)"))
    expect(page).to_have_url(re.compile("matcher=dp&compare=melody&place=start"))
    page.reload()
    expect(page.get_by_label("Number of notes")).to_have_value("..12")
    expect(page.get_by_label("Where in a melody")).to_have_value("start")
    with page.expect_download() as taken:
        page.get_by_role("link", name="CSV").click()
    assert taken.value.path().read_text().startswith("rank,distance,expected,meaning,above_chance,same_notes,id,title")


def test_a_query_shows_what_the_card_under_the_pointer_has(page: Page) -> None:
    page.goto(f"/?q={quote(ROSLIN)}")
    rows = page.locator(".cards .card").evaluate_all("all => all.map(one => JSON.parse(one.dataset.matched))")
    fewer = next(number for number, matched in enumerate(rows) if 0 < len(matched) < len(rows[0]))
    page.locator(".cards .card").nth(fewer).hover()
    expect(page.locator(".query .matched")).to_have_count(len(rows[fewer]))


def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/")

    def tab_to(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached")

    tab_to(".skip")
    tab_to(".key")
    page.keyboard.type("asdaasdadf")  # the letters of the keys
    page.keyboard.press("Backspace")
    page.keyboard.press("f")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_have_value("'4CDECCDECEFG")
    tab_to("#q")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    tab_to(".find")
    page.keyboard.press("Enter")
    assert cards(page)[0] == "Frère Jacques"
    expect(page.locator("#results-heading")).to_be_focused()
    tab_to(".cards .play")
    page.keyboard.press("Enter")
    expect(page.locator(".cards .play").first).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")


def test_a_key_keeps_the_focus_when_the_window_changes(page: Page) -> None:
    page.goto("/")
    keys = page.locator("#keys .key")
    before = keys.count()
    page.locator('[data-pitch="64"]').focus()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(keys).not_to_have_count(before)
    expect(page.locator('[data-pitch="64"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_have_value("'4E")


def test_the_piano_goes_by_the_places_of_the_keys(page: Page) -> None:
    """The left key of the middle row is the first white key, whatever the layout of the keyboard prints on it."""
    page.goto("/")
    first = page.locator("#keys .key").first
    first.focus()
    pressed = [("q", "KeyA"), ("a", "KeyQ"), ("z", "KeyY"), ("ф", "KeyA")]  # AZERTY twice, QWERTZ, Cyrillic
    for key, code in pressed:
        first.dispatch_event("keydown", {"key": key, "code": code, "bubbles": True})
    expect(drawn_notes(page)).to_have_count(3)
    notes = json.loads(page.locator("#preview").get_attribute("data-notes") or "")
    assert [pitch for *_, pitch in notes] == [60, 68, 60]


@pytest.mark.parametrize("page", [PHONE], indirect=True, ids=["phone"])
def test_a_narrow_phone(page: Page) -> None:
    for path in (
        "/",
        f"/?q={FRERE}",
        f"/explain?q={FRERE}&candidate=frere-jacques",
        "/melodies/roslin-castle",
        "/about",
    ):
        page.goto(path)
        assert not is_too_wide(page), path
    page.goto("/")
    widths = page.locator(".key.white").evaluate_all("keys => keys.map(key => key.getBoundingClientRect().width)")
    assert min(widths) >= 32
    page.locator('[data-pitch="67"]').tap(position={"x": 9, "y": 100})
    page.locator('[data-pitch="66"]').tap()
    expect(page.locator("#q")).to_have_value("'4GxF")
    page.goto(f"/?q={FRERE}")


@pytest.mark.parametrize("page", [(1100, 900), PHONE], indirect=True, ids=["desktop", "phone"])
def test_nothing_moves_while_results_come(page: Page) -> None:
    page.goto("/")
    page.evaluate(
        """() => { window.moved = 0; new PerformanceObserver(list => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
        }).observe({ type: "layout-shift", buffered: true }); }"""
    )

    held: list[Route] = []
    page.route("**/results*", lambda route: held.append(route))
    page.locator("#q").fill(FRERE)
    expect(page.locator("#preview svg.notation")).to_be_visible()
    page.get_by_role("button", name="Find").click()
    wait_for(page, lambda: held)
    expect(page.locator("#progress")).to_be_visible()
    page.wait_for_timeout(600)  # browsers count no shift within half a second of a click
    held[0].continue_()
    assert cards(page)[0] == "Frère Jacques"
    expect(page.locator("#progress")).to_be_hidden()
    assert page.evaluate("window.moved") < 0.01


def test_nothing_close_is_said_first(page: Page) -> None:
    page.goto("/")
    page.locator("#q").fill("'4C,xG''F,,A'D,,bB''C,xF")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("#results-heading")).to_have_text("Nothing better than chance; the closest are shown")
    expect(page.locator("#results-heading")).to_be_focused()
    expect(page.get_by_text("so the rhythm was ignored")).to_be_visible()
    page.get_by_label("Compare by").select_option("gam")
    page.get_by_label("What counts").select_option("contour")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".refusal")).to_contain_text("Gam cannot compare contours")
    expect(page.locator(".refusal")).to_contain_text("these can: roslin")


def test_a_server_that_does_not_answer(page: Page) -> None:
    page.goto("/")
    page.route("**/results*", lambda route: route.abort())
    page.locator("#q").fill(FRERE)
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".refusal")).to_have_text("The server does not answer.")
    page.unroute("**/results*")
    broken = {"status": 200, "content_type": "application/x-ndjson", "body": '{"done": 0.5}\n'}
    page.route("**/results*", lambda route: route.fulfill(**broken))
    page.locator("#q").fill("'4CDE")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator(".refusal")).to_have_text("The server does not answer.")


EXPLAINED = f"/explain?q={quote(ROSLIN)}&candidate=roslin-castle-4"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("path", "picture"),
    [
        ("/", ""),
        (f"/?q={FRERE}", "web-dark.png"),
        (f"/?q={FRERE}", ""),
        ("/?id=roslin-castle", ""),
        (f"/?q={FRERE}&words=e&k=2&matcher=roslin", ""),
        ("/?id=roslin-castle&matcher=p3&k=2", ""),
        ("/?q=?", ""),
        ("/melodies/roslin-castle", "web-melody.png"),
        ("/melodies/nobody", ""),
        ("/nowhere", ""),
        ("/about", "web-about.png"),
        (f"{EXPLAINED}&matcher=emd", ""),
        (f"{EXPLAINED}&matcher=dp", "web-aligned.png"),
        (f"{EXPLAINED}&matcher=roslin", ""),
        (f"{EXPLAINED}&matcher=us", ""),
        (f"{EXPLAINED}&matcher=p3", ""),
    ],
)
def test_no_serious_violation(same_page: Page, path: str, scheme: str, picture: str) -> None:
    same_page.set_viewport_size({"width": 1100, "height": 1300 if picture else 900})
    same_page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    same_page.goto(path)
    if picture and ("dark" in picture) == (scheme == "dark"):
        keep(same_page, picture)
    assert not serious_complaints(same_page)
