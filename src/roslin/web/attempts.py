"""How often somebody may try a secret."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

__all__ = ["Attempts"]

_CLIENTS = 1000


class Attempts:
    """How often somebody may try a secret: a few times from one address, and not often from all together."""

    def __init__(self, one: int = 5, everybody: int = 60, seconds: float = 60.0):
        self._one, self._everybody, self._seconds = one, everybody, seconds
        self._failed: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, client: str) -> int:
        """How long this client must wait before the next attempt; 0: not at all."""
        now = time.monotonic()
        with self._lock:
            for name in list(self._failed):
                self._failed[name] = [when for when in self._failed[name] if now - when < self._seconds]
                if not self._failed[name]:
                    del self._failed[name]
            own = self._failed.get(client, [])
            everything = sorted(when for times in self._failed.values() for when in times)
        for times, most in ((own, self._one), (everything, self._everybody)):
            if len(times) >= most:
                return max(1, int(self._seconds - (now - times[-most])) + 1)
        return 0

    def failed(self, client: str) -> None:
        """An attempt was wrong."""
        with self._lock:
            self._failed.setdefault(client, []).append(time.monotonic())
            while len(self._failed) > _CLIENTS:
                self._failed.popitem(last=False)
