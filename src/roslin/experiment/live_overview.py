"""The newest overview and findings of a study that runs, made in the background: whoever asks is answered at once.

They are made anew when anything has happened since, but never so often that most of the time goes into it.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from roslin.errors import RoslinError
from roslin.experiment.findings import Findings, findings_in_turn
from roslin.experiment.overview import StudyOverview, overview_of
from roslin.experiment.results import trial_records
from roslin.experiment.store import EventStore

__all__ = ["LiveOverview", "Seen"]

_LOG = logging.getLogger("roslin.experiment")


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest that is known. `is_current`: nothing has happened since."""

    overview: StudyOverview | None
    findings: Findings | None
    is_current: bool


class LiveOverview:
    """The overview of a study that runs, made anew in the background when something has happened."""

    def __init__(self, store: EventStore, rest_seconds: float = 5.0):
        self._store, self._rest_seconds = store, rest_seconds
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._age: tuple[int, int, int] | None = None  # of what is known
        self._overview: StudyOverview | None = None
        self._findings: Findings | None = None
        self._worker: threading.Thread | None = None
        self._ready_at = 0.0
        self._is_over = False

    def seen(self, wait_seconds: float = 1.5) -> Seen:
        """What is known; whoever asks first waits a moment for it."""
        age = self._store.age()
        limit = time.monotonic() + wait_seconds
        with self._changed:
            if self._age != age and self._worker is None and time.monotonic() >= self._ready_at:
                self._worker = threading.Thread(target=self._work, args=(age,), daemon=True)
                self._worker.start()
            while self._worker is not None and (left := limit - time.monotonic()) > 0:
                self._changed.wait(left)
            return Seen(self._overview, self._findings, self._age == age)

    def close(self) -> None:
        """End what is being made, after the query that it is at."""
        self._is_over = True
        worker = self._worker
        if worker is not None:
            worker.join()

    def _work(self, age: tuple[int, int, int]) -> None:
        began = time.monotonic()
        known: tuple[int, int, int] | None = None
        try:
            histories = list(self._store.histories())
            overview = overview_of(self._store.plan, histories, age[2])
            with self._changed:
                self._overview = overview
            for findings in findings_in_turn(self._store.plan, trial_records(histories), self._findings):
                with self._changed:
                    self._findings = findings
                if self._is_over:
                    return
            known = age
        except RoslinError as error:
            _LOG.error("the overview of the study could not be made: %s", error)
        finally:
            with self._changed:
                self._age, self._worker = known, None
                took = time.monotonic() - began
                self._ready_at = time.monotonic() + max(self._rest_seconds, 3 * took) if self._rest_seconds else 0.0
                self._changed.notify_all()
