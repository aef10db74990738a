"""The answers of a study go to another database: from SQLite to PostgreSQL, or back.

All rows are copied in one transaction, while nobody writes into the old database, and counted in both. The old one is
marked, so that no server goes on in it; it is listed as a backup in the new one, because whoever withdraws later is in
it still.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from roslin.errors import ExperimentError
from roslin.experiment import clock
from roslin.experiment.database import DamagedStudyError, StudyDatabase, without_password
from roslin.experiment.folder import StudyFolder
from roslin.experiment.schema import BACKUPS, EVENTS, EXPERTS, METADATA, STATE, WITHDRAWN
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import MOVED

__all__ = ["MovedStudy", "move_study"]

_ROWS_AT_ONCE = 1000
_COUNTERS = (EXPERTS, EVENTS, BACKUPS, WITHDRAWN)  # tables whose rows are numbered by the database


@dataclass(frozen=True, slots=True)
class MovedStudy:
    """From where to where, and how many rows of each table."""

    source: str
    target: str
    rows: dict[str, int]


def move_study(folder: StudyFolder, target: str) -> MovedStudy:
    """Copy everything into an empty database, which the study uses from then on."""
    before = folder.database
    if without_password(before) == without_password(target):
        raise ExperimentError(f"{folder.path}: the answers of this study are in {without_password(target)} already")
    if not folder.has_database:
        raise ExperimentError(f"{folder.path}: there is nothing to move yet; give --database to the first command")
    _check_alone(before)
    store = EventStore(before, folder.plan)
    try:
        new = StudyDatabase(target)
        try:
            new.check()
            new.upgrade()
            rows = _copied(store, new)
            store.set_state(MOVED, new.shown)
            folder.remember(target)
            return MovedStudy(store.database.shown, new.shown, rows)
        finally:
            new.close()
    finally:
        store.close()


def _copied(store: EventStore, target: StudyDatabase) -> dict[str, int]:
    rows: dict[str, int] = {}
    # Writing into the old one waits until this is over; nothing is changed in it.
    with store.database.writing() as old, target.writing() as new:
        store.database.hold_everybody(old)
        store.database.hold_study(old)
        for table in METADATA.sorted_tables:
            if new.execute(sa.select(sa.func.count()).select_from(table)).scalar_one():
                raise ExperimentError(f"{target.shown}: a study is in it already; expected an empty database")
        for table in METADATA.sorted_tables:
            for part in old.execute(sa.select(table)).mappings().partitions(_ROWS_AT_ONCE):
                new.execute(sa.insert(table), [dict(row) for row in part])
            counts = [each.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for each in (old, new)]
            if counts[0] != counts[1]:
                raise ExperimentError(
                    f"{target.shown}: {counts[1]} of {counts[0]} rows of {table.name} arrived; nothing was moved"
                )
            rows[table.name] = counts[0]
        for table in _COUNTERS:
            _count_on(new, table, _last_number(old, table))
        new.execute(sa.delete(STATE).where(STATE.c.name == MOVED))
        new.execute(sa.insert(BACKUPS).values(path=store.database.shown, time_ms=clock.now_ms()))
    return rows


def _check_alone(url: str) -> None:
    """Refuse while another program has the database open."""
    in_use = ExperimentError(
        f"{without_password(url)}: the database is in use; stop the server of the study, and then move it"
    )
    database = StudyDatabase(url)
    try:
        if database.is_sqlite:
            with closing(sqlite3.connect(str(database.engine.url.database), timeout=1)) as plain:
                plain.execute("PRAGMA journal_mode=DELETE")  # refused while anybody else has the file open
            return
        with database.reading() as connection:
            others = sa.text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            if connection.execute(others).scalar_one():
                raise in_use
    except sqlite3.OperationalError:
        raise in_use from None
    except sqlite3.DatabaseError as error:
        raise DamagedStudyError(Path(str(database.engine.url.database)), str(error)) from error
    finally:
        database.close()


def _last_number(connection: Connection, table: sa.Table) -> int:
    """The last number that was given in a table, though its row may be gone: it is not given again."""
    last = connection.execute(sa.select(sa.func.max(table.c.number))).scalar() or 0
    if connection.dialect.name != "sqlite":
        sequence = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, "number"))).scalar_one()
        given = connection.execute(sa.text(f"SELECT last_value FROM {sequence} WHERE is_called")).scalar()  # noqa: S608
        return max(last, given or 0)
    if table is EXPERTS:  # the only one in which SQLite remembers it
        given = connection.execute(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'experts'")).scalar()
        return max(last, given or 0)
    return last


def _count_on(connection: Connection, table: sa.Table, last: int) -> None:
    """Let the numbers of a table go on after this one."""
    if connection.dialect.name != "sqlite":
        if last:
            sequence = sa.func.pg_get_serial_sequence(table.name, "number")
            connection.execute(sa.select(sa.func.setval(sequence, last)))
    elif table is EXPERTS:
        connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = 'experts'"))
        connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('experts', :last)"), {"last": last})
