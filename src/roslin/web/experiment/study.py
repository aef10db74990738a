"""The study that is served, and its settings: folder, database, sessions, figures. Used from many threads."""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import secrets
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from roslin.errors import ArgumentError, UnknownNameError
from roslin.experiment import clock
from roslin.experiment.events import Event, ExpertChoice, Position, TrialState, position_of, trial_state
from roslin.experiment.folder import StudyFolder
from roslin.experiment.overview import LiveOverview
from roslin.experiment.plan import Item, StudyPlan, Task
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import StudyExpert
from roslin.web.experiment.figures import StudyFigures
from roslin.web.language import Catalogues
from roslin.web.sessions import Attempts, Sessions, SessionSigner
from roslin.web.settings import check_proxies

STUDY_VARIABLE = "ROSLIN_EXPERIMENT_SETTINGS"
_INVITATION = "invitation"
_TRIALS_REMEMBERED = 20_000
_CHOICES_SECONDS = 5.0
_JOINS_SECONDS = 600.0
_DAY_SECONDS = 86_400
_EXPERIMENTER_SECONDS = 12 * 3600


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Where the study is, and how much anybody may ask of it. Sizes in bytes."""

    folder: str
    database: str = ""  # the file in the folder, unless there is another
    public_address: str = ""  # what people type, where that is not what the server is asked: https://study.example.org
    hosts: tuple[str, ...] = ()  # the names that it answers to; empty: any
    requests_per_minute: int = 1200  # of one expert, or of one address without an expert; 0: no limit
    joins: int = 60  # by the open invitation, from one address in ten minutes; 0: no limit
    proxies: tuple[str, ...] = ()  # addresses and networks whose word about who asks is taken
    body_bytes: int = 256 * 1024
    session_days: float = 30.0  # after that, the personal link must be followed again
    warm_up: bool = True  # draw everything at the start
    log_requests: bool = True

    def __post_init__(self) -> None:
        check_proxies(self.proxies)
        parts = urlsplit(self.public_address)
        is_plain = parts.scheme in ("http", "https") and parts.netloc and not (parts.query or parts.fragment)
        if self.public_address and (not is_plain or parts.path.strip("/")):
            raise ArgumentError(
                f"the public address must be one like https://study.example.org; got {self.public_address!r}"
            )

    def to_environment(self) -> str:
        """As text, for a worker process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings that the parent process left in the environment."""
        values = json.loads(os.environ[STUDY_VARIABLE])
        return cls(**{**values, "hosts": tuple(values["hosts"]), "proxies": tuple(values["proxies"])})


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
        key, days = self.folder.key, settings.session_days
        self.signatures = SessionSigner(key)
        self.participants = Sessions(key, "roslin_expert", int(days * _DAY_SECONDS), samesite="lax")
        self.experimenters = Sessions(
            key, "roslin_study", _EXPERIMENTER_SECONDS, path="/study", secret=(self.folder.path / "password").read_bytes
        )
        self.attempts = Attempts()  # at the password of the dashboard
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
        return f"{self._address(address)}/e/{self.signatures.token('link', name)}"

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

    def links_csv(self, experts: Iterable[StudyExpert], address: str = "") -> str:
        """Experts with their links, one in a row, as a table to send them from."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(["expert", "link"])
        writer.writerows([expert.label, self.link(expert, address)] for expert in experts)
        return out.getvalue()

    def new_ticket(self) -> str:
        """A ticket for the form of the open invitation: whoever sends it becomes the expert of its name."""
        return self.signatures.token("ticket", secrets.token_hex(10))

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
