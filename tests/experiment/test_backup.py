"""Copies while the study runs, and going back to one."""

from __future__ import annotations

import shutil
import stat
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.experiment.plans import judge_all, ranked, ranking_plan
from tests.postgresql import Cluster, programs

from roslin.errors import ExperimentError
from roslin.experiment import backup
from roslin.experiment.backup import write_backup
from roslin.experiment.store import EventStore


def filled(database: str) -> EventStore:
    store = EventStore(database, ranking_plan(quota=99))
    for each in store.invite(3):
        judge_all(store, each.name)
    return store


def histories(store: EventStore) -> list[Any]:
    return list(store.histories())


def restored(path: Path, database: str, tmp_path: Path, cluster: Cluster | None) -> EventStore:
    """As the documentation says."""
    if cluster is None:
        shutil.copyfile(path, tmp_path / "again.db")
        return EventStore(f"sqlite:///{tmp_path / 'again.db'}", ranking_plan(quota=99))
    found = programs()
    assert found is not None
    url = cluster.url(cluster.new())
    subprocess.run([found / "pg_restore", "--dbname", url, path], check=True, capture_output=True)
    return EventStore(url, ranking_plan(quota=99))


def test_a_copy_is_listed_and_can_be_gone_back_to(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = filled(database)
    target = tmp_path / "copies" / "first.backup"
    target.parent.mkdir()
    done = write_backup(store, target)
    assert (done.path, done.experts, done.events) == (target, 3, store.age()[0])
    assert done.size_bytes == target.stat().st_size > 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["first.backup"]
    assert [each.path for each in store.backups()] == [str(target)]
    before = histories(store)
    gone = store.experts()[0]
    assert store.withdraw(gone.name) == [str(target)]
    cluster = None if database.startswith("sqlite") else request.getfixturevalue("postgresql")
    again = restored(target, database, tmp_path, cluster)
    assert histories(again) == before
    ranked(again, again.invite()[0].name)  # numbers go on counting
    for each in (store, again):
        each.close()
    if cluster is not None:
        cluster.drop(str(again.database.engine.url.database))


def test_copies_while_others_write_are_whole(tmp_path: Path) -> None:
    store = filled(f"sqlite:///{tmp_path / 'study.db'}")
    names = [each.name for each in store.invite(2)]
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            store.add(names[number % 2], "consented")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        sizes = [write_backup(store, tmp_path / f"{number}.backup").events for number in range(3)]
    finally:
        is_over.set()
        writer.join()
    assert sizes == sorted(sizes)
    for number, events in enumerate(sizes):
        copy = EventStore(f"sqlite:///{tmp_path / f'{number}.backup'}", ranking_plan(quota=99))
        assert sum(len(told) for _expert, told in copy.histories()) == events
        assert all(len(told) == expert.sequence for expert, told in copy.histories())
        copy.close()
    store.close()


def test_nothing_is_replaced(tmp_path: Path) -> None:
    store = filled(f"sqlite:///{tmp_path / 'study.db'}")
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ExperimentError, match="there is such a file already"):
        write_backup(store, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    assert store.backups() == []
    store.close()


@pytest.mark.parametrize(("fault", "message"), [("short", "not whole"), ("stopped", "no more paper")])
def test_what_is_not_whole_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, message: str
) -> None:
    store = filled(f"sqlite:///{tmp_path / 'study.db'}")
    (tmp_path / "copies").mkdir()

    def copy(_store: EventStore, target: Path) -> dict[str, int]:
        target.write_bytes(b"half a ")
        if fault == "stopped":
            raise OSError("no more paper")
        return {"experts": 3, "events": 1}

    monkeypatch.setattr(backup, "_copy_sqlite", copy)
    with pytest.raises((ExperimentError, OSError), match=message):
        write_backup(store, tmp_path / "copies" / "one")
    assert list((tmp_path / "copies").iterdir()) == []
    assert store.backups() == []
    store.close()


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    store = filled(f"sqlite:///{tmp_path / 'study.db'}")
    with pytest.raises(ExperimentError, match="could not be copied: file is not a database"):
        backup._copy_sqlite(_pointed_at(store, tmp_path / "text"), tmp_path / "copy")
    store.close()


def _pointed_at(store: EventStore, path: Path) -> Any:
    path.write_text("no database, but long enough to be one" * 99)

    url = store.database.engine.url.set(database=str(path))
    return SimpleNamespace(database=SimpleNamespace(engine=SimpleNamespace(url=url)))


def test_postgresql_without_its_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(Path, "glob", lambda _self, _pattern: [])
    with pytest.raises(ExperimentError, match="needs its program pg_dump; install postgresql-client"):
        backup._program("pg_dump")
    with pytest.raises(ExperimentError, match="false failed: no reason given"):
        backup._run(["false"], {"PATH": "/usr/bin:/bin"})
