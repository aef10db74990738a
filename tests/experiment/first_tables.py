"""The tables of a study in Roslin 0.1.0: what upgrades of a database begin with."""

from __future__ import annotations

import sqlalchemy as sa

from roslin.experiment.database import StudyDatabase

FIRST = sa.MetaData()
_COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

sa.Table(
    "experts",
    FIRST,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("name", sa.String(40), nullable=False, unique=True),
    sa.Column("source", sa.String(20), nullable=False),
    sa.Column("participant", sa.String(200), nullable=False, server_default=""),
    sa.Column("language", sa.String(10), nullable=False, server_default=""),
    sa.Column("invited_ms", sa.BigInteger, nullable=False),
    sa.Column("sequence", sa.Integer, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)
sa.Table(
    "events",
    FIRST,
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
sa.Table(
    "trials",
    FIRST,
    sa.Column("expert", sa.String(40), sa.ForeignKey("experts.name"), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("began_ms", sa.BigInteger, nullable=False),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Column("finished_ms", sa.BigInteger),
    sa.UniqueConstraint("expert", "query"),
)
sa.Table(
    "plans",
    FIRST,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
)
sa.Table(
    "state",
    FIRST,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
sa.Table(
    "backups",
    FIRST,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "withdrawn",
    FIRST,
    sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("time_ms", sa.BigInteger, nullable=False),
)


def first_database(url: str) -> StudyDatabase:
    """A database as Roslin 0.1.0 made it."""
    made = StudyDatabase(url)
    with made.writing() as connection:
        FIRST.create_all(connection)
        connection.execute(sa.text("CREATE TABLE roslin_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        connection.execute(sa.text("INSERT INTO roslin_version VALUES ('0001')"))
    return made
