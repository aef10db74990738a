"""Opening databases: new ones, older ones, newer ones, several at once, and what is no database at all."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from tests.experiment.first_tables import first_database
from tests.experiment.plans import judge_all, ranking_plan
from tests.postgresql import Cluster

from roslin.errors import ArgumentError, ExperimentError, MissingExtraError, NotKeptError
from roslin.experiment import database as database_module
from roslin.experiment.database import METADATA, STEPS, TRIALS, DamagedStudyError, StudyDatabase, without_password
from roslin.experiment.store import EventStore

_LATER = '''"""A later step."""
import sqlalchemy as sa
from alembic import op
revision = "9999"
down_revision = "0002"
def upgrade() -> None:
    op.add_column("experts", sa.Column("shoe_size", sa.Integer))
'''


def opened(url: str) -> StudyDatabase:
    database = StudyDatabase(url)
    database.upgrade()
    return database


def test_the_steps_end_at_the_tables(database: str) -> None:
    made = first_database(database)
    made.upgrade()
    with made.reading() as connection:
        options = {"version_table": "roslin_version"}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []
    made.close()


def test_the_steps_give_the_same_sqlite_file_as_the_tables(tmp_path: Path) -> None:
    """A second way to compare, which sees what the first does not: numbers that are never given again, for one."""
    made = first_database(f"sqlite:///{tmp_path / 'steps.db'}")
    made.upgrade()
    made.close()
    opened(f"sqlite:///{tmp_path / 'tables.db'}").close()

    def tables(name: str) -> dict[str, str]:
        with sqlite3.connect(tmp_path / name) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        connection.close()
        return {table: " ".join(sql.split()) for table, sql in rows if table != "roslin_version"}

    assert tables("steps.db") == tables("tables.db")
    assert "AUTOINCREMENT" in tables("steps.db")["experts"]


def test_an_older_database_is_brought_up_to_date_and_a_newer_one_refused(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(database).close()
    later = tmp_path / "later"
    shutil.copytree(STEPS, later)
    (later / "versions" / "later.py").write_text(_LATER)
    made = StudyDatabase(database)
    assert made.version() == "0002"
    with caplog.at_level(logging.WARNING, "roslin.experiment"):
        made.upgrade(later)
        made.upgrade(later)
    assert [record.getMessage() for record in caplog.records] == [
        "the tables of an earlier Roslin (0002) are brought up to date (9999)"
    ]
    assert made.version() == "9999"
    assert "shoe_size" in {column["name"] for column in sa.inspect(made.engine).get_columns("experts")}
    with pytest.raises(ExperimentError, match=r"made by a newer Roslin \(its tables have version 9999"):
        made.upgrade()
    made.close()


def test_trials_of_an_older_database_know_their_first_decision(database: str) -> None:
    made = first_database(database)
    assert made.version() == "0001"
    with made.writing() as connection:
        connection.execute(sa.text("INSERT INTO experts (name, source, invited_ms) VALUES ('ada', 'single', 0)"))
        for trial in (1, 2):
            values = f"VALUES ('ada', {trial}, 'q{trial}', 5, 9)"
            connection.execute(sa.text(f"INSERT INTO trials (expert, trial, query, began_ms, touched_ms) {values}"))
        for number, kind in enumerate(("began", "heard", "sorted", "placed"), start=5):
            values = f"VALUES ('ada', {number}, '{kind}', 1, '{{}}', 'k{number}', {number}, 0, '')"
            columns = "expert, sequence, kind, trial, payload, key, time_ms, made_ms, device"
            connection.execute(sa.text(f"INSERT INTO events ({columns}) {values}"))
    made.upgrade()
    with made.reading() as connection:
        found = connection.execute(sa.select(TRIALS.c.trial, TRIALS.c.decided_ms).order_by(TRIALS.c.trial)).all()
    assert list(map(tuple, found)) == [(1, 7), (2, None)]
    made.close()


def test_a_step_that_fails_changes_nothing(database: str, tmp_path: Path) -> None:
    made = opened(database)
    later = tmp_path / "later"
    shutil.copytree(STEPS, later)
    (later / "versions" / "later.py").write_text(_LATER + "    raise OSError('no more paper')\n")
    with pytest.raises(OSError, match="no more paper"):
        made.upgrade(later)
    assert made.version() == "0002"
    assert "shoe_size" not in {column["name"] for column in sa.inspect(made.engine).get_columns("experts")}
    made.close()


def test_several_may_open_a_new_database_at_once(database: str) -> None:
    plan = ranking_plan()

    def start(_number: int) -> None:
        EventStore(database, plan).close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))
    made = EventStore(database, plan)
    with made.database.reading() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM plans")).scalar() == 1
    made.close()


def test_a_file_of_sqlite_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    store = EventStore(f"sqlite:///{path}", ranking_plan())
    store.invite()
    for each in (path, path.with_name("study.db-wal")):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    store.close()


@pytest.mark.parametrize(
    ("url", "got"),
    [
        ("mysql://host/study", "mysql"),
        ("sqlite://", "no file"),
        ("sqlite:///:memory:", "no file"),
        ("study.db", "no such"),
    ],
)
def test_other_databases_are_refused(url: str, got: str) -> None:
    with pytest.raises(ArgumentError, match=f"the database must be sqlite:///FILE or postgresql://...; got {got}"):
        StudyDatabase(url)


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(NotKeptError, match="the database did not keep it: unable to open"):
        opened(f"sqlite:///{tmp_path / 'nowhere' / 'study.db'}")


def _cut(path: Path) -> None:
    path.write_bytes(b"")


def _overwrite(path: Path) -> None:
    path.write_text("This is no database, but it is long enough to be looked at as one." * 20)


def _cut_in_half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _scramble(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096:12288] = bytes(8192)
    path.write_bytes(whole)


@pytest.mark.long
@pytest.mark.parametrize(
    ("damage", "said"),
    [(_cut, "it is empty"), (_overwrite, "not a database"), (_cut_in_half, "malformed|[Pp]age"), (_scramble, "Page")],
)
def test_a_damaged_file_is_refused_before_anything_is_written(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "study.db"
    store = EventStore(f"sqlite:///{path}", ranking_plan())
    for each in store.invite(20):
        judge_all(store, each.name)
    store.close()
    damage(path)
    before = path.read_bytes()
    with pytest.raises(DamagedStudyError, match=rf"study\.db: the database of the study is damaged \(.*({said}).*\)"):
        EventStore(f"sqlite:///{path}", ranking_plan())
    assert path.read_bytes() == before


def test_tables_of_somebody_else_are_left_alone(database: str) -> None:
    made = StudyDatabase(database)
    with made.writing() as connection:
        connection.execute(sa.text("CREATE TABLE events (mine INTEGER)"))
    with pytest.raises(NotKeptError, match="already exists"):
        made.upgrade()
    assert set(sa.inspect(made.engine).get_table_names()) == {"events"}
    made.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://roslin:se%2Fcret@host:5433/study?sslmode=require",
            "postgresql://roslin@host:5433/study?sslmode=require",
        ),
        ("postgresql+psycopg://host/study?password=secret", "postgresql://host/study"),
        ("sqlite:////tmp/../study.db", "sqlite:////study.db"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_postgresql_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "psycopg", missing)
    with pytest.raises(MissingExtraError, match=r"needs psycopg.*roslin\[postgresql\]"):
        StudyDatabase("postgresql://host/study")


def test_errors_of_the_driver_name_nobody(database: str) -> None:
    store = EventStore(database, ranking_plan())
    name = store.invite()[0].name

    def invite_again() -> None:
        with store.database.writing() as connection:
            again = f"INSERT INTO experts (name, source, invited_ms) VALUES ('{name}', 'single', 0)"
            connection.execute(sa.text(again))

    with pytest.raises(NotKeptError, match="the database did not keep it") as caught:
        invite_again()
    assert name not in str(caught.value)
    store.close()


def test_the_log_of_sqlite_is_not_emptied_under_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan())
    store.invite(2)
    reading = store.histories()
    next(reading)
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0)
    with pytest.raises(NotKeptError, match="the database was not rewritten: another process keeps reading it"):
        store.database.forget_deleted()
    assert len(list(reading)) == 1
    store.database.forget_deleted()
    assert (tmp_path / "study.db-wal").stat().st_size == 0
    store.close()


def test_postgresql_is_not_written_anew_under_a_reader(postgresql: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    name = postgresql.new()
    store = EventStore(postgresql.url(name), ranking_plan())
    store.invite(2)
    reading = store.histories()
    next(reading)
    monkeypatch.setattr(database_module, "_TRIES", 1)
    with pytest.raises(NotKeptError, match="the database did not forget what was deleted: canceling statement"):
        store.database.forget_deleted()
    assert len(list(reading)) == 1
    store.database.forget_deleted()
    store.close()
    postgresql.drop(name)
