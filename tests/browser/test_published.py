"""A published collection in a browser: the same results as the collection itself, from a server of plain files."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import wait_until

from roslin import Collection
from roslin.notation.query import read_query
from roslin.publish import publish
from roslin.starter import tunes_path

pytestmark = pytest.mark.browser
MODES: list[dict[str, Any]] = [
    {},
    {"compare": "melody"},
    {"place": "start"},
    {"compare": "rhythm"},
    {"compare": "contour"},
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Collection.build(tunes_path(), tmp_path_factory.mktemp("published") / "starter.roslin")


@pytest.fixture(scope="module")
def folder(starter: Collection) -> Path:
    folder = starter.path.parent / "below" / "site"
    publish(starter, folder, title="Starter tunes")
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[ThreadingHTTPServer]:
    """A server of nothing but files, with the folder below its root."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder.parent)))
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


@pytest.fixture
def address(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/site/"


@pytest.fixture
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page of the collection. At the end, nothing was asked of anybody else, and no script failed."""
    context = browser.new_context(viewport={"width": getattr(request, "param", 1100), "height": 900}, locale="en-GB")
    opened, asked, failed = context.new_page(), list[str](), list[str]()
    context.on("request", lambda made: asked.append(made.url))
    opened.on("pageerror", lambda error: failed.append(str(error)))
    opened.goto(address)
    yield opened
    context.close()
    assert all(each.startswith((address, "data:")) for each in asked), asked
    assert not failed


def find(page: Page, text: str) -> None:
    page.locator("#q").fill(text)
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".card .rank").first).to_be_visible()


def test_searches_are_those_of_the_collection(page: Page, starter: Collection, address: str) -> None:
    melodies = [
        starter[number][:length] for number, length in zip(range(0, 240, 12), [9, 16, 24, 12, 40] * 4, strict=True)
    ]
    for number, melody in enumerate(melodies):
        modes = MODES[number % len(MODES)]
        run = starter.search(melody, **modes)
        rows = melody.notes[["onset_ticks", "duration_ticks", "pitch_midi", "is_grace"]].tolist()
        notes = [dict(zip(("onset", "duration", "pitch", "isGrace"), row, strict=True)) for row in rows]
        found = page.evaluate(
            """async asked => {
                const files = new URL(document.querySelector("main").dataset.files, location.href).href;
                const [{ json }, { opened, Searching }] = await Promise.all([
                    import(`${files}published-data.js`), import(`${files}published-search.js`)]);
                if (!window.melodies) {
                    const about = await json(`${files}about.bin`);
                    window.melodies = await opened(about, await (await fetch(`${files}roslin.wasm`)).arrayBuffer());
                    const { unpacked } = await import(`${files}published-data.js`);
                    window.melodies.add(await unpacked(`${files}notes-0.bin`), about.pieces[0]);
                }
                return new Searching(window.melodies, asked.notes, asked.modes).list(10).results;
            }""",
            {"notes": notes, "modes": modes},
        )
        assert starter.ids([each["number"] for each in found]) == run.ids
        assert [each["distance"] for each in found] == pytest.approx(
            [hit.distance for hit in run], rel=1e-12, abs=1e-12
        )
        assert [each["expected"] for each in found] == pytest.approx([hit.expected for hit in run], rel=1e-9)
        assert [each["same"] for each in found] == [hit.same for hit in run]
        assert [each["coincides"] for each in found] == [hit.coincides for hit in run]


def test_typed_music_is_read_as_roslin_reads_it(page: Page, starter: Collection) -> None:
    texts = [melody.music for melody in starter if melody.notation == "pae" and melody.music]
    texts = [
        f"%{m.clef or 'G-2'}{'$' + m.key_signature if m.key_signature else ''} {m.music}"
        for m in starter
        if m.music in texts
    ]
    texts += [
        "c d e c",
        "g4 a4 b4 c5",
        "%G-2@3/4 =2/'4CDE/=/@2/4 8FG=3/A",
        "%G-2$xFC '4.C8D(6EFG;3)qA4B+B/''C^E2-4xCDnCD",
    ]
    for text in texts:
        wanted = [row[:3] for row in read_query(text).notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()]
        read = page.evaluate(
            "text => fetch(`/api/read?q=${encodeURIComponent(text)}`).then(answer => answer.json())", text
        )
        found = [
            (round(40320 * each["onset"]), round(40320 * each["duration"]), each["pitch"]) for each in read["notes"]
        ]
        assert found == wanted, text


def test_what_cannot_be_read_says_where(page: Page) -> None:
    page.locator("#q").fill("'4CD§E")
    expect(page.locator("#q-message")).to_contain_text(
        "Column 5: this page cannot read this sign; expected Plaine & Easie; found §."
    )
    page.locator("#q").fill("K:C\nCDEF|")
    expect(page.locator("#q-message")).to_contain_text("This page reads Plaine & Easie and note names.")


@pytest.mark.parametrize("page", [1100, 390], indirect=True)
def test_a_search_a_melody_and_why(page: Page, starter: Collection) -> None:
    query = starter["auld-lang-syne"]
    find(page, f"%G-2@4/4$bB {query.music}" if query.notation == "pae" else "'4C")
    run = starter.search(read_query(page.locator("#q").input_value()), k=10)
    cards = page.locator("li.card")
    assert [cards.nth(place).get_attribute("data-id") for place in range(10)] == run.ids
    expect(cards.first.locator(".meaning")).to_have_text("same notes")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cards.nth(1).get_by_role("link", name="Why?").click()
    expect(page.get_by_role("heading", name="Corresponding notes")).to_be_visible()
    assert page.locator(".flow .pairs path").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("section.card h2 a").click()
    expect(page.locator("dl.facts")).to_contain_text(run.ids[1])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="More like this").click()
    expect(page.locator("li.card").first).to_be_visible()
    assert run.ids[1] not in [card.get_attribute("data-id") for card in page.locator("li.card").all()]


def test_facets_narrow_the_list(page: Page) -> None:
    find(page, "'4CDECCDEC")
    page.get_by_text("Narrow this list").click()
    link = page.locator(".facet").first.locator("a").first
    count = int(page.locator(".facet").first.locator(".count").first.inner_text())
    link.click()
    expect(page.locator(".results-head")).to_contain_text(f"{count} of " if count > 1 else "One of ")
    page.get_by_role("link", name="Remove all").click()
    expect(page.locator(".results-head .chosen")).to_have_count(0)


def test_pages_are_in_four_languages(page: Page) -> None:
    find(page, "'4CDECCDEC")
    page.get_by_role("link", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#results-heading")).not_to_be_empty()
    expect(page).to_have_url(re.compile("q="))


def test_without_a_server_after_the_first_visit(page: Page, address: str, server: ThreadingHTTPServer) -> None:
    wait_until(
        page,
        """(async ({ files, melodies, pack }) => {
          const numbers = [...Array(Math.ceil(melodies / pack)).keys()];
          const kept = await Promise.all(numbers.map(number => caches.match(`${files}melodies-${number}.bin`)));
          return kept.every(Boolean);
        })(document.querySelector("main").dataset)""",
    )
    server.shutdown()
    server.server_close()
    page.goto(address)
    find(page, "'4CDECCDEC")
    expect(page.locator("li.card")).to_have_count(10)


def test_a_page_opened_as_a_file_says_what_to_do(browser: Browser, folder: Path) -> None:
    with browser.new_context(locale="en-GB") as context:
        page = context.new_page()
        page.goto((folder / "index.html").as_uri())
        expect(page.locator("#no-server")).to_contain_text("python -m http.server")
        expect(page.locator("#no-server")).to_be_visible()
