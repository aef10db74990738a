"""Where decisions are kept: SQLite beside the study, or PostgreSQL. What is acknowledged is on the disk.

`schema` has the tables. The log of events is only ever added to, and everything else can be made from it again.

One transaction per request. It holds the row of its expert (SQLite: the file), so two tabs of one expert come one after
the other: numbers of a sequence have no gaps, and a key that is known is acknowledged without being written again.
Whoever begins a trial holds the study as well, so that no two take the last place of a query.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from roslin.errors import ArgumentError, DecisionError, FrozenError, NotKeptError, UnknownExpertError
from roslin.experiment.database import StudyDatabase
from roslin.experiment.decisions import Decision, check_decision, check_key
from roslin.experiment.design import Load, next_query, shown_order
from roslin.experiment.events import (
    HOUR_MS,
    Event,
    ExpertChoice,
    TrialState,
    missing,
    position_of,
    trial_state,
)
from roslin.experiment.plan import StudyPlan
from roslin.experiment.schema import BACKUPS, EVENTS, EXPERTS, PLANS, STATE, TRIALS, WITHDRAWN

__all__ = ["Decision", "EventStore", "Receipt", "StoredBackup", "StudyExpert", "StudyStatus", "now_ms"]

StudyStatus = Literal["open", "paused", "closed"]
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are mistaken for one another
_TRACES = "traces"  # the setting that says so
_LOG = logging.getLogger("roslin.experiment")

# The statements of a decision, made once: making them takes as long as running them.
_HELD = sa.select(EXPERTS).where(EXPERTS.c.name == sa.bindparam("whose")).with_for_update(key_share=True)
_KNOWN_KEYS = sa.select(EVENTS.c.key).where(
    EVENTS.c.expert == sa.bindparam("whose"), EVENTS.c.key.in_(sa.bindparam("keys", expanding=True))
)
_OF_TRIAL = (TRIALS.c.expert == sa.bindparam("whose"), TRIALS.c.trial == sa.bindparam("number"))
_TRIAL = sa.select(TRIALS).where(*_OF_TRIAL)
_ADD_EVENTS = sa.insert(EVENTS)
_COUNT_ON = sa.update(EXPERTS).where(EXPERTS.c.name == sa.bindparam("whose")).values(sequence=sa.bindparam("last"))
_TOUCH = sa.update(TRIALS).where(*_OF_TRIAL).values(touched_ms=sa.bindparam("now"))


def now_ms() -> int:
    """Milliseconds since 1970, in UTC."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is safely kept: the keys, and the last number of the expert's sequence."""

    keys: tuple[str, ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class StudyExpert:
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


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A copy of the database that was written."""

    path: str
    time_ms: int


class EventStore:
    """The database of one study."""

    def __init__(self, url: str, plan: StudyPlan):
        self.url, self.plan = url, plan
        self.database = StudyDatabase(url)
        try:
            self.database.upgrade()
            self._keep_plan(plan)
            if self.has_traces:
                self._forget_deleted()
        except BaseException:
            self.database.close()
            raise

    @property
    def engine(self) -> Engine:
        """The connections."""
        return self.database.engine

    def close(self) -> None:
        """Give the connections back."""
        self.database.close()

    # -- the plan ---------------------------------------------------------------------------------------------------

    def _keep_plan(self, plan: StudyPlan) -> None:
        """Keep a plan that is new. What is frozen may change only as long as nobody has joined."""
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            newest = connection.execute(sa.select(PLANS).order_by(PLANS.c.number.desc()).limit(1)).first()
            if newest is not None and newest.fingerprint == plan.fingerprint:
                return
            changes = StudyPlan.from_json(newest.plan).frozen_changes(plan) if newest is not None else []
            # A study of another name must not even have been sent out: this is then the database of that one.
            begun = EXPERTS if "name" in changes else EVENTS
            if changes and connection.execute(sa.select(begun.c.number).limit(1)).first() is not None:
                raise FrozenError(
                    f"the study has begun, so {', '.join(changes)} can no longer change; make a new study for that"
                )
            number = newest.number + 1 if newest is not None else 1
            values = {"number": number, "time_ms": now_ms(), "fingerprint": plan.fingerprint, "plan": plan.to_json()}
            connection.execute(sa.insert(PLANS).values(values))

    # -- who takes part ---------------------------------------------------------------------------------------------

    def invite(
        self, count: int = 1, source: str = "single", participant: str = "", language: str = ""
    ) -> list[StudyExpert]:
        """New experts, each with a name of their own."""
        if count < 1:
            raise ArgumentError(f"the number of invitations must be at least 1; got {count}")
        shared = {
            "source": source,
            "participant": _line(participant, 200),
            "language": _line(language, 10),
            "invited_ms": now_ms(),
            "sequence": 0,
        }
        rows = [{"name": secrets.token_hex(10), **shared} for _ in range(count)]
        with self.database.writing() as connection:
            made = sa.insert(EXPERTS).returning(EXPERTS, sort_by_parameter_order=True)
            return [_expert(row) for row in connection.execute(made, rows)]

    def join(self, name: str, participant: str = "", language: str = "") -> StudyExpert:
        """Somebody who comes by the open invitation, under a name that the server drew; twice is once."""
        values: dict[str, Any] = {"name": name, "source": "open"}
        values |= {"participant": _line(participant, 200), "language": _line(language, 10)}
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            found = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()
            if found is None:
                values |= {"invited_ms": now_ms(), "sequence": 0}
                found = connection.execute(sa.insert(EXPERTS).values(values).returning(EXPERTS)).one()
            return _expert(found)

    def expert(self, name: str) -> StudyExpert:
        """The expert of a name."""
        with self.database.reading() as connection:
            row = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()
        if row is None:
            raise UnknownExpertError("nobody of this name takes part in the study")
        return _expert(row)

    def experts(self) -> list[StudyExpert]:
        """Everybody, in the order of their invitations."""
        with self.database.reading() as connection:
            return _experts(connection)

    def set_language(self, name: str, language: str) -> None:
        """Remember in which language somebody reads."""
        with self.database.writing() as connection:
            chosen = sa.update(EXPERTS).where(EXPERTS.c.name == name).values(language=_line(language, 10))
            connection.execute(chosen)

    def withdraw(self, name: str) -> list[str]:
        """Delete everything of an expert; gives the backups that were written since they were invited."""
        with self.database.writing() as connection:
            row = self._held(connection, name)
            for table in (EVENTS, TRIALS):
                connection.execute(sa.delete(table).where(table.c.expert == name))
            connection.execute(sa.delete(EXPERTS).where(EXPERTS.c.name == name))
            connection.execute(sa.insert(WITHDRAWN).values(time_ms=now_ms()))
            since = sa.select(BACKUPS.c.path).where(BACKUPS.c.time_ms >= row.invited_ms).order_by(BACKUPS.c.number)
            backups = [str(path) for path in connection.execute(since).scalars()]
            self.database.hold_study(connection)
            _set_state(connection, _TRACES, "yes")
        self._forget_deleted()
        return backups

    @property
    def has_traces(self) -> bool:
        """Whether bytes of somebody who was deleted may still lie in the files: the next opening tries again."""
        return self.state(_TRACES) == "yes"

    def _forget_deleted(self) -> None:
        """Rid the files of what was deleted. It is deleted in any case: where this fails, it is tried again later."""
        try:
            self.database.forget_deleted()
            self.set_state(_TRACES, "")
        except NotKeptError as error:
            _LOG.error("traces of somebody who was deleted are left in the files of the database: %s", error)

    # -- what they do -----------------------------------------------------------------------------------------------

    def events(self, name: str, trial: int | None = None) -> list[Event]:
        """The events of an expert, in order; of one trial only, if it is named."""
        if trial is not None and not self._can_be(trial):
            return []
        with self.database.reading() as connection:
            return _events(connection, name, trial)

    def add(self, name: str, kind: str, payload: Mapping[str, Any] | None = None, *, key: str = "") -> Event:
        """An event that is the server's to write: consented, answered, practised. One with a key is written once."""
        with self.database.writing() as connection:
            row = self._held(connection, name)
            kept = next((event for event in _events(connection, name) if event.key == key), None)
            if kept is not None:
                return kept
            event = _made(row.sequence + 1, kind, 0, dict(payload or {}), key=key)
            _write(connection, name, [event])
            return event

    def decide(self, name: str, trial: int, decisions: Sequence[Decision], device: str = "") -> Receipt:
        """Keep decisions of one trial, in their order. Those that are kept already are acknowledged again."""
        with self.database.writing() as connection:
            row = self._held(connection, name)
            keys = [decision.key for decision in decisions]
            kept = set(connection.execute(_KNOWN_KEYS, {"whose": name, "keys": keys}).scalars())
            fresh: dict[str, Decision] = {}
            for each in decisions:
                if each.key not in kept:
                    fresh.setdefault(each.key, each)
            if fresh:
                shown = self._open_trial(connection, name, trial)
                for each in fresh.values():
                    check_decision(each, trial, shown, self.plan)
                now, device = now_ms(), _line(device, 40)
                events = [
                    Event(row.sequence + k, each.kind, trial, each.payload, each.key, now, each.made_ms, device)
                    for k, each in enumerate(fresh.values(), start=1)
                ]
                _write(connection, name, events)
            return Receipt(tuple(keys), row.sequence + len(fresh))

    def choices(self, query: str) -> dict[str, tuple[ExpertChoice, ...]]:
        """What everybody who compares candidates of a query has chosen so far, by the name of the expert."""
        mine = (EVENTS.c.expert == TRIALS.c.expert) & (EVENTS.c.trial == TRIALS.c.trial)
        wanted = sa.select(EVENTS).join(TRIALS, mine).where(TRIALS.c.query == query)
        with self.database.reading() as connection:
            rows = connection.execute(wanted.order_by(EVENTS.c.expert, EVENTS.c.sequence)).all()
        told = groupby(rows, key=lambda row: str(row.expert))
        return {name: trial_state(map(_event, events)).choices for name, events in told}

    def begin(self, name: str) -> int:
        """The open trial of an expert; if there is none, the next one is begun. 0: there is nothing left to judge."""
        with self.database.writing() as connection:
            row = self._held(connection, name)
            mine = connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name)).all()
            for trial in mine:
                if trial.finished_ms is None:
                    return int(trial.trial)
            query = self._next(connection, name, mine)
            if query is None or self._status(connection) != "open":
                return 0
            number, now = len(mine) + 1, now_ms()
            payload = {"query": query, "shown": list(shown_order(self.plan, self.plan.task(query), name))}
            values = {"expert": name, "trial": number, "query": query, "began_ms": now, "touched_ms": now}
            connection.execute(sa.insert(TRIALS).values(values))
            _write(connection, name, [_made(row.sequence + 1, "began", number, payload, now)])
            return number

    def begin_practice(self, name: str) -> TrialState:
        """The practice of an expert, begun unless it is."""
        if self.plan.practice is None:
            raise DecisionError("this study has no practice")
        with self.database.writing() as connection:
            row = self._held(connection, name)
            told = _events(connection, name, 0)
            if not any(event.kind == "began" for event in told):
                task = self.plan.practice.task
                payload = {"query": task.query.id, "shown": list(shown_order(self.plan, task, name))}
                began = _made(row.sequence + 1, "began", 0, payload)
                _write(connection, name, [began])
                told.append(began)
            return trial_state(told)

    def read_again(self, name: str, key: str = "") -> None:
        """Somebody has read the instructions. Under `resume = "restart"`, who was away begins the open trial again.

        It is shown in the same order: what another tab or device still sends of it has its meaning.
        """
        with self.database.writing() as connection:
            row = self._held(connection, name)
            told = _events(connection, name)
            if any(event.key == key for event in told):
                return
            was_away = (
                any(event.kind == "read" for event in told)
                and position_of(told, self.plan, now_ms()).stage == "instructions"
            )
            events = [_made(row.sequence + 1, "read", 0, {}, key=key)]
            open_trial = sa.select(TRIALS.c.trial).where(TRIALS.c.expert == name, TRIALS.c.finished_ms.is_(None))
            trial = connection.execute(open_trial).scalar()
            if was_away and trial is not None and self.plan.rules.resume == "restart":
                began = next(event for event in told if event.kind == "began" and event.trial == trial)
                events.append(_made(row.sequence + 2, "began", trial, began.payload))
            _write(connection, name, events)

    def offer(self, name: str, trial: int, documents: Sequence[str], after: int) -> None:
        """Write down which documents an expert is asked to compare next, as was thought best after an event.

        Nothing is written if the trial has gone on since: two requests at once would ask the same question twice.
        """
        with self.database.writing() as connection:
            row = self._held(connection, name)
            shown = self._open_trial(connection, name, trial)
            if not shown.issuperset(documents):
                raise DecisionError("only candidates that are shown can be compared")
            if _events(connection, name, trial)[-1].sequence != after:
                return
            _write(connection, name, [_made(row.sequence + 1, "offered", trial, {"documents": list(documents)})])

    def finish(self, name: str, trial: int, key: str, device: str = "") -> Receipt:
        """End a trial; from now on it counts. Refused while a candidate is not judged."""
        check_key(key)
        with self.database.writing() as connection:
            row = self._held(connection, name)
            found = self._trial(connection, name, trial)
            if found.finished_ms is not None:
                return Receipt((key,), row.sequence)
            left = missing(trial_state(_events(connection, name, trial)), self.plan)
            if left:
                raise DecisionError(f"{len(left)} of the candidates are still to be judged")
            taken = sa.select(EVENTS.c.number).where(EVENTS.c.expert == name, EVENTS.c.key == key)
            if connection.execute(taken).first() is not None:
                raise DecisionError("the key of the end of a trial must be new; got that of a decision")
            now = now_ms()
            event = Event(row.sequence + 1, "finished", trial, {}, key, now, 0, _line(device, 40))
            _write(connection, name, [event])
            ended = sa.update(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == trial).values(finished_ms=now)
            connection.execute(ended)
            return Receipt((key,), row.sequence + 1)

    def complete(self, name: str) -> str:
        """The receipt of an expert who has nothing left to judge; the same one however often it is asked for."""
        with self.database.writing() as connection:
            row = self._held(connection, name)
            told = sa.select(EVENTS.c.payload).where(EVENTS.c.expert == name, EVENTS.c.kind == "completed")
            found = connection.execute(told).scalar()
            if found is not None:
                return str(found["receipt"])
            mine = connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name)).all()
            if any(trial.finished_ms is None for trial in mine):
                raise DecisionError("a trial is still open")
            if self._status(connection) != "closed" and self._next(connection, name, mine) is not None:
                raise DecisionError("there is still something to judge")
            receipt = "".join(secrets.choice(_LETTERS) for _ in range(10))
            _write(connection, name, [_made(row.sequence + 1, "completed", 0, {"receipt": receipt})])
            return receipt

    # -- the study as a whole ---------------------------------------------------------------------------------------

    @property
    def status(self) -> StudyStatus:
        """Whether people may begin: open, paused for a while, or closed for good."""
        with self.database.reading() as connection:
            return self._status(connection)

    def set_status(self, status: StudyStatus) -> None:
        """Open, pause or close the study. Trials that are open can always be finished."""
        self.set_state("status", status)

    def state(self, name: str, otherwise: str = "") -> str:
        """A lasting setting of the study, by name."""
        with self.database.reading() as connection:
            value = connection.execute(sa.select(STATE.c.value).where(STATE.c.name == name)).scalar()
        return otherwise if value is None else str(value)

    def set_state(self, name: str, value: str) -> None:
        """Keep a lasting setting of the study."""
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            _set_state(connection, name, value)

    def loads(self) -> dict[str, Load]:
        """How many opinions of each query there are, and how many are being given."""
        with self.database.reading() as connection:
            return self._loads(connection)

    def histories(self, name: str = "") -> Iterator[tuple[StudyExpert, list[Event]]]:
        """Everybody (or one expert) with all their events, as they were at one time."""
        with self.database.reading() as connection:
            for expert in _experts(connection):
                if name in ("", expert.name):
                    yield expert, _events(connection, expert.name)

    def age(self) -> tuple[int, int, int]:
        """Numbers that change whenever anything happens: of the last event, of people, of withdrawals."""
        counts = (sa.func.max(EVENTS.c.number), sa.func.count(EXPERTS.c.number), sa.func.count(WITHDRAWN.c.number))
        with self.database.reading() as connection:
            last, people, gone = (connection.execute(sa.select(each)).scalar() or 0 for each in counts)
        return last, people, gone

    def backups(self) -> list[StoredBackup]:
        """The copies that were written, in order."""
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(BACKUPS).order_by(BACKUPS.c.number))
            return [StoredBackup(row.path, row.time_ms) for row in rows]

    def begin_backup(self, path: str) -> int:
        """Write down that a copy is being made; the number under which it is listed.

        Until it is done it counts as one of tomorrow: whoever is deleted meanwhile is told of it.
        """
        with self.database.writing() as connection:
            made = sa.insert(BACKUPS).values(path=path, time_ms=now_ms() + 24 * HOUR_MS).returning(BACKUPS.c.number)
            return int(connection.execute(made).scalar_one())

    def end_backup(self, number: int, *, is_there: bool = True) -> None:
        """A copy is done; or it failed, and is not listed."""
        which = BACKUPS.c.number == number
        with self.database.writing() as connection:
            connection.execute(
                sa.update(BACKUPS).where(which).values(time_ms=now_ms())
                if is_there
                else sa.delete(BACKUPS).where(which)
            )

    def rebuild(self) -> None:
        """Make the table of trials, and the last number of everybody's sequence, again from the log."""
        with self.database.writing() as connection:
            self.database.hold_everybody(connection)
            connection.execute(sa.delete(TRIALS))
            for expert in _experts(connection):
                told = _events(connection, expert.name)
                last = told[-1].sequence if told else 0
                connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == expert.name).values(sequence=last))
                rows = {}
                for event in told:
                    if event.kind == "began" and event.trial > 0 and event.trial not in rows:
                        rows[event.trial] = {"query": event.payload["query"], "began_ms": event.time_ms}
                    if event.trial in rows:
                        rows[event.trial]["touched_ms"] = event.time_ms
                        if event.kind == "finished":
                            rows[event.trial]["finished_ms"] = event.time_ms
                for trial, values in rows.items():
                    connection.execute(sa.insert(TRIALS).values(expert=expert.name, trial=trial, **values))

    # -- inside -----------------------------------------------------------------------------------------------------

    def _held(self, connection: Connection, name: str) -> Row[Any]:
        """The row of an expert, which nobody else changes until the transaction ends."""
        row = connection.execute(_HELD, {"whose": name}).first()
        if row is None:
            raise UnknownExpertError("nobody of this name takes part in the study")
        return row

    def _can_be(self, trial: int) -> bool:
        """Whether a trial of this number can be; whatever a page asks for comes here."""
        return 0 <= trial <= len(self.plan.tasks)

    def _trial(self, connection: Connection, name: str, trial: int) -> Row[Any]:
        found = None
        if self._can_be(trial):
            found = connection.execute(_TRIAL, {"whose": name, "number": trial}).first()
        if found is None:
            raise DecisionError(f"trial {trial} was never begun")
        return found

    def _open_trial(self, connection: Connection, name: str, trial: int) -> set[str]:
        """What was shown in a trial that is open."""
        if trial == 0:
            if self.plan.practice is None:
                raise DecisionError("this study has no practice")
            if any(event.kind == "practised" for event in _events(connection, name, 0)):
                raise DecisionError("the practice is over")
            return set(self.plan.practice.task.ids)
        found = self._trial(connection, name, trial)
        if found.finished_ms is not None:
            raise DecisionError(f"trial {trial} is finished")
        return set(self.plan.task(found.query).ids)

    def _next(self, connection: Connection, name: str, mine: Sequence[Row[Any]]) -> str | None:
        """The query that an expert would judge after these; nobody else is told theirs until the transaction ends."""
        if len(mine) >= self.plan.rules.queries_per_expert:
            return None
        self.database.hold_study(connection)
        return next_query(self.plan, self._loads(connection), {trial.query for trial in mine}, name)

    def _status(self, connection: Connection) -> StudyStatus:
        value = connection.execute(sa.select(STATE.c.value).where(STATE.c.name == "status")).scalar()
        return value or "open"  # only `set_status` writes it

    def _loads(self, connection: Connection) -> dict[str, Load]:
        since = now_ms() - int(self.plan.rules.abandoned_hours * HOUR_MS)
        is_running = sa.and_(TRIALS.c.finished_ms.is_(None), TRIALS.c.touched_ms >= since)
        running = sa.func.sum(sa.case((is_running, 1), else_=0))
        counts = sa.select(TRIALS.c.query, sa.func.count(TRIALS.c.finished_ms), running).group_by(TRIALS.c.query)
        found = {query: Load(int(ended), int(open_)) for query, ended, open_ in connection.execute(counts)}
        return {task.query.id: found.get(task.query.id, Load()) for task in self.plan.tasks}


def _set_state(connection: Connection, name: str, value: str) -> None:
    connection.execute(sa.delete(STATE).where(STATE.c.name == name))
    connection.execute(sa.insert(STATE).values(name=name, value=value))


def _line(text: str, most: int) -> str:
    """A text that any database takes: without signs that cannot be printed, and no longer than its column."""
    return "".join(sign for sign in text if sign.isprintable())[:most]


def _experts(connection: Connection) -> list[StudyExpert]:
    return [_expert(row) for row in connection.execute(sa.select(EXPERTS).order_by(EXPERTS.c.number))]


def _expert(row: Row[Any]) -> StudyExpert:
    return StudyExpert(row.number, row.name, row.source, row.participant, row.language, row.invited_ms, row.sequence)


def _events(connection: Connection, name: str, trial: int | None = None) -> list[Event]:
    wanted = sa.select(EVENTS).where(EVENTS.c.expert == name).order_by(EVENTS.c.sequence)
    if trial is not None:
        wanted = wanted.where(EVENTS.c.trial == trial)
    return [_event(row) for row in connection.execute(wanted)]


def _event(row: Row[Any]) -> Event:
    return Event(row.sequence, row.kind, row.trial, row.payload, row.key, row.time_ms, row.made_ms, row.device)


def _made(
    sequence: int, kind: str, trial: int, payload: dict[str, Any], time_ms: int | None = None, key: str = ""
) -> Event:
    """An event of the server's own."""
    now = now_ms() if time_ms is None else time_ms
    return Event(sequence, kind, trial, payload, key or secrets.token_hex(8), now)


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
    connection.execute(_ADD_EVENTS, rows)
    last = told[-1]
    connection.execute(_COUNT_ON, {"whose": name, "last": last.sequence})
    if last.trial > 0:
        connection.execute(_TOUCH, {"whose": name, "number": last.trial, "now": last.time_ms})
