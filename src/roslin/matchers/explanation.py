"""`Explanation`: a distance taken apart, the same value for every matcher. `Matcher.explain` makes it.

What the distance starts from and the costs of all steps add up to it; a cost below 0 takes something off. What a step
is depends on the `kind` of the explanation:

    alignment   things of both melodies side by side, or of one alone; a thing is a note, or a few compared as one:
                same, other, missing (only in the query), added (only in the candidate), joined (several notes of the
                query for one), split (one for several)
    grams       shared: a run that both melodies have, at all its places
    places      shared: notes that coincide, or sound together, after one move of the whole query
    transport   moved: weight that goes from a note to another, with its `weight` and how far `apart` the two are;
                missing: weight that finds no partner. Of segments: segment (its moves are `within`), back (the same
                for a segment of the candidate laid onto the query), unmatched (one that was expected, and not found)
    sum         measure: one of several; what counts most has its own explanation `within`
    likeness    whole: all of the distance, which the matcher does not take apart; `within` is an aid to the eye

A last step, limit, takes a distance back to its bounds. Notes are rows of the note tables, from 0; a run may stand at
several places. `transposition` is in semitones (with pitch='fifths', in steps on the line of fifths), `tempo` says how
many times slower the candidate is, `place` where in it the query starts, in quarters; None where that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.display.table import Table
from roslin.display.words import _, continued
from roslin.matchers.sentences import Told, told
from roslin.matchers.step_tables import as_text, steps_table

if TYPE_CHECKING:
    from roslin.matchers.base import Matcher
    from roslin.melody import Melody

Rows = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

_AGREE = ("same", "shared", "moved")
_FREE = ("joined", "split")  # agree if that costs nothing: a half note and two quarters of its pitch
_INSIDE = ("segment", "measure", "whole")  # what agrees is what agrees within
_PATIENCE = 1e-12  # a limit that rounding alone crosses is not crossed


@dataclass(frozen=True, slots=True)
class Step:
    """What some notes of the query and some of the candidate do to the distance."""

    kind: str
    query_places: tuple[Rows, ...] = ()
    candidate_places: tuple[Rows, ...] = ()
    cost: float = 0.0
    words: str = ""
    weight: float | None = None
    apart: float | None = None
    within: Explanation | None = None

    @property
    def query_notes(self) -> Rows:
        """The notes of the query, at whatever place."""
        return together(self.query_places)

    @property
    def candidate_notes(self) -> Rows:
        """The notes of the candidate, at whatever place."""
        return together(self.candidate_places)

    @property
    def agrees(self) -> bool:
        """Whether these notes of the two melodies belong together."""
        return bool(self.candidate_places) and (self.kind in _AGREE or (self.kind in _FREE and not self.cost))

    @property
    def facing(self) -> Pairs:
        """Each note of the query with the note of the candidate beside it, alike or not; of runs, place by place."""
        places = zip(self.query_places, self.candidate_places, strict=False)
        return tuple(pair for mine, theirs in places for pair in _beside(mine, theirs))

    @property
    def pairs(self) -> Pairs:
        """Each note of the query with the note of the candidate that it belongs to."""
        if self.kind in _INSIDE:
            return () if self.within is None else self.within.pairs
        return self.facing if self.agrees else ()

    def to_dict(self) -> dict[str, Any]:
        """The step in the form of JSON."""
        return {
            "kind": self.kind,
            "query_places": [list(place) for place in self.query_places],
            "candidate_places": [list(place) for place in self.candidate_places],
            "cost": self.cost,
            "words": self.words,
            "weight": self.weight,
            "apart": self.apart,
            "within": None if self.within is None else self.within.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """How the distance from a query to a candidate comes about, in steps and in words.

    `transformation` is what was done to the query, in words; `sentence` the whole in a sentence.
    """

    matcher: Matcher
    kind: str
    query: Melody
    candidate: Melody
    start: float
    steps: tuple[Step, ...] = ()
    sentence: str = ""
    transformation: str = ""
    transposition: float | None = None
    tempo: float | None = None
    place: float | None = None

    @classmethod
    def of(
        cls,
        matcher: Matcher,
        query: Melody,
        candidate: Melody,
        start: float,
        steps: Iterable[Step],
        tempo: float | None = None,
    ) -> Explanation:
        """The explanation that these steps make; `tempo` where the matcher knows it."""
        listed = tuple(steps)
        leading = next((step.within for step in listed if step.kind == "measure" and step.within is not None), None)
        if leading is None:
            about = told(matcher, query, candidate, listed, tempo)
        else:
            about = Told(
                leading.counting_most, leading.transformation, leading.transposition, leading.tempo, leading.place
            )
        return cls(matcher, matcher.kind, query, candidate, start, listed, *about)

    @property
    def distance(self) -> float:
        """What all adds up to."""
        return self.start + sum(step.cost for step in self.steps)

    @property
    def pairs(self) -> Pairs:
        """Which notes belong together, as rows of the query and of the candidate."""
        return tuple(dict.fromkeys(pair for step in self.steps for pair in step.pairs))

    @property
    def query_notes(self) -> Rows:
        """The notes of the query that agree with some of the candidate."""
        return together(self._agreeing("query_notes"))

    @property
    def candidate_notes(self) -> Rows:
        """The notes of the candidate that agree with some of the query."""
        return together(self._agreeing("candidate_notes"))

    @property
    def leading(self) -> Explanation | None:
        """What counts most in a sum; of a distance that is not taken apart, the aid to the eye."""
        return next((step.within for step in self.steps if step.kind in ("measure", "whole") and step.within), None)

    @property
    def counting_most(self) -> str:
        """The sentence, for something of which this is what counts most."""
        said = _("By {matcher}, which counts most: {sentence}")
        return said.format(matcher=self.matcher.name, sentence=continued(self.sentence))

    @property
    def table(self) -> Table:
        """The steps as rows; weight that moves, move by move."""
        return steps_table(self)

    @property
    def short_table(self) -> Table:
        """The same without the columns in which nothing stands; there is always a cost."""
        table = self.table
        return table.only(
            *(
                name
                for name in table.columns
                if name == "cost" or any(row[name] not in ("", None) for row in table.rows)
            )
        )

    def about(self, query: Melody, candidate: Melody) -> Explanation:
        """The same with these melodies in place of its own; the notes must be the same, as far as they are named."""
        steps = []
        for step in self.steps:
            both = (candidate, query) if step.kind == "back" else (query, candidate)
            steps.append(step if step.within is None else replace(step, within=step.within.about(*both)))
        return replace(self, query=query, candidate=candidate, steps=tuple(steps))

    def to_dict(self) -> dict[str, Any]:
        """Everything in the form of JSON; the melodies by their ids. A melody that is in no list has no distance."""
        return {
            "query": self.query.id,
            "candidate": self.candidate.id,
            "matcher": repr(self.matcher),
            "kind": self.kind,
            "distance": _finite(self.distance),
            "sentence": self.sentence,
            "transposition": self.transposition,
            "tempo": self.tempo,
            "place": self.place,
            "query_notes": list(self.query_notes),
            "candidate_notes": list(self.candidate_notes),
            "pairs": [list(pair) for pair in self.pairs],
            "start": _finite(self.start),
            "steps": [step.to_dict() for step in self.steps],
        }

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        from roslin.display.templates import render

        return render("display/explanation.html", explanation=self)

    def _agreeing(self, notes: str) -> list[Rows]:
        found: list[Rows] = []
        for step in self.steps:
            if step.kind in _INSIDE and step.within is not None:
                found.append(getattr(step.within, notes))
            elif step.agrees:
                found.append(getattr(step, notes))
        return found


def scaled(steps: Iterable[Step], factor: float) -> tuple[Step, ...]:
    """The same steps, costing so many times as much."""
    return tuple(replace(step, cost=step.cost * factor) for step in steps)


def bounded(start: float, steps: Iterable[Step], least: float = 0.0, most: float = np.inf) -> tuple[Step, ...]:
    """The steps with a last one that takes the distance back to its bounds, if it is beyond them."""
    listed = tuple(steps)
    distance = start + sum(step.cost for step in listed)
    beyond = min(max(distance, least), most) - distance
    if abs(beyond) < _PATIENCE:
        return listed
    words = _("no distance is below {limit}") if beyond > 0 else _("no distance is above {limit}")
    limit = f"{least if beyond > 0 else most:g}"
    return (*listed, Step("limit", cost=beyond, words=words.format(limit=limit)))


def together(places: Iterable[Rows]) -> Rows:
    """All notes of several things or places, in order."""
    return tuple(sorted({row for place in places for row in place}))


def _finite(number: float) -> float | None:
    """A number as JSON knows it: what is infinite is none."""
    return number if np.isfinite(number) else None


def _beside(mine: Rows, theirs: Rows) -> list[tuple[int, int]]:
    """Note by note; one note with each of several that stand for it."""
    if len(mine) == 1 or len(theirs) == 1:
        return [(i, j) for i in mine for j in theirs]
    return list(zip(mine, theirs, strict=False))
