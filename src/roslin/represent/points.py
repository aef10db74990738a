"""Melodies as weighted point sets (Typke et al. 2007, section 2.2): a note is a point (time, pitch) with a weight.

Time is the onset in quarter notes. Pitch and weight have named schemes:

    pitch     semitone   MIDI number
              base40     Hewlett's base-40 number x 12/40, so that an octave is 12 here too and spelling counts
              fifths     place on the line of fifths (C = 0, G = 1, F = -1): related keys are near, octaves are one
    weight    duration   length in quarters (the paper)
              uniform    1 for every note
              sqrt       square root of the length: long notes count less than their length
              stress     length x metrical stress, as Typke et al. proposed in 2003
              accent     length x (1 + melodic accent), the accents being Thomassen's (1982)
              perceptual sqrt of length x (1 + stress + turn); ours

Sections 2.2 and 5 of the paper want weights by the importance of notes for human perception, but no such weights are
published. How accents enter a weight is ours.

Melodic accent (J. M. Thomassen, "Melodic accent: experiments and a tentative model", J. Acoust. Soc. Am. 71, 1982, with
its erratum): of three successive tones the contour gives the second and the third a share (`_ACCENTS`), and the accent
of a tone is the product of what it gets as a second and as a third. The first tone has the accent 1 (Huron and Royal
1996), the last what it gets as a third. Of a chord only the highest note has one.

Metrical stress is 1 on a bar line, 1/2 at halves and thirds of the bar, 1/4 at quarters and sixths, else 1/8; where
a melody has no bar lines, four quarters count as a bar. A first bar shorter than the usual one is a pick-up, counted
from its end. A turn is worth 1 at the first and last note and wherever the melody changes direction. Of repeated notes
the last one turns; of a chord only the highest note can.

Every note of a chord is a point. Grace notes are left out: they take no time from the note that they lead to.

Segments (section 2.4 and Figure 3). A segment is a number of consecutive onsets, with all notes that start at them. The
next one starts `step` onsets later. Our choice: the last segment ends with the melody, even if it then starts fewer
than `step` onsets after the one before it; a melody with fewer onsets than a segment is one segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from roslin.errors import UnknownNameError
from roslin.melody import TICKS_PER_QUARTER, NoteTable
from roslin.melody.pitches import BASE40_NATURALS
from roslin.native import kernels
from roslin.represent.line import top_rows
from roslin.represent.packed import Candidates, Packed, pack
from roslin.types import Floats, Numbers

BAR_WITHOUT_LINES = 4 * TICKS_PER_QUARTER


@dataclass(frozen=True, slots=True)
class PointSets:
    """Point sets end to end; set k is rows `offsets[k]` to `offsets[k + 1]`, in order of time.

    `rows` has the row in the packed table of each point.
    """

    time: Floats
    duration: Floats
    pitch: Floats
    weight: Floats
    offsets: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def one(self, k: int) -> tuple[Floats, Floats]:
        """(points, weights) of set k, as `roslin.emd` takes them."""
        span = slice(self.offsets[k], self.offsets[k + 1])
        return np.column_stack([self.time[span], self.pitch[span]]), self.weight[span]

    def only(self, k: int) -> PointSets:
        span = slice(self.offsets[k], self.offsets[k + 1])
        time, duration, pitch, weight = (each[span] for each in (self.time, self.duration, self.pitch, self.weight))
        return PointSets(time, duration, pitch, weight, np.array([0, span.stop - span.start]), self.rows[span])


def point_sets(candidates: Candidates, *, pitch: str = "semitone", weight: str = "duration") -> PointSets:
    """The point sets of many melodies.

    >>> from roslin import load
    >>> sets = point_sets(load("'4C8DE2F"))
    >>> sets.time.tolist(), sets.pitch.tolist(), sets.weight.tolist()
    ([0.0, 1.0, 1.5, 2.0], [60.0, 62.0, 64.0, 65.0], [1.0, 0.5, 0.5, 2.0])
    """
    for kind, name, known in (("pitch", pitch, PITCHES), ("weight", weight, WEIGHTS)):
        if name not in known:
            raise UnknownNameError(kind, str(name), sorted(known))
    packed = pack(candidates)
    rows = np.flatnonzero(~packed.notes["is_grace"])
    offsets = np.searchsorted(rows, packed.offsets).astype(np.int64)
    notes = packed.notes[rows]
    table = _Table(packed, offsets, notes)
    return PointSets(
        notes["onset_ticks"] / TICKS_PER_QUARTER,
        table.quarters,
        PITCHES[pitch](notes["pitch_midi"].astype(np.float64), notes["pitch_base40"].astype(np.int64)),
        WEIGHTS[weight](table),
        offsets,
        rows,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The input of weights; `offsets` counts notes without graces."""

    packed: Packed
    offsets: npt.NDArray[np.int64]
    notes: NoteTable

    @property
    def quarters(self) -> Floats:
        lengths: Floats = self.notes["duration_ticks"] / TICKS_PER_QUARTER
        return lengths


def metrical_stress(onset: Numbers, duration: Numbers, offsets: Numbers, packed: Packed) -> Floats:
    """Metrical stress of every note, 1/8 to 1, of notes in order of time with the bar lines of their melodies."""
    stress = np.empty(len(onset))
    kernels.metrical_stress(
        onset, onset + duration, offsets, packed.barlines, packed.bar_offsets, BAR_WITHOUT_LINES, stress
    )
    return stress


def _stress(table: _Table) -> Floats:
    onset = np.ascontiguousarray(table.notes["onset_ticks"])
    return metrical_stress(onset, table.notes["duration_ticks"], table.offsets, table.packed)


def _directions(table: _Table) -> Iterator[tuple[Numbers, Numbers]]:
    """The rows of each line, and whether each of its notes is followed by a higher one, 1, a lower, -1, or the same."""
    pitch = table.notes["pitch_midi"].astype(np.int64)
    rows, offsets = top_rows(table.notes, table.offsets)
    for start, end in pairwise(offsets):
        line = rows[start:end]
        yield line, np.sign(np.diff(pitch[line]))


def _turns(table: _Table) -> Floats:
    turns = np.zeros(len(table.notes))
    for line, steps in _directions(table):
        moves = np.flatnonzero(steps)  # a repeated note has no direction
        turning = moves[1:][steps[moves[1:]] != steps[moves[:-1]]]
        turns[[*line[turning], *line[:1], *line[-1:]]] = 1
    return turns


# What Thomassen's model gives the second and the third of three tones, by the directions of the two steps.
_ACCENTS = {
    (1, -1): (0.83, 0.17), (-1, 1): (0.71, 0.29), (1, 1): (0.33, 0.67), (-1, -1): (0.5, 0.5), (0, 1): (0.0, 1.0),
    (0, -1): (0.0, 1.0), (1, 0): (1.0, 0.0), (-1, 0): (1.0, 0.0), (0, 0): (0.0, 0.0),
}  # fmt: skip


def _accents(table: _Table) -> Floats:
    accents = np.zeros(len(table.notes))
    for line, steps in _directions(table):
        accents[line] = 1.0
        for place, pair in enumerate(pairwise(steps.tolist()), start=1):
            second, third = _ACCENTS[pair]
            accents[line[place]] *= second
            accents[line[place + 1]] = third
    return accents


# Each letter has its place on the line of fifths, and each sharp adds seven.
_FIFTHS_OF_BASE40 = np.zeros(40)
for _letter, _natural in zip((0, 2, 4, -1, 1, 3, 5), BASE40_NATURALS, strict=True):
    for _sharps in range(-2, 3):
        _FIFTHS_OF_BASE40[(_natural + _sharps) % 40] = _letter + 7 * _sharps

PITCHES: dict[str, Callable[[Floats, npt.NDArray[np.int64]], Floats]] = {
    "semitone": lambda midi, _: midi,
    "base40": lambda _, base40: np.multiply(base40, 12 / 40, dtype=np.float64),
    "fifths": lambda _, base40: _FIFTHS_OF_BASE40[base40 % 40],
}

WEIGHTS: dict[str, Callable[[_Table], Floats]] = {
    "duration": lambda table: table.quarters,
    "uniform": lambda table: np.ones(len(table.notes)),
    "sqrt": lambda table: np.sqrt(table.quarters),
    "stress": lambda table: table.quarters * _stress(table),
    "accent": lambda table: table.quarters * (1 + _accents(table)),
    "perceptual": lambda table: np.sqrt(table.quarters) * (1 + _stress(table) + _turns(table)),
}


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of many point sets, end to end: those of set k are `offsets[k]` to `offsets[k + 1]`.

    A segment is the points `first` up to, not including, `end`. `onsets` counts the different onsets of each set.
    """

    first: Numbers
    end: Numbers
    offsets: Numbers
    onsets: Numbers


def segment_count(onsets: npt.ArrayLike, length: int, step: int) -> Numbers:
    """The number of segments of melodies with this many onsets.

    >>> segment_count([0, 4, 6, 7, 9, 10], length=6, step=3).tolist()
    [0, 1, 1, 2, 2, 3]
    """
    count = np.asarray(onsets, dtype=np.int64)
    more = -(-np.maximum(count - length, 0) // step)
    return np.where(count > 0, 1 + more, 0).astype(np.int64)


def segments(points: PointSets, length: int, step: int) -> Segments:
    """The segments of all point sets, `length` onsets each, `step` onsets apart.

    >>> from roslin import load
    >>> from roslin.represent.points import point_sets
    >>> cut = segments(point_sets(load("'4CDEFGAB2''C")), length=6, step=3)
    >>> list(zip(cut.first.tolist(), cut.end.tolist()))
    [(0, 6), (2, 8)]
    """
    is_new = np.ones(len(points.time), dtype=np.bool_)
    is_new[1:] = points.time[1:] != points.time[:-1]
    is_new[points.offsets[:-1][np.diff(points.offsets) > 0]] = True
    rows = np.append(np.flatnonzero(is_new), len(points.time)).astype(np.int64)
    before = np.searchsorted(rows[:-1], points.offsets).astype(np.int64)
    onsets = np.diff(before)
    count = segment_count(onsets, length, step)
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
    flush = np.repeat(np.maximum(onsets - length, 0), count)
    start = np.repeat(before[:-1], count) + np.minimum(number * step, flush)
    end = np.minimum(start + length, np.repeat(before[1:], count))
    return Segments(rows[start], rows[end], offsets, onsets)
