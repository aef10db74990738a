"""Waiting for a condition, in place of sleeping for as long as it may take."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], within_seconds: float = 60.0) -> None:
    """Return when the condition holds; fail where it does not in time."""
    limit = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < limit, "it never came true"
        time.sleep(0.01)
