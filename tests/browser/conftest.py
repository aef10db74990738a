"""A server and a browser for the tests of the web page. No request may leave this computer."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

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
SIZE = (1100, 900)


@pytest.fixture(scope="module")  # its event loop must end before other tests want one
def browser(chromium: str) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=PATIENCE)
        opened.on("context", lambda made: made.set_default_timeout(PATIENCE))
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
    wait_for(page, lambda: _holds(page, condition), condition)


def wait_for(page: Page, condition: Callable[[], object], name: str = "the condition") -> None:
    """Wait until a condition holds, while requests and events of the page are answered."""
    limit = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < limit, f"never came true: {name}"
        page.wait_for_timeout(50)


def _holds(page: Page, condition: str) -> bool:
    try:
        return bool(page.evaluate(f"document.documentElement !== null && ({condition})"))
    except PlaywrightError as error:
        if "context was destroyed" in error.message:
            return False
        raise


@dataclass(frozen=True, slots=True)
class Watched:
    """A page of a server, the addresses that it asked for, and the errors of its scripts."""

    page: Page
    server: Server
    asked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing was asked of anybody else, and no script failed."""
        assert all(address.startswith((self.server.address, "data:")) for address in self.asked), self.asked
        assert not self.failed


@contextmanager
def watched(browser: Browser, server: Server, size: tuple[int, int]) -> Iterator[Watched]:
    """A fresh page in a window of this size."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, base_url=server.address, has_touch=width < 500
    )
    opened = Watched(context.new_page(), server)
    opened.page.on("request", lambda made: opened.asked.append(made.url))
    opened.page.on("pageerror", lambda error: opened.failed.append(str(error)))
    yield opened
    context.close()
    opened.check()


@pytest.fixture
def page(browser: Browser, server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page. At the end, nothing was asked of anybody else, and no script failed."""
    with watched(browser, server, getattr(request, "param", SIZE)) as opened:
        yield opened.page


@pytest.fixture(scope="module")
def pages_by_size(browser: Browser, server: Server) -> Iterator[Callable[[tuple[int, int]], Watched]]:
    with ExitStack() as stack:
        yield functools.cache(lambda size: stack.enter_context(watched(browser, server, size)))


@pytest.fixture
def same_page(pages_by_size: Callable[[tuple[int, int]], Watched], request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page for tests that go to an address and only look: the same for a whole file, because a new page costs half a
    second of CPU. At the end, nothing was asked of anybody else, and no script failed."""
    opened = pages_by_size(getattr(request, "param", SIZE))
    opened.page.context.clear_cookies()
    opened.page.emulate_media(color_scheme="null")
    yield opened.page
    opened.check()
