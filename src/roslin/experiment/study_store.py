"""The plan, participants, settings and backups of a study in its database; `store` adds the events."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from roslin.errors import ArgumentError, ExperimentError, FrozenError, NotKeptError, UnknownExpertError
from roslin.experiment import clock
from roslin.experiment.database import BACKUPS, EVENTS, EXPERTS, PLANS, STATE, TRIALS, WITHDRAWN, StudyDatabase
from roslin.experiment.events import HOUR_MS
from roslin.experiment.plan import StudyPlan, Words

StudyStatus = Literal["open", "paused", "closed"]
MOVED = "moved"  # the setting with its place
_TRACES = "traces"  # the setting for it
_LOG = logging.getLogger("roslin.experiment")


@dataclass(frozen=True, slots=True)
class StudyExpert:
    """A participant. `name` is the secret of the personal link; `label` appears in exports."""

    number: int
    name: str
    source: str
    participant: str
    language: str
    invited_ms: int
    sequence: int

    @property
    def label(self) -> str:
        return f"expert-{self.number:03}"


def expert_of(row: Row[Any]) -> StudyExpert:
    """The expert of a row."""
    return StudyExpert(**row._mapping)


def everybody(connection: Connection) -> list[StudyExpert]:
    """All participants, in the order of their invitations."""
    return [expert_of(row) for row in connection.execute(sa.select(EXPERTS).order_by(EXPERTS.c.number))]


def held(connection: Connection, name: str) -> Row[Any]:
    """The row of a participant, locked until the transaction ends."""
    held = sa.select(EXPERTS).where(EXPERTS.c.name == name).with_for_update(key_share=True)
    return _known(connection.execute(held).first())


def _invited(name: str, source: str, participant: str, language: str) -> dict[str, Any]:
    typed = {"participant": printable(participant, 200), "language": printable(language, 10)}
    return {"name": name, "source": source, **typed, "invited_ms": clock.now_ms(), "sequence": 0}


def _known(row: Row[Any] | None) -> Row[Any]:
    if row is None:
        raise UnknownExpertError("no participant of the study has this label")
    return row


def printable(text: str, most: int) -> str:
    """A text without unprintable characters, cut to the length of its column."""
    return "".join(sign for sign in text if sign.isprintable())[:most]


class StudyStore:
    """The database of one study."""

    def __init__(self, url: str, plan: StudyPlan):
        self.plan = plan
        self.database = StudyDatabase(url)
        try:
            self.database.check()
            self.database.upgrade()
            if moved := self.state(MOVED):
                raise ExperimentError(f"the answers of this study are in {moved} since they were moved there")
            self._keep_plan(plan)
            if self.has_traces:
                self._forget_deleted()
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        self.database.close()

    def _keep_plan(self, plan: StudyPlan) -> None:
        """Store a new plan. Frozen parts may change only until a participant has joined."""
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            newest = connection.execute(sa.select(PLANS).order_by(PLANS.c.number.desc()).limit(1)).first()
            if newest is not None and newest.fingerprint == plan.fingerprint:
                return
            changes = StudyPlan.from_json(newest.plan).frozen_changes(plan) if newest is not None else []
            # With another name this is the database of another study, even if only invitations were sent.
            begun = EXPERTS if "name" in changes else EVENTS
            if changes and connection.execute(sa.select(begun.c.number).limit(1)).first() is not None:
                raise FrozenError(
                    f"the study has begun, so {', '.join(changes)} can no longer change; make a new study instead"
                )
            number = newest.number + 1 if newest is not None else 1
            values = {"fingerprint": plan.fingerprint, "plan": plan.to_json()}
            connection.execute(sa.insert(PLANS).values(number=number, time_ms=clock.now_ms(), **values))

    def consents(self) -> list[Words]:
        found: list[Words] = []
        with self.database.reading() as connection:
            for plan in connection.execute(sa.select(PLANS.c.plan).order_by(PLANS.c.number)).scalars():
                consent = json.loads(plan)["consent"]
                if consent not in found:
                    found.append(consent)
        return found

    # -- who takes part -----------------------------------------------------------------------------------------------

    def invite(
        self, count: int = 1, source: str = "single", participant: str = "", language: str = ""
    ) -> list[StudyExpert]:
        if count < 1:
            raise ArgumentError(f"the number of invitations must be at least 1; got {count}")
        rows = [_invited(secrets.token_hex(10), source, participant, language) for _ in range(count)]
        with self.database.writing() as connection:
            made = sa.insert(EXPERTS).returning(EXPERTS, sort_by_parameter_order=True)
            return [expert_of(row) for row in connection.execute(made, rows)]

    def join(self, name: str, participant: str = "", language: str = "") -> StudyExpert:
        """Let a participant join by the open invitation, under a name that the server drew; repeating it is harmless.

        An id of a panel joins once: the same id returns the participant who has it already.
        """
        values = _invited(name, "open", participant, language)
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            found = connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()
            if found is None and values["participant"]:
                known = sa.select(EXPERTS).where(EXPERTS.c.participant == values["participant"])
                found = connection.execute(known.order_by(EXPERTS.c.number).limit(1)).first()
            if found is None:
                found = connection.execute(sa.insert(EXPERTS).values(values).returning(EXPERTS)).one()
            return expert_of(found)

    def expert(self, name: str) -> StudyExpert:
        with self.database.reading() as connection:
            return expert_of(_known(connection.execute(sa.select(EXPERTS).where(EXPERTS.c.name == name)).first()))

    def experts(self) -> list[StudyExpert]:
        with self.database.reading() as connection:
            return everybody(connection)

    def set_language(self, name: str, language: str) -> None:
        with self.database.writing() as connection:
            chosen = sa.update(EXPERTS).where(EXPERTS.c.name == name).values(language=printable(language, 10))
            connection.execute(chosen)

    def withdraw(self, name: str) -> list[str]:
        """Delete all data of a participant; returns the backups written since the invitation."""
        with self.database.writing() as connection:
            row = held(connection, name)
            for table in (EVENTS, TRIALS):
                connection.execute(sa.delete(table).where(table.c.expert == name))
            connection.execute(sa.delete(EXPERTS).where(EXPERTS.c.name == name))
            connection.execute(sa.insert(WITHDRAWN).values(time_ms=clock.now_ms()))
            since = sa.select(BACKUPS.c.path).where(BACKUPS.c.time_ms >= row.invited_ms).order_by(BACKUPS.c.number)
            backups = [str(path) for path in connection.execute(since).scalars()]
            self.database.hold_study(connection)
            _set_state(connection, _TRACES, "yes")
        self._forget_deleted()
        return backups

    @property
    def has_traces(self) -> bool:
        """Whether deleted data may still be in the files; the next opening tries again to remove it."""
        return self.state(_TRACES) == "yes"

    def _forget_deleted(self) -> None:
        """Remove deleted data from the files. The data is deleted even if this fails and is tried again later."""
        try:
            self.database.forget_deleted()
            self.set_state(_TRACES, "")
        except NotKeptError as error:
            _LOG.error("deleted data of a participant is still in the files of the database: %s", error)

    # -- settings and copies ------------------------------------------------------------------------------------------

    @property
    def status(self) -> StudyStatus:
        with self.database.reading() as connection:
            return status_of(connection)

    def set_status(self, status: StudyStatus) -> None:
        """Open, pause or close the study. Open trials can always be finished."""
        self.set_state("status", status)

    def state(self, name: str) -> str:
        """A lasting setting of the study, by name; empty if it was never set."""
        with self.database.reading() as connection:
            return _state(connection, name)

    def set_state(self, name: str, value: str) -> None:
        with self.database.writing() as connection:
            self.database.hold_study(connection)
            _set_state(connection, name, value)

    def backups(self) -> Sequence[Row[Any]]:
        """The rows of the backups, in order."""
        with self.database.reading() as connection:
            return connection.execute(sa.select(BACKUPS).order_by(BACKUPS.c.number)).all()

    def begin_backup(self, path: str) -> int:
        """Record that a backup is being written; returns its number.

        It is dated tomorrow until it is complete, so that participants who withdraw meanwhile learn about it.
        """
        with self.database.writing() as connection:
            values = {"path": path, "time_ms": clock.now_ms() + 24 * HOUR_MS}
            made = sa.insert(BACKUPS).values(values).returning(BACKUPS.c.number)
            return int(connection.execute(made).scalar_one())

    def end_backup(self, number: int, *, is_there: bool = True) -> None:
        """Record that a backup is complete, or remove one that failed."""
        which = BACKUPS.c.number == number
        done = sa.update(BACKUPS).values(time_ms=clock.now_ms()) if is_there else sa.delete(BACKUPS)
        with self.database.writing() as connection:
            connection.execute(done.where(which))


def status_of(connection: Connection) -> StudyStatus:
    """Whether participants may begin a trial: open, paused or closed."""
    return cast(StudyStatus, _state(connection, "status") or "open")  # only `set_status` writes it


def _state(connection: Connection, name: str) -> str:
    return connection.execute(sa.select(STATE.c.value).where(STATE.c.name == name)).scalar() or ""


def _set_state(connection: Connection, name: str, value: str) -> None:
    connection.execute(sa.delete(STATE).where(STATE.c.name == name))
    connection.execute(sa.insert(STATE).values(name=name, value=value))
