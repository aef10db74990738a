"""`Explanation`: a distance taken apart, the same value for every matcher. `Matcher.explain` makes it.

The start value and the costs of all steps add up to the distance; a cost below 0 reduces it. The `kind` of the
explanation determines its steps:

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

A last step, limit, takes a distance back to its bounds. Notes are rows of the note tables, from 0. A run may occur at
several places. `transposition` is in semitones (with pitch='fifths', in steps on the line of fifths), `tempo` says how
many times slower the candidate is, `place` where in it the query starts, in quarters; None where that is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.display.table import Table
from roslin.display.words import N_, _, capital, continued, ngettext
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.words import place_words, places_named, spelled, tempo_words, transposition_words
from roslin.tolerances import REORDERED

if TYPE_CHECKING:
    from roslin.matchers.base import Matcher

Rows = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

_AGREE = ("same", "shared", "moved")
_FREE = ("joined", "split")  # agree if that costs nothing: a half note and two quarters of its pitch
_INSIDE = ("segment", "measure", "whole")  # what agrees is what agrees within


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of some notes of the query and of the candidate on the distance."""

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
        """Each note of the query with that of the candidate beside it, equal or not; runs place by place."""
        pairs: list[tuple[int, int]] = []
        for mine, theirs in zip(self.query_places, self.candidate_places, strict=False):
            # One note is beside each of several that replace it.
            is_for_one = len(mine) == 1 or len(theirs) == 1
            pairs += product(mine, theirs) if is_for_one else zip(mine, theirs, strict=False)
        return tuple(pairs)

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
    """The explanation of the distance from a query to a candidate, in steps and in words.

    `transformation` describes the changes of the query, and `sentence` everything.
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

    @property
    def distance(self) -> float:
        """The sum of all costs."""
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
        """The part with the largest weight in a sum, or the visual aid for a distance without parts."""
        return next((step.within for step in self.steps if step.kind in ("measure", "whole") and step.within), None)

    @property
    def counting_most(self) -> str:
        """The sentence, for something of which this is what counts most."""
        said = _("By {matcher}, which counts most: {sentence}")
        return said.format(matcher=self.matcher.name, sentence=continued(self.sentence))

    @property
    def table(self) -> Table:
        """A row for each step, and one for the start; weight that moves, move by move."""
        is_moving = self.kind == "transport"
        columns = _MOVES if is_moving else _STEPS
        rows = [row for step in self.steps for row in (_moves if is_moving else _step)(self, step)]
        if self.start:
            rows.insert(0, {**dict.fromkeys(columns, ""), "step": "start", "cost": self.start})
        return Table(columns if any(row["step"] for row in rows) else columns[1:], tuple(rows))

    @property
    def short_table(self) -> Table:
        """The same without empty columns. The cost always stays."""
        table = self.table
        filled = {name for row in table.rows for name, value in row.items() if value not in ("", None)}
        return table.only(*(name for name in table.columns if name == "cost" or name in filled))

    def about(self, query: Melody, candidate: Melody) -> Explanation:
        """The same with these melodies instead. The notes must be the same as those that are named."""
        steps = []
        for step in self.steps:
            both = (candidate, query) if step.kind == "back" else (query, candidate)
            steps.append(step if step.within is None else replace(step, within=step.within.about(*both)))
        return replace(self, query=query, candidate=candidate, steps=tuple(steps))

    def to_dict(self) -> dict[str, Any]:
        """All data for JSON, with the ids of the melodies. A melody that is in no list has no distance."""
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
        """The sentence, the distance and the table; of a sum, that of what counts most too."""
        lines = [self.sentence]
        for step in self.steps:
            if step.kind in _LAID and step.within is not None:
                within = step.within
                lines.append(f"{capital(step.words)}: {within.transformation}; distance {within.distance:.4f}")
        lines += [f"Distance {self.distance:z.4f} ({self.matcher!r})", "", str(self.short_table), _sum(self)]
        if self.leading is not None:
            counts, leading = "What counts most" if self.kind == "sum" else "An aid to the eye", self.leading
            lines += ["", f"{counts}: distance {leading.distance:z.4f} ({leading.matcher!r})"]
            lines += ["", str(leading.short_table)]
        return "\n".join(lines)

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
    """The same steps with their costs multiplied."""
    return tuple(replace(step, cost=step.cost * factor) for step in steps)


def bounded(start: float, steps: Iterable[Step], least: float = 0.0, most: float = np.inf) -> tuple[Step, ...]:
    """The steps with a last one that takes the distance back to its bounds, if it is beyond them."""
    listed = tuple(steps)
    distance = start + sum(step.cost for step in listed)
    beyond = min(max(distance, least), most) - distance
    if abs(beyond) < REORDERED:
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


# -- in words ----------------------------------------------------------------------------------------------------------
#
# How much agrees, in which transposition, tempo and place, from the steps. Transposition and tempo are those of more
# than half of the notes that belong together.


# How many steps are of each kind. A step by itself is called by its kind.
_KINDS = {
    "same": N_("{count} agree"),
    "other": N_("{count} changed"),
    "joined": N_("{count} joined"),
    "split": N_("{count} split"),
    "missing": N_("{count} left out"),
    "added": N_("{count} added"),
}
KINDS = (N_("same"), N_("other"), N_("joined"), N_("split"), N_("missing"), N_("added"))


def in_words(
    matcher: Matcher, query: Melody, candidate: Melody, steps: Sequence[Step], tempo: float | None
) -> tuple[Any, ...]:
    """(sentence, transformation, transposition, tempo, place) of these steps; `tempo` where the matcher knows it."""
    both = [(step.query_notes[0], step.candidate_notes[0]) for step in steps if step.agrees]
    what = _counted(matcher.kind, matcher.things, steps, candidate)
    if not both:
        return (f"{what}.",)
    asked, found = query.notes["pitch_midi"], candidate.notes["pitch_midi"]
    up = _most(int(found[j]) - int(asked[i]) for i, j in both) if matcher.hears_pitch else None
    slower = tempo or _tempo(query, candidate, both)
    place = float(candidate.notes["onset_ticks"][both[0][1]] / TICKS_PER_QUARTER)
    words = transformation_words(up, slower, place, candidate, has_rhythm=len(both) > 1)
    return f"{what}; {words}.", words, up, slower, place


def transformation_words(
    transposition: float | None,
    tempo: float | None,
    place: float,
    candidate: Melody,
    pitch: str = "semitone",
    *,
    has_rhythm: bool = True,
) -> str:
    """The changes to the query; `has_rhythm` is true if there is enough of it to have a tempo."""
    parts = [
        "" if transposition is None else transposition_words(transposition, pitch),
        tempo_words(tempo) if tempo is not None else _("in another rhythm") if has_rhythm else "",
        place_words(place, candidate),
    ]
    return ", ".join(part for part in parts if part)


def _counted(kind: str, things: str, steps: Sequence[Step], candidate: Melody) -> str:
    if kind == "alignment" and _is_all_of(candidate, steps):
        count = int((~candidate.notes["is_grace"]).sum())
        return capital(_("all {count} {things} of the incipit agree").format(count=count, things=_(things)))
    kinds = Counter(step.kind for step in steps)
    if kind == "alignment":
        counts = [_(words).format(count=kinds[name]) for name, words in _KINDS.items() if kinds[name]]
        said = _("{things} side by side: {counts}")
        return said.format(things=capital(_(things)), counts=", ".join(counts) or _("none"))
    shared = kinds["shared"]
    if kind == "places":
        return ngettext("{count} note coincides", "{count} notes coincide", shared).format(count=shared)
    return ngettext("{count} run in common", "{count} runs in common", shared).format(count=shared)


def _is_all_of(candidate: Melody, steps: Sequence[Step]) -> bool:
    """Whether all notes of a candidate agree and only the query has more, before or after them."""
    is_missing = [step.kind == "missing" for step in steps]
    if not any(is_missing) or all(is_missing):
        return False
    both = steps[is_missing.index(False) : len(steps) - is_missing[::-1].index(False)]
    rows = [row for step in both for row in step.candidate_notes]
    is_covered = set(np.flatnonzero(~candidate.notes["is_grace"]).tolist()) <= set(rows)
    return is_covered and len(both) > 1 and all(step.kind == "same" for step in both)


def _tempo(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> float | None:
    """How many times slower more than half of the times from one pair to the next are."""
    asked, found = query.notes["onset_ticks"], candidate.notes["onset_ticks"]
    steps = [(int(asked[k] - asked[i]), int(found[m] - found[j])) for (i, j), (k, m) in pairwise(both)]
    return _most(Fraction(there, here) for here, there in steps if here > 0 and there > 0)


def _most(values: Iterable[int | Fraction]) -> float | None:
    counted = Counter(values)
    value, times = max(counted.items(), key=lambda item: item[1], default=(0, 0))
    return float(value) if 2 * times > counted.total() else None


# -- rows of the table -------------------------------------------------------------------------------------------------

_STEPS = ("step", "query", "candidate", "words", "cost")
_MOVES = ("step", "query", "candidate", "weight", "distance", "cost")
_LAID = ("segment", "back")


def _step(explanation: Explanation, step: Step) -> Iterator[dict[str, Any]]:
    yield {
        "step": step.kind,
        "query": places_named(explanation.query, step.query_places),
        "candidate": places_named(explanation.candidate, step.candidate_places),
        "words": step.words,
        "cost": step.cost,
    }


def _moves(explanation: Explanation, step: Step) -> Iterator[dict[str, Any]]:
    """The moves of a segment, each with its share of the whole distance; or the one move that the step is."""
    within = step.within
    share = step.cost / within.distance if within is not None and within.distance else 1.0
    for move in (step,) if within is None else within.steps:
        mine, theirs = move.query_notes, move.candidate_notes
        if step.kind == "back":
            mine, theirs = theirs, mine
        is_found = step.kind != "unmatched"
        yield {
            "step": step.words,
            "query": spelled(explanation.query, mine[0] if mine else None) if is_found else "",
            "candidate": spelled(explanation.candidate, theirs[0] if theirs else None) if is_found else "",
            "weight": move.weight,
            "distance": move.apart,
            "cost": share * move.cost,
        }


def _sum(explanation: Explanation) -> str:
    weights = [row["weight"] for row in explanation.table.rows if row.get("weight") not in (None, "")]
    return f"Sum of costs {explanation.distance:z.4f}" + (f", weight {sum(weights):.4g}" if weights else "")
