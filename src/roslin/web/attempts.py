"""How often somebody may try a secret."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

_CLIENTS = 1000


class Attempts:
    """How often somebody may try a secret: a few times from one address, and not often from all together.

    An attempt counts from its beginning: those that are made at the same moment count too. A right one is taken back.
    """

    def __init__(self, one: int = 5, everybody: int = 60, seconds: float = 60.0):
        self._one, self._everybody, self._seconds = one, everybody, seconds
        self._begun: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, client: str) -> int:
        """Count an attempt before it is checked: 0, or the seconds to wait where there were too many before it."""
        now = time.monotonic()
        with self._lock:
            for name in list(self._begun):
                self._begun[name] = [when for when in self._begun[name] if now - when < self._seconds]
                if not self._begun[name]:
                    del self._begun[name]
            own = self._begun.get(client, [])
            everything = sorted(when for times in self._begun.values() for when in times)
            for times, most in ((own, self._one), (everything, self._everybody)):
                if len(times) >= most:
                    return max(1, int(self._seconds - (now - times[-most])) + 1)
            self._begun.setdefault(client, []).append(now)
            while len(self._begun) > _CLIENTS:
                self._begun.popitem(last=False)
        return 0

    def succeeded(self, client: str) -> None:
        """An attempt was right: it does not count."""
        with self._lock:
            if times := self._begun.get(client):
                times.pop()
