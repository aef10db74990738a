"""The log of decisions and the table of trials, in SQLite beside the study or in PostgreSQL.

An acknowledged decision is on the disk. Events are only added to the log; everything else can be rebuilt from it.
`study_store` has the study as a whole and its participants.

Each request is one transaction that locks the row of its participant (in SQLite, the file). Requests from two tabs of
one participant therefore follow each other: sequence numbers have no gaps, and a known key is acknowledged without
being written again. Beginning a trial locks the study too, so that no two participants take the last place of a query.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from roslin.errors import DecisionError
from roslin.experiment import clock
from roslin.experiment.database import EVENTS, EXPERTS, TRIALS, WITHDRAWN
from roslin.experiment.events import (
    DECIDED,
    HOUR_MS,
    Decision,
    Event,
    ExpertChoice,
    TrialState,
    check_decision,
    check_key,
    is_complete,
    missing,
    position_of,
    receipt_of,
    trial_state,
)
from roslin.experiment.plan import Load, StudyPlan, Task, next_query, shown_order
from roslin.experiment.study_store import StudyExpert, StudyStore, everybody, held, printable, status_of

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are mistaken for one another
_BEGUN_MS = 15 * 60_000  # during this time, other queries are preferred to one that was begun


@dataclass(frozen=True, slots=True)
class Receipt:
    """The stored keys, and the last sequence number of the participant."""

    keys: tuple[str, ...]
    sequence: int


class EventStore(StudyStore):
    """The database of one study, with the events of its participants."""

    def events(self, name: str, trial: int | None = None) -> list[Event]:
        with self.database.reading() as connection:
            return _Log(connection, self.plan, name).events(trial)

    def add(self, name: str, kind: str, payload: Mapping[str, Any] | None = None, *, key: str = "") -> Event:
        """Add an event of the server, such as consented, answered or practised. A key is written once."""
        with self._log(name) as log:
            kept = next((event for event in log.events() if event.key == key), None)
            return kept or log.add(kind, 0, dict(payload or {}), key)

    def consent(self, name: str, language: str = "") -> Event:
        """Record that a participant agreed, with the version and checksum of the text in this language."""
        shown, sha256 = self.plan.consent_in(language)
        version = 1 + self.consents().index(self.plan.consent)
        payload = {"sha256": sha256, "version": version, "language": shown}
        return self.add(name, "consented", payload, key=f"consented-{shown}-{sha256[:32]}")

    def decide(self, name: str, trial: int, decisions: Sequence[Decision], device: str = "") -> Receipt:
        """Store decisions of one trial, in their order. Known decisions are acknowledged again."""
        with self._log(name) as log:
            keys = tuple(decision.key for decision in decisions)
            kept = log.known(keys)
            fresh: dict[str, Decision] = {}
            for each in decisions:
                if each.key not in kept:
                    fresh.setdefault(each.key, each)
            shown = log.shown(trial) if fresh else set()
            for each in fresh.values():
                check_decision(each, trial, shown, self.plan)
                log.add(each.kind, trial, each.payload, each.key, made_ms=each.made_ms, device=device)
            return Receipt(keys, log.sequence)

    def choices(self, query: str) -> dict[str, tuple[ExpertChoice, ...]]:
        """The comparisons of a query so far, by the name of the participant."""
        mine = (EVENTS.c.expert == TRIALS.c.expert) & (EVENTS.c.trial == TRIALS.c.trial)
        wanted = sa.select(EVENTS).join(TRIALS, mine).where(TRIALS.c.query == query)
        with self.database.reading() as connection:
            rows = connection.execute(wanted.order_by(EVENTS.c.expert, EVENTS.c.sequence)).all()
        told = groupby(rows, key=lambda row: str(row.expert))
        return {name: trial_state(map(_event, events)).choices for name, events in told}

    def begin(self, name: str) -> int:
        """The open trial of a participant, or else a new one. 0: nothing is left to judge."""
        with self._log(name) as log:
            mine = log.trials()
            for trial in mine:
                if trial.finished_ms is None:
                    return int(trial.trial)
            query = self._next(log)
            if query is None or status_of(log.connection) != "open":
                return 0
            return log.begin(len(mine) + 1, self.plan.task(query)).trial

    def begin_practice(self, name: str) -> TrialState:
        if self.plan.practice is None:
            raise DecisionError("this study has no practice")
        with self._log(name) as log:
            told = log.events(0)
            if not any(event.kind == "began" for event in told):
                told.append(log.begin(0, self.plan.practice.task))
            return trial_state(told)

    def read_again(self, name: str, key: str = "") -> None:
        """Record that the instructions were read. With `resume = "restart"`, a pause begins the open trial again.

        The order stays the same, so that decisions from another tab or device keep their meaning.
        """
        with self._log(name) as log:
            told = log.events()
            if any(event.key == key for event in told):
                return
            log.add("read", 0, {}, key)
            was_away = (
                any(event.kind == "read" for event in told)
                and position_of(told, self.plan, clock.now_ms()).stage == "instructions"
            )
            if was_away and self.plan.rules.resume == "restart":
                is_open = {trial.trial for trial in log.trials() if trial.finished_ms is None}
                began = next((event for event in told if event.kind == "began" and event.trial in is_open), None)
                if began is not None:
                    log.add("began", began.trial, began.payload)

    def offer(self, name: str, trial: int, documents: Sequence[str], after: int) -> None:
        """Record which documents a participant compares next, chosen after the event with the number `after`.

        Nothing is written if the trial has newer events: two simultaneous requests would ask the same question twice.
        """
        with self._log(name) as log:
            if not log.shown(trial).issuperset(documents):
                raise DecisionError("only candidates that are shown can be compared")
            if log.events(trial)[-1].sequence == after:
                log.add("offered", trial, {"documents": list(documents)})

    def finish(self, name: str, trial: int, key: str, device: str = "") -> Receipt:
        """End a trial, which counts from now on. Refused while a candidate is not judged."""
        check_key(key)
        with self._log(name) as log:
            if log.trial(trial).finished_ms is None:
                left = missing(trial_state(log.events(trial)), self.plan)
                if left:
                    raise DecisionError(f"{len(left)} of the candidates are still to be judged")
                if log.known([key]):
                    raise DecisionError("the key of the end of a trial must be new; got that of a decision")
                log.add("finished", trial, {}, key, device=device)
            return Receipt((key,), log.sequence)

    def complete(self, name: str) -> str:
        """The receipt of a participant who has finished, always the same one."""
        with self._log(name) as log:
            if not is_complete(log.events()):
                if any(trial.finished_ms is None for trial in log.trials()):
                    raise DecisionError("a trial is still open")
                if self._next(log) is not None:
                    raise DecisionError("there is still something to judge")
            return log.receipt("completed")

    def turn_away(self, name: str) -> str:
        """The receipt of a participant for whom there is nothing to judge now, but may be later."""
        with self._log(name) as log:
            return log.receipt("turned_away")

    def has_more(self, name: str) -> bool:
        """Whether a participant who has completed the study could judge more, for example under a higher quota."""
        with self.database.reading() as connection:
            return status_of(connection) == "open" and _Log(connection, self.plan, name).next_query() is not None

    def resume(self, name: str) -> None:
        """Let a participant who has completed the study continue, if there is more to judge."""
        with self._log(name) as log:
            is_open = status_of(log.connection) == "open" and is_complete(log.events())
            if is_open and self._next(log) is not None:
                log.add("resumed")

    @contextmanager
    def _log(self, name: str) -> Iterator[_Log]:
        """The log of a participant in one transaction that holds their row. New events are written at its end."""
        with self.database.writing() as connection:
            log = _Log(connection, self.plan, name, held(connection, name).sequence)
            yield log
            log.write()

    def _next(self, log: _Log) -> str | None:
        """The next query of a participant. The study stays locked until the transaction ends."""
        self.database.hold_study(log.connection)
        return log.next_query()

    # -- all participants ---------------------------------------------------------------------------------------------

    def loads(self) -> dict[str, Load]:
        with self.database.reading() as connection:
            return _loads(connection, self.plan)

    def histories(self) -> Iterator[tuple[StudyExpert, list[Event]]]:
        """All participants with their events, as of one moment."""
        with self.database.reading() as connection:
            for expert in everybody(connection):
                yield expert, _Log(connection, self.plan, expert.name).events()

    def age(self) -> tuple[int, int, int]:
        """Numbers that change with every event: the last event, the participants, the withdrawals."""
        counts = (sa.func.max(EVENTS.c.number), sa.func.count(EXPERTS.c.number), sa.func.count(WITHDRAWN.c.number))
        with self.database.reading() as connection:
            last, people, gone = (connection.execute(sa.select(each)).scalar() or 0 for each in counts)
        return last, people, gone

    def rebuild(self) -> None:
        """Rebuild the table of trials and all sequence numbers from the log."""
        with self.database.writing() as connection:
            self.database.hold_everybody(connection)
            connection.execute(sa.delete(TRIALS))
            for expert in everybody(connection):
                log = _Log(connection, self.plan, expert.name)
                log.follow(log.events())


class _Log:
    """The log of one participant, and their trials, inside a transaction.

    Trials count from 1; 0 is the practice. The table of trials follows from the log. A trial holds a place of its query
    from its first decision until `abandoned_hours` have passed without another one. A trial without a decision holds no
    place: other participants get the query too if nothing else is left for them.
    """

    def __init__(self, connection: Connection, plan: StudyPlan, name: str, sequence: int = 0):
        self.connection, self.plan, self.name, self.sequence = connection, plan, name, sequence
        self._new: list[Event] = []
        self._now_ms = clock.now_ms()

    def events(self, trial: int | None = None) -> list[Event]:
        """The stored events, in order, or those of one trial, whose number may come from a page."""
        wanted = sa.select(EVENTS).where(EVENTS.c.expert == self.name).order_by(EVENTS.c.sequence)
        if trial is not None:
            if not 0 <= trial <= len(self.plan.tasks):
                return []
            wanted = wanted.where(EVENTS.c.trial == trial)
        return list(map(_event, self.connection.execute(wanted)))

    def known(self, keys: Sequence[str]) -> set[str]:
        known = sa.select(EVENTS.c.key).where(EVENTS.c.expert == self.name, EVENTS.c.key.in_(keys))
        return set(self.connection.execute(known).scalars())

    def trials(self) -> Sequence[Row[Any]]:
        return self.connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == self.name)).all()

    def trial(self, number: int) -> Row[Any]:
        found = next((trial for trial in self.trials() if trial.trial == number), None)
        if found is None:
            raise DecisionError(f"trial {number} was never begun")
        return found

    def shown(self, trial: int) -> set[str]:
        if trial == 0:
            if self.plan.practice is None:
                raise DecisionError("this study has no practice")
            if any(event.kind == "practised" for event in self.events(0)):
                raise DecisionError("the practice is over")
            return set(self.plan.practice.task.ids)
        found = self.trial(trial)
        if found.finished_ms is not None:
            raise DecisionError(f"trial {trial} is finished")
        return set(self.plan.task(found.query).ids)

    def next_query(self) -> str | None:
        mine = self.trials()
        if len(mine) >= self.plan.rules.queries_per_expert:
            return None
        return next_query(self.plan, _loads(self.connection, self.plan), {trial.query for trial in mine}, self.name)

    # -- new events ---------------------------------------------------------------------------------------------------

    def add(
        self,
        kind: str,
        trial: int = 0,
        payload: Mapping[str, Any] | None = None,
        key: str = "",
        *,
        made_ms: int = 0,
        device: str = "",
    ) -> Event:
        """Append an event. Without a key it is given one."""
        self.sequence += 1
        key, device = key or secrets.token_hex(8), printable(device, 40)
        event = Event(self.sequence, kind, trial, dict(payload or {}), key, self._now_ms, made_ms, device)
        self._new.append(event)
        return event

    def begin(self, trial: int, task: Task) -> Event:
        """Begin a trial, with the order of its candidates for this participant."""
        return self.add(
            "began", trial, {"query": task.query.id, "shown": list(shown_order(self.plan, task, self.name))}
        )

    def receipt(self, kind: str) -> str:
        """The one receipt of a participant, recorded with its reason unless the last event has the same reason."""
        told = self.events()
        receipt = receipt_of(told) or "".join(secrets.choice(_LETTERS) for _ in range(10))
        if not is_complete(told) and (not told or told[-1].kind != kind):
            self.add(kind, 0, {"receipt": receipt})
        return receipt

    def write(self) -> None:
        if self._new:
            self.connection.execute(sa.insert(EVENTS), [{"expert": self.name, **asdict(event)} for event in self._new])
            self.follow(self._new)

    def follow(self, events: Iterable[Event]) -> None:
        """Update the tables of participants and trials after these events."""
        sequence, rows = 0, dict[int, dict[str, Any]]()
        for event in events:
            sequence = event.sequence
            if event.trial > 0:
                row = rows.setdefault(event.trial, {})
                row["touched_ms"] = event.time_ms
                if event.kind == "began":
                    row |= {"query": event.payload["query"], "began_ms": row.get("began_ms", event.time_ms)}
                elif event.kind in DECIDED:
                    row.setdefault("decided_ms", event.time_ms)
                elif event.kind == "finished":
                    row["finished_ms"] = event.time_ms
        self.connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == self.name).values(sequence=sequence))
        before = {trial.trial: trial for trial in self.trials()} if rows else {}
        for number, row in rows.items():
            if number not in before:
                self.connection.execute(sa.insert(TRIALS).values(expert=self.name, trial=number, **row))
                continue
            first = {name: getattr(before[number], name) for name in ("began_ms", "decided_ms")}
            row |= {name: value for name, value in first.items() if value is not None}
            mine = sa.update(TRIALS).where(TRIALS.c.expert == self.name, TRIALS.c.trial == number)
            self.connection.execute(mine.values(row))


def _event(row: Row[Any]) -> Event:
    return Event(row.sequence, row.kind, row.trial, row.payload, row.key, row.time_ms, row.made_ms, row.device)


def _loads(connection: Connection, plan: StudyPlan) -> dict[str, Load]:
    """The opinions of each query: finished, running, and begun without a decision."""
    now, is_open, is_decided = clock.now_ms(), TRIALS.c.finished_ms.is_(None), TRIALS.c.decided_ms.is_not(None)
    since = now - int(plan.rules.abandoned_hours * HOUR_MS)
    running = sa.and_(is_open, is_decided, TRIALS.c.touched_ms >= since)
    begun = sa.and_(is_open, sa.not_(is_decided), TRIALS.c.touched_ms >= now - _BEGUN_MS)
    sums = (sa.func.sum(sa.case((which, 1), else_=0)) for which in (running, begun))
    counts = sa.select(TRIALS.c.query, sa.func.count(TRIALS.c.finished_ms), *sums).group_by(TRIALS.c.query)
    found = {query: Load(*map(int, numbers)) for query, *numbers in connection.execute(counts)}
    return {task.query.id: found.get(task.query.id, Load()) for task in plan.tasks}
