"""`p1`: whether the whole query stands in the candidate, note for note.

Reference: Ukkonen, Lemstrom and Makinen, algorithm P1. Notes are points (onset, pitch); durations do not matter. The
query is found where one shift in time and one transposition take every one of its points onto a point of the candidate;
other notes may stand between them and beside them. Then c, what the two have in common (geometric/base.py), is the
number of the query's notes; else it is 0, and the distance is 1. So the matcher tells yes from no, and with
divide="both" candidates that hold little else come first.

Example, with (onset in quarters, pitch). The query (0, 60) (1, 64) is found in (0, 65) (0.5, 67) (1, 69) (1, 48), moved
up by 5: c = 2, a = 2, b = 4, and the distance is 1 - 4/6 = 1/3. It is not found in (0, 60) (1.5, 64).

The search is the authors': a pointer for each note of the query moves along the candidate, and never back. The distance
does not change under transposition and shift in time; under tempo it does, but for `tempos`. What is certain: the
algorithm. Our choice: the distance (`divide`), `tempos`, and that doublings count once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roslin.display.words import N_
from roslin.matchers.base import register
from roslin.matchers.geometric.base import Figures, Geometric
from roslin.native import kernels
from roslin.types import Numbers


@register
@dataclass(frozen=True, repr=False)
class P1(Geometric):
    """All notes of the query, or none."""

    name = "p1"
    summary = N_("Finds the melodies that hold every note of the query, in any key, whatever sounds beside them.")
    reference = "Ukkonen, Lemstrom & Makinen 2003, algorithm P1"
    timed = False

    def _common(self, query: Figures, candidates: Figures) -> Numbers:
        common = np.empty(len(candidates.offsets) - 1, dtype=np.int64)
        kernels.whole_query(query.start, query.pitch, candidates.start, candidates.pitch, candidates.offsets, common)
        return common
