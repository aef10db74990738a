"""`dp` and `lcts`: melodies as strings of pitches, the string side of the Helsinki entry to MIREX 2005.

`dp` is an edit distance between sequences of intervals.

Reference: K. Lemström and E. Ukkonen's transposition-invariant edit distance, entered as L(DP). The recurrence is
from the literature; weights and normalisation of the entry are not known, and the ones here are ours:

    D(i, j) = min { D(i-1, j) + 1, D(i, j-1) + 1, D(i-1, j-1) + [a_i - a_{i-1} != b_j - b_{j-1}] }

over the pitches a of the query and b of the candidate, both reduced to one line (represent/line.py: no grace notes,
the highest of simultaneous notes). The first note of either has no interval and matches any note. Only pitch counts:
the distance does not change under transposition, tempo, or any other rhythm.

    place = "whole"    the query against the whole candidate: D(m, n) / max(m, n)
    place = "inside"   the query anywhere inside the candidate, notes before and after are free: min_j D(m, j) / m

Both lie between 0 and 1. `lcts`, of the same project (C-BRAHMS), asks for the longest common transposition-invariant
subsequence instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.display.words import N_, _, continued
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Step, scaled
from roslin.matchers.paths import Edits, both_lines, edits, side_by_side, successive
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.parameters import choice

_MODES: Modes = {
    "compare": {"melody": {}},
    "place": {"anywhere": {"place": "inside"}, "whole": {"place": "whole"}},
    "key": {"any": {}},
}


@register
@dataclass(frozen=True, repr=False)
class DP(Matcher):
    """Edit distance over intervals."""

    name = "dp"
    summary = N_("Counts the notes to insert, delete or change; ignores key and rhythm.")
    reference = "Lemström & Ukkonen; MIREX 2005 entry L(DP)"

    kind = "alignment"
    modes: ClassVar[Modes] = _MODES

    place: str = choice("whole", "inside", "whole")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, distances = melodic_lines([query]).pitch_midi, np.empty(len(candidates))
        kernels.interval_edit_distances(asked, candidates.notes, candidates.offsets, self.place == "inside", distances)
        return distances

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        same = np.ones((len(asked.rows), len(stored.rows)), dtype=bool)  # the first note of either agrees with any
        same[1:, 1:] = np.equal.outer(asked.intervals()[:-1], stored.intervals()[:-1])
        m, n = same.shape
        ways = side_by_side(1.0 - same, np.ones(m), np.ones(n))
        things = successive(asked), successive(stored)
        is_inside = self.place == "inside"
        found = edits(*things, ways, same, "top", "bottom") if is_inside else edits(*things, ways, same)
        by = m if is_inside else max(m, n)
        return self._explanation(query, candidates, number, 0.0, scaled(found.steps, 1.0 / by))


@register
@dataclass(frozen=True, repr=False)
class LCTS(Matcher):
    """The longest sequence of notes that the query, transposed, has in common with the candidate:

        LCTS(a, b) = max over transpositions c of LCS(a + c, b)

    All shared notes are moved by the same interval, in the same order, with any others in between: unlike `dp`, which
    looks at one interval after the other, it lets a wrong note cost one note, and a change of key the whole rest. Only
    pitch counts. The definition is complete; how it is made a distance is our choice:

        place = "whole"    1 - LCTS / max(m, n)     m and n being the numbers of notes
        place = "inside"   1 - LCTS / m             the query anywhere in the candidate; a long one has nearly all of it

    By hand: 60 62 64 65 and 67 69 70 72 share 60 62 . 65 moved up by 7, three notes of four: 1/4.
    """

    name = "lcts"
    summary = N_(
        "Counts the notes that both melodies have in the same order, in the best transposition; ignores rhythm."
    )
    reference = "Lemström & Ukkonen, C-BRAHMS"

    kind = "alignment"
    modes: ClassVar[Modes] = _MODES

    place: str = choice("whole", "inside", "whole")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, lines = melodic_lines([query]), melodic_lines(candidates)
        shared = np.empty(len(candidates), dtype=np.int64)
        kernels.lcts_lengths(asked.pitch_midi, lines.pitch_midi, lines.offsets, shared)
        m = len(asked.pitch_midi)
        possible = m if self.place == "inside" else np.maximum(np.diff(lines.offsets), m)
        return np.asarray((possible - shared) / possible)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        m, n = len(asked.rows), len(stored.rows)
        things = successive(asked), successive(stored)
        steps = np.subtract.outer(-asked.pitch_midi.astype(np.int64), -stored.pitch_midi.astype(np.int64))

        def moved(up: int) -> Edits:
            # Notes in common are all that counts, so two others are never paired.
            same = steps == up
            return edits(*things, side_by_side(np.where(same, -1.0, np.inf), np.zeros(m), np.zeros(n)), same)

        found = min((moved(up) for up in np.unique(steps).tolist()), key=lambda way: way.cost)
        by = m if self.place == "inside" else max(m, n)
        return self._explanation(query, candidates, number, 1.0, scaled(found.steps, 1.0 / by))


# -- matchers that do not take their distance apart --------------------------------------------------------------------
#
# One step has all of the distance. As an aid to the eye, the explanation shows how `dp` would lay the query into the
# candidate, which is not how the matcher measures.


_AID = DP(place="inside")


def likeness(chosen: Matcher, query: Melody, candidates: Packed, number: int, distance: float) -> Explanation:
    """The explanation of a candidate with notes at this distance."""
    candidate = candidates.melody(number)
    if len(query) * len(candidate) > _AID.pairs_explained:
        sentence = _("The two melodies are too long to be shown side by side.")
        return Explanation(chosen, "likeness", query, candidate, 0.0, (_whole(chosen, distance, None),), sentence)
    aid = _AID.explain(query, [candidate])
    sentence = _("As a visual aid, {sentence}").format(sentence=continued(aid.sentence))
    moved = aid.transformation, aid.transposition, aid.tempo, aid.place
    return Explanation(chosen, "likeness", query, candidate, 0.0, (_whole(chosen, distance, aid),), sentence, *moved)


def _whole(chosen: Matcher, distance: float, aid: Explanation | None) -> Step:
    return Step("whole", cost=distance, words=_("{matcher} as a whole").format(matcher=repr(chosen)), within=aid)
