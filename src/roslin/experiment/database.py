"""The database of a study: its tables, and how it is reached, locked, upgraded, and rid of deleted data.

SQLite runs in WAL mode with a flush at every commit. A transaction that writes takes SQLite's one lock at its
beginning. The threads of a process wait here for their turn, because SQLite itself would make them poll.

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
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from roslin.errors import ArgumentError, ExperimentError, MissingExtraError, NotKeptError

STEPS = Path(__file__).parent / "migrations"
_VERSION_TABLE = "roslin_version"
_STUDY_LOCK = 0x526F736C696E  # any number that no other program takes
_BUSY_SECONDS = 30
_SHORT_SECONDS, _TRIES = 1, 10  # for what makes others wait
_READERS, _MORE_READERS = 10, 10
_LOG = logging.getLogger("roslin.experiment")


# -- tables ------------------------------------------------------------------------------------------------------------
#
#     experts    one row each: a name that nobody guesses, a number for the export, the last number of their sequence
#     events     the log, only ever added to; everything else can be made from it again (`EventStore.rebuild`)
#     trials     who judges which query, begun and finished: the counts that the quota needs, kept from the log
#     plans      the plan under which the study runs, and those before it
#     state      open, paused or closed; the open invitation
#     backups    where copies were written: who withdraws is in these still
#     withdrawn  when somebody withdrew; nothing else of them is left
#
# Times are milliseconds since 1970, in UTC. A change here needs a step in `migrations/versions` that makes the same
# change in a database that is there already; a test compares where both end.


METADATA = sa.MetaData()
# Whole numbers that count up: SQLite has them only under its own name for them.
_COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

EXPERTS = sa.Table(
    "experts",
    METADATA,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("name", sa.String(40), nullable=False, unique=True),
    sa.Column("source", sa.String(20), nullable=False),  # single, open or bot
    sa.Column("participant", sa.String(200), nullable=False, server_default=""),
    sa.Column("language", sa.String(10), nullable=False, server_default=""),
    sa.Column("invited_ms", sa.BigInteger, nullable=False),
    sa.Column("sequence", sa.Integer, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # the number of somebody who withdrew is not given again
)
EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("expert", sa.String(40), sa.ForeignKey("experts.name"), nullable=False),
    sa.Column("sequence", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("trial", sa.Integer, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
    sa.Column("made_ms", sa.BigInteger, nullable=False),
    sa.Column("device", sa.String(40), nullable=False),
    sa.UniqueConstraint("expert", "sequence"),
    sa.UniqueConstraint("expert", "key"),
)
TRIALS = sa.Table(
    "trials",
    METADATA,
    sa.Column("expert", sa.String(40), sa.ForeignKey("experts.name"), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("began_ms", sa.BigInteger, nullable=False),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Column("finished_ms", sa.BigInteger),
    sa.Column("decided_ms", sa.BigInteger),  # the first decision: from then on it holds a place
    sa.UniqueConstraint("expert", "query"),
)
PLANS = sa.Table(
    "plans",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
)
STATE = sa.Table(
    "state",
    METADATA,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
BACKUPS = sa.Table(
    "backups",
    METADATA,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
)
WITHDRAWN = sa.Table(
    "withdrawn",
    METADATA,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
)


# -- connections -------------------------------------------------------------------------------------------------------


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
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()

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
        with _as_our_errors("keep it"), self._turn, self._writer.begin() as connection:
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
            with self._turn, self._plain() as plain:
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
