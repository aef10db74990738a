"""`mongeau_sankoff`: an edit distance of notes in which one note may replace several.

Reference: M. Mongeau and D. Sankoff (1990), Comparison of Musical Sequences; C. Gomez, S. Abad-Mota and E. Ruckhaus
(2007) for the way it is used here. With the pitch p and the length d of a note, w a weight for the interval:

    replace one note by one       w(p_a, p_b) min(d_a, d_b) + k |d_a - d_b|
    delete or insert a note       k d
    one note for several (fragmentation), several for one (consolidation)
                                  sum of w(p_a, p_b) min(d_a, d_b) over them + k |d_a - sum of d_b|

k is 0.348. An interval is weighed by how consonant it is, by its semitones without octaves:

    0: 0   1: 2.6   2: 0.9   3: 1   4: 0.2   5: 0.5   6: 1.8   7: 0.1   8: 1.3   9: 0.35   10: 2.2   11: 0.8

By hand: a half note C against two quarters C C is a fragmentation that costs nothing; against two quarters C E it costs
0.2 * 1 = 0.2, with lengths in quarters. The distance is the cheapest way from one melody to the other, divided by
what it costs to delete the one and insert the other, k times the length of both: 0.2 / (0.348 * 4) = 0.1437.

    transposition   "histogram" moves the query once, as `alignment` does; "best" takes the least over all
                    transpositions under which the two ranges meet, and is slower by as many times as there are
    tempo           "written", or "histogram": the lengths of the candidate are first scaled
    fragments       largest number of notes for one

Input: one line (represent/line.py) with the durations as written. Rests are ignored. The same under transposition; in
any tempo with tempo="histogram".

How faithful: the operations and k are those of the papers. The first paper has one set of weights for notes of the key
and one for others; keys are not known here, so intervals of the major scale have the first and all others the second,
as in the program of Gomez. The division, the histograms and the limit of `fragments` = 2 are our choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.edit.alignment import tempos, transpositions
from roslin.matchers.explanation import Explanation, scaled
from roslin.matchers.paths import Edits, Way, both_lines, edits, successive
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances, Floats, Numbers
from roslin.values.parameters import choice, real, whole

_WEIGHTS = np.array([0.0, 2.6, 0.9, 1.0, 0.2, 0.5, 1.8, 0.1, 1.3, 0.35, 2.2, 0.8])
_MOST_APART = 512  # semitones between a transposed query and anything


@register
@dataclass(frozen=True, repr=False)
class MongeauSankoff(Matcher):
    """Edit distance with fragmentation and consolidation."""

    name = "mongeau_sankoff"
    summary = N_("Counts the changes that turn one melody into the other; one note may be split or several joined.")
    reference = "Mongeau & Sankoff 1990; Gomez, Abad-Mota & Ruckhaus 2007"

    kind = "alignment"
    modes: ClassVar[Modes] = {"compare": {"both": {}}, "place": {"whole": {}}, "key": {"any": {}}}

    k: float = real(0.348, above=0)
    fragments: int = whole(2)
    transposition: str = choice("histogram", "best", "histogram")
    tempo: str = choice("written", "histogram", "written")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, lines = melodic_lines([query]), melodic_lines(candidates)
        own, pitches = asked.pitch_midi.astype(np.int64), lines.pitch_midi.astype(np.int64)
        own_lengths, lengths = self._lengths(asked, lines)
        distances = np.empty(len(candidates))
        kernels.mongeau_distances(
            own, own_lengths, pitches, lengths, lines.offsets, self._shifts(asked, lines),
            self.transposition == "best", _WEIGHTS[np.arange(_MOST_APART) % 12], self.k, self.fragments, distances,
        )  # fmt: skip
        return distances

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        own_lengths, lengths = self._lengths(asked, stored)
        steps = np.subtract.outer(asked.pitch_midi.astype(np.int64), stored.pitch_midi.astype(np.int64))
        shorter = np.minimum.outer(own_lengths, lengths)
        things = successive(asked), successive(stored)

        def moved(up: int) -> Edits:
            by_interval = _WEIGHTS[np.abs(steps + up) % 12] * shorter
            ways = [Way(1, 0, self.k * own_lengths), Way(0, 1, self.k * lengths)]
            for count in range(1, self.fragments + 1):
                ways.append(Way(1, count, self._costs(by_interval, own_lengths, lengths, count)))
                if count > 1:
                    ways.append(Way(count, 1, self._costs(by_interval.T, lengths, own_lengths, count).T))
            return edits(*things, ways, ways[2].costs == 0)

        shifts = self._shifts(asked, stored).tolist()
        if self.transposition == "best":
            shifts = range(-int(steps.max()), -int(steps.min()) + 1)
        found = min((moved(up) for up in shifts), key=lambda way: way.cost)
        by = self.k * float(own_lengths.sum() + lengths.sum())
        return self._explanation(query, candidates, number, 0.0, scaled(found.steps, 1.0 / by))

    def _costs(self, by_interval: Floats, one: Floats, several: Floats, count: int) -> Floats:
        """The cost of one note in place of `count` notes of the other melody, by the last of these."""
        costs = np.full(by_interval.shape, np.inf)
        if count <= len(several):
            intervals = sliding_window_view(by_interval, count, axis=1).sum(axis=2)
            whole = sliding_window_view(several, count).sum(axis=1)
            costs[:, count - 1 :] = intervals + self.k * np.abs(np.subtract.outer(one, whole))
        return costs

    def _shifts(self, asked: Lines, lines: Lines) -> Numbers:
        """How much higher each melody is than the query."""
        own, pitches = asked.pitch_midi.astype(np.int64), lines.pitch_midi.astype(np.int64)
        return transpositions(own, asked.duration_ticks, pitches, lines.duration_ticks, lines.offsets)

    def _lengths(self, asked: Lines, lines: Lines) -> tuple[Floats, Floats]:
        """How long the notes of the query and of all others are; if tempo does not count, in that of the query."""
        own, lengths = (np.maximum(part.duration_ticks, 1).astype(np.float64) for part in (asked, lines))
        if self.tempo == "histogram":
            slower = tempos(np.log2(own), np.log2(lengths), lines.offsets)
            lengths = lengths / np.exp2(np.repeat(slower, np.diff(lines.offsets)))
        return own, lengths
