"""A study goes to another database: everything arrives, nothing is split, and the study remembers where it is."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.experiment.filling import filled
from tests.experiment.studies import small_study
from tests.postgresql import Cluster

from roslin.errors import ArgumentError, ExperimentError, NotKeptError
from roslin.experiment.backup import move_study
from roslin.experiment.database import BACKUPS, METADATA, STATE, DamagedStudyError, without_password
from roslin.experiment.folder import StudyFolder, create_study
from roslin.experiment.store import EventStore


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[StudyFolder]:
    with small_study(tmp_path) as made:
        yield made


@pytest.fixture
def empty(postgresql: Cluster) -> Iterator[str]:
    """The address of an empty database of PostgreSQL."""
    name = postgresql.new()
    yield postgresql.url(name)
    postgresql.drop(name)


def content(url: str, folder: StudyFolder) -> dict[str, list[Any]]:
    store = EventStore(url, folder.plan)
    try:
        with store.database.reading() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(sa.select(table)).all()))
                for table in METADATA.sorted_tables
                if table not in (STATE, BACKUPS)
            }
    finally:
        store.close()


def opened(folder: StudyFolder, url: str = "") -> EventStore:
    return EventStore(url or folder.database, folder.plan)


def test_a_study_moves_to_postgresql_and_back(folder: StudyFolder, empty: str, tmp_path: Path) -> None:
    store = opened(folder)
    everybody = filled(store, 4)
    store.withdraw(everybody[-1].name)
    store.set_status("paused")
    store.close()
    before = content(folder.database, folder)
    done = move_study(folder, empty)
    assert done.source == folder.own_database
    assert done.rows == {name: len(rows) for name, rows in before.items()} | {"state": 2, "backups": 0}
    assert content(folder.database, folder) == before
    assert without_password(folder.database) == without_password(empty)
    with pytest.raises(
        ExperimentError, match=r"the answers of this study are in postgresql://.* since they were moved"
    ):
        opened(folder, folder.own_database)
    store = opened(folder)
    assert store.status == "paused"
    assert store.invite()[0].label == "expert-007", "the number of somebody who withdrew is not given again"
    assert store.withdraw(everybody[0].name) == [folder.own_database], "whoever withdraws is in the old database still"
    store.close()
    after = content(folder.database, folder)

    with pytest.raises(ExperimentError, match="a study is in it already; expected an empty database"):
        move_study(folder, f"{folder.own_database}?timeout=5")
    back = f"sqlite:///{tmp_path / 'back.db'}"
    move_study(folder, back)
    assert folder.database == back
    assert content(back, folder) == after
    store = opened(folder)
    assert store.invite()[0].label == "expert-008"
    store.close()


def test_a_study_in_use_is_not_moved(folder: StudyFolder, tmp_path: Path) -> None:
    server = opened(folder)
    server.invite()
    target = f"sqlite:///{tmp_path / 'new.db'}"
    with pytest.raises(ExperimentError, match="the database is in use; stop the server of the study"):
        move_study(folder, target)
    server.close()
    assert move_study(folder, target).rows["experts"] == 1


def test_a_study_on_postgresql_in_use_is_not_moved(folder: StudyFolder, empty: str, tmp_path: Path) -> None:
    folder.settle(empty)
    server = opened(folder)
    server.invite()
    with pytest.raises(ExperimentError, match="the database is in use; stop the server of the study"):
        move_study(folder, f"sqlite:///{tmp_path / 'new.db'}")
    server.close()


def test_a_damaged_database_is_not_moved(folder: StudyFolder, tmp_path: Path) -> None:
    opened(folder).close()
    database = folder.path / "study.db"
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(DamagedStudyError, match=r"study.db: the database of the study is damaged"):
        move_study(folder, f"sqlite:///{tmp_path / 'moved.db'}")


def test_what_does_not_arrive_whole_is_not_moved(folder: StudyFolder, tmp_path: Path) -> None:
    store = opened(folder)
    filled(store, 2)
    store.close()
    target = f"sqlite:///{tmp_path / 'new.db'}"
    broken = opened(folder, target)
    with broken.database.writing() as connection:
        connection.execute(sa.text("DELETE FROM plans"))
        twice = "CREATE TRIGGER lose BEFORE INSERT ON events WHEN NEW.number = 3 BEGIN SELECT RAISE(IGNORE); END"
        connection.execute(sa.text(twice))
    broken.close()
    with pytest.raises(ExperimentError, match=r"new\.db: \d+ of \d+ rows of events arrived; nothing was moved"):
        move_study(folder, target)
    assert folder.database == folder.own_database
    store = opened(folder)
    assert len(store.experts()) == 4
    store.close()


def test_moves_that_lead_nowhere_are_refused(folder: StudyFolder, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="there is nothing to move yet"):
        move_study(folder, f"sqlite:///{tmp_path / 'new.db'}")
    with pytest.raises(ExperimentError, match=r"are in sqlite:///.*study\.db already"):
        move_study(folder, folder.own_database)
    opened(folder).close()
    with pytest.raises(ArgumentError, match="got no such address"):
        move_study(folder, "new.db")


# -- what the study remembers -----------------------------------------------------------------------------------------


def test_the_study_remembers_its_database_without_the_password(folder: StudyFolder, empty: str) -> None:
    address = without_password(empty)
    assert not folder.has_database
    folder.settle(empty.replace("postgresql://", "postgresql+psycopg://"))
    assert folder.database == address
    kept = folder.path / "database"
    assert kept.read_text() == f"{address}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.write_text(f"{empty}\n")
    folder.settle(address)
    assert folder.database == empty, "what somebody wrote into the file stays as they wrote it"


def test_a_study_does_not_go_on_in_two_databases(folder: StudyFolder, tmp_path: Path) -> None:
    store = opened(folder)
    [somebody] = store.invite()
    store.close()
    other, third = (f"sqlite:///{tmp_path / name}" for name in ("other.db", "third.db"))
    store = opened(folder)
    store.consent(somebody.name)
    store.close()
    with pytest.raises(ExperimentError, match=r"are in sqlite:///.*study\.db; to take them .*: roslin experiment move"):
        folder.settle(other)
    move_study(folder, other)
    with pytest.raises(ExperimentError, match=r"are in sqlite:///.*other\.db; to take them .*: roslin experiment move"):
        folder.settle(third)
    (tmp_path / "other.db").unlink()
    with pytest.raises(ExperimentError, match=r"database: there is no database at sqlite:///.*other\.db; put it back"):
        opened(folder)


def test_a_folder_that_takes_no_file_is_served_all_the_same(
    folder: StudyFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_database: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder, "remember", refuse)
    folder.settle(f"sqlite:///{tmp_path / 'other.db'}")
    assert f"{folder.path}: the address of the database is not remembered: Permission denied" in caplog.text


def test_an_address_that_is_wrong_is_not_remembered(folder: StudyFolder, tmp_path: Path) -> None:
    with pytest.raises(NotKeptError, match="unable to open"):
        folder.settle(f"sqlite:///{tmp_path / 'nowhere' / 'study.db'}")
    assert not (folder.path / "database").exists()


@pytest.mark.long
def test_who_makes_a_study_may_name_its_database(tmp_path: Path, folder: StudyFolder) -> None:
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with create_study(tmp_path / "study.toml", tmp_path / "new.study", database=url).folder as made:
        assert made.database == url
    with create_study(tmp_path / "study.toml", tmp_path / "new.study").folder as again:
        assert again.database == url
