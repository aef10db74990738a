"""`orio`: short runs of intervals, of durations and of both, at several degrees of detail, weighted as words in a text.

Reference: Orio's entry to MIREX 2005, "combining multilevel and multi-feature representation". Its idea is known, its
numbers are not: what follows is our rebuild of the idea.

A pair of notes that follow each other in the line (represent/line.py) has an interval in semitones and a ratio r of its
two times to the next onset (for the last note of a line, its duration). Both are written at several levels, from exact
to contour:

    pitch    25 symbols: semitones, at most 12 up or down
             9: unison; 1-2, 3-4, 5-7, 8 and more semitones, up or down
             5: unison; 1-4, 5 and more, up or down
             3: the same, up, down
    rhythm   9 symbols: log2 r in halves, at most 2 up or down
             5: less than doubled or halved; doubled but less than four times; four times and more; the same for halved
             3: the same, longer, shorter
    both     the pairs of 25 and 9, of 9 and 5, and of 3 and 3 symbols

Each of these ten strings gives a separate list for each length in `n`. A melody is the bag of its n-grams; one that
occurs t times in the melody, and in f of the N candidates, weighs (1 + log t) * log(1 + N / f). The score is the cosine
of query and candidate. (A gram of the query that no candidate has counts as if one had it.)

    scale = "cosine"   the cosine itself
    scale = "minmax"   stretched, list by list, so that the worst candidate has 0 and the best 1
    fusion = "sum"     CombSUM: the mean of all lists, weighted by feature (`pitch`, `rhythm`, `both`)
    fusion = "mnz"     CombMNZ: the same times the share of the lists in which the candidate's score is above 0

The distance is 1 minus that. A melody too short for a list has the score 0 there; if it is so in all lists, it is at 1.

Example, for one list only, pitch at 25 symbols, n = 3: the query C D E F G, the candidates C D E F G and C D E F C.
They have the runs (2 2 1), (2 1 2) and (2 2 1), (2 1 -5). N = 2, so (2 2 1) weighs log 2, the other two log 3 each.
The cosine with the second is (log 2)^2 / ((log 2)^2 + (log 3)^2) = 0.285.

Because of N and f, a candidate's distance depends on the others. It does not change under transposition or tempo. What
is certain: features, levels, n-grams, fusion by weighted sum. Our choice: the classes, `n`, the weight of a gram, the
weights of the features, and `scale`. On half of the queries of RISM's list of same works, n = 3, 4, 5 and all three
together find about the same, rhythm alone adds little, and `scale` makes no difference; "mnz" is slightly ahead there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register, rounded
from roslin.matchers.explanation import Explanation, Step, bounded, scaled
from roslin.matchers.paths import Gram, both_lines, runs, shared_runs
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import GramIndex, Lines, gram_index, melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances, Floats, Numbers
from roslin.values.parameters import choice, real, wholes

_LONGEST_GRAM = 6
_SMALLEST = np.finfo(np.float64).tiny  # to divide by in place of 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Of each note of some lines and the next: the interval, and log2 of the ratio of their times."""

    offsets: Numbers
    intervals: Numbers
    ratios: Floats

    @classmethod
    def of(cls, lines: Lines) -> Pairs:
        return cls(lines.offsets, lines.intervals(), _ratios(lines))


@dataclass(frozen=True, slots=True)
class Level:
    """One way to write pairs of notes: where the classes of their intervals (semitones) and ratios (log2 r) begin.

    Limits 1 and 5 make the classes 0, 1 to below 5, and 5 and more; the latter two exist separately for up and down.
    """

    intervals: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()

    @property
    def feature(self) -> str:
        """Which of the three weights it has."""
        return "both" if self.intervals and self.ratios else "pitch" if self.intervals else "rhythm"

    @property
    def symbols(self) -> int:
        return (2 * len(self.intervals) + 1) * (2 * len(self.ratios) + 1)

    @property
    def words(self) -> str:
        return f"{'pitch and rhythm' if self.feature == 'both' else self.feature} in {self.symbols} classes"

    def write(self, pairs: Pairs) -> Numbers:
        """The symbol of each note of the lines with the next. It is meaningless at the last note of a line."""
        symbols = np.zeros(len(pairs.intervals), np.int64)
        if self.intervals:
            symbols = _classes(pairs.intervals, self.intervals)
        if self.ratios:
            symbols = symbols * (2 * len(self.ratios) + 1) + _classes(pairs.ratios, self.ratios)
        return symbols


_HALVES, _DOUBLED, _LONGER = (0.25, 0.75, 1.25, 1.75), (1.0, 2.0), (1e-9,)
LEVELS = (
    Level(intervals=tuple(range(1, 13))),
    Level(intervals=(1, 3, 5, 8)),
    Level(intervals=(1, 5)),
    Level(intervals=(1,)),
    Level(ratios=_HALVES),
    Level(ratios=_DOUBLED),
    Level(ratios=_LONGER),
    Level(intervals=tuple(range(1, 13)), ratios=_HALVES),
    Level(intervals=(1, 3, 5, 8), ratios=_DOUBLED),
    Level(intervals=(1,), ratios=_LONGER),
)


@dataclass(frozen=True, slots=True)
class _List:
    """The index of one level and length, and the norm of each melody's vector of weights.

    A gram that occurs t times weighs `growth[t]` times as much as one that occurs once.
    """

    index: GramIndex
    growth: Floats
    norms: Floats

    @property
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16], Floats, Floats]:
        """As kernels take them."""
        return self.index.melodies, self.index.times, self.growth, self.norms


@register
@dataclass(frozen=True, repr=False)
class Orio(Matcher):
    """N-grams of several features and levels, fused."""

    name = "orio"
    summary = N_("Compares short runs of intervals and durations, from exact to contour; rare ones weigh more.")
    reference = "Orio, MIREX 2005 entry O; Neve & Orio 2004"

    kind = "grams"
    modes: ClassVar[Modes] = {
        "compare": {"both": {}, "melody": {"rhythm": 0.0, "both": 0.0}, "rhythm": {"pitch": 0.0, "both": 0.0}},
        "place": {"whole": {}},
        "key": {"any": {}},
    }
    is_independent = False
    is_indexed = True

    n: tuple[int, ...] = wholes((4,), most=_LONGEST_GRAM)
    pitch: float = real(1.0, least=0)
    rhythm: float = real(1.0, least=0)
    both: float = real(1.0, least=0)
    scale: str = choice("cosine", "cosine", "minmax")
    fusion: str = choice("sum", "mnz", "sum")

    def _check(self) -> None:
        if not self.pitch + self.rhythm + self.both > 0:
            self._refuse("one of pitch, rhythm and both must be above 0")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, used = Pairs.of(melodic_lines([query])), self._used
        total, score, found = 0.0, np.zeros(len(candidates)), np.zeros(len(candidates))
        cosines = np.empty(len(candidates))
        for level, n in used:
            stored, weight = self._list(candidates, level, n), getattr(self, level.feature)
            weighed = _weighed(*_counted(level, n, asked), stored)
            kernels.add_gram_cosines(*weighed, *stored.arrays, weight, self.scale == "minmax", cosines, score, found)
            total += weight
        score /= total
        return rounded(np.maximum(1.0 - (score * found / len(used) if self.fusion == "mnz" else score), 0.0))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        both = both_lines(query, candidates, number)
        asked, cosines = Pairs.of(both[0]), np.empty(len(candidates))
        start, steps, found, total = 0.0, list[Step](), 0, 0.0
        for level, n in self._used:
            stored, weight = self._list(candidates, level, n), getattr(self, level.feature)
            weighed = _weighed(*_counted(level, n, asked), stored)
            kernels.gram_cosines(*weighed, *stored.arrays, cosines)
            low, high = (cosines.min(), cosines.max()) if self.scale == "minmax" else (0.0, 1.0)
            low, high = (low, high) if high > low else (0.0, 1.0)
            shared = _shared(level, n, *both, stored, number)
            start += weight * low / (high - low)
            steps += scaled(shared, -weight / (high - low))
            found += cosines[number] > 0
            total += weight
        share = (found / len(self._used) if self.fusion == "mnz" else 1.0) / total
        begins = 1.0 + float(start) * float(share)
        listed = scaled(sorted(steps, key=lambda step: step.cost), float(share))
        return self._explanation(query, candidates, number, begins, bounded(begins, listed))

    def _list(self, candidates: Packed, level: Level, n: int) -> _List:
        return candidates.keep((self.name, level, n), partial(_make_list, level, n))

    @property
    def _used(self) -> list[tuple[Level, int]]:
        return [(level, n) for level in LEVELS for n in self.n if getattr(self, level.feature) > 0]


def _make_list(level: Level, n: int, packed: Packed) -> _List:
    lines = melodic_lines(packed)
    index = gram_index(lines, level.write(Pairs.of(lines)), level.symbols, n)
    holders = np.diff(index.starts)
    growth = 1.0 + np.log(np.arange(1, int(index.times.max(initial=0)) + 1))
    growth = np.append(0.0, growth)  # a gram that does not occur
    weights = growth[index.times] * np.repeat(np.log1p(len(packed) / holders), holders)
    return _List(index, growth, np.sqrt(np.bincount(index.melodies, weights**2, minlength=len(packed))))


def _counted(level: Level, n: int, pairs: Pairs) -> tuple[Numbers, Numbers]:
    """The grams of one line, and how often each occurs."""
    words = np.empty(max(len(pairs.intervals) - n, 0), np.int64)
    kernels.gram_words(level.write(pairs), pairs.offsets, level.symbols, n, words)
    return np.unique(words, return_counts=True)


def _weighed(grams: Numbers, times: Numbers, stored: _List) -> tuple[Numbers, Numbers, Floats]:
    """(starts, stops, weights) of the query's grams in a list. A weight is what it adds to a cosine times a norm."""
    starts, stops = stored.index.find(grams)
    rarity = np.log1p(len(stored.norms) / np.maximum(stops - starts, 1))
    weights = (1.0 + np.log(times, dtype=np.float64)) * rarity
    weights *= rarity / max(np.sqrt(np.sum(weights**2)), _SMALLEST)
    return starts, stops, weights


def _shared(level: Level, n: int, query: Lines, candidate: Lines, stored: _List, number: int) -> tuple[Step, ...]:
    """The contribution of each shared gram to the cosine with candidate `number`."""
    grams, times = _counted(level, n, Pairs.of(query))
    worth = dict(zip(grams.tolist(), _weighed(grams, times, stored)[2].tolist(), strict=True))
    asked, found = (
        runs(level.write(Pairs.of(line))[:-1].tolist(), line.rows.tolist(), n) for line in (query, candidate)
    )

    def cosine(gram: Gram) -> float:
        code = reduce(lambda code, symbol: code * level.symbols + symbol, gram)
        return float(worth[code] * (1.0 + np.log(len(found[gram]))) / float(stored.norms[number]))

    return tuple(shared_runs(asked, found, cosine, lambda _: level.words))


def _classes(values: npt.NDArray[Any], limits: tuple[float, ...]) -> Numbers:
    """Signed classes by size, counted from 0."""
    sizes = np.searchsorted(np.array(limits), np.abs(values), side="right")
    return np.asarray(np.where(values < 0, -sizes, sizes) + len(limits))


def _ratios(lines: Lines) -> Floats:
    """log2 of the time from each note to the next, over that of the note before: 1 is twice as long."""
    time = np.diff(lines.onset_ticks, append=0)
    last = lines.offsets[1:][np.diff(lines.offsets) > 0] - 1
    time[last] = lines.duration_ticks[last]
    time = np.maximum(time, 1)
    return np.log2(np.append(time[1:], 1) / time)
