"""What `shapeh` and `time` share: melodies as overlapping n-grams of notes, and how two such sequences are aligned.

Reference: J. Urbano, MelodyShape (MIREX 2010 to 2015; the program, version 1.4). For the grams G of the query and H of
the candidate, and a score c that is above 0 for what is alike,

    M(i, j) = max { M(i-1, j) + c(G_i, -), M(i, j-1) + c(-, H_j), M(i-1, j-1) + c(G_i, H_j) },  M(0, 0) = 0

    aligner = "hybrid"  the largest M(i, j) with i, j >= 1: the beginnings must agree, the ends are free (published)
              "local"   M is never below 0: the best passage of both, wherever it is
              "global"  M(|G|, |H|): everything counts
    divide  = "shorter" by the length of the shorter of the two (published, for hybrid and local)
              "longer"  by that of the longer: a short melody is no longer near to everything that it begins like
              "none"    not at all (published, for global)

A distance is what the query would score with itself, less what it scores with the candidate, and 0 where that would be
less than 0 (divided by "shorter", a short candidate of rare grams can score higher than the query itself).

Our choices: a candidate with too few notes for a gram scores like one in which every gram of the query is left out.
A query with too few is at 0 from everything: there is nothing to compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roslin.matchers.base import Matcher, rounded
from roslin.matchers.explanation import Rows, Step, bounded, scaled
from roslin.matchers.paths import Begins, Ends, edits, side_by_side
from roslin.types import Distances, Flags, Floats, Numbers
from roslin.values.parameters import choice

_ENDS: dict[str, Ends] = {"global": "corner", "hybrid": "inside", "local": "anywhere"}
GRAM_PLACES = {"anywhere": {"aligner": "local"}, "start": {"aligner": "hybrid"}, "whole": {"aligner": "global"}}


@dataclass(frozen=True, repr=False)
class GramAlignment(Matcher):
    """A matcher that aligns grams."""

    kind = "alignment"

    aligner: str = choice("hybrid", *_ENDS)
    divide: str = choice("shorter", "longer", "none", "shorter")

    @property
    def floor(self) -> float:
        """What M is never below."""
        return 0.0 if self.aligner == "local" else -np.inf

    @property
    def takes_best(self) -> bool:
        """Whether the score is the largest of all M, not the last one."""
        return self.aligner != "global"

    def steps_of_grams(
        self,
        query: list[Rows],
        candidate: list[Rows],
        scores: Floats,
        gaps: tuple[Floats, Floats],
        same: Flags,
        own: float,
    ) -> tuple[float, tuple[Step, ...]]:
        """(what the distance starts from, steps) of two sequences of grams, each as the notes that make it.

        `scores` is that of every pair, `gaps` those of a gram of the query and of the candidate that is left out, `own`
        what the query scores with itself.
        """
        m, n = scores.shape
        by = {"none": 1, "longer": max(m, n), "shorter": min(m, n) or m}[self.divide]
        begins: Begins = "anywhere" if self.aligner == "local" else "corner"
        ends: Ends = _ENDS[self.aligner]
        if not n and ends == "inside":
            ends = "corner"  # every gram of the query is left out
        found = edits(query, candidate, side_by_side(-scores, -gaps[0], -gaps[1]), same, begins, ends)
        start = own / (1 if self.divide == "none" else m)
        return start, bounded(start, scaled(found.steps, 1.0 / by))

    def distances_from_scores(
        self, scores: Floats, order: Numbers, lengths: Numbers, own: float, lost: float, m: int
    ) -> Distances:
        """Distances in the order of the candidates.

        `scores` are in the given order (and may have more rows at the end), `lengths` is the number of grams of every
        candidate, `own` what the query scores with itself, `lost` what it scores when nothing of it is found.
        """
        scored = np.empty(len(lengths))
        scored[order] = scores[: len(order)]
        scored[lengths == 0] = max(lost, self.floor)
        if self.divide == "none":
            distances: Distances = own - scored
        else:
            shorter, longer = np.minimum(lengths, m), np.maximum(lengths, m)
            by = longer if self.divide == "longer" else np.where(shorter > 0, shorter, m)
            distances = own / m - scored / by
        return rounded(np.maximum(distances, 0.0))
