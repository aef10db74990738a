"""What an explanation says in words, from its steps: how much agrees, in which transposition, tempo and place.

Transposition and tempo are those that more than half of the notes that belong together have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from roslin.display.words import N_, _, capital, ngettext
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.words import place_words, tempo_words, transposition_words

if TYPE_CHECKING:
    from roslin.matchers.base import Matcher
    from roslin.matchers.explanation import Step

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


class Told(NamedTuple):
    """The words and numbers of an explanation, in the order of its fields."""

    sentence: str
    transformation: str = ""
    transposition: float | None = None
    tempo: float | None = None
    place: float | None = None


def told(matcher: Matcher, query: Melody, candidate: Melody, steps: Sequence[Step], tempo: float | None = None) -> Told:
    """What these steps of a matcher say; `tempo` where it knows that."""
    both = [(step.query_notes[0], step.candidate_notes[0]) for step in steps if step.agrees]
    what = _counted(matcher.kind, matcher.things, steps, candidate)
    if not both:
        return Told(f"{what}.")
    up = _transposition(query, candidate, both) if matcher.hears_pitch else None
    slower = tempo or _tempo(query, candidate, both)
    place = float(candidate.notes["onset_ticks"][both[0][1]] / TICKS_PER_QUARTER)
    words = transformation_words(up, slower, place, candidate, has_rhythm=len(both) > 1)
    return Told(f"{what}; {words}.", words, up, slower, place)


def transformation_words(
    transposition: float | None,
    tempo: float | None,
    place: float,
    candidate: Melody,
    pitch: str = "semitone",
    *,
    has_rhythm: bool = True,
) -> str:
    """What was done to the query; `has_rhythm` says whether there is enough of it to have a tempo."""
    parts = [
        "" if transposition is None else transposition_words(transposition, pitch),
        tempo_words(tempo) if tempo is not None else _("in another rhythm") if has_rhythm else "",
        place_words(place, candidate),
    ]
    return ", ".join(part for part in parts if part)


def _counted(kind: str, things: str, steps: Sequence[Step], candidate: Melody) -> str:
    """What the steps are, in numbers."""
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
    """Whether all notes of a candidate agree and only the query goes on, before it or after it."""
    is_missing = [step.kind == "missing" for step in steps]
    if not any(is_missing) or all(is_missing):
        return False
    both = steps[is_missing.index(False) : len(steps) - is_missing[::-1].index(False)]
    rows = [row for step in both for row in step.candidate_notes]
    is_covered = set(np.flatnonzero(~candidate.notes["is_grace"]).tolist()) <= set(rows)
    return is_covered and len(both) > 1 and all(step.kind == "same" for step in both)


def _transposition(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> float | None:
    """The semitones that more than half of the pairs have."""
    asked, found = query.notes["pitch_midi"], candidate.notes["pitch_midi"]
    return _most(int(found[j]) - int(asked[i]) for i, j in both)


def _tempo(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> float | None:
    """How many times slower more than half of the times from one pair to the next are."""
    asked, found = query.notes["onset_ticks"], candidate.notes["onset_ticks"]
    steps = [(int(asked[k] - asked[i]), int(found[m] - found[j])) for (i, j), (k, m) in pairwise(both)]
    return _most(Fraction(there, here) for here, there in steps if here > 0 and there > 0)


def _most(values: Iterable[int | Fraction]) -> float | None:
    """The value that more than half of them are."""
    counted = Counter(values)
    value, times = max(counted.items(), key=lambda item: item[1], default=(0, 0))
    return float(value) if 2 * times > counted.total() else None
