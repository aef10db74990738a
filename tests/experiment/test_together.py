"""What many threads write to SQLite at once: one flush for several, each whole or not at all."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.experiment.plans import ranking_plan

from roslin.errors import DecisionError, NotKeptError
from roslin.experiment.events import Decision, trial_state
from roslin.experiment.store import EventStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    opened = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1, 20, quota=1000))
    yield opened
    opened.close()


def _sorted(store: EventStore, name: str, key: str, document: str = "q1-1") -> int:
    return store.decide(name, 1, [Decision("sorted", {"document": document, "verdict": "no"}, key)]).sequence


@pytest.fixture
def commits(store: EventStore) -> Counter[str]:
    counted: Counter[str] = Counter()
    sa.event.listen(store.engine, "commit", lambda _connection: counted.update(["commit"]))
    return counted


def test_threads_share_flushes_and_nothing_is_lost(store: EventStore, commits: Counter[str]) -> None:
    names = [expert.name for expert in store.invite(8)]
    for name in names:
        store.begin(name)
    commits.clear()
    with ThreadPoolExecutor(16) as pool:
        work = [pool.submit(_sorted, store, name, f"k{number}") for number in range(30) for name in names]
        for each in work:
            each.result()
    assert 0 < commits["commit"] < len(work)
    for name in names:
        events = store.events(name)
        assert [event.sequence for event in events] == list(range(1, 32))
        assert {event.key for event in events[1:]} == {f"k{number}" for number in range(30)}


def _together(store: EventStore, calls: list[Any]) -> list[BaseException | int]:
    """Run calls so that all are in one batch: while the first is inside, the others wait for their turn."""
    results: list[BaseException | int] = [0] * len(calls)
    together = store.database._together
    assert together is not None

    def run(place: int) -> None:
        try:
            results[place] = calls[place]()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    with together._turn:
        for thread in threads:
            thread.start()
        while together._waiting < len(calls):
            pass
    for thread in threads:
        thread.join()
    return results


def test_one_that_is_refused_takes_nothing_from_the_others(store: EventStore, commits: Counter[str]) -> None:
    first, second, third = (expert.name for expert in store.invite(3))
    for name in (first, second, third):
        store.begin(name)
    commits.clear()

    def two_of_which_one_is_wrong() -> int:
        with store.database.writing() as connection:
            connection.execute(sa.text("UPDATE experts SET language = 'xx'"))
            raise DecisionError("refused after something was written")

    done = _together(
        store,
        [lambda: _sorted(store, first, "a"), two_of_which_one_is_wrong, lambda: _sorted(store, third, "c")],
    )
    assert commits["commit"] == 1
    assert done[0] == done[2] == 2
    assert isinstance(done[1], DecisionError)
    assert {expert.language for expert in store.experts()} == {""}
    assert [event.key for event in store.events(third)][1:] == ["c"]


def test_when_the_flush_fails_nobody_is_told_that_it_is_kept(store: EventStore) -> None:
    names = [expert.name for expert in store.invite(3)]
    for name in names:
        store.begin(name)

    def fail(_connection: object) -> None:
        raise sa.exc.OperationalError("COMMIT", {}, sqlite3.OperationalError("disk I/O error"))

    sa.event.listen(store.engine, "commit", fail)
    done = _together(store, [lambda name=name: _sorted(store, name, "a") for name in names])
    assert all(isinstance(each, NotKeptError) for each in done)
    assert all("did not keep it: disk I/O error" in str(each) for each in done)
    sa.event.remove(store.engine, "commit", fail)
    assert [_sorted(store, name, "a") for name in names] == [2, 2, 2]


def test_a_full_disk_keeps_what_was_acknowledged(store: EventStore) -> None:
    name = store.invite()[0].name
    store.begin(name)
    acknowledged = []
    with store.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    sa.event.listen(
        store.engine, "begin", lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 4}")
    )

    def fill() -> None:
        for number in range(10_000):
            store.decide(name, 1, [Decision("heard", {"document": "q1-1"}, f"k{number}")], "x" * 40)
            acknowledged.append(f"k{number}")

    with pytest.raises(NotKeptError, match="did not keep it: database or disk is full"):
        fill()
    assert len(acknowledged) > 10
    assert [event.key for event in store.events(name)][1:] == acknowledged
    assert trial_state(store.events(name, 1)).query == "q1"
