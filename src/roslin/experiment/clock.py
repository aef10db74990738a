"""The clock of a study: one for all its modules, so that a test can set it."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since 1970, in UTC."""
    return time.time_ns() // 1_000_000
