"""Where decisions are kept: SQLite beside the study, or PostgreSQL. What is acknowledged is on the disk.

    experts    one row each: a name that nobody guesses, a number for the export, the last number of their sequence
    events     the log, only ever added to; everything else can be made from it again (`rebuild`)
    trials     who judges which query, begun and finished: the counts that the quota needs, kept from the log
    plans      the plan under which the study runs, and those before it
    state      open, paused or closed; the open invitation
    backups    where copies were written: who withdraws is in these still
    withdrawn  when somebody withdrew; nothing else of them is left

One transaction per request. It holds the row of its expert (SQLite: the file), so two tabs of one expert come one after
the other: numbers of a sequence have no gaps, and a key that is known is acknowledged without being written again.
SQLite runs in WAL mode with a flush at every commit, and overwrites what is deleted.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from roslin.errors import ArgumentError, DecisionError, FrozenError, NotKeptError, UnknownExpertError
from roslin.experiment.design import Load, next_query, shown_order
from roslin.experiment.events import DECISIONS, Event, TrialState, missing, position_of, trial_state
from roslin.experiment.plan import Plan

__all__ = ["Decision", "EventStore", "Expert", "Receipt", "StudyStatus", "now_ms"]

StudyStatus = Literal["open", "paused", "closed"]
_HOUR_MS = 3_600_000
_BUSY_SECONDS = 30
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are mistaken for one another

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
    sa.Column("trial", sa.Integer, primary_key=True),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("began_ms", sa.BigInteger, nullable=False),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Column("finished_ms", sa.BigInteger),
    sa.UniqueConstraint("expert", "query"),
)
PLANS = sa.Table(
    "plans",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
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


def now_ms() -> int:
    """Milliseconds since 1970, in UTC."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Decision:
    """What a page sends: `key` is the page's own, `made_ms` by its clock."""

    kind: str
    payload: dict[str, Any]
    key: str
    made_ms: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is safely kept: the keys, and the last number of the expert's sequence."""

    keys: tuple[str, ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class Expert:
    """One who takes part. `name` is the secret of their link; `label` is what is exported."""

    number: int
    name: str
    source: str
    participant: str
    language: str
    invited_ms: int
    sequence: int

    @property
    def label(self) -> str:
        """A name for tables."""
        return f"expert-{self.number:03}"


class EventStore:
    """The database of one study."""

    def __init__(self, url: str, plan: Plan):
        self.url, self.plan = url, plan
        self.engine = _engine(url)
        self._writer = self.engine.execution_options(writes=True)
        METADATA.create_all(self.engine)
        self._keep_plan(plan)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    # -- the plan ---------------------------------------------------------------------------------------------------

    def _keep_plan(self, plan: Plan) -> None:
        """Keep a plan that is new. What is frozen may change only as long as nobody has joined."""
        with self._writing() as connection:
            newest = connection.execute(sa.select(PLANS).order_by(PLANS.c.number.desc()).limit(1)).first()
            if newest is not None and newest.fingerprint == plan.fingerprint:
                return
            changes = Plan.from_json(newest.plan).frozen_changes(plan) if newest is not None else []
            if changes and connection.execute(sa.select(EVENTS.c.number).limit(1)).first() is not None:
                raise FrozenError(
                    f"the study has begun, so {', '.join(changes)} can no longer change; make a new study for that"
                )
            number = newest.number + 1 if newest is not None else 1
            values = {"number": number, "time_ms": now_ms(), "fingerprint": plan.fingerprint, "plan": plan.to_json()}
            connection.execute(sa.insert(PLANS).values(values))

    # -- who takes part ---------------------------------------------------------------------------------------------

    def invite(self, count: int = 1, source: str = "single", participant: str = "", language: str = "") -> list[Expert]:
        """New experts, each with a name of their own."""
        if count < 1:
            raise ArgumentError(f"the number of invitations must be at least 1; got {count}")
        names = [secrets.token_hex(10) for _ in range(count)]
        now = now_ms()
        shared = {"source": source, "participant": participant, "language": language, "invited_ms": now, "sequence": 0}
        with self._writing() as connection:
            connection.execute(sa.insert(EXPERTS), [{"name": name, **shared} for name in names])
            rows = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name.in_(names))).all()
        return sorted((_expert(row) for row in rows), key=lambda expert: expert.number)

    def expert(self, name: str) -> Expert:
        """The expert of a name."""
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()
        if row is None:
            raise UnknownExpertError("nobody of this name takes part in the study")
        return _expert(row)

    def experts(self) -> list[Expert]:
        """Everybody, in the order of their invitations."""
        with self.engine.connect() as connection:
            return [_expert(row) for row in connection.execute(sa.select(EXPERTS).order_by(EXPERTS.c.number))]

    def set_language(self, name: str, language: str) -> None:
        """Remember in which language somebody reads."""
        with self._writing() as connection:
            connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == name).values(language=language))

    def withdraw(self, name: str) -> list[str]:
        """Delete everything of an expert; gives the backups that were written before and hold them still."""
        with self._writing() as connection:
            self._held(connection, name)
            for table in (EVENTS, TRIALS):
                connection.execute(sa.delete(table).where(table.c.expert == name))
            connection.execute(sa.delete(EXPERTS).where(EXPERTS.c.name == name))
            connection.execute(sa.insert(WITHDRAWN).values(time_ms=now_ms()))
            backups = [row.path for row in connection.execute(sa.select(BACKUPS).order_by(BACKUPS.c.number))]
        self._forget_deleted()
        return backups

    # -- what they do -----------------------------------------------------------------------------------------------

    def events(self, name: str, trial: int | None = None) -> list[Event]:
        """The events of an expert, in order; of one trial only, if it is named."""
        with self.engine.connect() as connection:
            return _events(connection, name, trial)

    def add(self, name: str, kind: str, payload: Mapping[str, Any] | None = None, trial: int = 0) -> Event:
        """An event that is the server's to write: consented, answered, read, practised, heard."""
        with self._writing() as connection:
            row = self._held(connection, name)
            event = Event(row.sequence + 1, kind, trial, dict(payload or {}), secrets.token_hex(8), now_ms())
            _write(connection, name, [event])
            return event

    def decide(self, name: str, trial: int, decisions: Sequence[Decision], device: str = "") -> Receipt:
        """Keep decisions of one trial, in their order. Those that are kept already are acknowledged again."""
        with self._writing() as connection:
            row = self._held(connection, name)
            keys = [decision.key for decision in decisions]
            known = sa.select(EVENTS.c.key).where(EVENTS.c.expert == name, EVENTS.c.key.in_(keys))
            kept = set(connection.execute(known).scalars())
            fresh = list({each.key: each for each in decisions if each.key not in kept}.values())
            if fresh:
                shown = self._open_trial(connection, name, trial)
                now = now_ms()
                events = [
                    Event(row.sequence + k, each.kind, trial, each.payload, each.key, now, each.made_ms, device)
                    for k, each in enumerate(fresh, start=1)
                ]
                for event in events:
                    _check(event, shown, self.plan)
                _write(connection, name, events)
            return Receipt(tuple(keys), row.sequence + len(fresh))

    def begin(self, name: str) -> int:
        """The open trial of an expert; if there is none, the next one is begun. 0: there is nothing left to judge."""
        with self._writing() as connection:
            row = self._held(connection, name)
            mine = connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name)).all()
            for trial in mine:
                if trial.finished_ms is None and trial.trial > 0:
                    return int(trial.trial)
            number = 1 + max((trial.trial for trial in mine), default=0)
            if number > self.plan.rules.queries_per_expert or self._status(connection) != "open":
                return 0
            query = next_query(self.plan, self._loads(connection), {trial.query for trial in mine}, name)
            if query is None:
                return 0
            shown = shown_order(self.plan, self.plan.task(query), name)
            _begin(connection, name, row.sequence + 1, number, query, shown)
            return number

    def begin_practice(self, name: str) -> TrialState:
        """The practice of an expert, begun unless it is."""
        assert self.plan.practice is not None, "the study has a practice"
        with self._writing() as connection:
            row = self._held(connection, name)
            told = [
                event for event in _events(connection, name, 0) if event.kind not in ("consented", "answered", "read")
            ]
            if not any(event.kind == "began" for event in told):
                task = self.plan.practice.task
                payload = {"query": task.query.id, "shown": list(shown_order(self.plan, task, name))}
                began = Event(row.sequence + 1, "began", 0, payload, secrets.token_hex(8), now_ms())
                _write(connection, name, [began])
                told.append(began)
            return trial_state(told)

    def read_again(self, name: str) -> None:
        """Somebody has read the instructions. Under `resume = "restart"` an open trial begins again, in a new order."""
        with self._writing() as connection:
            row = self._held(connection, name)
            told = _events(connection, name)
            read = Event(row.sequence + 1, "read", 0, {}, secrets.token_hex(8), now_ms())
            was_away = (
                bool(told)
                and position_of(told, self.plan, now_ms()).stage == "instructions"
                and any(event.kind == "read" for event in told)
            )
            _write(connection, name, [read])
            mine = sa.select(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.finished_ms.is_(None))
            trial = connection.execute(mine).first()
            if was_away and trial is not None and self.plan.rules.resume == "restart":
                shown = shown_order(self.plan, self.plan.task(trial.query), f"{name} {row.sequence}")
                payload = {"query": trial.query, "shown": list(shown)}
                _write(
                    connection,
                    name,
                    [Event(row.sequence + 2, "began", trial.trial, payload, secrets.token_hex(8), now_ms())],
                )

    def offer(self, name: str, trial: int, documents: Sequence[str]) -> None:
        """Write down which documents an expert is asked to compare next."""
        with self._writing() as connection:
            row = self._held(connection, name)
            self._open_trial(connection, name, trial)
            payload = {"documents": list(documents)}
            _write(
                connection, name, [Event(row.sequence + 1, "offered", trial, payload, secrets.token_hex(8), now_ms())]
            )

    def finish(self, name: str, trial: int, key: str, device: str = "") -> Receipt:
        """End a trial; from now on it counts. Refused while a candidate is not judged."""
        with self._writing() as connection:
            row = self._held(connection, name)
            of_trial = sa.select(TRIALS.c.finished_ms).where(TRIALS.c.expert == name, TRIALS.c.trial == trial)
            found = connection.execute(of_trial).first()
            if found is None:
                raise DecisionError(f"trial {trial} was never begun")
            if found.finished_ms is not None:
                return Receipt((key,), row.sequence)
            left = missing(trial_state(_events(connection, name, trial)), self.plan)
            if left:
                raise DecisionError(f"{len(left)} of the candidates are still to be judged")
            now = now_ms()
            _write(connection, name, [Event(row.sequence + 1, "finished", trial, {}, key, now, 0, device)])
            ended = sa.update(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == trial).values(finished_ms=now)
            connection.execute(ended)
            return Receipt((key,), row.sequence + 1)

    def complete(self, name: str) -> str:
        """The receipt of an expert who has nothing left to judge; the same one however often it is asked for."""
        with self._writing() as connection:
            row = self._held(connection, name)
            told = sa.select(EVENTS.c.payload).where(EVENTS.c.expert == name, EVENTS.c.kind == "completed")
            found = connection.execute(told).scalar()
            if found is not None:
                return str(found["receipt"])
            unfinished = sa.select(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.finished_ms.is_(None))
            if connection.execute(unfinished).first() is not None:
                raise DecisionError("a trial is still open")
            receipt = "".join(secrets.choice(_LETTERS) for _ in range(10))
            event = Event(row.sequence + 1, "completed", 0, {"receipt": receipt}, secrets.token_hex(8), now_ms())
            _write(connection, name, [event])
            return receipt

    # -- the study as a whole ---------------------------------------------------------------------------------------

    @property
    def status(self) -> StudyStatus:
        """Whether people may begin: open, paused for a while, or closed for good."""
        with self.engine.connect() as connection:
            return self._status(connection)

    def set_status(self, status: StudyStatus) -> None:
        """Open, pause or close the study. Trials that are open can always be finished."""
        self.set_state("status", status)

    def state(self, name: str, otherwise: str = "") -> str:
        """A lasting setting of the study, by name."""
        with self.engine.connect() as connection:
            value = connection.execute(sa.select(STATE.c.value).where(STATE.c.name == name)).scalar()
        return otherwise if value is None else str(value)

    def set_state(self, name: str, value: str) -> None:
        """Keep a lasting setting of the study."""
        with self._writing() as connection:
            connection.execute(sa.delete(STATE).where(STATE.c.name == name))
            connection.execute(sa.insert(STATE).values(name=name, value=value))

    def loads(self) -> dict[str, Load]:
        """How many opinions of each query there are, and how many are being given."""
        with self.engine.connect() as connection:
            return self._loads(connection)

    def rebuild(self) -> None:
        """Make the table of trials again from the log."""
        with self._writing() as connection:
            connection.execute(sa.delete(TRIALS))
            for row in connection.execute(sa.select(EVENTS).order_by(EVENTS.c.number)).all():
                if row.trial < 1:
                    continue
                where = (TRIALS.c.expert == row.expert, TRIALS.c.trial == row.trial)
                if row.kind == "began" and connection.execute(sa.select(TRIALS).where(*where)).first() is None:
                    values = {"expert": row.expert, "trial": row.trial, "query": row.payload["query"]}
                    times = {"began_ms": row.time_ms, "touched_ms": row.time_ms}
                    connection.execute(sa.insert(TRIALS).values(values | times))
                ended = {"finished_ms": row.time_ms} if row.kind == "finished" else {}
                connection.execute(sa.update(TRIALS).where(*where).values(touched_ms=row.time_ms, **ended))

    # -- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction. What goes wrong with the database is an error that says that nothing was kept."""
        try:
            with self._writer.begin() as connection:
                yield connection
        except sa.exc.OperationalError as error:
            raise NotKeptError(f"the database did not keep it: {error.orig}") from error

    def _held(self, connection: Connection, name: str) -> Row[Any]:
        """The row of an expert, which nobody else changes until the transaction ends."""
        row = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name).with_for_update()).first()
        if row is None:
            raise UnknownExpertError("nobody of this name takes part in the study")
        return row

    def _open_trial(self, connection: Connection, name: str, trial: int) -> set[str]:
        """What was shown in a trial that is open."""
        if trial == 0:
            assert self.plan.practice is not None, "trial 0 is the practice"
            return set(self.plan.practice.task.ids)
        of_trial = sa.select(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == trial)
        found = connection.execute(of_trial).first()
        if found is None:
            raise DecisionError(f"trial {trial} was never begun")
        if found.finished_ms is not None:
            raise DecisionError(f"trial {trial} is finished")
        return set(self.plan.task(found.query).ids)

    def _status(self, connection: Connection) -> StudyStatus:
        value = connection.execute(sa.select(STATE.c.value).where(STATE.c.name == "status")).scalar()
        return value or "open"  # only `set_status` writes it

    def _loads(self, connection: Connection) -> dict[str, Load]:
        since = now_ms() - self.plan.rules.abandoned_hours * _HOUR_MS
        finished: Counter[str] = Counter()
        running: Counter[str] = Counter()
        for row in connection.execute(sa.select(TRIALS.c.query, TRIALS.c.touched_ms, TRIALS.c.finished_ms)):
            if row.finished_ms is not None:
                finished[row.query] += 1
            elif row.touched_ms >= since:
                running[row.query] += 1
        return {task.query.id: Load(finished[task.query.id], running[task.query.id]) for task in self.plan.tasks}

    def _forget_deleted(self) -> None:
        """SQLite overwrites what is deleted, but copies of pages lie in its log until that is emptied."""
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))


def _engine(url: str) -> Engine:
    parsed = sa.make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise ArgumentError(f"the database must be sqlite:///FILE or postgresql://...; got {parsed.get_backend_name()}")
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(parsed, pool_size=20, max_overflow=20, pool_pre_ping=True)
    engine = sa.create_engine(parsed, connect_args={"timeout": _BUSY_SECONDS})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by SQLAlchemy's event, not by the driver
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Who means to write takes the lock at once: taking it later could fail. Who reads waits for nobody."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _expert(row: Row[Any]) -> Expert:
    return Expert(row.number, row.name, row.source, row.participant, row.language, row.invited_ms, row.sequence)


def _events(connection: Connection, name: str, trial: int | None = None) -> list[Event]:
    wanted = sa.select(EVENTS).where(EVENTS.c.expert == name).order_by(EVENTS.c.sequence)
    if trial is not None:
        wanted = wanted.where(EVENTS.c.trial == trial)
    return [
        Event(row.sequence, row.kind, row.trial, row.payload, row.key, row.time_ms, row.made_ms, row.device)
        for row in connection.execute(wanted)
    ]


def _write(connection: Connection, name: str, events: Iterable[Event]) -> None:
    """Add events that follow the last one of their expert."""
    told = list(events)
    rows = [
        {
            "expert": name,
            "sequence": event.sequence,
            "kind": event.kind,
            "trial": event.trial,
            "payload": event.payload,
            "key": event.key,
            "time_ms": event.time_ms,
            "made_ms": event.made_ms,
            "device": event.device,
        }
        for event in told
    ]
    connection.execute(sa.insert(EVENTS), rows)
    last = told[-1]
    connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == name).values(sequence=last.sequence))
    if last.trial > 0:
        touched = sa.update(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == last.trial)
        connection.execute(touched.values(touched_ms=last.time_ms))


def _begin(connection: Connection, name: str, sequence: int, trial: int, query: str, shown: Sequence[str]) -> None:
    now = now_ms()
    values = {"expert": name, "trial": trial, "query": query, "began_ms": now, "touched_ms": now}
    connection.execute(sa.insert(TRIALS).values(values))
    payload = {"query": query, "shown": list(shown)}
    _write(connection, name, [Event(sequence, "began", trial, payload, secrets.token_hex(8), now)])


def _check(event: Event, shown: set[str], plan: Plan) -> None:
    """Refuse a decision that no page of this study sends."""
    payload = event.payload
    if event.kind not in DECISIONS:
        raise DecisionError(f"a decision must be one of {', '.join(DECISIONS)}; got {event.kind!r}")
    named = [payload.get("document"), payload.get("after"), payload.get("best"), *payload.get("documents", ())]
    if any(document is not None and document not in shown for document in named):
        raise DecisionError("a decision names a candidate that was not shown")
    if payload.get("tied") and not plan.rules.ties:
        raise DecisionError("this study has no ties")
