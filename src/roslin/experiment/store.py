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
    trial_state,
)
from roslin.experiment.plan import Load, StudyPlan, next_query, shown_order
from roslin.experiment.study_store import StudyExpert, StudyStore, everybody, held, printable, status_of

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are mistaken for one another


@dataclass(frozen=True, slots=True)
class Receipt:
    """The stored keys, and the last sequence number of the participant."""

    keys: tuple[str, ...]
    sequence: int


class EventStore(StudyStore):
    """The database of one study, with the events of its participants."""

    def events(self, name: str, trial: int | None = None) -> list[Event]:
        """The events of a participant, in order, or those of one trial."""
        if trial is not None and not can_be(self.plan, trial):
            return []
        with self.database.reading() as connection:
            return events_of(connection, name, trial)

    def add(self, name: str, kind: str, payload: Mapping[str, Any] | None = None, *, key: str = "") -> Event:
        """Add an event of the server, such as consented, answered or practised. A key is written once."""
        with self._holding(name) as (connection, row):
            kept = next((event for event in events_of(connection, name) if event.key == key), None)
            if kept is not None:
                return kept
            event = own_event(row.sequence + 1, kind, 0, dict(payload or {}), key=key)
            add_events(connection, name, [event])
            return event

    def consent(self, name: str, language: str = "") -> Event:
        """Record that a participant agreed, with the version and checksum of the text in this language."""
        shown, sha256 = self.plan.consent_in(language)
        version = 1 + self.consents().index(self.plan.consent)
        payload = {"sha256": sha256, "version": version, "language": shown}
        return self.add(name, "consented", payload, key=f"consented-{shown}-{sha256[:32]}")

    def decide(self, name: str, trial: int, decisions: Sequence[Decision], device: str = "") -> Receipt:
        """Store decisions of one trial, in their order. Known decisions are acknowledged again."""
        with self._holding(name) as (connection, row):
            keys = [decision.key for decision in decisions]
            kept = known_keys(connection, name, keys)
            fresh: dict[str, Decision] = {}
            for each in decisions:
                if each.key not in kept:
                    fresh.setdefault(each.key, each)
            if fresh:
                shown = shown_in_open_trial(connection, self.plan, name, trial)
                for each in fresh.values():
                    check_decision(each, trial, shown, self.plan)
                now, device = clock.now_ms(), printable(device, 40)
                events = [
                    Event(row.sequence + k, each.kind, trial, each.payload, each.key, now, each.made_ms, device)
                    for k, each in enumerate(fresh.values(), start=1)
                ]
                add_events(connection, name, events)
            return Receipt(tuple(keys), row.sequence + len(fresh))

    def choices(self, query: str) -> dict[str, tuple[ExpertChoice, ...]]:
        """The comparisons of a query so far, by the name of the participant."""
        mine = (EVENTS.c.expert == TRIALS.c.expert) & (EVENTS.c.trial == TRIALS.c.trial)
        wanted = sa.select(EVENTS).join(TRIALS, mine).where(TRIALS.c.query == query)
        with self.database.reading() as connection:
            rows = connection.execute(wanted.order_by(EVENTS.c.expert, EVENTS.c.sequence)).all()
        told = groupby(rows, key=lambda row: str(row.expert))
        return {name: trial_state(map(event_of, events)).choices for name, events in told}

    def begin(self, name: str) -> int:
        """The open trial of a participant, or else a new one. 0: nothing is left to judge."""
        with self._holding(name) as (connection, row):
            mine = trials_of(connection, name)
            for trial in mine:
                if trial.finished_ms is None:
                    return int(trial.trial)
            query = self._next(connection, name, mine)
            if query is None or status_of(connection) != "open":
                return 0
            number, now = len(mine) + 1, clock.now_ms()
            payload = {"query": query, "shown": list(shown_order(self.plan, self.plan.task(query), name))}
            values = {"expert": name, "trial": number, "query": query, "began_ms": now, "touched_ms": now}
            connection.execute(sa.insert(TRIALS).values(values))
            add_events(connection, name, [own_event(row.sequence + 1, "began", number, payload, now)])
            return number

    def begin_practice(self, name: str) -> TrialState:
        """The practice of a participant, begun if necessary."""
        if self.plan.practice is None:
            raise DecisionError("this study has no practice")
        with self._holding(name) as (connection, row):
            told = events_of(connection, name, 0)
            if not any(event.kind == "began" for event in told):
                task = self.plan.practice.task
                payload = {"query": task.query.id, "shown": list(shown_order(self.plan, task, name))}
                began = own_event(row.sequence + 1, "began", 0, payload)
                add_events(connection, name, [began])
                told.append(began)
            return trial_state(told)

    def read_again(self, name: str, key: str = "") -> None:
        """Record that the instructions were read. With `resume = "restart"`, a pause begins the open trial again.

        The order stays the same, so that decisions from another tab or device keep their meaning.
        """
        with self._holding(name) as (connection, row):
            told = events_of(connection, name)
            if any(event.key == key for event in told):
                return
            was_away = (
                any(event.kind == "read" for event in told)
                and position_of(told, self.plan, clock.now_ms()).stage == "instructions"
            )
            events = [own_event(row.sequence + 1, "read", 0, {}, key=key)]
            open_trial = sa.select(TRIALS.c.trial).where(TRIALS.c.expert == name, TRIALS.c.finished_ms.is_(None))
            trial = connection.execute(open_trial).scalar()
            if was_away and trial is not None and self.plan.rules.resume == "restart":
                began = next(event for event in told if event.kind == "began" and event.trial == trial)
                events.append(own_event(row.sequence + 2, "began", trial, began.payload))
            add_events(connection, name, events)

    def offer(self, name: str, trial: int, documents: Sequence[str], after: int) -> None:
        """Record which documents a participant compares next, chosen after the event with the number `after`.

        Nothing is written if the trial has newer events: two simultaneous requests would ask the same question twice.
        """
        with self._holding(name) as (connection, row):
            shown = shown_in_open_trial(connection, self.plan, name, trial)
            if not shown.issuperset(documents):
                raise DecisionError("only candidates that are shown can be compared")
            if events_of(connection, name, trial)[-1].sequence != after:
                return
            offered = own_event(row.sequence + 1, "offered", trial, {"documents": list(documents)})
            add_events(connection, name, [offered])

    def finish(self, name: str, trial: int, key: str, device: str = "") -> Receipt:
        """End a trial, which counts from now on. Refused while a candidate is not judged."""
        check_key(key)
        with self._holding(name) as (connection, row):
            found = trial_of(connection, self.plan, name, trial)
            if found.finished_ms is not None:
                return Receipt((key,), row.sequence)
            left = missing(trial_state(events_of(connection, name, trial)), self.plan)
            if left:
                raise DecisionError(f"{len(left)} of the candidates are still to be judged")
            if known_keys(connection, name, [key]):
                raise DecisionError("the key of the end of a trial must be new; got that of a decision")
            now = clock.now_ms()
            event = Event(row.sequence + 1, "finished", trial, {}, key, now, 0, printable(device, 40))
            add_events(connection, name, [event])
            ended = sa.update(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == trial).values(finished_ms=now)
            connection.execute(ended)
            return Receipt((key,), row.sequence + 1)

    def complete(self, name: str) -> str:
        """The receipt of a participant who has finished, always the same one."""
        with self._holding(name) as (connection, row):
            told = events_of(connection, name)
            if not is_complete(told):
                mine = trials_of(connection, name)
                if any(trial.finished_ms is None for trial in mine):
                    raise DecisionError("a trial is still open")
                if self._next(connection, name, mine) is not None:
                    raise DecisionError("there is still something to judge")
            return _receipt(connection, row, told, "completed")

    def turn_away(self, name: str) -> str:
        """The receipt of a participant for whom there is nothing to judge now, but may be later."""
        with self._holding(name) as (connection, row):
            return _receipt(connection, row, events_of(connection, name), "turned_away")

    def has_more(self, name: str) -> bool:
        """Whether a participant who has completed the study could judge more, for example under a higher quota."""
        with self.database.reading() as connection:
            mine = trials_of(connection, name)
            return status_of(connection) == "open" and self._following(connection, name, mine) is not None

    def resume(self, name: str) -> None:
        """Let a participant who has completed the study continue, if there is more to judge."""
        with self._holding(name) as (connection, row):
            is_open = status_of(connection) == "open" and is_complete(events_of(connection, name))
            if is_open and self._next(connection, name, trials_of(connection, name)) is not None:
                add_events(connection, name, [own_event(row.sequence + 1, "resumed", 0, {})])

    @contextmanager
    def _holding(self, name: str) -> Iterator[tuple[Connection, Row[Any]]]:
        """One transaction that holds the row of an expert."""
        with self.database.writing() as connection:
            yield connection, held(connection, name)

    # -- all participants ---------------------------------------------------------------------------------------------

    def loads(self) -> dict[str, Load]:
        """The opinions of each query: finished, running and begun."""
        with self.database.reading() as connection:
            return loads(connection, self.plan)

    def histories(self) -> Iterator[tuple[StudyExpert, list[Event]]]:
        """All participants with their events, as of one moment."""
        with self.database.reading() as connection:
            for expert in everybody(connection):
                yield expert, events_of(connection, expert.name)

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
                told = events_of(connection, expert.name)
                last = told[-1].sequence if told else 0
                connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == expert.name).values(sequence=last))
                for values in trials_in(told):
                    connection.execute(sa.insert(TRIALS).values(expert=expert.name, **values))

    def _next(self, connection: Connection, name: str, mine: Sequence[Row[Any]]) -> str | None:
        """The next query of a participant. The study stays locked until the transaction ends."""
        self.database.hold_study(connection)
        return self._following(connection, name, mine)

    def _following(self, connection: Connection, name: str, mine: Sequence[Row[Any]]) -> str | None:
        if len(mine) >= self.plan.rules.queries_per_expert:
            return None
        return next_query(self.plan, loads(connection, self.plan), {trial.query for trial in mine}, name)


def _receipt(connection: Connection, row: Row[Any], told: Sequence[Event], kind: str) -> str:
    """The one receipt of a participant, recorded with its reason unless the last event has the same reason."""
    known = next((str(event.payload["receipt"]) for event in told if "receipt" in event.payload), "")
    receipt = known or "".join(secrets.choice(_LETTERS) for _ in range(10))
    if not is_complete(told) and (not told or told[-1].kind != kind):
        add_events(connection, row.name, [own_event(row.sequence + 1, kind, 0, {"receipt": receipt})])
    return receipt


# -- log ---------------------------------------------------------------------------------------------------------------
#
# The callers hold the transaction.


def event_of(row: Row[Any]) -> Event:
    """The event of a row."""
    return Event(row.sequence, row.kind, row.trial, row.payload, row.key, row.time_ms, row.made_ms, row.device)


def events_of(connection: Connection, name: str, trial: int | None = None) -> list[Event]:
    """The events of a participant, in order, or those of one trial."""
    wanted = sa.select(EVENTS).where(EVENTS.c.expert == name).order_by(EVENTS.c.sequence)
    if trial is not None:
        wanted = wanted.where(EVENTS.c.trial == trial)
    return [event_of(row) for row in connection.execute(wanted)]


def known_keys(connection: Connection, name: str, keys: Sequence[str]) -> set[str]:
    """The keys that are stored already for this participant."""
    known = sa.select(EVENTS.c.key).where(EVENTS.c.expert == name, EVENTS.c.key.in_(keys))
    return set(connection.execute(known).scalars())


def own_event(
    sequence: int, kind: str, trial: int, payload: dict[str, Any], time_ms: int | None = None, key: str = ""
) -> Event:
    """An event that the server makes."""
    now = clock.now_ms() if time_ms is None else time_ms
    return Event(sequence, kind, trial, payload, key or secrets.token_hex(8), now)


def add_events(connection: Connection, name: str, events: Iterable[Event]) -> None:
    """Append events to the log of a participant."""
    told = list(events)
    last = told[-1]
    connection.execute(sa.insert(EVENTS), [{"expert": name, **asdict(event)} for event in told])
    connection.execute(sa.update(EXPERTS).where(EXPERTS.c.name == name).values(sequence=last.sequence))
    if last.trial > 0:
        decided = next((event.time_ms for event in told if event.kind in DECIDED), None)
        touched = sa.update(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == last.trial)
        decided_ms = sa.func.coalesce(TRIALS.c.decided_ms, sa.literal(decided, sa.BigInteger))
        connection.execute(touched.values(touched_ms=last.time_ms, decided_ms=decided_ms))


# -- trials ------------------------------------------------------------------------------------------------------------
#
# The table of trials follows from the log. The callers hold the transaction. Trials count from 1; 0 is the practice.
#
# A trial holds a place of its query from its first decision until `abandoned_hours` have passed without another one. A
# trial without a decision holds no place: other participants get the query too if nothing else is left for them.


_BEGUN_MS = 15 * 60_000  # during this time, other queries are preferred to one that was begun


def can_be(plan: StudyPlan, trial: int) -> bool:
    """Whether a trial can have this number, which may come from a page."""
    return 0 <= trial <= len(plan.tasks)


def trial_of(connection: Connection, plan: StudyPlan, name: str, trial: int) -> Row[Any]:
    """The row of a trial that was begun."""
    found = None
    if can_be(plan, trial):
        found = connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name, TRIALS.c.trial == trial)).first()
    if found is None:
        raise DecisionError(f"trial {trial} was never begun")
    return found


def trials_of(connection: Connection, name: str) -> Sequence[Row[Any]]:
    """The rows of all trials of a participant."""
    return connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name)).all()


def shown_in_open_trial(connection: Connection, plan: StudyPlan, name: str, trial: int) -> set[str]:
    """The candidates of an open trial."""
    if trial == 0:
        if plan.practice is None:
            raise DecisionError("this study has no practice")
        if any(event.kind == "practised" for event in events_of(connection, name, 0)):
            raise DecisionError("the practice is over")
        return set(plan.practice.task.ids)
    found = trial_of(connection, plan, name, trial)
    if found.finished_ms is not None:
        raise DecisionError(f"trial {trial} is finished")
    return set(plan.task(found.query).ids)


def loads(connection: Connection, plan: StudyPlan) -> dict[str, Load]:
    """The opinions of each query: finished, running, and begun without a decision."""
    now, is_open, is_decided = clock.now_ms(), TRIALS.c.finished_ms.is_(None), TRIALS.c.decided_ms.is_not(None)
    since = now - int(plan.rules.abandoned_hours * HOUR_MS)
    running = sa.and_(is_open, is_decided, TRIALS.c.touched_ms >= since)
    begun = sa.and_(is_open, sa.not_(is_decided), TRIALS.c.touched_ms >= now - _BEGUN_MS)
    sums = (sa.func.sum(sa.case((which, 1), else_=0)) for which in (running, begun))
    counts = sa.select(TRIALS.c.query, sa.func.count(TRIALS.c.finished_ms), *sums).group_by(TRIALS.c.query)
    found = {query: Load(*map(int, numbers)) for query, *numbers in connection.execute(counts)}
    return {task.query.id: found.get(task.query.id, Load()) for task in plan.tasks}


def trials_in(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The rows of the trials in the events of one participant."""
    rows: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.kind == "began" and event.trial > 0 and event.trial not in rows:
            rows[event.trial] = {"trial": event.trial, "query": event.payload["query"], "began_ms": event.time_ms}
        if event.trial in rows:
            rows[event.trial]["touched_ms"] = event.time_ms
            if event.kind in DECIDED:
                rows[event.trial].setdefault("decided_ms", event.time_ms)
            if event.kind == "finished":
                rows[event.trial]["finished_ms"] = event.time_ms
    return list(rows.values())
