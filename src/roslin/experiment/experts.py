"""Who takes part in a study: the values, and their rows in the database."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from roslin.errors import UnknownExpertError
from roslin.experiment import clock
from roslin.experiment.events import DECIDED, Event
from roslin.experiment.schema import EVENTS, EXPERTS, TRIALS

# Made once: a decision needs it, and making it takes as long as running it.
_HELD = sa.select(EXPERTS).where(EXPERTS.c.name == sa.bindparam("whose")).with_for_update(key_share=True)


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


def expert_of(row: Row[Any]) -> StudyExpert:
    """The expert of a row."""
    return StudyExpert(row.number, row.name, row.source, row.participant, row.language, row.invited_ms, row.sequence)


def expert_named(connection: Connection, name: str) -> StudyExpert:
    """The expert of a name."""
    return expert_of(_known(connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()))


def everybody(connection: Connection) -> list[StudyExpert]:
    """Everybody, in the order of their invitations."""
    return [expert_of(row) for row in connection.execute(sa.select(EXPERTS).order_by(EXPERTS.c.number))]


def held(connection: Connection, name: str) -> Row[Any]:
    """The row of an expert, which nobody else changes until the transaction ends."""
    return _known(connection.execute(_HELD, {"whose": name}).first())


def _known(row: Row[Any] | None) -> Row[Any]:
    if row is None:
        raise UnknownExpertError("nobody of this name takes part in the study")
    return row


def printable(text: str, most: int) -> str:
    """A text that any database takes: without signs that cannot be printed, and no longer than its column."""
    return "".join(sign for sign in text if sign.isprintable())[:most]


# -- log ---------------------------------------------------------------------------------------------------------------
#
# The log of events in the database, which is only ever added to. All of it is done in the transaction of a caller.


# The statements of a decision, made once: making them takes as long as running them.
_KNOWN_KEYS = sa.select(EVENTS.c.key).where(
    EVENTS.c.expert == sa.bindparam("whose"), EVENTS.c.key.in_(sa.bindparam("keys", expanding=True))
)
_ADD_EVENTS = sa.insert(EVENTS)
_COUNT_ON = sa.update(EXPERTS).where(EXPERTS.c.name == sa.bindparam("whose")).values(sequence=sa.bindparam("last"))
_TOUCH = (
    sa.update(TRIALS)
    .where(TRIALS.c.expert == sa.bindparam("whose"), TRIALS.c.trial == sa.bindparam("number"))
    .values(
        touched_ms=sa.bindparam("now"), decided_ms=sa.func.coalesce(TRIALS.c.decided_ms, sa.bindparam("decided_at"))
    )
)


def event_of(row: Row[Any]) -> Event:
    """The event of a row."""
    return Event(row.sequence, row.kind, row.trial, row.payload, row.key, row.time_ms, row.made_ms, row.device)


def events_of(connection: Connection, name: str, trial: int | None = None) -> list[Event]:
    """The events of an expert, in order; of one trial only, if it is named."""
    wanted = sa.select(EVENTS).where(EVENTS.c.expert == name).order_by(EVENTS.c.sequence)
    if trial is not None:
        wanted = wanted.where(EVENTS.c.trial == trial)
    return [event_of(row) for row in connection.execute(wanted)]


def known_keys(connection: Connection, name: str, keys: Sequence[str]) -> set[str]:
    """Those of the keys under which something of this expert is kept already."""
    return set(connection.execute(_KNOWN_KEYS, {"whose": name, "keys": list(keys)}).scalars())


def own_event(
    sequence: int, kind: str, trial: int, payload: dict[str, Any], time_ms: int | None = None, key: str = ""
) -> Event:
    """An event of the server's own."""
    now = clock.now_ms() if time_ms is None else time_ms
    return Event(sequence, kind, trial, payload, key or secrets.token_hex(8), now)


def add_events(connection: Connection, name: str, events: Iterable[Event]) -> None:
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
        decided = next((event.time_ms for event in told if event.kind in DECIDED), None)
        touched = {"whose": name, "number": last.trial, "now": last.time_ms, "decided_at": decided}
        connection.execute(_TOUCH, touched)
