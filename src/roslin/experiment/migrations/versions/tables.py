"""The first tables of a study."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """From an empty database."""
    op.create_table(
        "experts",
        sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("participant", sa.String(200), nullable=False, server_default=""),
        sa.Column("language", sa.String(10), nullable=False, server_default=""),
        sa.Column("invited_ms", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False, server_default="0"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
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
    op.create_table(
        "trials",
        sa.Column("expert", sa.String(40), sa.ForeignKey("experts.name"), primary_key=True),
        sa.Column("trial", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("began_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
        sa.Column("finished_ms", sa.BigInteger),
        sa.UniqueConstraint("expert", "query"),
    )
    op.create_table(
        "plans",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("time_ms", sa.BigInteger, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
    )
    op.create_table(
        "state",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "backups",
        sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("time_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "withdrawn",
        sa.Column("number", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("time_ms", sa.BigInteger, nullable=False),
    )
