"""The page of a trial for everybody: what is read aloud, what axe says, both languages, other material, differences."""

from __future__ import annotations

import random
import struct
import wave
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect
from tests.browser.conftest import wait_until
from tests.browser.experts import Served, kept, ready, said, served
from tests.browser.pages import keep, serious_complaints
from tests.experiment.studies import starter_study

from roslin.experiment.events import Event, trial_state
from roslin.experiment.folder import create_study

DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("study")
    with served(starter_study(place, queries=1, others=8, ties=True, differences=True), place) as study:
        yield study


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport=DESKTOP)
    yield opened
    opened.close()


@pytest.fixture
def trial(study: Served, context: BrowserContext) -> Page:
    return study.enter(context, study.invited())


def sorted_by_keys(page: Page, verdicts: str) -> None:
    """Sort the first candidates by these keys, all others as 3, and go on to the order."""
    page.keyboard.type(verdicts)
    page.keyboard.type("3" * (page.locator(".candidate").count() - len(verdicts)))
    page.get_by_role("button", name="Continue to ordering").click()


# -- the same rules here and there ------------------------------------------------------------------------------------


def test_the_page_folds_decisions_as_the_server_does(trial: Page) -> None:
    chance = random.Random(5)
    logs = [[_decision(chance, place) for place in range(chance.randrange(40))] for _ in range(400)]
    folded: list[dict[str, Any]] = trial.evaluate(
        """async logs => {
          const { fold } = await import("/static/trial-state.js");
          return logs.map(log => {
            const state = fold(log);
            return { ...state, verdicts: [...state.verdicts] };
          });
        }""",
        logs,
    )
    for log, mine in zip(logs, folded, strict=True):
        theirs = trial_state(
            [
                Event(0, "began", 1, {"query": "q", "shown": list(range(6))}, "began", 0),
                *(Event(0, each["kind"], 1, each, each["key"], 0) for each in log),
            ]
        )
        assert dict(map(tuple, mine["verdicts"])) == theirs.verdicts
        assert mine["groups"] == [list(group) for group in theirs.groups]
        assert mine["offered"] == list(theirs.offered)
        assert [(choice["documents"], choice["best"]) for choice in mine["choices"]] == [
            (list(choice.documents), choice.best) for choice in theirs.choices
        ]
        assert mine["undoable"] == theirs.undoable


def _decision(chance: random.Random, place: int) -> dict[str, Any]:
    key = f"k{place}"
    match chance.choice(["sorted", "placed", "placed", "placed", "offered", "chose", "undone"]):
        case "sorted":
            return {
                "kind": "sorted",
                "key": key,
                "document": chance.randrange(6),
                "verdict": chance.choice(["resembles", "perhaps", "no"]),
            }
        case "placed":
            after = chance.choice([None, *range(6)])
            return {
                "kind": "placed",
                "key": key,
                "document": chance.randrange(6),
                "after": after,
                "tied": after is not None and chance.random() < 0.4,
            }
        case "undone":
            return {"kind": "undone", "key": key, "undoes": f"k{chance.randrange(place + 1)}"}
        case kind:
            documents = chance.sample(range(6), 2)
            return {"kind": kind, "key": key, "documents": documents, "best": chance.choice([None, *documents])}


def test_binary_insertion_finds_every_order(trial: Page) -> None:
    """Whatever order somebody has in mind, with ties or without, the questions lead to it, and they are few."""
    chance = random.Random(3)
    wishes = [[chance.randrange(9) if k % 2 else place for place in range(9)] for k in range(60)]
    for wish in wishes:
        chance.shuffle(wish)
    told = trial.evaluate(
        """async wishes => {
          const { fold, insertion } = await import("/static/trial-state.js");
          return wishes.map(wish => {
            const log = [];
            let asked = 0;
            wish.forEach((value, document) => {
              const answers = [];
              let found = insertion(fold(log), document, answers);
              while (found.pivot !== null) {
                const other = wish[found.pivot];
                answers.push({ pivot: found.pivot, answer: value < other ? "more" : value > other ? "less" : "same" });
                asked += 1;
                found = insertion(fold(log), document, answers);
              }
              log.push({ kind: "placed", key: `k${document}`, document, after: found.after, tied: found.tied });
            });
            return { groups: fold(log).groups, asked };
          });
        }""",
        wishes,
    )
    for wish, one in zip(wishes, told, strict=True):
        wanted = [{k for k, value in enumerate(wish) if value == level} for level in sorted(set(wish))]
        assert [set(group) for group in one["groups"]] == wanted
        assert one["asked"] <= sum(k.bit_length() for k in range(len(wish)))


# -- read aloud -------------------------------------------------------------------------------------------------------


def test_a_walk_with_a_screen_reader(trial: Page) -> None:
    assert in_order(
        trial.locator("body").aria_snapshot(),
        'link "Skip to the candidates"',
        "paragraph: Melody 1 of 1",
        "paragraph: Everything is saved.",
        'button "↶ Undo" [disabled]',
        'button "Help"',
        'progressbar "How much of this melody is done"',
        'region "The query"',
        'img "Notation of the query"',
        'button "Listen to the query"',
        'navigation "Stages"',
        'button "1 Sort 0 of',
        'heading "Does it resemble the query?" [level=1]',
        'group "Candidate 1: not sorted yet"',
        'img "Notation of candidate 1"',
        'button "Listen to candidate 1"',
        'group "Does candidate 1 resemble the query?"',
        'button "resembles"',
        'button "perhaps"',
        'button "does not"',
        'group "Candidate 2: not sorted yet"',
        "status",
    )
    trial.keyboard.press("2")
    said(trial, "Candidate 1 perhaps resembles the query.")
    assert in_order(
        trial.locator("#sorting").aria_snapshot(),
        'group "Candidate 1: perhaps resembles the query"',
        'button "perhaps" [pressed]',
        'group "Candidate 2: not sorted yet"',
    )
    sorted_by_keys(trial, "111")
    said(trial, "Where does candidate 2 belong? The list is empty: it begins with this one.")
    trial.keyboard.press("1")
    said(trial, "Candidate 2 begins the list. Where does candidate 3 belong?")
    said(trial, "Is it more similar to the query than candidate 2, now number 1?")
    trial.keyboard.press("2")
    said(trial, "Candidate 3 is now number 2 of 2, below candidate 2.")
    assert in_order(
        trial.locator("#ordering").aria_snapshot(),
        'heading "The most similar first" [level=1]',
        'group "Where does candidate 4 belong?"',
        'heading "Where does candidate 4 belong?" [level=2]',
        "Candidate 4",
        "Is it more similar to the query than candidate",
        'button "More similar"',
        'button "The same"',
        'button "Less similar"',
        'heading "Your list, the most similar first" [level=2]',
        'listitem "Candidate 2, number 1 of 2"',
        'listitem "Candidate 3, number 2 of 2"',
    )
    trial.keyboard.press("ArrowDown")
    trial.keyboard.press("ArrowDown")
    trial.keyboard.press("t")
    said(trial, "Candidate 3 is now number 1 of 2, tied with candidate 2.")
    expect(trial.locator("#list li").nth(1)).to_have_attribute(
        "aria-label", "Candidate 3, number 1 of 2, tied with candidate 2"
    )
    trial.keyboard.press("Shift+ArrowUp")
    said(trial, "Candidate 3 is now number 1 of 2, above candidate 2.")
    trial.keyboard.press("Shift+ArrowUp")
    said(trial, "Candidate 3 stays in its place.")
    assert trial.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert trial.locator("[aria-live], [role=alert]").count() == 1


def in_order(snapshot: str, *wanted: str) -> bool:
    """Whether all of these stand in a snapshot of the tree, one after the other."""
    start = 0
    for words in wanted:
        found = snapshot.find(words, start)
        assert found >= 0, f"{words!r} is not there, or not after what it should follow:\n{snapshot[start:]}"
        start = found + len(words)
    return True


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation(trial: Page, scheme: str) -> None:
    trial.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")

    def check(context: dict[str, Any] | None = None) -> None:
        # The inside of drawings is the same everywhere, and large.
        without = {"exclude": [["svg.notation"]]} if context is None else context
        assert not serious_complaints(trial, without)

    trial.keyboard.type("1231")
    check({"include": [["body"]]})
    trial.locator(".candidate").nth(5).get_by_role("button", name="Show the differences").click()
    expect(trial.locator("#differences .told")).to_contain_text("partner in the other melody")
    check()
    trial.get_by_role("button", name="Close").click()
    sorted_by_keys(trial, "1111")
    check()
    for key in "11022":
        trial.keyboard.press(key)
    trial.keyboard.press("ArrowDown")
    check()
    trial.keyboard.press("?")
    check()
    trial.get_by_role("button", name="Close").click()
    trial.locator('[data-step="review"]').click()
    check()
    trial.set_viewport_size({"width": 360, "height": 740})
    for step in ("review", "ordering", "sorting"):
        trial.locator(f'#steps [data-step="{step}"]').click()
        check()


def test_letters_can_be_switched_off(trial: Page) -> None:
    trial.get_by_role("button", name="Help").click()
    trial.get_by_label("Single letters and digits are shortcuts").uncheck()
    trial.get_by_role("button", name="Close").click()
    trial.locator(".candidate").first.focus()
    trial.keyboard.press("1")
    expect(trial.locator("#progress-sorting")).to_contain_text("0 of")
    trial.reload()
    ready(trial)
    trial.keyboard.press("1")
    expect(trial.locator("#progress-sorting")).to_contain_text("0 of")
    trial.keyboard.press("ArrowDown")
    expect(trial.locator(".candidate").nth(1)).to_be_focused()


# -- looks, languages, material ---------------------------------------------------------------------------------------


def test_what_is_missing_and_how_to_get_there(trial: Page) -> None:
    trial.keyboard.type("111")
    trial.locator('#steps [data-step="ordering"]').click()
    trial.keyboard.press("1")
    trial.locator('#steps [data-step="review"]').click()
    gaps = trial.locator("#review [data-jump]")
    expect(gaps.first).to_have_text("Candidate 2: has no place yet")
    expect(trial.get_by_role("button", name="Finish this melody")).to_be_hidden()
    gaps.nth(1).click()
    expect(trial.locator("#placing-heading")).to_have_text("Where does candidate 3 belong?")
    trial.keyboard.press("2")
    trial.locator('#steps [data-step="review"]').click()
    gaps.filter(has_text="Candidate 7: not sorted yet").click()
    expect(trial.locator('.candidate[data-candidate="6"]')).to_be_focused()


def test_differences_are_signs_not_only_colours(trial: Page) -> None:
    trial.locator(".candidate").nth(2).get_by_role("button", name="Show the differences").click()
    note = trial.locator("#differences .told")
    expect(note).to_contain_text("partner in the other melody")
    selects = trial.locator("#differences select")
    signs, marked = (
        trial.locator(f"#differences {name}") for name in (".notation .sign-of-difference", ".notation .matched")
    )
    for number in range(trial.locator(".candidate").count()):
        selects.last.select_option(str(number))
        expect(note).to_contain_text("partner in the other melody")
        assert signs.count() == marked.count()
        if 0 < signs.count() < 12:
            break
    else:
        raise AssertionError("no two melodies differ a little")
    expect(note).to_have_text("Notes under a triangle have no partner in the other melody.")
    keep(trial, "experiment-differences.png")
    selects.last.select_option("2")
    selects.first.select_option("2")  # with itself
    expect(note).to_have_text("Every note has its partner in the other melody.")
    expect(signs).to_have_count(0)
    trial.context.set_offline(True)
    selects.first.select_option("query")
    expect(note).to_have_text("The differences cannot be loaded now. Both melodies are shown without marks.")
    expect(trial.locator("#differences svg.notation")).to_have_count(2)
    trial.context.set_offline(False)


def test_pictures_of_both_stages(trial: Page) -> None:
    trial.keyboard.type("1312")
    kept(trial)
    keep(trial, "experiment-sorting.png")
    sorted_by_keys(trial, "1111")
    for key in "1212112":
        trial.keyboard.press(key)
    expect(trial.locator("#list li")).not_to_have_count(0)
    kept(trial)
    keep(trial, "experiment-ordering.png")
    trial.emulate_media(color_scheme="dark")
    keep(trial, "experiment-dark.png")


def test_in_german(study: Served, browser: Browser) -> None:
    context = browser.new_context(viewport=DESKTOP, locale="de-DE")
    page = study.enter(context, study.invited())
    assert page.locator("html").get_attribute("lang") == "de"
    page.keyboard.press("1")
    said(page, "Kandidat 1 ähnelt der Suchmelodie")
    expect(page.locator("#kept")).to_have_text("Alles ist gespeichert.")
    expect(page.locator(".candidate").first.locator(".play")).to_have_attribute("aria-label", "Kandidat 1 anhören")
    context.close()


def test_pictures_and_sounds_of_any_kind(tmp_path: Path, browser: Browser) -> None:
    files = tmp_path / "material"
    files.mkdir()
    for name in ("query", "one", "two", "three"):
        (files / f"secret-{name}.png").write_bytes(_png(len(name)))
        (files / f"secret-{name}.wav").write_bytes(_wav(len(name)))
    rows = "".join(f"{name},secret-{name}.png,secret-{name}.wav\n" for name in ("query", "one", "two"))
    (tmp_path / "table.csv").write_text(f"id,picture,sound\n{rows}three,secret-three.png,\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "pictures"\ntitle = { en = "Pictures" }\nlanguages = ["en"]\ncontact = "me@example.org"\n'
        "seed = 1\n[design]\nqueries_per_expert = 1\nquery_among_candidates = false\n"
        '[material]\nfolder = "material"\ntable = "table.csv"\n'
        '[[queries]]\nid = "query"\ncandidates = ["one", "two", "three"]\n'
    )
    with served(create_study(tmp_path / "study.toml").folder, tmp_path) as study:
        context = browser.new_context(viewport=DESKTOP)
        name = study.invited()
        page = study.enter(context, name)
        assert "secret" not in page.content()
        wait_until(page, "[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        sounding = page.locator(".candidate:has(audio)").first
        sounding.focus()
        page.keyboard.press("Space")
        wait_until(page, "[...document.querySelectorAll('.candidate audio')].some(one => one.played.length > 0)")
        page.keyboard.type("111")
        page.locator("#sorting .all-sorted button").click()
        for key in "1222":
            page.keyboard.press(key)
        expect(page.locator("#list img")).to_have_count(3)
        # a play is an event when it ends
        wait_until(page, "[...document.querySelectorAll('audio')].every(one => one.paused)")
        kept(page)
        assert {event.kind for event in study.events(name)} == {"began", "heard", "sorted", "placed"}
        assert not serious_complaints(page)
        context.close()


def _png(shade: int) -> bytes:
    rows = b"".join(b"\0" + bytes([40 * shade]) * 60 for _ in range(40))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = struct.pack(">IIBBBBB", 60, 40, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _wav(pitch: int) -> bytes:
    out = BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes((k * pitch * 4) % 256 for k in range(4000)))
    return out.getvalue()
