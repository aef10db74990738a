"""Metre and phrase of every note, inferred from the notes alone, so that every source has them.

Metre: inner metric weight (A. Volk, "The study of syncopation using inner metric analysis", 2008). Onsets lie on a grid
of 1/24 quarter. Every chain of at least three equidistant onsets that cannot be made longer gives each of its notes the
square of its number of steps; unlike in `alignment`, which follows the original, a chain also counts when it is part of
one with a smaller step. Weak (0) up to the 45 % quantile of a melody's weights, middling (1) up to the 75 % quantile,
strong (2) above.

Phrase: a note ends a phrase (1) if the time to the next is at least 1.45 times the median or a rest takes more than a
fifth of it, none of the three notes on either side is longer, neither of the next two is as long, and three notes have
passed since the last end; the last note ends one. The note after an end, and the first, starts a phrase (2). All others
are within (0).

A label is 1 + 3 metre + phrase; 0 is a note of which nothing is known, because it is alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["label_notes", "metric_weights", "phrase_ends"]

Numbers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int8]

GRID_TICKS = 1680  # 1/24 quarter: triplets and 32nds lie on it
_LONGEST_SPAN = 1 << 20  # of the grid: beyond that a table of onsets is too large, and a metre means little
_WEAK, _MIDDLING = 0.45, 0.75
_LONG, _REST = 1.45, 0.2
_LEAST_NOTES, _AROUND, _FOLLOWING = 3, 3, 2


@kernel
def metric_weights(times: Numbers, weights: Weights) -> None:
    """Write the inner metric weight of each onset; `times` are on the grid, ascending, all different."""
    size, span = len(times), times[-1] - times[0]
    for k in range(size):
        weights[k] = 0.0
    if span <= 0 or span > _LONGEST_SPAN:
        return
    note_at = np.full(span + 1, -1, np.int64)
    for k in range(size):
        note_at[times[k] - times[0]] = k
    for a in range(size):
        for b in range(a + 1, size):
            step = times[b] - times[a]
            if 2 * step > span:
                break
            begin = times[a] - times[0]
            if step <= 0 or (begin >= step and note_at[begin - step] >= 0):
                continue  # part of a longer chain
            end = begin
            while end + step <= span and note_at[end + step] >= 0:
                end += step
            steps = (end - begin) // step
            if steps >= 2:
                for at in range(begin, end + 1, step):
                    weights[note_at[at]] += steps * steps


@kernel
def phrase_ends(times: Numbers, durations: Numbers, ends: Flags) -> None:
    """Write which notes end a phrase, from the time to the next note and the time that each sounds."""
    size = len(times)
    middle = np.sort(times)[(size - 1) // 2]
    since = 0
    for k in range(size):
        since += 1
        is_long = times[k] >= _LONG * middle or times[k] - durations[k] > _REST * times[k]
        for other in range(max(0, k - _AROUND), min(size, k + _AROUND + 1)):
            is_long = is_long and times[other] <= times[k]
        for other in range(k + 1, min(size, k + _FOLLOWING + 1)):
            is_long = is_long and times[other] != times[k]
        ends[k] = is_long and since >= _LEAST_NOTES
        if ends[k]:
            since = 0
    ends[size - 1] = True


@kernel
def label_notes(offsets: Numbers, onsets: Numbers, durations: Numbers, times: Numbers, labels: Labels) -> None:
    """Write the label of every note of many melodies."""
    for number in range(len(offsets) - 1):
        first, last = offsets[number], offsets[number + 1]
        size = last - first
        if size < 2:
            continue
        grid = np.empty(size, np.int64)
        for k in range(size):
            grid[k] = (onsets[first + k] - onsets[first] + GRID_TICKS // 2) // GRID_TICKS
        weights = np.empty(size, np.float64)
        metric_weights(grid, weights)
        ordered = np.sort(weights)
        weak, middling = ordered[int(_WEAK * (size - 1))], ordered[int(_MIDDLING * (size - 1))]
        ends = np.empty(size, np.bool_)
        phrase_ends(times[first:last], durations[first:last], ends)
        for k in range(size):
            metre = 0 if weights[k] <= weak else (1 if weights[k] <= middling else 2)
            phrase = 2 if k == 0 or ends[k - 1] else (1 if ends[k] else 0)
            labels[first + k] = 1 + 3 * metre + phrase
