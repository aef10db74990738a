"""A backup of the database of a running study: one complete, checked file.

SQLite copies its state at one moment without blocking writers. For PostgreSQL the copy is made by `pg_dump`. The backup
is written under another name, read again, counted, and then renamed. It is listed in the database, because it still
contains participants who withdraw later.

To restore a backup of SQLite, stop the server, replace `study.db` with it, and remove `study.db-wal` and `study.db-shm`
if they exist. For PostgreSQL, run `pg_restore --dbname postgresql://... FILE` on an empty database.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from roslin.errors import ExperimentError
from roslin.experiment import clock
from roslin.experiment.database import (
    BACKUPS,
    EVENTS,
    EXPERTS,
    METADATA,
    STATE,
    WITHDRAWN,
    DamagedStudyError,
    StudyDatabase,
    without_password,
)
from roslin.experiment.folder import StudyFolder
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import MOVED

_COUNTED = ("experts", "events")
_BACKUP_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class WrittenBackup:
    """A complete backup."""

    path: Path
    experts: int
    events: int
    size_bytes: int


def write_backup(store: EventStore, path: Path) -> WrittenBackup:
    """Copy the database of a study into a new file."""
    path = path.resolve()
    if path.exists():
        raise ExperimentError(f"{path}: there is such a file already; give the backup another name")
    prepared = path.with_name(f".{path.name}-{secrets.token_hex(4)}.new")
    os.close(os.open(prepared, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    number = store.begin_backup(str(path))
    is_there = False
    try:
        before = _counts(store)
        copied = _copy_sqlite(store, prepared) if store.database.is_sqlite else _dump_postgresql(store, prepared)
        if any(copied[name] < before[name] for name in _COUNTED) and _counts(store) == before:
            found = ", ".join(f"{copied[name]} of {before[name]} {name}" for name in _COUNTED)
            raise ExperimentError(f"{path}: the copy is not whole ({found}), so it was deleted")
        with prepared.open("rb") as written:
            os.fsync(written.fileno())
        os.link(prepared, path)  # unlike a rename, it never replaces a file
        is_there = True
    finally:
        prepared.unlink(missing_ok=True)
        store.end_backup(number, is_there=is_there)
    return WrittenBackup(path, copied["experts"], copied["events"], path.stat().st_size)


def _counts(store: EventStore) -> dict[str, int]:
    with store.database.reading() as connection:
        return {name: _count(connection, METADATA.tables[name]) for name in _COUNTED}


def _count(connection: Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _copy_sqlite(store: EventStore, target: Path) -> dict[str, int]:
    source = str(store.database.engine.url.database)
    try:
        with closing(sqlite3.connect(source, timeout=30)) as theirs, closing(sqlite3.connect(target)) as ours:
            # All at once: a copy in parts restarts after every write, and in WAL mode a copy blocks no writer.
            theirs.backup(ours, pages=-1)
            ours.execute("PRAGMA journal_mode=DELETE")  # one file, not three
            said = [row[0] for row in ours.execute("PRAGMA integrity_check")]
            if said != ["ok"] or ours.execute("PRAGMA foreign_key_check").fetchone():
                raise ExperimentError(f"{target.name}: the copy is damaged ({said[0]}), so it was deleted")
            return {name: ours.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _COUNTED}  # noqa: S608
    except sqlite3.Error as error:
        raise ExperimentError(f"the database could not be copied: {error}") from error


def _dump_postgresql(store: EventStore, target: Path) -> dict[str, int]:
    """Run `pg_dump` and count the rows of the file. The password does not appear in lists of processes."""
    from psycopg.conninfo import make_conninfo

    url = store.database.engine.url
    dump, restore = _program("pg_dump"), _program("pg_restore")
    environment = {**os.environ, **({"PGPASSWORD": str(url.password)} if url.password else {})}
    named: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
    address = make_conninfo("", **{name: value for name, value in (named | dict(url.query)).items() if value})
    command = [dump, "--format=custom", "--no-owner", "--no-privileges", f"--file={target}", f"--dbname={address}"]
    _run(command, environment)
    tables = [f"--table={name}" for name in _COUNTED]
    text = _run([restore, "--data-only", *tables, "--file=-", str(target)], environment)
    counts: Counter[str] = Counter()
    table = ""
    for line in text.split("\n"):
        if line.startswith("COPY "):
            table = line.split()[1].rpartition(".")[2]
        elif line == "\\.":
            table = ""
        elif table:
            counts[table] += 1
    return {name: counts[name] for name in _COUNTED}


def _program(name: str) -> str:
    """A program of PostgreSQL: from the path, or the latest one that Debian installed elsewhere."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda found: int(found.parts[-3]))
    found = shutil.which(name) or (str(installed[-1]) if installed else None)
    if found is None:
        raise ExperimentError(f"a backup of PostgreSQL needs its program {name}; install postgresql-client")
    return found


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_BACKUP_SECONDS, check=False
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ExperimentError(f"{Path(command[0]).name} failed: {said}")
    return done.stdout


# -- moving ------------------------------------------------------------------------------------------------------------
#
# Moving the answers of a study to another database, from SQLite to PostgreSQL or back.
#
# All rows are copied in one transaction while the old database accepts no writes, and counted in both. The old database
# is marked as moved, so that no server uses it. The new one lists it as a backup, because it still contains
# participants who withdraw later.


_ROWS_PER_INSERT = 1000
_COUNTERS = (EXPERTS, EVENTS, BACKUPS, WITHDRAWN)  # tables with rows that the database numbers


@dataclass(frozen=True, slots=True)
class MovedStudy:
    """The old and the new database, and the number of rows of each table."""

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
    with closing(EventStore(before, folder.plan)) as store, closing(StudyDatabase(target)) as new:
        new.check()
        new.upgrade()
        rows = _copied(store, new)
        store.set_state(MOVED, new.shown)
        folder.remember(target)
        return MovedStudy(store.database.shown, new.shown, rows)


def _copied(store: EventStore, target: StudyDatabase) -> dict[str, int]:
    rows: dict[str, int] = {}
    # Writing into the old one waits for the end of this transaction.
    with store.database.writing() as old, target.writing() as new:
        store.database.hold_everybody(old)
        store.database.hold_study(old)
        for table in METADATA.sorted_tables:
            if _count(new, table):
                raise ExperimentError(f"{target.shown}: a study is in it already; expected an empty database")
        for table in METADATA.sorted_tables:
            for part in old.execute(sa.select(table)).mappings().partitions(_ROWS_PER_INSERT):
                new.execute(sa.insert(table), [dict(row) for row in part])
            rows[table.name], arrived = _count(old, table), _count(new, table)
            if arrived != rows[table.name]:
                raise ExperimentError(
                    f"{target.shown}: {arrived} of {rows[table.name]} rows of {table.name} arrived; nothing was moved"
                )
        for table in _COUNTERS:
            _count_on(new, table, _last_number(old, table))
        new.execute(sa.delete(STATE).where(STATE.c.name == MOVED))
        new.execute(sa.insert(BACKUPS).values(path=store.database.shown, time_ms=clock.now_ms()))
    return rows


def _check_alone(url: str) -> None:
    in_use = ExperimentError(
        f"{without_password(url)}: the database is in use; stop the server of the study, and then move it"
    )
    with closing(StudyDatabase(url)) as database:
        if not database.is_sqlite:
            others = sa.text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            with database.reading() as connection:
                if connection.execute(others).scalar_one():
                    raise in_use
            return
        path = Path(str(database.engine.url.database))
        try:
            with closing(sqlite3.connect(path, timeout=1)) as plain:
                plain.execute("PRAGMA journal_mode=DELETE")  # refused while another program has the file open
        except sqlite3.OperationalError:
            raise in_use from None
        except sqlite3.DatabaseError as error:
            raise DamagedStudyError(path, str(error)) from error


def _last_number(connection: Connection, table: sa.Table) -> int:
    """The last number used in a table, even if its row was deleted: it is not used again."""
    last = connection.execute(sa.select(sa.func.max(table.c.number))).scalar() or 0
    if connection.dialect.name != "sqlite":
        sequence = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, "number"))).scalar_one()
        given = connection.execute(sa.text(f"SELECT last_value FROM {sequence} WHERE is_called")).scalar()  # noqa: S608
        return max(last, given or 0)
    if table is EXPERTS:  # the only table for which SQLite remembers it
        given = connection.execute(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'experts'")).scalar()
        return max(last, given or 0)
    return last


def _count_on(connection: Connection, table: sa.Table, last: int) -> None:
    """Continue the numbers of a table after this one."""
    if connection.dialect.name != "sqlite":
        if last:
            sequence = sa.func.pg_get_serial_sequence(table.name, "number")
            connection.execute(sa.select(sa.func.setval(sequence, last)))
    elif table is EXPERTS:
        connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = 'experts'"))
        connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('experts', :last)"), {"last": last})
