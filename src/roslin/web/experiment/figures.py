"""What is judged, as figures: drawn once, for everybody, and given the number that an expert sees it under.

A drawing takes a while the first time, so all are made in a thread when the server starts. Nothing of a figure tells
what it shows: no title, no composer, no id.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from roslin.display.templates import render
from roslin.display.words import _, in_words
from roslin.experiment.folder import StudyFolder
from roslin.experiment.plan import Item
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.matchers.explanation import Explanation
from roslin.melody import Melody
from roslin.report.player import melody_figure
from roslin.report.variants import grace_steps
from roslin.web.language import Catalogues

_LOG = logging.getLogger("roslin.web")
_NUMBER = "%N%"  # stands for the number in figures that are kept
_FIGURES_KEPT = 8192
_PAIRS_KEPT = 1024


class StudyFigures:
    """The figures of a study."""

    def __init__(self, folder: StudyFolder, catalogues: Catalogues):
        self._folder, self._catalogues = folder, catalogues
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._melody = lru_cache(maxsize=_FIGURES_KEPT)(self._read)
        self._kept = lru_cache(maxsize=_FIGURES_KEPT)(self._drawn)
        self._pairs = lru_cache(maxsize=_PAIRS_KEPT)(self._differing)

    def stop(self) -> None:
        """Draw nothing more ahead of time."""
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
        """A query or candidate; `place` is "query" or its number."""
        if item.is_melody:
            kind = "query" if place == "query" else "candidate"
            return self._numbered(self._kept(item.id, kind, language), place)
        with in_words(self._catalogues[language]):
            name = _("the query") if place == "query" else _("candidate {number}").format(number=int(place) + 1)
            made = render("web/experiment/_item.html", item=item, trial=trial, place=place, name=name)
        return Markup(made)  # noqa: S704 - made, and escaped, by a template

    def differences(self, first: Item, second: Item, places: Sequence[str], language: str) -> tuple[Markup, Markup]:
        """Two melodies, in each of which those notes are marked that have no partner in the other."""
        kinds = tuple("query" if place == "query" else "candidate" for place in places)
        drawn = self._pairs(first.id, second.id, kinds, language)
        one, two = (self._numbered(figure, place) for figure, place in zip(drawn, places, strict=True))
        return one, two

    @staticmethod
    def _numbered(figure: str, place: str) -> Markup:
        number = place if place == "query" else str(int(place) + 1)
        return Markup(figure.replace(_NUMBER, number))  # noqa: S704 - made by a template

    def _read(self, id: str) -> Melody:
        with self._lock:
            return self._folder.melody(id)

    @staticmethod
    def _name(kind: str) -> str:
        return _("the query") if kind == "query" else _("candidate {number}").format(number=_NUMBER)

    def _drawn(self, id: str, kind: str, language: str) -> str:
        """The figure. What took too long to engrave is tried once more before a piano roll stands there for good."""
        with in_words(self._catalogues[language]):
            made = (self._melody(id), self._name(kind), f"{kind}-{_NUMBER}-")
            figure = melody_figure(*made)
            return str(melody_figure(*made) if "<figcaption>" in figure else figure)

    def _differing(self, first: str, second: str, kinds: tuple[str, str], language: str) -> tuple[str, str]:
        melodies = self._melody(first), self._melody(second)
        with in_words(self._catalogues[language]):
            figures = [
                str(melody_figure(melody, self._name(kind), f"{side}-{kind}-{_NUMBER}-", rows))
                for melody, rows, kind, side in zip(
                    melodies, differing_notes(*melodies), kinds, ("first", "second"), strict=True
                )
            ]
        return figures[0], figures[1]


# -- differences -------------------------------------------------------------------------------------------------------


def differing_notes(first: Melody, second: Melody) -> tuple[list[int], list[int]]:
    """Rows of the notes of each that the usual matcher pairs with nothing like them in the other.

    What it never looks at (another voice, the lower notes of a chord) is not told. Nor does it look at grace notes:
    one of these differs unless the same step leads to the partner of the note that it adorns. (`report.variants` marks
    every difference that an eye sees, between melodies that are one tune; here a note with other rhythm or pitch may
    well have a partner.)
    """
    found = _explained(first, second)
    mine = _unlike(first, set(found.query_notes)) | _graces(first, second, dict(found.pairs))
    partners = {theirs: own for own, theirs in found.pairs}
    return sorted(mine), sorted(_unlike(second, set(found.candidate_notes)) | _graces(second, first, partners))


def _explained(first: Melody, second: Melody) -> Explanation:
    return matcher(DEFAULT_MATCHER).explain(first, [second], 0)


def _unlike(melody: Melody, alike: set[int]) -> set[int]:
    looked_at = set(_explained(melody, melody).query_notes)
    return looked_at - alike


def _graces(melody: Melody, other: Melody, partners: dict[int, int]) -> set[int]:
    theirs = {(host, step) for _, host, step in grace_steps(other)}
    return {row for row, host, step in grace_steps(melody) if (partners.get(host, -1), step) not in theirs}
