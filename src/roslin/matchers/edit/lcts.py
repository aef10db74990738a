"""`lcts`: the longest sequence of notes that the query, transposed, has in common with the candidate.

Reference: K. Lemström and E. Ukkonen, the companion of `dp` in the same project (C-BRAHMS): the longest common
transposition-invariant subsequence,

    LCTS(a, b) = max over transpositions c of LCS(a + c, b)

over the pitches a of the query and b of the candidate, both reduced to one line (represent/line.py). All shared notes
are moved by the same interval, in the same order, with any others in between: unlike `dp`, which looks at one interval
after the other, it lets a wrong note cost one note, and a change of key the whole rest. Only pitch counts: the same
under transposition and under any change of rhythm. The definition is complete; how it is made a distance is our choice:

    place = "whole"    1 - LCTS / max(m, n)     m and n being the numbers of notes
    place = "inside"   1 - LCTS / m             the query anywhere in the candidate; a long one has nearly everything

By hand: 60 62 64 65 and 67 69 70 72 share 60 62 . 65 moved up by 7, three notes of four: 1/4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, scaled
from roslin.matchers.paths import Edits, both_lines, edits, side_by_side, successive
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.parameters import choice


@register
@dataclass(frozen=True, repr=False)
class LCTS(Matcher):
    """Longest common transposed subsequence."""

    name = "lcts"
    summary = N_(
        "Counts the notes that both melodies have in the same order, in the best transposition; ignores rhythm."
    )
    reference = "Lemström & Ukkonen, C-BRAHMS"

    kind = "alignment"
    modes: ClassVar[Modes] = {
        "compare": {"melody": {}},
        "place": {"anywhere": {"place": "inside"}, "whole": {"place": "whole"}},
        "key": {"any": {}},
    }

    place: str = choice("whole", "inside", "whole")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, lines = melodic_lines([query]), melodic_lines(candidates)
        shared = np.empty(len(candidates), dtype=np.int64)
        kernels.lcts_lengths(asked.pitch_midi, lines.pitch_midi, lines.offsets, shared)
        m = len(asked.pitch_midi)
        possible = m if self.place == "inside" else np.maximum(np.diff(lines.offsets), m)
        distances: Distances = (possible - shared) / possible
        return distances

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        m, n = len(asked.rows), len(stored.rows)
        things = successive(asked), successive(stored)
        steps = np.subtract.outer(-asked.pitch_midi.astype(np.int64), -stored.pitch_midi.astype(np.int64))

        def moved(up: int) -> Edits:
            # Notes in common are all that counts, so two others never stand side by side.
            same = steps == up
            return edits(*things, side_by_side(np.where(same, -1.0, np.inf), np.zeros(m), np.zeros(n)), same)

        found = min((moved(up) for up in np.unique(steps).tolist()), key=lambda way: way.cost)
        by = m if self.place == "inside" else max(m, n)
        return self._explanation(query, candidates, number, 1.0, scaled(found.steps, 1.0 / by))
