"""The database of a study: its tables, and how it is reached, locked, upgraded, and rid of deleted data.

SQLite runs in WAL mode with a flush at every commit. A writing transaction takes SQLite's one lock at its beginning.
The threads of a process wait here for their turn, because SQLite itself would make them poll.

PostgreSQL uses READ COMMITTED. A transaction that locks the row of a participant sees everything that earlier holders
of this lock wrote. A second lock, `hold_study`, guards data of the whole study, such as the numbers of judgements, the
plan and the version of the tables. It is always taken last.
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
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from roslin.errors import ArgumentError, ExperimentError, MissingExtraError, NotKeptError

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext

STEPS = Path(__file__).parent / "migrations"
_VERSION_TABLE = "roslin_version"
_STUDY_LOCK = 0x526F736C696E  # a number that no other program uses
_BUSY_SECONDS = 30
_SHORT_SECONDS, _TRIES = 1, 10  # for statements that block others
_READERS, _MORE_READERS = 10, 10
_LOG = logging.getLogger("roslin.experiment")


# -- tables ------------------------------------------------------------------------------------------------------------
#
#     experts    a secret name, a number for the export, and the last sequence number of each participant
#     events     the log, which only grows; everything else can be rebuilt from it (`EventStore.rebuild`)
#     trials     the trials of each query, begun and finished: the counts for the quota, from the log
#     plans      the current plan and earlier ones
#     state      open, paused or closed; the open invitation
#     backups    the paths of backups, which still contain participants who withdraw later
#     withdrawn  the times of withdrawals, and nothing else about these participants
#
# Times are milliseconds since 1970, in UTC. A new database gets these tables. A change here needs a step in
# `migrations/versions` that makes the same change in existing databases; a test compares the results.


METADATA = sa.MetaData()
# Numbers that count up, for which SQLite has only one type.
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
    sqlite_autoincrement=True,  # the number of a participant who withdrew is not used again
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
    sa.Column("decided_ms", sa.BigInteger),  # the first decision, from which the trial holds a place
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
    """A damaged file of SQLite."""

    def __init__(self, path: Path, said: str):
        super().__init__(
            f"{path}: the database of the study is damaged ({said}); put a backup in its place, or take the file away "
            "if nobody has taken part"
        )


def without_password(url: str | sa.URL) -> str:
    """The address of a database without its password, with the full path of a file."""
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
        self.engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One view of the data, as of one moment."""
        with _as_our_errors("answer"), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction. It is on the disk at the end of the block; after an error nothing was written."""
        with _as_our_errors("keep it"), self._turn, self._writer.begin() as connection:
            yield connection

    def hold_study(self, connection: Connection) -> None:
        """Wait for the lock of the study, and hold it until the end of this transaction."""
        if not self.is_sqlite:  # where writers lock the whole file
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_STUDY_LOCK)))

    def hold_everybody(self, connection: Connection) -> None:
        """Wait for the locks of all participants, and hold them until the end of this transaction."""
        if not self.is_sqlite:
            connection.execute(sa.text("LOCK TABLE experts IN EXCLUSIVE MODE"))

    @property
    def shown(self) -> str:
        return without_password(self.engine.url)

    def check(self) -> None:
        if not self.is_sqlite:
            return
        path = Path(str(self.engine.url.database))
        try:
            with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as plain:
                said = str(plain.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.OperationalError:
            return  # it cannot be opened, but not because of damage
        except sqlite3.DatabaseError as error:
            said = str(error)
        if said != "ok":
            raise DamagedStudyError(path, said.replace("\n", " "))

    def upgrade(self, steps: Path = STEPS) -> None:
        """Create the tables of a new database, or upgrade those of an older one. A newer one is refused."""
        from alembic.operations import Operations
        from alembic.script import ScriptDirectory

        script = ScriptDirectory(str(steps))
        known = [step.revision for step in script.walk_revisions()]
        with self.writing() as connection:
            self.hold_study(connection)
            context = _migration(connection)
            current = context.get_current_revision()
            if current is None:
                METADATA.create_all(connection, checkfirst=False)
            elif current not in known:
                raise ExperimentError(
                    f"the database was made by a newer Roslin (its tables have version {current}, this Roslin knows "
                    f"them up to {known[0]}); install that or a newer one"
                )
            elif current != known[0]:
                with Operations.context(context):
                    for step in reversed(list(script.iterate_revisions("head", current))):
                        step.module.upgrade()
                _LOG.warning("the tables of an earlier Roslin (%s) are brought up to date (%s)", current, known[0])
            context.stamp(script, "head")

    def version(self) -> str:
        """The version of the tables; empty for a new database."""
        with self.reading() as connection:
            return _migration(connection).get_current_revision() or ""

    def forget_deleted(self) -> None:
        """Remove all bytes of deleted data from the files by rewriting the whole database.

        Overwriting is not enough: SQLite moves rows between pages and leaves copies there and in its log; PostgreSQL
        keeps deleted rows until it needs their space.
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
            raise NotKeptError(f"the database was not rewritten: {error}") from error

    @contextmanager
    def _plain(self) -> Iterator[Any]:
        """A connection of the driver, outside any transaction."""
        fairy = self.engine.raw_connection()
        try:
            yield fairy.driver_connection
        finally:
            fairy.close()


def _migration(connection: Connection) -> MigrationContext:
    from alembic.runtime.migration import MigrationContext

    return MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE, "transactional_ddl": True})


def _empty_log(plain: Any) -> None:
    """Empty the log of SQLite, which has copies of pages, as soon as it has no readers."""
    limit = time.monotonic() + _BUSY_SECONDS
    plain.execute("PRAGMA busy_timeout=50")  # waiting here blocks all writers
    try:
        while plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > limit:
                raise sqlite3.OperationalError("another process keeps reading it")
            time.sleep(0.1)
    finally:
        plain.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}")


def _vacuum_postgresql(connection: Connection) -> None:
    """Rewrite the tables. Waiting for their locks blocks all others, so each attempt is short."""
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
    """Translate errors of the driver. Only their first line is kept: the others may name a participant."""
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
    """Create a file of SQLite, unless there is one. It is never empty, so that an empty file is known to be damaged."""
    prepared = path.with_name(f".{path.name}-{secrets.token_hex(4)}.new")
    with suppress(OSError, sqlite3.Error):  # opening the file reports the error
        if not path.exists():
            # The names of participants are the secrets of links, so no other user may read the file.
            os.close(os.open(prepared, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(prepared)) as plain:
                plain.execute("PRAGMA journal_mode=WAL")
            os.link(prepared, path)  # unlike a rename, this never replaces a file of another process
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
    connection.execute("SET synchronous_commit = on")  # whatever the setting of the server
    connection.execute(f"SET lock_timeout = '{_BUSY_SECONDS}s'")
    connection.commit()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by SQLAlchemy's event, not by the driver
    limit = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            # SQLite does not wait for this statement if another process opens a new file too.
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > limit:
                raise
            time.sleep(0.02)
    for pragma in ("synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Writers take the lock immediately, because taking it later could fail. Readers never wait."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
