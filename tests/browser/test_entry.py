"""Entry that forgives: what is typed, played or sung can be mended in the notation, by mouse, touch and keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import wait_for, wait_until
from tests.browser.pages import drawn_notes, is_too_wide, keep, press, serious_complaints

from roslin.notation.query import read_query

DESK, PHONE = (1200, 900), (390, 844)
FRERE = "'4CDEC/CDEC/EF2G/"
ROSLIN = "%G-2@4/4$bBE '4D/4.G8A4B8{AG}/''4.D8E4D8{C'B}/"
ON_BOTH = pytest.mark.parametrize("page", [DESK, PHONE], indirect=True, ids=["desktop", "phone"])
ON_PHONE = pytest.mark.parametrize("page", [PHONE], indirect=True, ids=["phone"])


def enter(page: Page, text: str) -> None:
    """Type a text and wait until it is drawn."""
    page.goto("/")
    page.locator("#q").fill(text)
    expect(page.locator("#preview svg.notation")).to_be_visible()


def head(page: Page, row: int) -> tuple[float, float]:
    """Where a note is drawn."""
    box = page.locator(f'#preview [data-note="{row}"] .notehead').first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def choose(page: Page, row: int) -> None:
    """Click a note, or touch it, once what is drawn is what is entered."""
    expect(page.locator("#preview:not(.stale)")).to_be_visible()
    page.locator("#preview").scroll_into_view_if_needed()
    if page.viewport_size == {"width": PHONE[0], "height": PHONE[1]}:
        page.touchscreen.tap(*head(page, row))
    else:
        page.mouse.click(*head(page, row))
    expect(page.locator("#editor-tools")).to_be_visible()


def text_of(page: Page) -> Locator:
    return page.locator("#q")


def expect_text(page: Page, text: str) -> None:
    expect(text_of(page)).to_have_value(text)


def said(page: Page) -> Locator:
    return page.locator("#editor-status")


# The functions that take a text apart, and those that edit it.
IMPORTED = "const t = {...await import('/static/editor-text.js'), ...await import('/static/editor-edits.js')};"


def in_module(page: Page, script: str) -> Any:
    """What a script makes of the editor's functions on text, `t`."""
    if page.url == "about:blank":
        page.goto("/about")
    return page.evaluate(f"async () => {{ {IMPORTED} return {script}; }}")


# -- edits of the text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (f't.step("{FRERE}", 1, 1)', "'4CEEC/CDEC/EF2G/"),
        (f't.octave("{FRERE}", 1, 1)', "'4C''D'EC/CDEC/EF2G/"),
        ('t.octave("\'4CD", 0, -1)', ",4C'D"),
        (f't.accidental("{FRERE}", 0, 1)', "'4xCDEnC/CDEC/EF2G/"),  # the other C of the bar stays as it was
        ('t.accidental("$x \'4C", 0, -1)', "$x '4bC"),
        ('t.accidental("%G-2$xF \'4FG", 0, 0)', "%G-2$xF '4nFG"),
        (f't.length("{FRERE}", 2, "8")', "'4CD8E4C/CDEC/EF2G/"),
        (f't.dot("{FRERE}", 10)', "'4CDEC/CDEC/EF2.G/"),
        (f't.remove("{FRERE}", 0)', "'4DEC/CDEC/EF2G/"),
        ('t.remove("\'4C8D4E", 1)', "'4CE"),
        ('t.remove("\'4C^E^GD", 0)', "'4D"),  # a chord goes with its first note
        ('t.remove("\'4CgDE", 1)', "'4CE"),
        (f't.insertCopy("{FRERE}", 10, false)', "'4CDEC/CDEC/EF2GG/"),
        (f't.insertCopy("{FRERE}", 0, true)', "'4CCDEC/CDEC/EF2G/"),
        (f't.insert("{FRERE}", 10, {{ letter: "B", length: "4" }})', "'4CDEC/CDEC/EF2G4B/"),
        ("t.insert(\"'4B\", 0, { letter: 'C', length: '4' })", "'4B''C"),
        ('t.insert("", -1, { pitch: 61, length: "8" })', "'8xC"),
        (f't.toggleRest("{FRERE}", 1)', "'4C-EC/CDEC/EF2G/"),
        (f't.toggleTie("{FRERE}", 3)', "'4CDEC+/CDEC/EF2G/"),
        ('t.step("\'4C+/CD", 1, 1)', "'4D+/DD"),  # both are one note
        ('t.toggleTie("\'4CD", 0)', "'4C+C"),
        (f't.toggleTriplet("{FRERE}", 4)', "'4CDEC/(4CDE;3)C/EF2G/"),
        (f't.toggleBar("{FRERE}", 1)', "'4CD/EC/CDEC/EF2G/"),
        (f't.toggleBar("{FRERE}", 3)', "'4CDECCDEC/EF2G/"),
        ('t.barsFrom("%G-2@3/4 \'4GCDEFGABC", 1)', "%G-2@3/4 '4G/CDE/FGA/BC"),
        ('t.barsFrom("%G-2@2/4 \'4C(8CDE;3)FG", 0)', "%G-2@2/4 '4C(8CDE;3)/FG"),
        ('t.step("\'8.68CDECDE", 1, 1)', "'8.C6E8E8.C6D8E"),  # a row of lengths is written out
        ('t.step("\'8{C6DtEt}qFg{G}!A!f//:=3/", 0, 1)', "'8{D6DtEt}qFg{G}!A!f//:=3/"),  # what is not understood stays
    ],
)
def test_an_edit_changes_what_it_must(same_page: Page, edit: str, expected: str) -> None:
    assert in_module(same_page, f"({edit}).text") == expected


def test_there_and_back_is_the_same_text(same_page: Page) -> None:
    """Every note of real melodies: up and down, an octave, another length, a triplet, a bar line, one note more."""
    script = """[%s].flatMap(text => t.parse(text).events.flatMap((event, n) => {
      const back = {
        step: t.step(t.step(text, n, 1).text, n, -1),
        octave: t.octave(t.octave(text, n, -1).text, n, 1),
        length: t.length(t.length(text, n, "3").text, n, event.length),
        triplet: t.toggleTriplet(t.toggleTriplet(text, n).text, n),
        bar: t.toggleBar(t.toggleBar(text, n).text, n),
        gone: t.remove(t.insertCopy(text, n, false).text, n + 1),
      };
      const changed = Object.entries(back).filter(([, made]) => made.text !== text);
      return changed.map(([kind, made]) => [kind, n, text, made.text]);
    }))"""
    texts = ", ".join(f'"{text}"' for text in ("'4CDECCDECEF2G", "''8C'BA4G8FE2D", "%G-2@3/4$xF '4G8AB''C'DE/,4F"))
    assert in_module(same_page, script % texts) == []


def test_what_an_edit_writes_reads_as_it_was_meant(page: Page) -> None:
    """The page's rules of octaves, lengths and accidentals are the server's: pitches of the text, by both."""
    enter(page, ROSLIN)
    texts = page.evaluate(
        f"async text => {{ {IMPORTED} const made = [];"
        """
          t.parse(text).events.forEach((event, n) => made.push(
            t.step(text, n, 2), t.accidental(text, n, 1), t.octave(text, n, -1),
            t.toggleTriplet(text, n), t.toggleTie(text, n), t.remove(text, n)));
          const heads = one => t.parse(one).events.filter(event => event.kind === "note" && !event.isTied);
          return made.map(one => [one.text, heads(one.text).map(t.midiOf)]); }""",
        ROSLIN,
    )
    assert len(texts) == 6 * 11
    for text, pitches in texts:
        assert read_query(text).notes["pitch_midi"].tolist() == pitches, text
        assert read_query(text).deviations == [], text


# -- in the page ------------------------------------------------------------------------------------------------------


@ON_BOTH
def test_a_wrong_note_is_mended_and_found(page: Page) -> None:
    enter(page, "'4CDEC/CDFC/EF2G/")
    choose(page, 6)
    expect(said(page)).to_have_text("F4, quarter, 7 of 11")
    page.get_by_role("button", name="Lower", exact=True).click()
    expect_text(page, FRERE)
    expect(said(page)).to_have_text("E4, quarter, 7 of 11")
    page.get_by_role("button", name="Choose no note").click()
    expect(page.locator("#editor-tools")).to_be_hidden()
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".cards h3 a").first).to_have_text("Frère Jacques")


@ON_BOTH
def test_every_button(page: Page) -> None:
    enter(page, "%G-2@4/4 '4CDEFGAB")
    choose(page, 1)
    for name, text in (
        ("Higher", "'4CEEFGAB"),
        ("Lower", "'4CDEFGAB"),
        ("Octave higher", "'4C''D'EFGAB"),
        ("Octave lower", "'4CDEFGAB"),
        ("Whole note", "'4C1D4EFGAB"),
        ("Half note", "'4C2D4EFGAB"),
        ("Eighth note", "'4C8D4EFGAB"),
        ("Sixteenth note", "'4C6D4EFGAB"),
        ("Thirty-second note", "'4C3D4EFGAB"),
        ("Quarter note", "'4CDEFGAB"),
        ("Dotted or not", "'4C4.D4EFGAB"),
        ("Dotted or not", "'4CDEFGAB"),
        ("Sharp", "'4CxDEFGAB"),
        ("Flat", "'4CbDEFGAB"),
        ("Natural", "'4CDEFGAB"),
        ("Rest or note", "'4C-EFGAB"),
        ("Rest or note", "'4CCEFGAB"),
        ("Higher", "'4CDEFGAB"),
        ("Tied to the next note or not", "'4CD+DFGAB"),
        ("Tied to the next note or not", "'4CDDFGAB"),
        ("Triplet from here, or none", "'4C(4DDF;3)GAB"),
        ("Triplet from here, or none", "'4CDDFGAB"),
        ("Bar line after this note, or none", "'4CD/DFGAB"),
        ("Bar line after this note, or none", "'4CDDFGAB"),
        ("The first full bar begins here (bar lines follow the metre)", "'4C/DDFG/AB"),
        ("Insert before", "'4C/DDDFG/AB"),
        ("Insert after", "'4C/DDDDFG/AB"),
        ("Delete", "'4C/DDDFG/AB"),
    ):
        page.locator("#editor-tools").get_by_role("button", name=name, exact=True).click()
        expect(text_of(page), name).to_have_value(f"%G-2@4/4 {text}")
    page.locator("#editor-tools").get_by_role("button", name="Previous note", exact=True).click()
    expect(said(page)).to_contain_text("2 of 8")
    page.locator("#editor-tools").get_by_role("button", name="Next note", exact=True).click()
    expect(said(page)).to_contain_text("3 of 8")


def test_by_keyboard_alone(page: Page) -> None:
    enter(page, "c d e f")
    page.locator("#q").focus()
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.id") == "preview-drawing":
            break
    expect(page.locator("#preview-drawing")).to_be_focused()
    expect(said(page)).to_have_text("F4, quarter, 4 of 4")
    for keys, text in (
        ("ArrowUp", "CDEG"),
        ("Shift+ArrowUp", "CDE''G"),
        ("Control+ArrowDown", "CDEG"),
        ("8", "CDE8G"),
        (".", "CDE8.G"),
        ("4", "CDEG"),
        ("#", "CDExG"),
        ("b", "CDEbG"),
        ("n", "CDEG"),
        ("Shift+A", "CDEGA"),
        ("-", "CDEG-"),
        ("r", "CDEGG"),
        ("Backspace", "CDEG"),
        ("i", "CDEGG"),
        ("Delete", "CDEG"),
        ("Home", "CDEG"),
        ("+", "C+CEG"),
        ("+", "CCEG"),
        ("t", "(4CCE;3)G"),
        ("t", "CCEG"),
        ("/", "C/CEG"),
        ("/", "CCEG"),
        ("ArrowRight", "CCEG"),
        ("u", "C/CEG"),
    ):
        page.keyboard.press(keys)
        expected = f"%G-2 '4{text}" if not text.startswith("(") else f"%G-2 ('{text[1:]}"
        if text != "CDEG" or keys != "Home":
            expect(text_of(page), keys).to_have_value(expected)
    page.keyboard.press("Escape")
    expect(page.locator("#editor-tools")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(said(page)).to_have_text("C4, quarter, 1 of 4")
    page.keyboard.press("Enter")
    expect(page.locator("#results-heading")).to_be_visible()


def test_a_note_is_dragged(page: Page) -> None:
    enter(page, FRERE)
    x, y = head(page, 2)
    lines = page.locator("#preview .staff > path").evaluate_all("all => all.map(p => p.getBoundingClientRect().top)")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - (lines[1] - lines[0]) * 1.5, steps=4)
    page.mouse.up()
    expect_text(page, "'4CDAC/CDEC/EF2G/")
    expect(said(page)).to_have_text("A4, quarter, 3 of 11")
    expect(page.locator('#preview [data-note="2"].chosen')).to_be_visible()


def test_pieces_of_a_tied_note_are_notes_of_the_text(page: Page) -> None:
    enter(page, "%G-2@2/4 '4C2D+/4DE")
    box = page.locator('#preview [data-note="1"] .notehead').nth(1).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 3, box["y"] + 3)
    expect(said(page)).to_have_text("D4, quarter, 3 of 4")
    page.keyboard.press("ArrowUp")
    expect_text(page, "%G-2@2/4 '4C2E+/4EE")


def test_rests_are_chosen_too(page: Page) -> None:
    enter(page, "%G-2@4/4 4-'C-8D-/4E2.-/1-/4C")
    rests = page.locator("#preview svg .rest, #preview svg .mRest")
    expect(rests).to_have_count(5)
    for place, words in ((0, "rest, quarter, 1 of 9"), (1, "rest, quarter, 3 of 9"), (2, "rest, eighth, 5 of 9")):
        box = rests.nth(place).bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(said(page)).to_have_text(words)
        expect(page.locator("#preview .chosen-mark")).to_have_count(1)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(said(page)).to_have_text("rest, whole, 8 of 9")
    expect(page.locator("#preview .mRest.chosen")).to_have_count(1)


def test_what_was_typed_is_never_lost(page: Page) -> None:
    """Typed, edited, played and taken from a file: one history."""
    enter(page, "sol la si do")
    choose(page, 0)
    page.keyboard.press("ArrowDown")
    expect_text(page, "%G-2 '4FAB''C")
    page.keyboard.press("Control+z")
    expect_text(page, "sol la si do")
    page.keyboard.press("Control+Shift+Z")
    expect_text(page, "%G-2 '4FAB''C")
    page.get_by_role("button", name="Clear").click()
    expect_text(page, "")
    page.get_by_role("button", name="Undo").click()
    expect_text(page, "%G-2 '4FAB''C")
    page.locator("#q").focus()
    page.keyboard.press("End")
    page.keyboard.type("DE")
    expect(drawn_notes(page)).to_have_count(6)
    page.keyboard.press("Control+z")
    expect_text(page, "%G-2 '4FAB''C")
    page.keyboard.press("Control+z")
    expect_text(page, "sol la si do")
    page.get_by_role("button", name="Redo").click()
    expect_text(page, "%G-2 '4FAB''C")


def hold_readings(page: Page) -> list[Route]:
    """From now on the server's readings of the text wait here."""
    held: list[Route] = []
    page.route("**/api/read*", lambda route: held.append(route))
    return held


def let_go(page: Page, held: list[Route]) -> None:
    for route in held:
        route.continue_()
    page.unroute("**/api/read*")


def test_notes_played_while_the_server_reads_are_kept(page: Page) -> None:
    """An answer to what stood there before says nothing of what stands there now."""
    page.goto("/")
    held = hold_readings(page)
    press(page, 60, 62)
    wait_for(page, lambda: len(held) >= 1)
    press(page, 64)
    let_go(page, held)
    page.wait_for_timeout(50)
    press(page, 65)
    expect(drawn_notes(page)).to_have_count(4)
    expect_text(page, "'4CDEF")


def test_what_is_typed_while_the_server_reads_is_kept(page: Page) -> None:
    """A key of the piano waits until the typed text is read, and then for what was typed meanwhile."""
    page.goto("/")
    held = hold_readings(page)
    page.locator("#q").fill("do re")
    press(page, 65)
    page.locator("#q").fill("do re mi")
    wait_for(page, lambda: len(held) >= 2)
    let_go(page, held)
    expect_text(page, "%G-2 '4CDEF")


@pytest.mark.parametrize("status", [None, 429, 503])
def test_a_server_without_an_answer_costs_nothing_that_was_typed(page: Page, status: int | None) -> None:
    page.goto("/")
    error = {"error": {"code": "busy", "message": "there is too much to do", "problem": None}}
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        if status:
            route.fulfill(status=status, json=error)
        else:
            route.abort()

    page.route("**/api/read*", refuse)
    page.locator("#q").fill("do re mi")
    expect(page.locator("#q-message.bad")).to_have_text(
        "there is too much to do" if status else "The server does not answer."
    )
    press(page, 65)
    wait_for(page, lambda: len(asked) == 2)
    expect_text(page, "do re mi")
    page.unroute("**/api/read*")
    press(page, 65)
    expect_text(page, "%G-2 '4CDEF")


def test_key_and_metre(page: Page) -> None:
    enter(page, "'4FGA")
    page.get_by_label("Key signature").select_option("xFC")
    expect_text(page, "%G-2$xFC '4FGA")
    page.locator("#editor-metre").select_option("3/4")
    expect_text(page, "%G-2@3/4$xFC '4FGA")
    choose(page, 0)
    expect(said(page)).to_have_text("F♯4, quarter, 1 of 3")
    page.locator("#q").fill("%C-1@c3/2$bB '4FGA")
    expect(page.locator("#editor-metre")).to_have_value("c3/2")
    expect(page.get_by_label("Key signature")).to_have_value("bB")


def test_enter_searches_and_nothing_entered_says_what_to_do(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("#q-message")).to_contain_text("Enter a melody first")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("c d e c c d e c e f g")
    page.keyboard.press("Shift+Enter")
    expect(text_of(page)).to_have_value(re.compile("\n"))
    page.keyboard.press("Enter")
    expect(page.locator(".cards h3 a").first).to_have_text("Frère Jacques")


def test_the_piano_goes_on_where_a_note_is_chosen(page: Page) -> None:
    enter(page, "G A|B c")  # ABC: taken over at the first edit
    choose(page, 0)
    press(page, 65)
    expect_text(page, "%G-2 '8G4F8A/B''C")
    page.get_by_role("button", name="Undo").click()
    expect_text(page, "G A|B c")


@ON_BOTH
def test_the_sheet_of_signs_is_beside_the_field(page: Page) -> None:
    page.goto("/")
    table = page.get_by_role("table", name="Plaine & Easie")
    expect(table).to_be_hidden()
    page.get_by_text("How to write notes").click()
    expect(table).to_be_visible()
    assert not is_too_wide(page)
    examples = page.locator("#signs th").all_inner_texts()
    assert {"c d e f", "(8CDE;3)", "(3CDE"} <= set(examples)
    assert not serious_complaints(page)


@ON_PHONE
def test_the_piano_fits_a_thumb(page: Page) -> None:
    page.goto("/")
    widths = page.locator(".key.white").evaluate_all("keys => keys.map(key => key.getBoundingClientRect().width)")
    assert len(widths) >= 10
    assert min(widths) >= 32
    assert not is_too_wide(page)
    page.locator('[data-pitch="60"]').tap(position={"x": 12, "y": 95})
    page.get_by_role("button", name="An octave higher").tap()
    expect(page.locator("#keys .key").first).to_have_attribute("data-pitch", "72")
    page.locator('[data-pitch="72"]').tap(position={"x": 12, "y": 95})
    page.locator('[data-pitch="73"]').tap()
    expect_text(page, "'4C''CxC")


@ON_PHONE
def test_the_buttons_are_under_the_thumb(page: Page) -> None:
    enter(page, FRERE)
    choose(page, 0)
    boxes = page.locator("#editor-tools button").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().toJSON())"
    )
    assert all(box["height"] >= 36 and box["width"] >= 36 for box in boxes)
    assert all(box["top"] > PHONE[1] / 2 and box["bottom"] <= PHONE[1] for box in boxes)
    assert not is_too_wide(page)


@ON_BOTH
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_while_a_note_is_chosen(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    enter(page, ROSLIN)
    choose(page, 3)
    if scheme == "light" and page.viewport_size == {"width": DESK[0], "height": DESK[1]}:
        keep(page, "web-editor.png")
    assert not serious_complaints(page)


def test_another_way_in_writes_notes_and_hears_of_changes(page: Page) -> None:
    """What a microphone uses: notes in quarters become text, and the change is told once the server has read it."""
    page.goto("/")
    page.evaluate(
        """async () => {
          const { written } = await import("/static/editor.js");
          window.text = written([
            { pitch: 67, duration: 1.1 }, { pitch: 69, duration: 0.45 },
            { pitch: null, duration: 0.5 }, { pitch: 66, duration: 3 },
          ]);
        }"""
    )
    assert page.evaluate("text") == "'4G8A-2.xF"
    page.locator("#q").fill(page.evaluate("text"))
    wait_until(page, "document.querySelectorAll('#preview svg.notation .note').length === 3")
