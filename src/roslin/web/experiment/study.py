"""The study of a server, and its settings: folder, database, sessions, figures. Many threads use it."""

from __future__ import annotations

import csv
import hmac
import io
import logging
import secrets
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from markupsafe import Markup

from roslin.display.templates import render
from roslin.display.words import _, in_words
from roslin.errors import ArgumentError, UnknownNameError
from roslin.experiment import clock
from roslin.experiment.events import Event, ExpertChoice, Position, TrialState, position_of, trial_state
from roslin.experiment.folder import StudyFolder
from roslin.experiment.overview import LiveOverview
from roslin.experiment.plan import Item, StudyPlan, Task
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import StudyExpert
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.melody import Melody
from roslin.report.player import melody_figure
from roslin.report.variants import grace_steps
from roslin.web.language import Catalogues
from roslin.web.security import Limiter
from roslin.web.sessions import Attempts, Sessions, SessionSigner
from roslin.web.settings import ServerSettings, checked_path

_INVITATION = "invitation"
_TRIALS_REMEMBERED = 20_000
_CHOICES_SECONDS = 5.0
_JOINS_SECONDS = 600.0
_DAY_SECONDS = 86_400
_EXPERIMENTER_SECONDS = 12 * 3600
_LOG = logging.getLogger("roslin.web")
_NUMBER = "%N%"  # placeholder for the number in figures that are cached
_FIGURES_KEPT = 8192
_PAIRS_KEPT = 1024


@dataclass(frozen=True, slots=True)
class ExperimentSettings(ServerSettings):
    """Where the study is, and how much anybody may ask of it. Sizes in bytes."""

    variable = "ROSLIN_EXPERIMENT_SETTINGS"

    folder: str
    database: str = ""  # the file in the folder, unless there is another
    public_address: str = ""  # what people type, where that is not what the server is asked: https://study.example.org
    requests_per_minute: int = field(default=1200, kw_only=True)  # of one expert, or one address without; 0: no limit
    joins: int = 60  # by the open invitation, from one address in ten minutes; 0: no limit
    body_bytes: int = field(default=256 * 1024, kw_only=True)
    session_days: float = 30.0  # after that, the personal link must be followed again
    warm_up: bool = True  # draw everything at the start

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_address)
        is_plain = parts.scheme in ("http", "https") and parts.netloc and not (parts.query or parts.fragment)
        if self.public_address and not is_plain:
            raise ArgumentError(
                f"the public address must be one like https://study.example.org; got {self.public_address!r}"
            )
        object.__setattr__(self, "root_path", checked_path(parts.path))
        ServerSettings.__post_init__(self)


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """The contents of a trial as shown. The order never changes, not even when the trial is begun again."""

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
        self.joins = Limiter(settings.joins or sys.maxsize, _JOINS_SECONDS)
        self.shown = lru_cache(maxsize=_TRIALS_REMEMBERED)(self._shown)

    @property
    def plan(self) -> StudyPlan:
        return self.folder.plan

    def close(self) -> None:
        self.live.close()
        self.store.close()
        self.folder.close()

    # -- where people come in ---------------------------------------------------------------------------------------

    def link(self, expert: StudyExpert | str, address: str = "") -> str:
        """The personal link of an expert; `address` is that of the server, where it has no public one."""
        name = expert if isinstance(expert, str) else expert.name
        return f"{self._address(address)}/e/{self.signatures.token('link', name)}"

    def invitation(self, address: str = "") -> str:
        """The address of the open invitation; empty if there is none."""
        code = self.store.state(_INVITATION)
        return f"{self._address(address)}/join/{code}" if code else ""

    def open_invitation(self, address: str = "") -> str:
        if not self.store.state(_INVITATION):
            self.store.set_state(_INVITATION, secrets.token_urlsafe(12))
        return self.invitation(address)

    def end_invitation(self) -> None:
        self.store.set_state(_INVITATION, "")

    def is_invitation(self, code: str) -> bool:
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
        """A ticket for the form of the open invitation. Its sender becomes the expert of its name."""
        return self.signatures.token("ticket", secrets.token_hex(10))

    def _address(self, otherwise: str) -> str:
        return (self.settings.public_address or otherwise).rstrip("/")

    # -- progress of participants --------------------------------------------------------------------------------------

    def position(self, name: str) -> Position:
        """How far an expert is; an error after a withdrawal."""
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
        return trial_state(self.trial_events(name, trial))

    def choices(self, query: str) -> dict[str, tuple[ExpertChoice, ...]]:
        """All participants' choices among the candidates of a query, as of a few seconds ago."""
        made, found = self._choices.get(query, (-_CHOICES_SECONDS, {}))
        if time.monotonic() - made > _CHOICES_SECONDS:
            found = self.store.choices(query)
            self._choices[query] = time.monotonic(), found
        return found

    def forget(self) -> None:
        self.shown.cache_clear()
        self._choices.clear()

    def _shown(self, name: str, trial: int) -> ShownTrial:
        state = self.state(name, trial)
        return ShownTrial(self.plan.task(state.query, trial), state.shown)


# -- figures --------------------------------------------------------------------------------------------------------


class StudyFigures:
    """The melodies of a study as figures: drawn once for all participants, without title, composer and id.

    Drawings take a while, so a thread makes them when the server starts. The numbers of candidates are put in later.
    """

    def __init__(self, folder: StudyFolder, catalogues: Catalogues):
        self._folder, self._catalogues = folder, catalogues
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._melody = lru_cache(maxsize=_FIGURES_KEPT)(self._read)
        self._kept = lru_cache(maxsize=_FIGURES_KEPT)(self._drawn)
        self._pairs = lru_cache(maxsize=_PAIRS_KEPT)(self._differing)

    def stop(self) -> None:
        self._is_over.set()

    def warm_up(self) -> None:
        """Draw everything, until it is done or `stop` is called."""
        plan = self._folder.plan
        tasks = [*plan.tasks, *([plan.practice.task] if plan.practice else [])]
        items = {item.id: item for task in tasks for item in (task.query, *task.candidates) if item.is_melody}
        _LOG.info("drawing %d melodies", len(items))
        for done, item in enumerate(items.values(), start=1):
            if self._is_over.is_set():
                return
            for language in plan.languages:
                self._kept(item.id, "candidate", language)
            if done % 100 == 0:
                _LOG.info("%d of %d melodies are drawn", done, len(items))
        for task in tasks:
            for language in plan.languages:
                if task.query.is_melody and not self._is_over.is_set():
                    self._kept(task.query.id, "query", language)
        if items and not self._is_over.is_set():
            id = next(iter(items))
            self._pairs(id, id, ("query", "query"), plan.languages[0])  # waits for the compiler
        _LOG.info("ready: %d melodies are drawn", len(items))

    def figure(self, item: Item, trial: int, place: str, language: str) -> Markup:
        """A query or candidate; `place` is "query" or its number, from 0."""
        if item.is_melody:
            kind = "query" if place == "query" else "candidate"
            return _numbered(self._kept(item.id, kind, language), place)
        with in_words(self._catalogues[language]):
            name = _("the query") if place == "query" else _("candidate {number}").format(number=int(place) + 1)
            made = render("web/experiment/_item.html", item=item, trial=trial, place=place, name=name)
        return Markup(made)  # noqa: S704 - made, and escaped, by a template

    def differences(self, first: Item, second: Item, places: Sequence[str], language: str) -> tuple[Markup, Markup]:
        """Two melodies, in each of which those notes are marked that have no partner in the other."""
        kinds = tuple("query" if place == "query" else "candidate" for place in places)
        drawn = self._pairs(first.id, second.id, kinds, language)
        one, two = (_numbered(figure, place) for figure, place in zip(drawn, places, strict=True))
        return one, two

    def _read(self, id: str) -> Melody:
        with self._lock:
            return self._folder.melody(id)

    def _drawn(self, id: str, kind: str, language: str) -> str:
        """The figure. A melody that took too long to engrave is tried once more, then a piano roll replaces it."""
        with in_words(self._catalogues[language]):
            made = (self._melody(id), _name(kind), f"{kind}-{_NUMBER}-")
            figure = melody_figure(*made)
            return str(melody_figure(*made) if "<figcaption>" in figure else figure)

    def _differing(self, first: str, second: str, kinds: tuple[str, str], language: str) -> tuple[str, str]:
        melodies = self._melody(first), self._melody(second)
        with in_words(self._catalogues[language]):
            figures = [
                str(melody_figure(melody, _name(kind), f"{side}-{kind}-{_NUMBER}-", rows))
                for melody, rows, kind, side in zip(
                    melodies, differing_notes(*melodies), kinds, ("first", "second"), strict=True
                )
            ]
        return figures[0], figures[1]


def _name(kind: str) -> str:
    return _("the query") if kind == "query" else _("candidate {number}").format(number=_NUMBER)


def _numbered(drawn: str, place: str) -> Markup:
    return Markup(drawn.replace(_NUMBER, place if place == "query" else str(int(place) + 1)))  # noqa: S704 - of a template


# -- differences -------------------------------------------------------------------------------------------------------


def differing_notes(first: Melody, second: Melody) -> tuple[list[int], list[int]]:
    """Rows of the notes of each that the usual matcher pairs with nothing like them in the other.

    Music that it never compares (another voice, the lower notes of a chord) is not listed. A grace note differs unless
    the same step leads to the partner of the note that it adorns.
    """
    chosen = matcher(DEFAULT_MATCHER)
    found = chosen.explain(first, [second], 0)

    def unlike(melody: Melody, alike: Sequence[int]) -> set[int]:
        return set(chosen.explain(melody, [melody], 0).query_notes).difference(alike)

    mine = unlike(first, found.query_notes) | _graces(first, second, dict(found.pairs))
    partners = {theirs: own for own, theirs in found.pairs}
    return sorted(mine), sorted(unlike(second, found.candidate_notes) | _graces(second, first, partners))


def _graces(melody: Melody, other: Melody, partners: dict[int, int]) -> set[int]:
    theirs = {(host, step) for _, host, step in grace_steps(other)}
    return {row for row, host, step in grace_steps(melody) if (partners.get(host, -1), step) not in theirs}
