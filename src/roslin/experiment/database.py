"""The database of a study as such: how it is reached, locked, brought up to date, and rid of what was deleted.

SQLite runs in WAL mode with a flush at every commit. Whoever writes takes its one lock at once; the threads of a
process wait for each other here, in turn, where SQLite itself would have them ask again and again. What many write at
the same moment is one transaction with one flush (`_Together`); nobody is told that it is kept before that.

PostgreSQL runs its usual READ COMMITTED. A transaction that holds the row of an expert sees everything that those who
held it before have written. What concerns the study as a whole (which query lacks opinions, the plan, the version of
the tables) is guarded by one more lock, `hold_study`, which is always taken last.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Transaction

from roslin.errors import ArgumentError, ExperimentError, MissingExtraError, NotKeptError

STEPS = Path(__file__).parent / "migrations"
_VERSION_TABLE = "roslin_version"
_STUDY_LOCK = 0x526F736C696E  # any number that no other program takes
_BUSY_SECONDS = 30
_SHORT_SECONDS, _TRIES = 1, 10  # for what makes others wait
_READERS, _MORE_READERS = 10, 10
_MOST_TOGETHER = 32  # transactions with one flush
_LOG = logging.getLogger("roslin.experiment")


class DamagedStudyError(ExperimentError):
    """A file of SQLite that is no whole database."""

    def __init__(self, path: Path, said: str):
        super().__init__(
            f"{path}: the database of the study is damaged ({said}); put a backup in its place, or take the file away "
            "if nobody has taken part"
        )


def without_password(url: str | sa.URL) -> str:
    """The address of a database as it may be shown and kept; that of a file in full."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        return f"sqlite:///{Path(parsed.database).resolve()}"
    plain = parsed.set(drivername=parsed.get_backend_name()).difference_update_query(["password"])
    return sa.URL.create(
        plain.drivername, plain.username, None, plain.host, plain.port, plain.database, plain.query
    ).render_as_string()


def _parsed(url: str | sa.URL) -> sa.URL:
    try:
        return sa.make_url(url)
    except sa.exc.ArgumentError:
        raise ArgumentError("the database must be sqlite:///FILE or postgresql://...; got no such address") from None


class StudyDatabase:
    """The connections to a database of SQLite or PostgreSQL."""

    def __init__(self, url: str):
        self.engine = _engine(url)
        self._writer = self.engine.execution_options(writes=True)
        self._together = _Together(self._writer) if self.is_sqlite else None

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One view of the data: whatever is read inside was there at the same time."""
        with _as_our_errors("answer"), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction. It is on the disk when the block has ended; an error says that nothing was kept."""
        begun = self._together.writing() if self._together else self._writer.begin()
        with _as_our_errors("keep it"), begun as connection:
            yield connection

    def hold_study(self, connection: Connection) -> None:
        """Wait until no other transaction holds the study, and hold it to the end of this one."""
        if not self.is_sqlite:  # there, whoever writes has the file
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_STUDY_LOCK)))

    def hold_everybody(self, connection: Connection) -> None:
        """Wait until no expert is written for, and let none be until the end of this transaction."""
        if not self.is_sqlite:
            connection.execute(sa.text("LOCK TABLE experts IN EXCLUSIVE MODE"))

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return without_password(self.engine.url)

    def check(self) -> None:
        """Refuse a file of SQLite that is damaged."""
        if not self.is_sqlite:
            return
        path = Path(str(self.engine.url.database))
        try:
            with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as plain:
                said = str(plain.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.OperationalError:
            return  # it cannot be opened, and not because of what is in it
        except sqlite3.DatabaseError as error:
            said = str(error)
        if said != "ok":
            raise DamagedStudyError(path, said.replace("\n", " "))

    def upgrade(self, steps: Path = STEPS) -> None:
        """Make the tables of a new database, or bring those of an older one up to date. A newer one is refused."""
        from alembic.operations import Operations
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        script = ScriptDirectory(str(steps))
        known = [step.revision for step in script.walk_revisions()]
        with self.writing() as connection:
            self.hold_study(connection)
            context = MigrationContext.configure(
                connection, opts={"version_table": _VERSION_TABLE, "transactional_ddl": True}
            )
            current = context.get_current_revision()
            if current is not None and current not in known:
                raise ExperimentError(
                    f"the database was made by a newer Roslin (its tables have version {current}, this Roslin knows "
                    f"them up to {known[0]}); install that or a newer one"
                )
            if current == known[0]:
                return
            with Operations.context(context):
                for step in reversed(list(script.iterate_revisions("head", current or "base"))):
                    step.module.upgrade()
                context.stamp(script, "head")
        if current is not None:
            _LOG.warning("the tables of an earlier Roslin (%s) are brought up to date (%s)", current, known[0])

    def version(self) -> str:
        """The version of the tables; empty for a database that has none."""
        from alembic.runtime.migration import MigrationContext

        with self.reading() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE})
            return context.get_current_revision() or ""

    def forget_deleted(self) -> None:
        """Leave no bytes of what was deleted in the files of the tables. The whole database is written anew.

        Overwriting alone is not enough: SQLite moves rows between pages and leaves copies behind, and in its log;
        PostgreSQL keeps deleted rows until their room is needed.
        """
        if not self.is_sqlite:
            with _as_our_errors("forget what was deleted"), self.engine.connect() as connection:
                _vacuum_postgresql(connection.execution_options(isolation_level="AUTOCOMMIT"))
            return
        try:
            alone = self._together.alone() if self._together else nullcontext()
            with alone, self._plain() as plain:
                plain.execute("VACUUM")
            with self._plain() as plain:
                _empty_log(plain)
        except sqlite3.Error as error:
            raise NotKeptError(f"the database was not written anew: {error}") from error

    @contextmanager
    def _plain(self) -> Iterator[Any]:
        """A connection of the driver, outside any transaction."""
        fairy = self.engine.raw_connection()
        try:
            yield fairy.driver_connection
        finally:
            fairy.close()


def _empty_log(plain: Any) -> None:
    """Empty the log of SQLite, in which copies of pages lie, as soon as nobody reads from it."""
    limit = time.monotonic() + _BUSY_SECONDS
    plain.execute("PRAGMA busy_timeout=50")  # who waits here makes everybody wait who writes
    try:
        while plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > limit:
                raise sqlite3.OperationalError("somebody else reads all the time")
            time.sleep(0.1)
    finally:
        plain.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}")


def _vacuum_postgresql(connection: Connection) -> None:
    """Write the tables anew. Who waits for all tables makes everybody else wait, so it is tried for short times."""
    for table in ("events", "trials", "experts"):
        for left in reversed(range(_TRIES)):
            connection.execute(sa.text(f"SET lock_timeout = '{_SHORT_SECONDS}s'"))
            try:
                connection.execute(sa.text(f"VACUUM (FULL, ANALYZE) {table}"))
                break
            except sa.exc.OperationalError:
                if not left:
                    raise
                time.sleep(_SHORT_SECONDS)
            finally:
                connection.execute(sa.text(f"SET lock_timeout = '{_BUSY_SECONDS}s'"))


@dataclass(slots=True)
class _Batch:
    """A transaction of several, and how it ended."""

    connection: Connection
    transaction: Transaction
    members: int = 0
    error: BaseException | None = None
    is_over: threading.Event = field(default_factory=threading.Event)


class _Together:
    """Transactions of the threads of this process, several at a time in one of SQLite.

    Each has its turn, and a savepoint to which it goes back if it fails. Whoever finds nobody waiting after them
    commits for all; then all go on, or all fail.
    """

    def __init__(self, writer: Engine):
        self._writer = writer
        self._turn = threading.Lock()
        self._count = threading.Lock()
        self._waiting = 0
        self._batch: _Batch | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One of several."""
        with self._in_turn():
            batch = self._batch or self._begun()
            batch.members += 1
            try:
                batch.connection.exec_driver_sql("SAVEPOINT one")
                yield batch.connection
                batch.connection.exec_driver_sql("RELEASE one")
            except BaseException as error:
                self._take_back(batch, error)
                raise
            finally:
                if not self._waiting or batch.members >= _MOST_TOGETHER or batch.error is not None:
                    self._end(batch)
        batch.is_over.wait()
        if batch.error is not None:
            raise batch.error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While nobody writes."""
        with self._in_turn():
            if self._batch is not None:
                self._end(self._batch)
            yield

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        with self._count:
            self._waiting += 1
        try:
            self._turn.acquire()
        finally:  # whoever is interrupted waits no longer, and others must not leave the commit to them
            with self._count:
                self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()

    def _begun(self) -> _Batch:
        connection = self._writer.connect()
        try:
            self._batch = _Batch(connection, connection.begin())
        except BaseException:
            connection.close()
            raise
        return self._batch

    def _take_back(self, batch: _Batch, error: BaseException) -> None:
        """Undo what one of several wrote. Some errors (a full disk) have undone all of it already."""
        try:
            batch.connection.exec_driver_sql("ROLLBACK TO one")
            batch.connection.exec_driver_sql("RELEASE one")
        except sa.exc.SQLAlchemyError:
            batch.error = error

    def _end(self, batch: _Batch) -> None:
        self._batch = None
        try:
            if batch.error is None:
                batch.transaction.commit()
            else:
                batch.transaction.rollback()
        except BaseException as error:
            batch.error = batch.error or error
            batch.connection.invalidate()  # closed for good: nothing of it is left in a transaction half done
        finally:
            with suppress(sa.exc.SQLAlchemyError):
                batch.connection.close()
            batch.is_over.set()


@contextmanager
def _as_our_errors(what: str) -> Iterator[None]:
    """Errors of the driver in our words. Only their first line: the others may name an expert."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        said = (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0]
        if "no password supplied" in said:
            said += "; give it in PGPASSWORD, or in the file ~/.pgpass"
        raise NotKeptError(f"the database did not {what}: {said}") from error


def _engine(url: str) -> Engine:
    parsed = _parsed(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return _postgresql(parsed.set(drivername="postgresql+psycopg"))
    if backend != "sqlite" or not parsed.database or parsed.database == ":memory:":
        got = backend if backend != "sqlite" else "no file"
        raise ArgumentError(f"the database must be sqlite:///FILE or postgresql://...; got {got}")
    _make_sqlite(Path(parsed.database))
    engine = sa.create_engine(
        parsed, connect_args={"timeout": _BUSY_SECONDS}, pool_size=_READERS, max_overflow=_MORE_READERS
    )
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_sqlite(path: Path) -> None:
    """A new file of SQLite, unless there is one. It is never empty, so that an empty one is known to be cut off."""
    prepared = path.with_name(f".{path.name}-{secrets.token_hex(4)}.new")
    with suppress(OSError, sqlite3.Error):  # opening it says what is wrong
        if not path.exists():
            # Names in it are the secrets of links: nobody else on this computer reads it.
            os.close(os.open(prepared, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(prepared)) as plain:
                plain.execute("PRAGMA journal_mode=WAL")
            os.link(prepared, path)  # unlike a rename, it never replaces what another process has made meanwhile
    with suppress(OSError):
        prepared.unlink(missing_ok=True)
    with suppress(OSError):
        if path.stat().st_size == 0:
            raise DamagedStudyError(path, "it is empty")


def _postgresql(url: sa.URL) -> Engine:
    try:
        engine = sa.create_engine(url, pool_size=_READERS, max_overflow=_MORE_READERS, pool_pre_ping=True)
    except ImportError:
        raise MissingExtraError("a database of PostgreSQL", "psycopg", "postgresql") from None
    sa.event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_postgresql(connection: Any, _record: object) -> None:
    connection.execute("SET synchronous_commit = on")  # whatever the server's own setting is
    connection.execute(f"SET lock_timeout = '{_BUSY_SECONDS}s'")
    connection.commit()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by SQLAlchemy's event, not by the driver
    limit = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            # The one statement for which SQLite does not wait, when another process opens a new file as well.
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > limit:
                raise
            time.sleep(0.02)
    for pragma in ("synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Who means to write takes the lock at once: taking it later could fail. Who reads waits for nobody."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
