"""`time`: alignment of curves through every four notes, in pitch and in duration.

Reference: J. Urbano, Time (MIREX 2011 to 2015; MelodyShape 1.4). A gram is four successive notes with pitches p and
durations d. Two curves are drawn through it, cubic B-splines over u from 0 to 1:

    pitch   with the control values 0, p2 - p1, p3 - p1, p4 - p1
    time    with the control values 1, d2 / d1, d3 / d1, d4 / d1

    curve(u) = [ (1-u)^3 c1 + (3u^3 - 6u^2 + 4) c2 + (-3u^3 + 3u^2 + 3u + 1) c3 + u^3 c4 ] / 6

The distance of two curves is the area between their derivatives: how much their difference rises and falls in all.
`shapeh` describes how grams are aligned. The scores are

    two grams      S_pitch + rhythm * (mu_p / mu_t) * S_time,  mu_p = 2.1838, mu_t = 0.4772
                   S is 2 mu where the two are identical (durations: ratios equal to three decimals), else - distance
    a gram left out   - the distance of its pitch curve to a flat one; durations do not count

The weight `rhythm` is 0.5; with 0 it is the entry "2011-pitch". Nothing depends on the other candidates.

By hand: query 60 62 64 65, candidate 60 62 64 67, all notes equally long. The control values differ by 0, 0, 0, -2; the
difference of the curves is -u^3 / 3, which falls by 1/3. S_pitch = -1/3, S_time = 2 mu_t, so the score is
-1/3 + mu_p = 1.85047; the query with itself scores 3 mu_p = 6.5514. The distance is the difference, 4.70093.

Input: one line (represent/line.py) with the durations as written; rests are ignored. The same under transposition and
in any tempo: durations count by their ratios.

How faithful: the definition is complete. A plain restatement of it gave the scores of the program for 1,000 documents
of 1,000. The program's way of ordering equal scores is left out, as in `shapeh`. A duration of no length counts as one
tick (our choice).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.deadline import check_stopped, stop_flag
from roslin.display.words import N_
from roslin.matchers.base import Modes, register
from roslin.matchers.explanation import Explanation, scaled
from roslin.matchers.paths import both_lines, successive
from roslin.matchers.shapes.shapeh import GRAM_PLACES, MISMATCHES, GramAlignment, ShapeH
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.parameters import choice, real, whole

_MEAN_PITCH, _MEAN_TIME = 2.1838, 0.4772
_GRAM = 4  # notes


class CurveWorth(NamedTuple):
    """The scores of two groups of four notes, for the kernels.

    same_pitch   where the pitches agree
    same_time    where the lengths agree, in units of their own
    rhythm       how much a unit of length counts in units of pitch
    """

    same_pitch: float
    same_time: float
    rhythm: float


@register
@dataclass(frozen=True, repr=False)
class Time(GramAlignment):
    """Curves through four notes, aligned."""

    name = "time"
    summary = N_("Aligns the curves of pitch and of duration through every four notes; ignores key and tempo.")
    reference = "Urbano, MelodyShape (Time), MIREX 2011-2015"

    things = N_("groups of four notes")
    modes: ClassVar[Modes] = {
        "compare": {"both": {}, "melody": {"rhythm": 0.0}},
        "place": GRAM_PLACES,
        "key": {"any": {}},
    }

    rhythm: float = real(0.5, least=0)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, lines = melodic_lines([query]), melodic_lines(candidates)
        m = len(asked.rows) - _GRAM + 1
        if m < 1:
            return np.zeros(len(candidates))
        lengths = np.maximum(np.diff(lines.offsets) - _GRAM + 1, 0)
        order = np.argsort(lengths, kind="stable")
        worth, scores, lost = self._worth, np.empty(len(order)), np.empty(1)
        kernels.time_scores(
            asked.pitch_midi, asked.duration_ticks, lines.pitch_midi, lines.duration_ticks, lines.offsets, order,
            worth, self.floor, self.takes_best, stop_flag(), scores, lost,
        )  # fmt: skip
        check_stopped()
        own = m * (worth.same_pitch + worth.rhythm * worth.same_time)
        return self.distances_from_scores(scores, order, lengths, own, float(lost[0]), m)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        if len(asked.rows) < _GRAM:
            return self._explanation(query, candidates, number, 0.0, ())
        grams, worth = (successive(asked, _GRAM), successive(stored, _GRAM)), self._worth
        m, n = len(grams[0]), len(grams[1])
        scores, gaps = np.empty((m, n)), (np.empty(m), np.empty(n))
        kernels.time_pairs(
            asked.pitch_midi, asked.duration_ticks, stored.pitch_midi, stored.duration_ticks, worth, scores, *gaps
        )
        most = worth.same_pitch + worth.rhythm * worth.same_time
        found = self.steps_of_grams(*grams, scores, gaps, scores == most, m * most)
        return self._explanation(query, candidates, number, *found)

    @property
    def _worth(self) -> CurveWorth:
        return CurveWorth(2 * _MEAN_PITCH, 2 * _MEAN_TIME, self.rhythm * _MEAN_PITCH / _MEAN_TIME)


# -- shapetime ---------------------------------------------------------------------------------------------------------
#
# The best of `shapeh`, put into the order of `time`.
#
# Reference: J. Urbano, ShapeTime (MIREX 2012 to 2015; MelodyShape 1.4). All candidates are ranked by `shapeh`; those up
# to the k-th distance, with all that tie with it, are ranked again by `time`. What the list looks like depends on k;
# MIREX had k = 10. The parameters `aligner`, `divide`, `mismatch` and `rhythm` are those of the two.
#
# The distance is t / (1 + t), below 1, for what was ranked again, t being that of `time`; and 1 + s for the others, s
# being that of `shapeh`: all of these come after, in the order of `shapeh`. That scale is our choice; the order is as
# published, but for the rules for equal scores (see `shapeh`). It depends on the other candidates.
#
# Input and invariances are those of `shapeh` and `time` together: one line; the same under transposition and in any
# tempo.


@register
@dataclass(frozen=True, repr=False)
class ShapeTime(GramAlignment):
    """Two rankings, one inside the other."""

    name = "shapetime"
    summary = N_("Takes the best results by shapes of three notes, and orders them by curves that include rhythm.")
    reference = "Urbano, MelodyShape (ShapeTime), MIREX 2012-2015"

    things = N_("groups of notes")
    modes: ClassVar[Modes] = {
        "compare": {"both": {}, "melody": {"rhythm": 0.0}},
        "place": GRAM_PLACES,
        "key": {"any": {}},
    }
    is_independent = False

    k: int = whole(10)
    mismatch: str = choice("symmetric", *MISMATCHES)
    rhythm: float = real(0.5, least=0)

    @property
    def first(self) -> ShapeH:
        """What finds."""
        return ShapeH(self.aligner, self.divide, self.mismatch)

    @property
    def second(self) -> Time:
        """What puts in order."""
        return Time(self.aligner, self.divide, self.rhythm)

    @property
    def leading(self) -> Time:
        """What the best are put in order by."""
        return self.second

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        shapes = self.first.distances(query, candidates)
        if not len(shapes):
            return shapes
        again = np.flatnonzero(self._is_again(shapes))
        times = self.second.distances(query, candidates.take(again))
        distances = 1.0 + shapes
        distances[again] = times / (1.0 + times)
        return distances

    def _is_again(self, shapes: Distances) -> npt.NDArray[np.bool_]:
        """Which candidates are ranked again."""
        last = min(self.k, len(shapes)) - 1
        is_again: npt.NDArray[np.bool_] = shapes <= np.partition(shapes, last)[last]
        return is_again

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        is_again = self._is_again(self.first.distances(query, candidates))[number]
        found = (self.second if is_again else self.first).explain(query, candidates, number)
        if not is_again:
            return replace(found, matcher=self, start=1.0 + found.start)
        factor = 1.0 / (1.0 + found.distance)
        return replace(found, matcher=self, start=found.start * factor, steps=scaled(found.steps, factor))
