"""What the alignment knows of every note: encoded in bytes, for many melodies at once."""

from __future__ import annotations

import numpy as np

from roslin.matchers.roslin._alignment import NO_INTERVAL, Encoded
from roslin.matchers.roslin._labels import label_notes
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Candidates

MOST = 24  # g of 64 times a quarter
UNLIKE = 3  # a note is short or long if its g is so far from the median


def encoded(candidates: Candidates, with_labels: bool = True) -> Encoded:
    lines = melodic_lines(candidates)
    offsets = lines.offsets
    onset, duration = lines.column("onset_ticks"), lines.column("duration_ticks")
    pitch = lines.column("pitch_midi").astype(np.int64)
    count = len(onset)
    is_first = np.zeros(count, bool)
    is_first[offsets[:-1][np.diff(offsets) > 0]] = True
    is_last = np.zeros(count, bool)
    is_last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    length = duration.copy()
    inner = np.flatnonzero(~is_last)
    length[inner] = onset[inner + 1] - onset[inner]
    values = np.clip(np.rint(4 * np.log2(np.maximum(length, 1) / TICKS_PER_QUARTER)), -MOST, MOST).astype(np.int64)
    intervals = np.full(count, NO_INTERVAL)
    follows = np.flatnonzero(~is_first)
    intervals[follows] = np.clip(pitch[follows] - pitch[follows - 1], -126, 126)
    which = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((values, which))
    middle = offsets[:-1] + (np.diff(offsets) - 1) // 2
    tempos = np.zeros(len(offsets) - 1, np.int64)
    filled = np.diff(offsets) > 0
    tempos[filled] = values[order][middle[filled]]
    from_median = values - tempos[which]
    gaps = np.where(from_median <= -UNLIKE, 0, np.where(from_median >= UNLIKE, 2, 1))
    size = np.abs(intervals)
    kind = np.where(is_first | ((size > 0) & (size <= 2)), 1, np.where(size == 0, 0, np.where(size <= 4, 2, 3)))
    labels = np.zeros(count, np.int8)
    if with_labels:
        label_notes(offsets, onset, duration, length, labels)
    small = [each.astype(np.int8) for each in (tempos, pitch % 12, values, intervals, 3 * kind + gaps, gaps)]
    return Encoded(offsets.astype(np.int64), *small, labels)


def one(melodies: Encoded, number: int) -> Encoded:
    """One of them, on its own."""
    part = slice(melodies.offsets[number], melodies.offsets[number + 1])
    return Encoded(
        np.array([0, part.stop - part.start]),
        melodies.tempos[number : number + 1],
        *(each[part] for each in melodies[2:]),
    )


def contours(melodies: Encoded) -> Encoded:
    """The same with nothing left of pitch but whether a note is lower than the one before, as high, or higher."""
    is_first = melodies.intervals == NO_INTERVAL
    direction = np.where(is_first, 0, np.sign(melodies.intervals)).astype(np.int8)
    return melodies._replace(
        pitches=direction + np.int8(1),
        intervals=np.where(is_first, np.int8(NO_INTERVAL), direction),
        kinds=np.zeros_like(melodies.kinds),
    )
