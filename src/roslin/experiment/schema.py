"""The tables of a study.

    experts    one row each: a name that nobody guesses, a number for the export, the last number of their sequence
    events     the log, only ever added to; everything else can be made from it again (`EventStore.rebuild`)
    trials     who judges which query, begun and finished: the counts that the quota needs, kept from the log
    plans      the plan under which the study runs, and those before it
    state      open, paused or closed; the open invitation
    backups    where copies were written: who withdraws is in these still
    withdrawn  when somebody withdrew; nothing else of them is left

Times are milliseconds since 1970, in UTC. A change here needs a step in `migrations/versions` that makes the same
change in a database that is there already; a test compares where both end.
"""

from __future__ import annotations

import sqlalchemy as sa

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
    sa.Column("trial", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("began_ms", sa.BigInteger, nullable=False),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Column("finished_ms", sa.BigInteger),
    sa.Column("decided_ms", sa.BigInteger),  # the first decision: from then on it holds a place
    sa.UniqueConstraint("expert", "query"),
)
PLANS = sa.Table(
    "plans",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
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
