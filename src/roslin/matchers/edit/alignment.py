"""`alignment`: notes against notes with gaps, as used at Utrecht and the Meertens Institute for folk songs and RISM.

Reference: P. van Kranenburg (2010), A Computational Approach to Content-Based Retrieval of Folk Song Melodies; the
program published with Karsdorp, van Kranenburg and Manjavacas (2019). The steps:

1. The two melodies are put into one key: each has a histogram of its pitches (base-40 numbers, weighted by duration,
   in shares of the whole), and the query is moved by the interval under which the two have most in common.
2. Two notes that are `delta` base-40 steps apart after that, octaves ignored, are alike by

       s = 1 - delta / band if delta <= band, else -1          band = 23, a fifth
       likeness = (s + 1) / 2 * (1 - |w_a - w_b|)              w the inner metric weight, 0 to 1
       score = 2 * likeness - 1

3. The best alignment, where a gap costs 0.6 for its first note and 0.2 for every other, is found exactly. The score is
   divided by the number of notes of the shorter melody, the distance is 1 less that.

The inner metric weight of an onset (Volk, Fleischer) measures how much of the rhythm's own regularity it carries,
without bar lines: every longest set of three or more equally spaced onsets adds the square of its number of steps to
each of its onsets. The sums are divided by the largest.

By hand, with `metric` = False: query C D E, candidate C D F. The histograms share C and D without transposition. E and
F are 5 base-40 steps apart: s = 1 - 5/23 = 0.783. The score is 2.783, the distance 1 - 2.783 / 3 = 5/69 = 0.0725.

    band      23 is published; 0: only the same pitch, or its octave, is alike
    metric    whether the inner metric weight counts
    rhythm    0 is published. Above that our own term: likeness is multiplied by 1 - rhythm * min(d, 1), where d is half
              the number of octaves (log2) between the times to the next onset. With 0.75, and without `metric`, MAP on
              RISM's list of same works rises from 0.42 to 0.55
    tempo     "written", or "histogram": the times are first moved as the pitches are, so that tempo does not count
    aligner   "global" (published), or "local": the best passage of both, wherever it is
    divide    "shorter" (published), "longer", or "mean": by the mean of the two lengths. With "local" the shorter would
              make a single note a perfect match for everything: it is refused
    opening, extending   what gaps cost

Input: one line (represent/line.py). The same under transposition that keeps the spelling (base-40 numbers distinguish C
sharp from D flat). The inner metric weight is the same in any tempo; `rhythm` is with tempo="histogram".

How faithful: the similarity of notes, the gaps and the division are those of the program. Its factor for the position
in the phrase is left out, as melodies here have no phrases. Our choices: which of equally good transpositions is taken;
weights are divided by the largest of the melody. A candidate without notes is at the distance of one gap as long as the
query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from roslin.deadline import check_stopped, stop_flag
from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, scaled
from roslin.matchers.paths import Way, both_lines, edits, successive
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Distances, Floats, Numbers
from roslin.values.parameters import choice, flag, real, whole

# -- into one key and one tempo ----------------------------------------------------------------------------------------
#
# By how much a melody must be moved to share most with another. For tempo, the histogram of the lengths of notes, on a
# logarithmic axis, is moved. Of equally good shifts the one closest to the difference of the first notes is taken, then
# the lowest: our choice, under which the shift of a melody that is moved itself moves along with it.

_TIME_STEPS = 12  # of a doubling: fine enough to distinguish note values


def transpositions(
    query: Numbers, query_durations: Numbers, pitches: Numbers, durations: Numbers, offsets: Numbers
) -> Numbers:
    """How much higher each melody is than the query, in the unit of the pitches, which must be from 0 to 1023."""
    shifts = np.empty(len(offsets) - 1, dtype=np.int64)
    kernels.best_shifts(query, query_durations, pitches, durations, offsets, shifts)
    return shifts


def tempos(query: Floats, logs: Floats, offsets: Numbers) -> Floats:
    """How much slower each melody is than the query, as log2; `query` and `logs` are log2 of lengths in ticks."""
    asked, there = (np.rint(_TIME_STEPS * values).astype(np.int64) for values in (query, logs))
    ones = np.ones(max(len(asked), len(there)), dtype=np.int64)
    steps = transpositions(asked, ones[: len(asked)], there, ones[: len(there)], offsets)
    return np.asarray(steps / _TIME_STEPS)


_BASE40_OCTAVE = 40
_LOWEST_BASE40 = -40
_INTERVALS = 2048  # base-40 steps between any note and one that was moved: pitches are below 1024 (`shifts`)
_LONGEST_METRIC, _ANY = 1500, 2**31


class NoteColumns(NamedTuple):
    """The properties of notes that are compared, for the kernel. All fields are (notes,)."""

    pitches: Numbers  # base-40, from the lowest that there is
    logs: Floats  # log2 of the ticks to the next note
    weights: Floats  # inner metric weight, 0 to 1


@register
@dataclass(frozen=True, repr=False)
class NoteAlignment(Matcher):
    """Notes with affine gaps."""

    name = "alignment"
    summary = N_("Aligns note with note; close pitches score more than distant ones, and long gaps cost little.")
    reference = "van Kranenburg 2010; Karsdorp, van Kranenburg & Manjavacas 2019"

    kind = "alignment"
    modes: ClassVar[Modes] = {
        # Without weights and lengths rhythm would still count: it decides which transposition is taken.
        "compare": {"both": {"metric": True}},
        # A passage of a long melody scores as the best passage of both, but is divided by the length of the whole.
        "place": {"whole": {"aligner": "global"}},
        "key": {"any": {}},
    }

    band: int = whole(23, least=0, most=_BASE40_OCTAVE - 1)
    metric: bool = flag(True)
    rhythm: float = real(0.0, least=0, most=1)
    tempo: str = choice("written", "histogram", "written")
    aligner: str = choice("global", "global", "local")
    divide: str = choice("shorter", "longer", "mean", "shorter")
    opening: float = real(0.6, least=0)
    extending: float = real(0.2, least=0)

    def _check(self) -> None:
        if self.aligner == "local" and self.divide == "shorter":
            self._refuse("aligner 'local' needs divide 'longer' or 'mean'; got 'shorter'")

    def longest(self, query: Melody) -> int:
        """Inner metric weights take a time that grows with the cube of the number of notes."""
        return min(self.notes_at_once(query), _LONGEST_METRIC if self.metric else _ANY)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, lines = melodic_lines([query]), melodic_lines(candidates)
        own, others = self._in_one_key(asked, lines)
        lengths = np.diff(lines.offsets)
        order = np.argsort(lengths, kind="stable")
        scores, scored = np.empty(len(order)), np.empty(len(order))
        kernels.alignment_scores(own, others, lines.offsets, order, self, stop_flag(), scores)
        check_stopped()
        scored[order] = scores
        return np.asarray(1.0 - scored / self._divisors(len(asked.rows), lengths))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        own, other = self._in_one_key(asked, stored)
        apart = np.abs(np.subtract.outer(own.pitches, other.pitches))
        likeness = self.likeness[apart] * (1.0 - np.abs(np.subtract.outer(own.weights, other.weights)))
        longer = 0.5 * np.abs(np.subtract.outer(own.logs, other.logs))
        costs = 1.0 - 2.0 * likeness * (1.0 - self.rhythm * np.minimum(longer, 1.0))
        # States: after a pair, in a gap of the query, in a gap of the candidate.
        m, n = costs.shape
        ways = [Way(1, 1, costs, before, 0) for before in range(3)]
        for state in (1, 2):
            for before in range(3):
                price = np.full(n if state == 1 else m, float(self.extending if before == state else self.opening))
                ways.append(Way(0, 1, price, before, state) if state == 1 else Way(1, 0, price, before, state))
        place: Literal["anywhere", "corner"] = "anywhere" if self.is_local else "corner"
        found = edits(successive(asked), successive(stored), ways, apart % _BASE40_OCTAVE == 0, place, place)
        by = float(self._divisors(m, np.array([n]))[0])
        return self._explanation(query, candidates, number, 1.0, scaled(found.steps, 1.0 / by))

    def _in_one_key(self, asked: Lines, lines: Lines) -> tuple[NoteColumns, NoteColumns]:
        """The query, and all the others moved to its key and, if tempo does not count, to its tempo."""
        own, others = self._columns(asked), self._columns(lines)
        lengths = np.diff(lines.offsets)
        moved = transpositions(own.pitches, asked.duration_ticks, others.pitches, lines.duration_ticks, lines.offsets)
        logs = others.logs
        if self.tempo == "histogram" and self.rhythm:
            logs = logs - np.repeat(tempos(own.logs, others.logs, lines.offsets), lengths)
        return own, NoteColumns(others.pitches - np.repeat(moved, lengths), logs, others.weights)

    def _divisors(self, m: int, lengths: Numbers) -> Floats:
        """The divisor of each score, for a query of m notes and candidates of these lengths."""
        return {
            "shorter": np.where(lengths > 0, np.minimum(lengths, m), m),
            "longer": np.maximum(lengths, m),
            "mean": (lengths + m) / 2,
        }[self.divide]

    def _columns(self, lines: Lines) -> NoteColumns:
        onsets = lines.onset_ticks
        logs, weights = np.empty(len(onsets)), np.zeros(len(onsets))
        kernels.log_times(onsets, lines.duration_ticks, lines.offsets, logs)
        if self.metric:
            kernels.inner_metric_weights(onsets, lines.offsets, stop_flag(), weights)
            check_stopped()
        return NoteColumns(lines.pitch_base40.astype(np.int64) - _LOWEST_BASE40, logs, weights)

    @property
    def is_local(self) -> bool:
        """Whether the alignment may begin and end anywhere."""
        return self.aligner == "local"

    @property
    def likeness(self) -> Floats:
        """The likeness of two notes, 0 to 1, by the number of base-40 steps between them."""
        steps = np.arange(_INTERVALS) % _BASE40_OCTAVE
        near = (2.0 - steps / max(self.band, 1)) / 2.0
        return np.where(steps <= self.band, near, 0.0)
