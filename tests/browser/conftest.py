"""A server and a browser for the tests of the web page. No request may leave this computer."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from tests.web.catalogue import catalogue
from tests.web.running import Server, running

from roslin import Collection
from roslin.starter import tunes_path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]

PATIENCE = 90_000  # milliseconds; a busy computer is no failure


@pytest.fixture(scope="module")  # its event loop must end before other tests want one
def browser(chromium: str) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("browser")
    Collection.build(tunes_path(), folder / "starter.roslin").close()
    with running(folder / "starter.roslin", folder, "--title", "Starter tunes") as started:
        yield started


@pytest.fixture(scope="session")
def catalogue_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a few records, in place of the starter tunes."""
    folder = tmp_path_factory.mktemp("catalogue")
    with running(catalogue(folder), folder, "--title", "A catalogue") as started:
        yield started


def wait_until(page: Page, condition: str) -> None:
    """Wait until a condition in JavaScript holds. Asked from here each time: the page's own policy lets no text be run
    as a script, so Playwright's `wait_for_function` fails there as soon as it has to ask twice. While one page makes
    way for the next there is no document to ask."""
    limit = time.monotonic() + PATIENCE / 1000
    while not _holds(page, condition):
        assert time.monotonic() < limit, f"never came true: {condition}"
        page.wait_for_timeout(20)


def _holds(page: Page, condition: str) -> bool:
    try:
        return bool(page.evaluate(f"document.documentElement !== null && ({condition})"))
    except PlaywrightError as error:
        if "context was destroyed" in error.message:
            return False
        raise


@pytest.fixture
def page(browser: Browser, server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page. At the end, nothing was asked of anybody else, and no script failed."""
    width, height = getattr(request, "param", (1100, 900))
    context = browser.new_context(
        viewport={"width": width, "height": height}, base_url=server.address, has_touch=width < 500
    )
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    opened.on("request", lambda made: asked.append(made.url))
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    context.close()
    assert all(address.startswith((server.address, "data:")) for address in asked), asked
    assert not failed
