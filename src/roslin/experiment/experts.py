"""Who takes part in a study: the values, and their rows in the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from roslin.errors import UnknownExpertError
from roslin.experiment.schema import EXPERTS

__all__ = ["StudyExpert", "everybody", "expert_named", "expert_of", "held", "printable"]

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
