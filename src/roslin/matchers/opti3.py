"""The measures that `fm` is made of are also separate matchers.

Reference: D. Müllensiefen and K. Frieler, SIMILE (2004) and its successor melsim, with the definitions of melsim. All
are similarities from 0 to 1 there. The distance is 1 less that. Input is one line (represent/line.py).

    ngrukkon   1 - sum over grams of |f_q - f_t| / (N_q + N_t)          grams of n = 3 successive intervals; f how
    ngrsumco   sum over the grams of both of (f_q + f_t) / (N_q + N_t)   often one occurs, N how many there are
    diffed     1 - L / max(length) of the intervals                      L is the edit distance, every operation 1
    rawed      1 - L / max(length) of the pitches, in the best transposition: both are moved so that their lowest notes
               are the same, then the query by -5 to 6 semitones, or by the difference of the medians
    rhytfuzz   1 - L / max(length) of the times between onsets, in five classes: up to 0.45 of a beat, 0.9, 1.8, 3.3,
               and above
    harmcore   1 - L / max(length) of the keys of the bars, in the best of twelve transpositions. The key of a bar is
               the one of 24 whose profile (represent/keys.py, the ratings as melsim has them) has the largest inner
               product with the number of times that each pitch class is heard, both standardised

By hand: 60 62 64 65 67 and 60 62 64 65 69 have the intervals 2 2 1 2 and 2 2 1 4, the grams (2 2 1), (2 1 2) and
(2 2 1), (2 1 4): ngrukkon = 1 - 2/4, ngrsumco = 2/4, diffed = 1 - 1/4, rawed = 1 - 1/5.

All are the same under transposition. Of rhythm, only rhytfuzz and harmcore (by the notes in each bar) take notice.
rhytfuzz changes with the tempo unless `beat` is None.

Our choices: n is a parameter. `beat` is the quarter note (melsim: half a second, or the beat), in quarters; None takes
the median time between onsets of each melody as its beat, so that tempo does not count. The last note has no time
between onsets. A difference of medians that is not whole is rounded down. A bar is the music between two bar lines, a
pick-up is one, and bars in which no note starts are left out; without bar lines four quarters are a bar. Of two keys
that agree equally well, major comes before minor, then the tonic next above the first note of the bar. Two melodies
that are both too short to have a gram, an interval or a time between onsets are alike in that respect.

How faithful: complete, after the program's definitions. melsim 0.12.1 itself takes a melody with only minor bars for
one in major in harmcore; that is not copied.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_, _
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Rows, Step, bounded, scaled
from roslin.matchers.paths import Edits, both_lines, edits, runs, shared_runs, side_by_side, successive
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.native import kernels
from roslin.represent.keys import RATINGS, all_keys
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed
from roslin.represent.points import BAR_WITHOUT_LINES
from roslin.represent.words import in_words
from roslin.types import Distances, Numbers
from roslin.values.parameters import choice, real, whole

LONGEST_GRAM = 6  # intervals; the code of one more would still fit into 63 bits
_TRANSPOSITIONS = (-5, 6)


@dataclass(frozen=True, repr=False)
class LineMatcher(Matcher):
    """A measure of two sets of lines."""

    reference = "Müllensiefen & Frieler 2004 (SIMILE), as in melsim"
    modes: ClassVar[Modes] = {"compare": {"melody": {}}, "place": {"whole": {}}, "key": {"any": {}}}

    @abstractmethod
    def compare(self, asked: Lines, lines: Lines) -> Distances:
        """The distance of the one line of `asked` to each of the others."""

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return self.compare(melodic_lines([query]), melodic_lines(candidates))


@dataclass(frozen=True, repr=False)
class _Grams(LineMatcher):
    kind = "grams"

    n: int = whole(3, most=LONGEST_GRAM)

    def _overlaps(self, asked: Lines, lines: Lines) -> tuple[Numbers, Numbers, Numbers, int]:
        """(common, in both, grams, grams of the query), the first three for every candidate."""
        common, both, grams = np.empty((3, len(lines)), np.int64)
        kernels.gram_overlaps(asked.pitch_midi, lines.pitch_midi, lines.offsets, self.n, common, both, grams)
        return common, both, grams, max(len(asked.rows) - self.n, 0)

    @abstractmethod
    def _counted(self, asked: int, found: int) -> int:
        """How many grams a gram counts for that occurs so often in the two melodies."""

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = (
            runs(line.intervals()[:-1].tolist(), line.rows.tolist(), self.n)
            for line in both_lines(query, candidates, number)
        )
        total = sum(len(places) for places in (*asked.values(), *stored.values()))
        steps = shared_runs(
            asked, stored, lambda gram: -self._counted(len(asked[gram]), len(stored[gram])) / total, in_words
        )
        return self._explanation(query, candidates, number, 1.0 if total else 0.0, steps)


@register
@dataclass(frozen=True, repr=False)
class NgrUkkon(_Grams):
    """Ukkonen's distance of grams."""

    name = "ngrukkon"
    summary = N_("Counts how many groups of three successive intervals the melodies share, and how many they do not.")

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        common, _, grams, own = self._overlaps(asked, lines)
        return _shares(own + grams - 2 * common, own + grams)

    def _counted(self, asked: int, found: int) -> int:
        return 2 * min(asked, found)


@register
@dataclass(frozen=True, repr=False)
class NGrSumCo(_Grams):
    """Sum common."""

    name = "ngrsumco"
    summary = N_("The share of groups of three successive intervals that occur in both melodies, however often.")

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        _, both, grams, own = self._overlaps(asked, lines)
        return _shares(own + grams - both, own + grams)

    def _counted(self, asked: int, found: int) -> int:
        return asked + found


@dataclass(frozen=True, repr=False)
class _Edits(LineMatcher):
    """An edit distance of symbols, every operation 1, by the longer of the two. The query may be moved."""

    kind = "alignment"

    @abstractmethod
    def _symbols(self, lines: Lines) -> tuple[list[Rows], Numbers]:
        """(the notes that make each thing, the symbol of each thing)."""

    def _moved(self, asked: Numbers, _stored: Numbers) -> Iterable[Numbers]:
        """The symbols of the query in every transposition that is tried."""
        return (asked,)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        (mine, own), (theirs, other) = map(self._symbols, both_lines(query, candidates, number))
        m, n = len(own), len(other)

        def compared(symbols: Numbers) -> Edits:
            same = np.equal.outer(symbols, other)
            return edits(mine, theirs, side_by_side(1.0 - same, np.ones(m), np.ones(n)), same)

        found = min(map(compared, self._moved(own, other)), key=lambda way: way.cost)
        return self._explanation(query, candidates, number, 0.0, scaled(found.steps, 1.0 / max(m, n, 1)))


@register
@dataclass(frozen=True, repr=False)
class DiffEd(_Edits):
    """Edit distance of intervals."""

    name = "diffed"
    summary = N_("Counts the intervals to insert, delete or change; ignores key and rhythm.")
    things = N_("intervals")

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        distances = np.empty(len(lines))
        kernels.interval_distances(asked.pitch_midi, lines.pitch_midi, lines.offsets, distances)
        return distances

    def _symbols(self, lines: Lines) -> tuple[list[Rows], Numbers]:
        return successive(lines, 2), lines.intervals()[:-1]


@register
@dataclass(frozen=True, repr=False)
class RawEd(_Edits):
    """Edit distance of pitches."""

    name = "rawed"
    summary = N_("Counts the notes to insert, delete or change in the best transposition; ignores rhythm.")

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        distances = np.empty(len(lines))
        kernels.pitch_distances(asked.pitch_midi, lines.pitch_midi, lines.offsets, *_TRANSPOSITIONS, distances)
        return distances

    def _symbols(self, lines: Lines) -> tuple[list[Rows], Numbers]:
        return successive(lines), lines.pitch_midi.astype(np.int64)

    def _moved(self, asked: Numbers, stored: Numbers) -> Iterable[Numbers]:
        lowest, highest = _TRANSPOSITIONS
        bottom = int(stored.min() - asked.min())
        between = int((np.median(stored) - np.median(asked) - bottom) // 1)
        return (asked + bottom + up for up in sorted({*range(lowest, highest + 1), between}))


@register
@dataclass(frozen=True, repr=False)
class RhytFuzz(_Edits):
    """Edit distance of rhythm."""

    name = "rhytfuzz"
    summary = N_("Counts the note lengths to insert, delete or change, in five rough classes; ignores pitch.")
    things = N_("times between notes")
    hears_pitch = False
    modes: ClassVar[Modes] = {"compare": {"rhythm": {}}, "place": {"whole": {}}, "key": {"any": {}}}

    beat: float | None = real(1.0, above=0, optional=True)

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        distances = np.empty(len(lines))
        kernels.rhythm_distances(asked.onset_ticks, lines.onset_ticks, lines.offsets, self._beat_ticks, distances)
        return distances

    def _symbols(self, lines: Lines) -> tuple[list[Rows], Numbers]:
        classes, lengths = np.empty((2, len(lines.rows)), np.int64)
        count = kernels.rhythm_classes(lines.onset_ticks, self._beat_ticks, lengths, classes)
        return successive(lines, 2), classes[:count]

    @property
    def _beat_ticks(self) -> float:
        return 0.0 if self.beat is None else self.beat * TICKS_PER_QUARTER


@register
@dataclass(frozen=True, repr=False)
class HarmCore(_Edits):
    """Edit distance of implied keys."""

    name = "harmcore"
    summary = N_("Compares the keys that the notes of each bar suggest; ignores everything else.")
    things = N_("keys of the bars")
    modes: ClassVar[Modes] = {"place": {"whole": {}}, "key": {"any": {}}}

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        distances = np.empty(len(lines))
        kernels.harmony_distances(
            asked.onset_ticks, asked.pitch_midi, asked.barlines, lines.onset_ticks, lines.pitch_midi, lines.offsets,
            lines.barlines, lines.bar_offsets, BAR_WITHOUT_LINES, _profiles(), distances,
        )  # fmt: skip
        return distances

    def _symbols(self, lines: Lines) -> tuple[list[Rows], Numbers]:
        onsets, keys = lines.onset_ticks, np.empty(len(lines.rows), np.int64)
        count = kernels.bar_keys(onsets, lines.pitch_midi, lines.barlines, BAR_WITHOUT_LINES, _profiles(), keys)
        has_bars = len(lines.barlines) > 0
        bars = np.searchsorted(lines.barlines, onsets, side="right") if has_bars else onsets // BAR_WITHOUT_LINES
        starts = np.flatnonzero(np.diff(bars)) + 1
        return [tuple(rows.tolist()) for rows in np.split(lines.rows, starts)], keys[:count]

    def _moved(self, asked: Numbers, _stored: Numbers) -> Iterable[Numbers]:
        return (asked // 12 * 12 + (asked + up) % 12 for up in range(12))


def _shares(parts: npt.NDArray[np.int64], wholes: npt.NDArray[np.int64]) -> Distances:
    return np.asarray(parts / np.maximum(wholes, 1))


@cache
def _profiles() -> npt.NDArray[np.int64]:
    """(12, 24): what a note of each pitch class adds to each key.

    Standardised ratings in millionths, as whole numbers: so keys that agree equally well are equal.
    """
    # melsim has the ratings of the two tonics in each other's place, and harmcore is to give melsim's numbers.
    ratings = np.column_stack([RATINGS[::-1, 0], RATINGS[:, 1:]])
    scaled = (ratings - ratings.mean(axis=1, keepdims=True)) / ratings.std(axis=1, keepdims=True)
    return np.ascontiguousarray(np.rint(1e6 * all_keys(scaled)).astype(np.int64).T)


# Weights of ngrukkon, rhytfuzz and harmcore, and what is added.
_MEASURES = {"opti2": (0.6, 0.4, 0.0, 0.0), "opti3": (0.505, 0.417, 0.24, -0.146)}


@register
@dataclass(frozen=True, repr=False)
class FM(LineMatcher):
    """A sum of measures fitted to experts' judgements, after Frieler and Müllensiefen.

    Reference: D. Müllensiefen and K. Frieler, SIMILE; K. Frieler and D. Müllensiefen's entry to MIREX 2005. **This is
    not that entry.** It was "optiP", a sum of six measures; which six, with which weights, was not published where we
    could read it. Its relative opti3 is published in full, and `fm` computes it:

        measure = "opti3"   0.505 ngrukkon + 0.417 rhytfuzz + 0.24 harmcore - 0.146, but at least 0 and at most 1
                  "opti2"   0.6 ngrukkon + 0.4 rhytfuzz (as in melsim)

    The distance is 1 less that. Under "opti3" everything above 0.984 of its range is at 0, as published. By hand: where
    ngrukkon is 1/2 and the two others are 1, opti3 is 0.2525 + 0.417 + 0.24 - 0.146 = 0.7635, the distance 0.2365.

    The same under transposition; in any tempo only with `beat` = None. `n` and `beat` are those of the parts.
    """

    name = "fm"
    summary = N_("Adds up shared intervals, rough rhythm and harmony, with weights fitted to expert judgements.")
    reference = "Müllensiefen & Frieler, opti3 (as in melsim); the MIREX 2005 entry used optiP, which is not public"

    kind = "sum"
    modes: ClassVar[Modes] = {"compare": {"both": {}}, "place": {"whole": {}}, "key": {"any": {}}}

    measure: str = choice("opti3", *_MEASURES)
    n: int = whole(3, most=LONGEST_GRAM)
    beat: float | None = real(1.0, above=0, optional=True)

    @property
    def parts(self) -> tuple[NgrUkkon, RhytFuzz, HarmCore]:
        return NgrUkkon(self.n), RhytFuzz(self.beat), HarmCore()

    @property
    def leading(self) -> NgrUkkon:
        """The heaviest part, whatever the measure."""
        return NgrUkkon(self.n)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        *weights, constant = _MEASURES[self.measure]
        alone = candidates.part(number, number + 1)
        steps = [
            Step(
                "measure",
                cost=weight * float(part.distances(query, alone)[0]),
                words=_("{weight} times {matcher}").format(weight=f"{weight:g}", matcher=repr(part)),
                within=self.leading.explain(query, alone) if part == self.leading else None,
            )
            for weight, part in zip(weights, self.parts, strict=True)
            if weight
        ]
        start = 1.0 - constant - sum(weights)
        return self._explanation(query, candidates, number, start, bounded(start, steps, 0.0, 1.0))

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        *weights, constant = _MEASURES[self.measure]
        similarity = np.full(len(lines), constant)
        for weight, part in zip(weights, self.parts, strict=True):
            if weight:
                similarity += weight * (1.0 - part.compare(asked, lines))
        return np.asarray(1.0 - np.clip(similarity, 0.0, 1.0))
