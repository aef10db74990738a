"""What the alignment knows of every note, in bytes, for many melodies at once.

    pitch       pitch class: the measure knows no octaves
    value       g = round(4 log2 of the time to the next note in quarters); of the last note, of its duration. Doubled
                values are 4 more.
    interval    semitones from the note before
    kind        the interval's size (none, up to 2 semitones or the first note, up to 4, more) x short, usual or long
    gap         short, usual or long: 3 steps or more from the melody's median value
    label       place in metre and phrase (`native/labels.c`)

A melody's tempo is the median of its values, the lower of two.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.values import NO_INTERVAL, Encoded
from roslin.melody import TICKS_PER_QUARTER
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Candidates

_LARGEST_VALUE = 24  # steps: 64 quarters, or a 64th of one
_UNLIKE = 3  # steps from the median that make a note short or long
_SMALL, _MEDIUM = 2, 4  # semitones
_LARGEST_STEP = 126  # as an interval


def encoded(candidates: Candidates) -> Encoded:
    """The lines of many melodies as bytes."""
    lines = melodic_lines(candidates)
    offsets, sizes = lines.offsets.astype(np.int64), np.diff(lines.offsets)
    onsets, durations, pitches = lines.onset_ticks, lines.duration_ticks, lines.pitch_midi.astype(np.int64)
    which = np.repeat(np.arange(len(sizes)), sizes)
    is_first = np.zeros(len(onsets), dtype=bool)
    is_first[offsets[:-1][sizes > 0]] = True
    is_last = np.append(is_first[1:], True)[: len(onsets)]
    times = np.where(is_last, durations, np.append(onsets[1:], 0)[: len(onsets)] - onsets)
    values = np.clip(np.rint(4 * np.log2(times / TICKS_PER_QUARTER)), -_LARGEST_VALUE, _LARGEST_VALUE).astype(np.int64)
    tempos = np.zeros(len(sizes), dtype=np.int64)
    has_notes = sizes > 0
    middle = offsets[:-1] + (sizes - 1) // 2
    tempos[has_notes] = values[np.lexsort((values, which))][middle[has_notes]]
    intervals = np.append(0, np.diff(pitches))[: len(onsets)].clip(-_LARGEST_STEP, _LARGEST_STEP)
    steps = values - tempos[which]
    gaps = np.where(steps <= -_UNLIKE, 0, np.where(steps >= _UNLIKE, 2, 1))
    kinds = _sizes(intervals, is_first)
    intervals[is_first] = NO_INTERVAL
    labels = np.zeros(len(onsets), dtype=np.int8)
    kernels.label_notes(offsets, onsets, durations, times, labels)
    return Encoded(
        offsets,
        tempos.astype(np.int8),
        (pitches % 12).astype(np.int8),
        values.astype(np.int8),
        intervals.astype(np.int8),
        (3 * kinds + gaps).astype(np.int8),
        gaps.astype(np.int8),
        labels,
    )


def unrounded(candidates: Candidates) -> Encoded:
    """The same with values that are not rounded: two melodies in the same rhythm have the same differences of them."""
    lines = melodic_lines(candidates)
    times = np.append(np.diff(lines.onset_ticks), 0)[: len(lines.onset_ticks)].astype(np.float64)
    lasts = lines.offsets[1:][np.diff(lines.offsets) > 0] - 1
    times[lasts] = lines.duration_ticks[lasts]
    return encoded(candidates)._replace(values=4 * np.log2(np.maximum(times, 1)))


def _sizes(intervals: npt.NDArray[np.int64], is_first: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Of each interval: none, small, medium or large."""
    size = np.abs(intervals)
    return np.select([is_first, size == 0, size <= _SMALL, size <= _MEDIUM], [1, 0, 1, 2], 3)


def backwards(melodies: Encoded) -> Encoded:
    """The same with the pitches of each melody in reverse order; rhythm, metre and phrases stay."""
    which = np.repeat(np.arange(len(melodies.offsets) - 1), np.diff(melodies.offsets))
    places = np.arange(len(which))
    mirrored = melodies.offsets[which] + melodies.offsets[which + 1] - 1 - places
    is_first = melodies.intervals == NO_INTERVAL
    # Backwards, the interval before a note is the one that led from it to the next.
    led_on = np.append(melodies.intervals, NO_INTERVAL)[mirrored + 1].astype(np.int64)
    intervals = np.where(is_first, 0, -led_on)
    return melodies._replace(
        pitches=melodies.pitches[mirrored],
        intervals=np.where(is_first, NO_INTERVAL, intervals).astype(np.int8),
        kinds=(3 * _sizes(intervals, is_first) + melodies.gaps).astype(np.int8),
    )


def one(melodies: Encoded, number: int) -> Encoded:
    """One of them, on its own."""
    part = slice(melodies.offsets[number], melodies.offsets[number + 1])
    return melodies._replace(
        offsets=np.array([0, part.stop - part.start]),
        tempos=melodies.tempos[number : number + 1],
        pitches=melodies.pitches[part],
        values=melodies.values[part],
        intervals=melodies.intervals[part],
        kinds=melodies.kinds[part],
        gaps=melodies.gaps[part],
        labels=melodies.labels[part],
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
