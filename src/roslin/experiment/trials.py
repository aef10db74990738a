"""Who judges which query, begun and finished: the table of trials, which is kept from the log.

All of it is done in the transaction of a caller. Trials count from 1; trial 0 is the practice.

A trial holds a place of its query from its first decision on, until `abandoned_hours` have gone by without another.
One that was only begun holds none: others are given the query as well if there is nothing else for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from roslin.errors import DecisionError
from roslin.experiment import clock, log
from roslin.experiment.design import Load
from roslin.experiment.events import DECIDED, HOUR_MS, Event
from roslin.experiment.plan import StudyPlan
from roslin.experiment.schema import TRIALS

__all__ = ["can_be", "loads", "shown_in_open_trial", "trial_of", "trials_in", "trials_of"]

_BEGUN_MS = 15 * 60_000  # for so long, other queries are preferred to one that somebody has begun
# Made once: a decision needs it, and making it takes as long as running it.
_TRIAL = sa.select(TRIALS).where(TRIALS.c.expert == sa.bindparam("whose"), TRIALS.c.trial == sa.bindparam("number"))


def can_be(plan: StudyPlan, trial: int) -> bool:
    """Whether a trial of this number can be; whatever a page asks for comes here."""
    return 0 <= trial <= len(plan.tasks)


def trial_of(connection: Connection, plan: StudyPlan, name: str, trial: int) -> Row[Any]:
    """The row of a trial that was begun; anything else is refused."""
    found = None
    if can_be(plan, trial):
        found = connection.execute(_TRIAL, {"whose": name, "number": trial}).first()
    if found is None:
        raise DecisionError(f"trial {trial} was never begun")
    return found


def trials_of(connection: Connection, name: str) -> Sequence[Row[Any]]:
    """The rows of all trials that an expert has begun."""
    return connection.execute(sa.select(TRIALS).where(TRIALS.c.expert == name)).all()


def shown_in_open_trial(connection: Connection, plan: StudyPlan, name: str, trial: int) -> set[str]:
    """What was shown in a trial that is open."""
    if trial == 0:
        if plan.practice is None:
            raise DecisionError("this study has no practice")
        if any(event.kind == "practised" for event in log.events_of(connection, name, 0)):
            raise DecisionError("the practice is over")
        return set(plan.practice.task.ids)
    found = trial_of(connection, plan, name, trial)
    if found.finished_ms is not None:
        raise DecisionError(f"trial {trial} is finished")
    return set(plan.task(found.query).ids)


def loads(connection: Connection, plan: StudyPlan) -> dict[str, Load]:
    """How many opinions of each query there are, how many are being given, and how many trials were only begun."""
    now, is_open, is_decided = clock.now_ms(), TRIALS.c.finished_ms.is_(None), TRIALS.c.decided_ms.is_not(None)
    since = now - int(plan.rules.abandoned_hours * HOUR_MS)
    running = sa.and_(is_open, is_decided, TRIALS.c.touched_ms >= since)
    begun = sa.and_(is_open, sa.not_(is_decided), TRIALS.c.touched_ms >= now - _BEGUN_MS)
    sums = (sa.func.sum(sa.case((which, 1), else_=0)) for which in (running, begun))
    counts = sa.select(TRIALS.c.query, sa.func.count(TRIALS.c.finished_ms), *sums).group_by(TRIALS.c.query)
    found = {query: Load(*map(int, numbers)) for query, *numbers in connection.execute(counts)}
    return {task.query.id: found.get(task.query.id, Load()) for task in plan.tasks}


def trials_in(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The rows of the trials that the events of one expert tell of, without the expert."""
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
