"""Many threads write to SQLite at once: a transaction is whole or absent, and on the disk when acknowledged."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

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
    sa.event.listen(store.database.engine, "commit", lambda _connection: counted.update(["commit"]))
    return counted


@pytest.mark.long
def test_threads_take_turns_and_nothing_is_lost(store: EventStore, commits: Counter[str]) -> None:
    names = [expert.name for expert in store.invite(8)]
    for name in names:
        store.begin(name)
    commits.clear()
    with ThreadPoolExecutor(16) as pool:
        work = [pool.submit(_sorted, store, name, f"k{number}") for number in range(30) for name in names]
        for each in work:
            each.result()
    assert commits["commit"] == len(work), "each is flushed by itself"
    for name in names:
        events = store.events(name)
        assert [event.sequence for event in events] == list(range(1, 32))
        assert {event.key for event in events[1:]} == {f"k{number}" for number in range(30)}


def _at_once(calls: list[Callable[[], int]]) -> list[BaseException | int]:
    """The result of every call, or how it failed; all begin at the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], int]) -> BaseException | int:
        barrier.wait()
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_one_that_is_refused_takes_nothing_from_the_others(store: EventStore, commits: Counter[str]) -> None:
    first, second, third = (expert.name for expert in store.invite(3))
    for name in (first, second, third):
        store.begin(name)
    commits.clear()

    def two_of_which_one_is_wrong() -> int:
        with store.database.writing() as connection:
            connection.execute(sa.text("UPDATE experts SET language = 'xx'"))
            raise DecisionError("refused after something was written")

    done = _at_once(
        [lambda: _sorted(store, first, "a"), two_of_which_one_is_wrong, lambda: _sorted(store, third, "c")],
    )
    assert commits["commit"] == 2
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

    sa.event.listen(store.database.engine, "commit", fail)
    done = _at_once([partial(_sorted, store, name, "a") for name in names])
    assert all(isinstance(each, NotKeptError) for each in done)
    assert all("did not keep it: disk I/O error" in str(each) for each in done)
    sa.event.remove(store.database.engine, "commit", fail)
    assert [_sorted(store, name, "a") for name in names] == [2, 2, 2]


def test_a_full_disk_keeps_what_was_acknowledged(store: EventStore) -> None:
    name = store.invite()[0].name
    store.begin(name)
    acknowledged = []
    with store.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    sa.event.listen(
        store.database.engine,
        "begin",
        lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}"),
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
