"""What `p1`, `p2` and `p3` share: melodies as figures in the plane of time and pitch; from a score to a distance.

Reference: the C-BRAHMS project in Helsinki (Ukkonen, Lemström and Mäkinen). The query may be moved in time and
transposed, by any amount, and is laid onto the candidate where the two have most in common. Polyphony is taken as it
is, on both sides. Only grace notes are left out, and a note that occurs twice in the same place (a doubling by another
voice) counts once.

With c for what the query has in common with the candidate at the best place, a for all of the query and b for all of
the candidate (notes for `p1` and `p2`, sounding time for `p3`), the distance is

    divide = "both"    1 - 2 c / (a + b)
    divide = "query"   1 - c / a

The algorithms give c; how their authors ranked by it at MIREX 2005 is not known, so both are our choice. "query" asks
whether the query is in the candidate; "both", the default, whether the two are the same, and finds much more among
incipits. Where there is nothing to divide by, the distance is 1, the largest.

The methods know no tempo. `tempos`, ours, tries the query with all its times multiplied by each of them (rounded to
whole ticks) and takes the best: (0.5, 1.0, 2.0) also finds what is notated in halved or doubled values. With (1.0,),
the default, the method is the published one. No distance changes under transposition and shift in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Rows, Step
from roslin.melody import Melody, NoteTable
from roslin.native import kernels
from roslin.represent.packed import Packed
from roslin.types import Distances, Numbers
from roslin.values.parameters import choice, reals

_SLOWEST = 8.0  # times longer: a breve in place of a quarter


@dataclass(frozen=True, slots=True)
class Figures:
    """Segments in the plane, or points, which stop where they start; figure k from `offsets[k]` to `offsets[k + 1]`.

    Times are in ticks. `sizes` is how much there is of each figure: what a and b are.
    """

    start: Numbers
    stop: Numbers
    pitch: Numbers
    offsets: Numbers
    sizes: Numbers


@dataclass(frozen=True, repr=False)
class Geometric(Matcher):
    """A matcher that lays the query onto the candidate in the plane of time and pitch."""

    kind = "places"
    timed: ClassVar[bool]  # whether notes are segments of time, or points
    modes: ClassVar[Modes] = {
        "compare": {"both": {}},
        "place": {"anywhere": {"divide": "query"}, "whole": {"divide": "both"}},
        "key": {"any": {}},
    }

    divide: str = choice("both", "both", "query")
    tempos: tuple[float, ...] = reals((1.0,), least=1 / _SLOWEST, most=_SLOWEST)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        stored = self._figures(candidates.notes, candidates.offsets)
        best = np.ones(len(candidates))
        for tempo in self.tempos:
            asked = self._figures(_at_tempo(query.notes, tempo), np.array([0, len(query)]))
            common, whole = self._common(asked, stored), self._whole(asked, stored)
            np.minimum(best, (whole - 2 * common) / np.maximum(whole, 1), out=best, where=whole > 0)
        return best

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        alone = candidates.part(number, number + 1)
        found = [(self._steps_at(tempo, query, alone), tempo) for tempo in self.tempos]
        steps, tempo = min(found, key=lambda way: sum(step.cost for step in way[0]))
        return self._explanation(query, candidates, number, 1.0, steps, tempo)

    def _steps_at(self, tempo: float, query: Melody, candidate: Packed) -> list[Step]:
        """The parts that the query in one tempo has in common with the candidate, at the best place."""
        notes = _at_tempo(query.notes, tempo)
        asked, stored = (self._figures(part, np.array([0, len(part)])) for part in (notes, candidate.notes))
        whole = int(self._whole(asked, stored)[0])
        if not whole or not self._common(asked, stored)[0]:
            return []
        later, higher = self._best_move(asked, stored)
        # For how long two segments lie on each other; points stop where they start, and coincide or not.
        begins = np.maximum.outer(asked.start + later, stored.start)
        ends = np.minimum.outer(asked.stop + later, stored.stop)
        common = ends - begins if self.timed else 1 * (ends == begins)
        common[np.not_equal.outer(asked.pitch + higher, stored.pitch)] = 0
        steps = [
            Step("shared", (_rows(notes, asked, i),), (_rows(candidate.notes, stored, j),), -2 * common[i, j] / whole)
            for i, j in np.argwhere(common > 0).tolist()
        ]
        return sorted(steps, key=lambda step: step.query_notes)

    def _whole(self, asked: Figures, stored: Figures) -> Numbers:
        """a + b for each candidate, or 2 a."""
        mine = asked.sizes[0]
        return mine + stored.sizes if self.divide == "both" else np.full(len(stored.sizes), 2 * mine)

    def _best_move(self, asked: Figures, stored: Figures) -> tuple[int, int]:
        """The shift in time and the transposition under which the query has most in common with the one candidate.

        Every pair of segments bends the line of the common time at four shifts. One of the bends is its highest point.
        Of points, every pair votes for one move.
        """
        higher = np.subtract.outer(-asked.pitch, -stored.pitch).ravel()

        def shifts(from_query: Numbers, from_candidate: Numbers) -> Numbers:
            return np.subtract.outer(-from_query, -from_candidate).ravel()

        if not self.timed:
            both = np.column_stack([higher, shifts(asked.start, stored.start)])
            moves, votes = np.unique(both, axis=0, return_counts=True)
            up, later = moves[np.argmax(votes)].tolist()
            return later, up
        ends = product((asked.stop, asked.start), (stored.start, stored.stop))
        shift = np.concatenate([shifts(mine, theirs) for mine, theirs in ends])
        bend = np.repeat([1, -1, -1, 1], len(higher))
        up = np.tile(higher, 4)
        order = np.lexsort((shift, up))
        shift, bend, up = shift[order], bend[order], up[order]
        # The line of a transposition is back at zero, and flat, where that of the next begins.
        risen = np.cumsum(bend)[:-1] * np.where(up[1:] == up[:-1], np.diff(shift), 0)
        place = int(np.argmax(np.cumsum(risen))) + 1
        return int(shift[place]), int(up[place])

    def _figures(self, notes: NoteTable, offsets: Numbers) -> Figures:
        bounds, (start, stop, pitch, scratch) = np.empty_like(offsets), np.empty((4, len(notes)), dtype=np.int64)
        if not self.timed:
            count = kernels.points_of(notes, offsets, start, pitch, bounds)
            return Figures(start[:count], start[:count], pitch[:count], bounds, np.diff(bounds))
        count = kernels.segments_of(notes, offsets, scratch, start, stop, pitch, bounds)
        start, stop, pitch = start[:count], stop[:count], pitch[:count]
        sounding = np.concatenate([[0], np.cumsum(stop - start)]).astype(np.int64)
        return Figures(start, stop, pitch, bounds, sounding[bounds[1:]] - sounding[bounds[:-1]])

    def _common(self, query: Figures, candidates: Figures) -> Numbers:
        """How much the one query has in common with each candidate, at the best place."""
        common = np.empty(len(candidates.offsets) - 1, dtype=np.int64)
        kernels.most_in_common(query, candidates, candidates.offsets, self.timed, common)
        return common


def _rows(notes: NoteTable, figures: Figures, k: int) -> Rows:
    """The notes that make a point, or a segment."""
    onset = notes["onset_ticks"]
    is_within = (onset >= figures.start[k]) & (onset <= figures.stop[k])
    return tuple(np.flatnonzero(is_within & (notes["pitch_midi"] == figures.pitch[k]) & ~notes["is_grace"]).tolist())


def _at_tempo(notes: NoteTable, tempo: float) -> NoteTable:
    if tempo == 1.0:
        return notes
    scaled = notes.copy()
    start = np.rint(notes["onset_ticks"] * tempo).astype(np.int64)
    stop = np.rint((notes["onset_ticks"] + notes["duration_ticks"]) * tempo).astype(np.int64)
    scaled["onset_ticks"], scaled["duration_ticks"] = start, stop - start
    return scaled


@register
@dataclass(frozen=True, repr=False)
class P1(Geometric):
    """All notes of the query, or none.

    Reference: Ukkonen, Lemström and Mäkinen, algorithm P1. Notes are points (onset, pitch); durations do not matter.
    The query is found where one shift in time and one transposition take every one of its points onto a point of the
    candidate; other notes may be between them and beside them. Then c, what the two have in common, is the number of
    the query's notes; else it is 0, and the distance is 1. With divide="both", candidates that hold little else come
    first.

    Example, with (onset in quarters, pitch). The query (0, 60) (1, 64) is found in (0, 65) (0.5, 67) (1, 69) (1, 48),
    moved up by 5: c = 2, a = 2, b = 4, and the distance is 1 - 4/6 = 1/3. It is not found in (0, 60) (1.5, 64).

    The search is the authors': a pointer for each note of the query moves along the candidate, and never back. Our
    choice: the distance (`divide`), `tempos`, and that doublings count once.
    """

    name = "p1"
    summary = N_("Finds the melodies that contain every note of the query, in any key, among any other notes.")
    reference = "Ukkonen, Lemström & Mäkinen 2003, algorithm P1"
    timed = False

    def _common(self, query: Figures, candidates: Figures) -> Numbers:
        common = np.empty(len(candidates.offsets) - 1, dtype=np.int64)
        kernels.whole_query(query.start, query.pitch, candidates.start, candidates.pitch, candidates.offsets, common)
        return common


@register
@dataclass(frozen=True, repr=False)
class P2(Geometric):
    """The most notes that coincide.

    Reference: Ukkonen, Lemström and Mäkinen, algorithm P2. Notes are points (onset, pitch); durations do not matter.
    Every shift in time with a transposition takes some points of the query onto points of the candidate; c is the
    largest number that one of them takes. It is the size of the largest set of equal difference vectors.

    Example, with (onset in quarters, pitch). The query is (0, 60) (1, 62) (2, 64), the candidate (0, 67) (1, 69)
    (2, 70) (3, 72). Up by 7, two points coincide; up by 8 and a quarter later, two others: (2, 70) and (3, 72). No move
    does better, so c = 2, a = 3, b = 4, and the distance is 1 - 4/7 = 3/7, or 1/3 with divide="query".

    The authors merge the sorted differences with a heap; here they are counted in a hash table, with the same result.
    One wrong pitch costs one note; one wrong duration moves all notes after it, and costs the shorter part. Our choice:
    the distance (`divide`), `tempos`, and that doublings count once.
    """

    name = "p2"
    summary = N_("Places the query on the melody, in any key, where most notes coincide in onset and pitch.")
    reference = "Ukkonen, Lemström & Mäkinen 2003, algorithm P2"
    timed = False


@register
@dataclass(frozen=True, repr=False)
class P3(Geometric):
    """The longest common time.

    Reference: Ukkonen, Lemström and Mäkinen, algorithm P3; entered to MIREX 2005 as L(P3). A note is a segment: its
    pitch, from its onset to its end. For a shift in time and a transposition, the common time is how long segments of
    both lie on each other; c is the largest common time of all moves, exactly. As the shift grows, the common time of a
    transposition rises and falls in straight lines. A pair of segments, [a, b] of the query and [s, e] of the
    candidate, bends the line upwards at the shifts s - b and e - a and downwards at s - a and e - b; a sweep over all
    bends finds its maximum.

    Example, with [onset, end] in quarters. The query C [0, 1], D [1, 2] in the candidate G [0, 2], A [2, 4]: transposed
    by a fifth and moved by 1, C coincides with G and D with A for a whole quarter each. So c = 2, a = 2, b = 4, and the
    distance is 1 - 4/6 = 1/3, or 0 with divide="query".

    Repeated notes and one long note sound at the same times, so `p3` does not distinguish them. Notes of one pitch that
    overlap count once where they do (the authors' variant with counters). The authors merge the bends of all pairs with
    a heap. Here they are dealt out to a table of transpositions and shifts, or sorted where that table would be too
    large, and transpositions that cannot reach the maximum are not swept: the result is the same. Our choice: the
    distance (`divide`) and `tempos`.
    """

    name = "p3"
    summary = N_("Places the query on the melody, in any key, where both have the same pitches for the longest time.")
    reference = "Ukkonen, Lemström & Mäkinen 2003, algorithm P3; MIREX 2005 entry L(P3)"
    timed = True
