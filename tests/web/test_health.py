"""Whether a server is well, told at any time: while everybody searches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.waiting import until

from roslin.api import Collection
from roslin.search import search as search_once
from roslin.web import library as library_module
from roslin.web.app import create_app
from roslin.web.settings import Settings

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No search comes to its end before this is set."""
    event = threading.Event()

    def held(original: Callable[..., Any]) -> Callable[..., Any]:
        def search(*given: Any, **named: Any) -> Any:
            event.wait(600)
            return original(*given, **named)

        return search

    monkeypatch.setattr(Collection, "search", held(Collection.search))
    monkeypatch.setattr("roslin.web.search.search", held(search_once))
    yield event
    event.set()


@pytest.mark.long
def test_it_is_told_while_more_search_than_there_are_threads(settings: Settings, go_on: threading.Event) -> None:
    with TestClient(create_app(settings)) as client, ExitStack() as stack:
        statuses = list[int]()

        def ask(number: int) -> None:
            answer = client.get("/api/search", params={"q": f"{FRERE}{'4C' * number}", "matcher": "dp"})
            statuses.append(answer.status_code)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(90)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        until(lambda: client.app.state.library.searching >= 2)  # type: ignore[attr-defined]
        for _ in range(5):
            assert client.get("/healthz").json()["searching"] == 2
            assert client.get("/api/read", params={"q": FRERE, "format": "midi"}).status_code == 200
        assert statuses == []  # nobody was answered meanwhile
        go_on.set()
    assert set(statuses) == {200}


@pytest.mark.long
def test_what_the_last_look_found_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, original, go_on = list[int](), library_module.Health._open, threading.Event()

    def look(self: library_module.Health) -> int:
        looked.append(1)
        if len(looked) > 1:
            go_on.wait(600)
        return original(self)

    monkeypatch.setattr(library_module.Health, "_open", look)
    with TestClient(create_app(settings)) as client:
        monkeypatch.setattr(library_module, "HEALTH_SECONDS", 0.0)
        for _ in range(20):  # the second look does not end, and nobody waits for it
            assert client.get("/healthz").json()["melodies"] == 243
        assert len(looked) == 2
        monkeypatch.setattr(library_module, "_LONGEST_LOOK_SECONDS", 0.0)
        assert client.get("/healthz").status_code == 503
        go_on.set()


def test_it_is_ready_at_once(settings: Settings) -> None:
    with TestClient(create_app(settings)) as client:
        assert client.get("/readyz").json() == {"status": "ok", "melodies": 243, "searching": 0}
