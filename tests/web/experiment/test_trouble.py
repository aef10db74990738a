"""When the database fails: nobody is told that something is kept which is not, and all goes on afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from tests.experiment.studies import small_study
from tests.postgresql import Cluster
from tests.web.experiment.browsers import Browser, settings_for, sorted_as

from roslin.web.experiment.app import create_app
from roslin.web.experiment.study import OpenStudy


@contextmanager
def _failing(study: OpenStudy, fails: Callable[[str], bool], text: str) -> Iterator[None]:
    def before(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if fails(statement):
            raise sa.exc.OperationalError(statement, {}, Exception(text))

    sa.event.listen(study.store.database.engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        sa.event.remove(study.store.database.engine, "before_cursor_execute", before)


def test_a_decision_that_is_not_kept_is_not_acknowledged(expert: Browser) -> None:
    expert.at_trial()
    expert.state(1)
    with _failing(expert.study, lambda statement: statement.startswith("INSERT INTO events"), "disk I/O error"):
        answer = expert.send(1, {"key": "mine", **sorted_as(0, "no")})
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["error"]["code"] == "not_kept"
    assert "kept nothing" in answer.json()["error"]["message"]
    assert expert.state(1)["verdicts"] == {}
    assert expert.send(1, {"key": "mine", **sorted_as(0, "no")}).json()["keys"] == ["mine"]


def test_pages_say_that_nothing_was_kept(expert: Browser) -> None:
    page = expert.follow()
    with _failing(expert.study, lambda statement: statement.startswith("INSERT"), "database or disk is full"):
        refused = expert.submit("/consent", page, agree="yes")
    assert refused.status_code == 503
    assert "was not saved" in refused.text
    assert expert.submit("/consent", page, agree="yes").url.path == "/questions"


def test_a_database_that_cannot_be_read(expert: Browser, served: TestClient) -> None:
    expert.at_trial()
    with _failing(expert.study, lambda statement: "SELECT" in statement, "unable to open database file"):
        for path in ("/api/trials/1", "/continue", "/thanks", "/healthz"):
            assert expert.get(path).status_code == 503, path
    assert served.get("/healthz").status_code == 200


@pytest.mark.long
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with small_study(tmp_path) as folder:
        app = create_app(settings_for(folder.path))
    study: OpenStudy = app.state.study
    expert = Browser(TestClient(app), study, study.store.invite()[0].name)
    expert.at_trial()
    with study.store.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def limit(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")

    sa.event.listen(study.store.database.engine, "begin", limit)
    acknowledged: list[str] = []
    for _ in range(100):
        answer = expert.send(1, *({"kind": "heard", "document": n % 6} for n in range(20)))
        if answer.status_code == 503:
            break
        acknowledged += answer.json()["keys"]
    assert answer.status_code == 503
    assert len(acknowledged) >= 20
    assert [event.key for event in study.store.events(expert.name, 1)][1:] == acknowledged
    assert expert.get("/api/trials/1").status_code == 200, "what is there can still be read"
    sa.event.remove(study.store.database.engine, "begin", limit)
    with study.store.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    study.store.database.engine.dispose()
    assert expert.send(1, sorted_as(0, "no")).status_code == 200
    study.close()


def test_connections_that_are_lost_come_back(tmp_path: Path, postgresql: Cluster) -> None:
    database = postgresql.new()
    with small_study(tmp_path) as folder:
        app = create_app(settings_for(folder.path, database=postgresql.url(database)))
    study: OpenStudy = app.state.study
    expert = Browser(TestClient(app), study, study.store.invite()[0].name)
    expert.at_trial()
    assert expert.send(1, sorted_as(0, "no")).status_code == 200
    for number in range(3):
        assert postgresql.disconnect(database) > 0
        assert expert.send(1, sorted_as(number, "no")).status_code == 200
    study.close()
    postgresql.drop(database)


def test_what_nobody_foresaw_is_an_answer(expert: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    expert.at_trial()

    def fail(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("roslin.web.experiment.trials.state_in_numbers", fail)
    answer = expert.get("/api/trials/1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "a mistake" not in answer.text
