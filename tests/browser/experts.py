"""Experts in a browser: a study that is served, people who are invited to it, and what the server knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.conftest import wait_until
from tests.web.running import Server, running

from roslin.experiment.events import Event, TrialState, trial_state
from roslin.experiment.folder import StudyFolder
from roslin.experiment.store import EventStore
from roslin.web.sessions import SessionSigner

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Served:
    """A study, its server, and its database beside the server."""

    folder: StudyFolder
    server: Server
    store: EventStore

    def invited(self, *, until: str = "trial") -> str:
        """A new expert, who has gone through the pages up to a stage."""
        name = self.store.invite()[0].name
        self.store.consent(name)
        self.store.add(name, "answered", {"answers": {}})
        self.store.read_again(name)
        if until == "trial" and self.folder.plan.practice:
            self.store.begin_practice(name)
            self.store.add(name, "practised")
        return name

    def link(self, name: str) -> str:
        """The personal link of an expert."""
        return f"{self.server.address}/e/{SessionSigner(self.folder.key).token('link', name)}"

    def enter(self, context: BrowserContext, name: str) -> Page:
        """A page on which an expert has followed the link to their trial."""
        page = context.new_page()
        page.goto(self.link(name))
        ready(page)
        return page

    def events(self, name: str, trial: int = 1) -> list[Event]:
        """What the server has kept."""
        return self.store.events(name, trial)

    def state(self, name: str, trial: int = 1) -> TrialState:
        """A trial as the server has it."""
        return trial_state(self.events(name, trial))

    def numbers(self, name: str, trial: int = 1) -> dict[str, Any]:
        """The state with candidates as people see them, counted from 1."""
        state = self.state(name, trial)
        number = {document: place for place, document in enumerate(state.shown, start=1)}
        return {
            "verdicts": {number[document]: verdict for document, verdict in state.verdicts.items()},
            "groups": [[number[document] for document in group] for group in state.groups],
        }

    def days_pass(self, name: str, days: float) -> None:
        """Everything that an expert did was so much earlier."""
        moved = sa.text("UPDATE events SET time_ms = time_ms - :ms WHERE expert = :name")
        with self.store.database.engine.begin() as connection:
            connection.execute(moved, {"ms": int(days * _DAY_MS), "name": name})


@contextmanager
def served(folder: StudyFolder, place: Path) -> Iterator[Served]:
    """The study behind `roslin experiment serve`."""
    with running(folder.path, place, command=("experiment", "serve")) as server:
        store = EventStore(folder.database, folder.plan)
        try:
            yield Served(folder, server, store)
        finally:
            store.close()
            folder.close()


def ready(page: Page) -> None:
    """Wait until the page of a trial works."""
    wait_until(page, "document.documentElement.classList.contains('ready')")


def kept(page: Page) -> None:
    """Wait until the server has everything."""
    expect(page.locator("#kept")).to_have_attribute("data-mood", "kept")


def said(page: Page, words: str) -> None:
    """Wait until this was told to those who listen."""
    expect(page.locator("#live")).to_contain_text(words)
