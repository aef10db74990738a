"""The study that is served: its folder, its database, its signatures, its figures. Used from many threads."""

from __future__ import annotations

import hmac
import secrets
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from roslin.errors import UnknownNameError
from roslin.experiment import clock
from roslin.experiment.events import Event, ExpertChoice, Position, TrialState, position_of, trial_state
from roslin.experiment.folder import StudyFolder
from roslin.experiment.overview import LiveOverview
from roslin.experiment.plan import Item, StudyPlan, Task
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import StudyExpert
from roslin.web.attempts import Attempts
from roslin.web.experiment.figures import StudyFigures
from roslin.web.experiment.links import StudySignatures
from roslin.web.experiment.settings import ExperimentSettings
from roslin.web.language import Catalogues

_INVITATION = "invitation"
_TRIALS_REMEMBERED = 20_000
_CHOICES_SECONDS = 5.0
_JOINS_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """What an expert is shown in a trial. The order never changes, not even when the trial is begun again."""

    task: Task
    shown: tuple[str, ...]

    def item(self, place: str) -> Item:
        """The query, or the candidate of a number."""
        if place == "query":
            return self.task.query
        if not place.isascii() or not place.isdecimal() or int(place) >= len(self.shown):
            raise UnknownNameError("candidate", place, [])
        return next(item for item in self.task.candidates if item.id == self.shown[int(place)])


class OpenStudy:
    """One study, opened."""

    def __init__(self, settings: ExperimentSettings):
        self.settings = settings
        self.folder = StudyFolder(Path(settings.folder))
        self.store = EventStore(settings.database or self.folder.database, self.folder.plan)
        self.signatures = StudySignatures(self.folder.key, settings.session_days)
        self.catalogues = Catalogues(self.plan.languages)
        self.figures = StudyFigures(self.folder, self.catalogues)
        self._choices: dict[str, tuple[float, dict[str, tuple[ExpertChoice, ...]]]] = {}
        self.live = LiveOverview(self.store)
        self.joins = Attempts(settings.joins or sys.maxsize, sys.maxsize, _JOINS_SECONDS)
        self.shown = lru_cache(maxsize=_TRIALS_REMEMBERED)(self._shown)

    @property
    def plan(self) -> StudyPlan:
        """What the experimenter decided."""
        return self.folder.plan

    def close(self) -> None:
        """Give back the database and the folder."""
        self.live.close()
        self.store.close()
        self.folder.close()

    # -- where people come in ---------------------------------------------------------------------------------------

    def link(self, expert: StudyExpert | str, address: str = "") -> str:
        """The personal link of an expert; `address` is that of the server, where it has no public one."""
        name = expert if isinstance(expert, str) else expert.name
        return f"{self._address(address)}/e/{self.signatures.link(name)}"

    def invitation(self, address: str = "") -> str:
        """The open invitation, by which anybody may join; empty: there is none."""
        code = self.store.state(_INVITATION)
        return f"{self._address(address)}/join/{code}" if code else ""

    def open_invitation(self, address: str = "") -> str:
        """Invite everybody who has the address; the one that there is stays as it is."""
        if not self.store.state(_INVITATION):
            self.store.set_state(_INVITATION, secrets.token_urlsafe(12))
        return self.invitation(address)

    def end_invitation(self) -> None:
        """Nobody joins by the open invitation any more."""
        self.store.set_state(_INVITATION, "")

    def is_invitation(self, code: str) -> bool:
        """Whether this is the open invitation."""
        wanted = self.store.state(_INVITATION)
        return bool(wanted) and hmac.compare_digest(wanted.encode(), code.encode())

    def _address(self, otherwise: str) -> str:
        return (self.settings.public_address or otherwise).rstrip("/")

    # -- where they stand -------------------------------------------------------------------------------------------

    def position(self, name: str) -> Position:
        """Where an expert stands. Refuses somebody who has withdrawn."""
        events = self.store.events(name)
        if not events:
            self.store.expert(name)
        return position_of(events, self.plan, clock.now_ms())

    def trial_events(self, name: str, trial: int) -> list[Event]:
        """The events of a trial that was begun; 0 is the practice."""
        events = self.store.events(name, trial)
        if not any(event.kind == "began" for event in events):
            self.store.expert(name)
            raise UnknownNameError("trial", str(trial), [])
        return events

    def state(self, name: str, trial: int) -> TrialState:
        """A trial of an expert as it stands."""
        return trial_state(self.trial_events(name, trial))

    def choices(self, query: str) -> dict[str, tuple[ExpertChoice, ...]]:
        """What everybody chose among the candidates of a query, as it was a few seconds ago."""
        made, found = self._choices.get(query, (-_CHOICES_SECONDS, {}))
        if time.monotonic() - made > _CHOICES_SECONDS:
            found = self.store.choices(query)
            self._choices[query] = time.monotonic(), found
        return found

    def forget(self) -> None:
        """Remember nothing: somebody has withdrawn."""
        self.shown.cache_clear()
        self._choices.clear()

    def _shown(self, name: str, trial: int) -> ShownTrial:
        state = self.state(name, trial)
        practice = self.plan.practice
        task = practice.task if trial == 0 and practice is not None else self.plan.task(state.query)
        return ShownTrial(task, state.shown)
