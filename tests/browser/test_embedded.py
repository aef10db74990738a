"""The search page on the site of a library: in a frame, by its API, and by the search box of docs/howto/server.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.test_proxies import serving
from tests.web.running import Server, running

from roslin import Collection
from roslin.starter import tunes_path

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "server.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Server]]:
    """The port of a library's site, and the search page that names it as http://localhost."""
    folder = tmp_path_factory.mktemp("embedded")
    Collection.build(tunes_path(), folder / "starter.roslin").close()
    [box] = re.findall(r"^```html\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    page: list[bytes] = []
    with (
        serving(lambda _: page[0]) as port,
        running(folder / "starter.roslin", folder, "--embed", f"http://localhost:{port}") as server,
    ):
        box = box.replace("https://library.example.org/tunes", server.address)
        page.append(f'<!DOCTYPE html><title>Library</title>{box}<iframe src="{server.address}/"></iframe>'.encode())
        yield port, server


@pytest.fixture(params=[(390, 800), (1280, 900)], ids=["phone", "desk"])
def visitor(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    yield context.new_page()
    context.close()


def test_a_named_site_has_a_frame_the_api_and_a_search_box(visitor: Page, site: tuple[int, Server]) -> None:
    port, server = site
    visitor.goto(f"http://localhost:{port}/")
    expect(visitor.frame_locator("iframe").get_by_role("button", name="Find")).to_be_visible()
    ask = "async address => (await (await fetch(address)).json()).results[0].id"
    assert visitor.evaluate(ask, f"{server.address}/api/search?q=ccggaag") == "ah-vous-dirai-je"
    visitor.get_by_placeholder("c c g g a a g").fill(" C C G G A A G ")
    visitor.get_by_role("button", name="Search by melody").click()
    expect(visitor.locator(".cards h3 a").first).to_contain_text("vous dirai-je")
    expect(visitor).to_have_url(re.compile(f"^{re.escape(server.address)}/"))


def test_another_site_has_neither(visitor: Page, site: tuple[int, Server]) -> None:
    port, server = site
    visitor.goto(f"http://127.0.0.1:{port}/")
    ask = "async address => fetch(address).then(() => 'read', () => 'refused')"
    assert visitor.evaluate(ask, f"{server.address}/api/search?q=ccggaag") == "refused"
    expect(visitor.frame_locator("iframe").get_by_role("button", name="Find")).to_have_count(0)
