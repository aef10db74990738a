"""When the first decision of a trial was made: a trial without one holds no place."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, and fill it from the log."""
    op.add_column("trials", sa.Column("decided_ms", sa.BigInteger))
    op.execute(
        "UPDATE trials SET decided_ms = (SELECT min(events.time_ms) FROM events WHERE events.expert = trials.expert "
        "AND events.trial = trials.trial AND events.kind IN ('sorted', 'placed', 'chose'))"
    )
