"""`shapeh`, `time` and `shapetime`: melodies as overlapping n-grams of notes, and how two such sequences are aligned.

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

from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.deadline import check_stopped, stop_flag
from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register, rounded
from roslin.matchers.explanation import Explanation, Rows, Step, bounded, scaled
from roslin.matchers.paths import Begins, Ends, both_lines, edits, side_by_side, successive
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed, pack
from roslin.types import Distances, Flags, Floats, Numbers
from roslin.values.parameters import choice, real, whole

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

        `scores` is that of every pair, `gaps` of grams of the query and of the candidate left out, `own` of the query
        itself.
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
        """Distances in the order of the candidates, with `lengths` grams each.

        `scores` are in the given order (and may have more rows at the end), `own` is what the query scores with itself,
        `lost` what it scores when nothing of it is found.
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


# Two intervals of up to 127 semitones, up or down, are a number of 16 bits; the largest is not among them and fills up.
_CODES, _PADDING, _LARGEST_INTERVAL = 65536, 65535, 127
_LANES = 64  # documents in a block
# The published rule looks at the first shape of the query's pair only; a pair has four at most.
MISMATCHES = {"published": 1, "symmetric": 4}
_SAME, _NEITHER, _OPPOSITE = -0.5, -1.0, -8.0
_SIGNS = tuple((first, second) for first in (-1, 0, 1) for second in (-1, 0, 1))
_OPPOSITES = (1, 0, 3, 2)  # of valley, peak, rise, fall


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The interval pairs of all candidates, in the layout of the kernel `interval_pairs`, and how often each occurs."""

    codes: npt.NDArray[np.uint16]
    starts: Numbers
    counts: Numbers
    order: Numbers
    lengths: Numbers

    def worth(self) -> tuple[float, Floats, Floats]:
        """(unit, what each code is worth where it is found, and where it is left out), both in that unit.

        Everything is counted in units of 1/(2N): all costs are whole numbers then, and their sums exact.
        """
        total = max(int(self.counts.sum()), 1)
        found = 2.0 * (total - self.counts).astype(np.float64)
        left_out = np.where(self.counts > 0, -found, -2.0)
        left_out[_PADDING] = 0.0
        return 2.0 * total, found, left_out


@register
@dataclass(frozen=True, repr=False)
class ShapeH(GramAlignment):
    """Alignment of melodic shapes of three notes, the winner of several years of MIREX.

    Reference: J. Urbano, ShapeH (MIREX 2010 to 2015; MelodyShape 1.4), the grams being three successive notes: two
    intervals. With f the share of an interval pair among all pairs of the candidates,

        identical pairs    + (1 - f): a rare pair counts more than a frequent one
        a pair left out    - (1 - f); - 1/N for one that no candidate has, N being the number of all pairs
        other pairs        - 0.5 for the same shape, - 8 for the opposite shape, - 1 for neither

    The shape of a pair (i1, i2) is a valley (i1 <= 0 <= i2), a peak (i1 >= 0 >= i2), a rise (both >= 0) or a fall (both
    <= 0); a zero counts as both signs, so a pair with a repeated note has two shapes and (0, 0) all four. Opposite are
    valley and peak, rise and fall.

        mismatch = "symmetric"  same: some shape holds both pairs; opposite: none does, and a shape of one is opposite
                                to a shape of the other; the same whichever melody is the query (our choice)
                   "published"  only the first shape of the query's pair counts, in the order given above: same if the
                                candidate's pair has it too, opposite if it has the opposite one

    By hand: query 60 62 64 62, with the pairs (2, 2), (2, -2); one candidate, 60 62 64 67, with (2, 2), (2, 3). So
    N = 2, and f is 1/2 for the pairs of the candidate, 0 for (2, -2). M(1, 1) = 1 - 1/2 is the largest: (2, -2) is a
    peak and (2, 3) a rise, which costs 1, and leaving either out costs 1/2. Divided by 2 pairs: 1/4. The query with
    itself would score (1/2 + 1) / 2 = 3/4, so the distance is 1/2.

    Input: one line (represent/line.py). The same under transposition and under any change of rhythm.

    How faithful: the definition is complete. A plain restatement of it gave the scores of the program for 949 of 1,000
    documents, and for all once the defect below was copied too. Differences from the program:

    - The program keeps the cost of two grams under a key without order, while its mismatch costs have one; so a score
      there depends on threads, on the order of documents and on earlier queries. Here nothing is kept; "published"
      gives the rule as defined, "symmetric" one that has no order.
    - Documents with equal scores are ordered there by an alignment of exact pitches, then by length. Here they are at
      the same distance, and a list names them by id: an order by pitch would not be the same after transposition.
    - f is counted over the candidates that are compared. A distance depends on them (`is_independent` is False).
    """

    name = "shapeh"
    summary = N_("Aligns the ups and downs of every three notes; rare turns count more; ignores key and rhythm.")
    reference = "Urbano, MelodyShape (ShapeH), MIREX 2010-2015"

    things = N_("groups of three notes")
    modes: ClassVar[Modes] = {"compare": {"melody": {}}, "place": GRAM_PLACES, "key": {"any": {}}}
    is_independent = False

    mismatch: str = choice("symmetric", *MISMATCHES)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked = _pairs(pack([query])).codes[:, 0].astype(np.int64)
        if not len(asked):
            return np.zeros(len(candidates))
        pairs, classes = candidates.keep("interval pairs", _pairs), _sign_classes()
        unit, worth, gaps = pairs.worth()
        match = worth[asked]
        kinds = classes[asked].astype(np.int64)
        blocks = SimpleNamespace(codes=pairs.codes, starts=pairs.starts, gap_of_code=gaps, classes=classes)
        own = SimpleNamespace(codes=asked, match=match, gap=gaps[asked], kinds=kinds, needed=np.unique(kinds))
        scores, mismatch = np.empty(len(candidates)), unit * _MISMATCH_COSTS[self.mismatch]
        kernels.shape_scores(blocks, own, mismatch, self.floor, self.takes_best, stop_flag(), scores)
        check_stopped()
        return self.distances_from_scores(
            scores / unit, pairs.order, pairs.lengths, match.sum() / unit, gaps[asked].sum() / unit, len(asked)
        )

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        lines = both_lines(query, candidates, number)
        asked, stored = (
            _pairs(part).codes[:, 0].astype(np.int64) for part in (pack([query]), candidates.part(number, number + 1))
        )
        if not len(asked):
            return self._explanation(query, candidates, number, 0.0, ())
        unit, worth, gaps = candidates.keep("interval pairs", _pairs).worth()
        classes, same = _sign_classes(), np.equal.outer(asked, stored)
        apart = _MISMATCH_COSTS[self.mismatch][np.ix_(classes[asked], classes[stored])]
        scores = np.where(same, worth[asked][:, None] / unit, apart)
        grams = successive(lines[0], 3), successive(lines[1], 3)
        own = float(worth[asked].sum() / unit)
        found = self.steps_of_grams(*grams, scores, (gaps[asked] / unit, gaps[stored] / unit), same, own)
        return self._explanation(query, candidates, number, *found)


def _pairs(packed: Packed) -> _Pairs:
    lines = melodic_lines(packed)
    lengths = np.maximum(np.diff(lines.offsets) - 2, 0)
    order = np.argsort(lengths, kind="stable")
    # The last document of a block is its longest.
    last = np.minimum(np.arange(_LANES, len(order) + _LANES, _LANES), len(order)) - 1
    starts = np.concatenate([[0], np.cumsum(lengths[order[last]])])
    codes, counts = np.empty((starts[-1], _LANES), dtype=np.uint16), np.empty(_CODES, dtype=np.int64)
    kernels.interval_pairs(lines.pitch_midi, lines.offsets, order, starts, codes, counts)
    return _Pairs(codes, starts, counts, order, lengths)


@cache
def _sign_classes() -> npt.NDArray[np.uint8]:
    """For every code, which of `_SIGNS` its intervals have; one more for the grams that fill up a block."""
    first, second = np.divmod(np.arange(_CODES), 2 * _LARGEST_INTERVAL + 1)
    classes = 3 * np.sign(first - _LARGEST_INTERVAL) + np.sign(second - _LARGEST_INTERVAL) + 4
    classes[_PADDING] = len(_SIGNS)
    return np.asarray(classes.astype(np.uint8))


def _shapes(first: int, second: int) -> list[int]:
    """All shapes of a pair, in the order in which the published rule tests them."""
    has = first <= 0 <= second, first >= 0 >= second, min(first, second) >= 0, max(first, second) <= 0
    return [shape for shape in range(4) if has[shape]]


def _mismatch(asked: list[int], found: list[int]) -> float:
    if any(shape in found for shape in asked):
        return _SAME
    return _OPPOSITE if any(_OPPOSITES[shape] in found for shape in asked) else _NEITHER


def _mismatch_costs(shapes_that_count: int) -> npt.NDArray[np.float64]:
    """(9, 10): the cost of two pairs by the signs of their intervals; the last column fills up a block."""
    shapes = [_shapes(first, second) for first, second in _SIGNS]
    return np.array([[_mismatch(one[:shapes_that_count], other) for other in shapes] + [_OPPOSITE] for one in shapes])


_MISMATCH_COSTS = {name: _mismatch_costs(count) for name, count in MISMATCHES.items()}


_CURVE_MODES: Modes = {
    "compare": {"both": {}, "melody": {"rhythm": 0.0}}, "place": GRAM_PLACES, "key": {"any": {}},
}  # fmt: skip
_MEAN_PITCH, _MEAN_TIME = 2.1838, 0.4772
_GRAM = 4  # notes


class CurveWorth(NamedTuple):
    """The scores of two groups of four notes, for the kernels."""

    same_pitch: float  # where the pitches agree
    same_time: float  # where the lengths agree, in units of their own
    rhythm: float  # how much a unit of length counts in units of pitch


@register
@dataclass(frozen=True, repr=False)
class Time(GramAlignment):
    """Curves through every four notes, in pitch and in duration, aligned.

    Reference: J. Urbano, Time (MIREX 2011 to 2015; MelodyShape 1.4). A gram is four successive notes with pitches p and
    durations d. Two curves are drawn through it, cubic B-splines over u from 0 to 1:

        pitch   with the control values 0, p2 - p1, p3 - p1, p4 - p1
        time    with the control values 1, d2 / d1, d3 / d1, d4 / d1

        curve(u) = [ (1-u)^3 c1 + (3u^3 - 6u^2 + 4) c2 + (-3u^3 + 3u^2 + 3u + 1) c3 + u^3 c4 ] / 6

    The distance of two curves is the area between their derivatives: how much their difference rises and falls in all.
    The scores are

        two grams         S_pitch + rhythm * (mu_p / mu_t) * S_time,  mu_p = 2.1838, mu_t = 0.4772; S is 2 mu where the
                          two are identical (durations: ratios equal to three decimals), else - distance
        a gram left out   - the distance of its pitch curve to a flat one; durations do not count

    The weight `rhythm` is 0.5; with 0 it is the entry "2011-pitch". Nothing depends on the other candidates.

    By hand: query 60 62 64 65, candidate 60 62 64 67, all notes equally long. The control values differ by 0, 0, 0, -2.
    The difference of the curves is -u^3 / 3, which falls by 1/3. S_pitch = -1/3, S_time = 2 mu_t, so the score is
    -1/3 + mu_p = 1.85047; the query with itself scores 3 mu_p = 6.5514. The distance is the difference, 4.70093.

    Input: one line (represent/line.py) with the durations as written. Rests are ignored. The same under transposition
    and in any tempo: durations count by their ratios.

    How faithful: the definition is complete. A plain restatement of it gave the scores of the program for 1,000
    documents of 1,000. A duration of no length counts as one tick (our choice).
    """

    name = "time"
    summary = N_("Aligns the curves of pitch and of duration through every four notes; ignores key and tempo.")
    reference = "Urbano, MelodyShape (Time), MIREX 2011-2015"

    things = N_("groups of four notes")
    modes: ClassVar[Modes] = _CURVE_MODES

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


@register
@dataclass(frozen=True, repr=False)
class ShapeTime(GramAlignment):
    """The best of `shapeh`, put into the order of `time`.

    Reference: J. Urbano, ShapeTime (MIREX 2012 to 2015; MelodyShape 1.4). All candidates are ranked by `shapeh`; those
    up to the k-th distance, with all that tie with it, are ranked again by `time`. The list depends on k; MIREX had
    k = 10. The parameters `aligner`, `divide`, `mismatch` and `rhythm` are those of the two.

    The distance is t / (1 + t), below 1, for melodies that were ranked again, t being that of `time`; and 1 + s for the
    others, s being that of `shapeh`: all of these come after, in the order of `shapeh`. That scale is our choice; the
    order is as published, but for the rules for equal scores (see `shapeh`). It depends on the other candidates.
    """

    name = "shapetime"
    summary = N_("Takes the best results by shapes of three notes, and orders them by curves that include rhythm.")
    reference = "Urbano, MelodyShape (ShapeTime), MIREX 2012-2015"

    things = N_("groups of notes")
    modes: ClassVar[Modes] = _CURVE_MODES
    is_independent = False

    k: int = whole(10)
    mismatch: str = choice("symmetric", *MISMATCHES)
    rhythm: float = real(0.5, least=0)

    @property
    def first(self) -> ShapeH:
        return ShapeH(self.aligner, self.divide, self.mismatch)

    @property
    def second(self) -> Time:
        return Time(self.aligner, self.divide, self.rhythm)

    @property
    def leading(self) -> Time:
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
        last = min(self.k, len(shapes)) - 1
        return np.asarray(shapes <= np.partition(shapes, last)[last])

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        is_again = self._is_again(self.first.distances(query, candidates))[number]
        found = (self.second if is_again else self.first).explain(query, candidates, number)
        if not is_again:
            return replace(found, matcher=self, start=1.0 + found.start)
        factor = 1.0 / (1.0 + found.distance)
        return replace(found, matcher=self, start=found.start * factor, steps=scaled(found.steps, factor))
