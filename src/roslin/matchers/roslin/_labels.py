"""Metre and phrase of every note, inferred from the notes alone.

Metre: inner metric weight (A. Volk 2008). Onsets lie on a grid of 1/24 quarter; every maximal chain of at least three
equidistant onsets gives each of its notes (its number of steps) squared. 0 up to the 45 % quantile of the melody's
weights, 1 up to 75 %, 2 above. Phrase: 0 inside, 1 the end of one, 2 the start of one. A label is 1 + 4 metre + phrase
... 0 if nothing is known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

Numbers = npt.NDArray[np.int64]

GRID = 1680  # ticks: 1/24 quarter
LONG, REST = 1.45, 0.2
LEAST = 3


@kernel
def metric_weights(times: Numbers, weights: npt.NDArray[np.float64]) -> None:
    size = len(times)
    span = times[-1] - times[0]
    for k in range(size):
        weights[k] = 0.0
    if span <= 0 or span > 1 << 20:
        return
    place = np.full(span + 1, -1, np.int64)
    for k in range(size):
        place[times[k] - times[0]] = k
    for a in range(size):
        for b in range(a + 1, size):
            step = times[b] - times[a]
            if step <= 0:
                continue
            if 2 * step > span:
                break
            before = times[a] - times[0] - step
            if before >= 0 and place[before] >= 0:
                continue
            steps, at = 0, times[a] - times[0]
            while at + step <= span and place[at + step] >= 0:
                at += step
                steps += 1
            if steps < 2:
                continue
            at = times[a] - times[0]
            for _ in range(steps + 1):
                weights[place[at]] += steps * steps
                at += step


@kernel
def phrase_ends(lengths: Numbers, durations: Numbers, ends: npt.NDArray[np.bool_]) -> None:
    size = len(lengths)
    middle = np.sort(lengths)[(size - 1) // 2]
    since = 0
    for k in range(size):
        since += 1
        ends[k] = False
        is_rest = lengths[k] - durations[k] > REST * lengths[k]
        if lengths[k] >= LONG * middle or is_rest:
            longest = True
            for other in range(max(0, k - 3), min(size, k + 4)):
                if lengths[other] > lengths[k]:
                    longest = False
            for other in range(k + 1, min(size, k + 3)):
                if lengths[other] == lengths[k]:
                    longest = False
            if longest and since >= LEAST:
                ends[k] = True
                since = 0
    ends[size - 1] = True


@kernel
def label_notes(
    offsets: Numbers, onsets: Numbers, durations: Numbers, lengths: Numbers, labels: npt.NDArray[np.int8]
) -> None:
    for number in range(len(offsets) - 1):
        first, last = offsets[number], offsets[number + 1]
        size = last - first
        if size < 2:
            continue
        times = np.empty(size, np.int64)
        for k in range(size):
            times[k] = (onsets[first + k] - onsets[first] + GRID // 2) // GRID
        weights = np.empty(size, np.float64)
        metric_weights(times, weights)
        ordered = np.sort(weights)
        low, high = ordered[int(0.45 * (size - 1))], ordered[int(0.75 * (size - 1))]
        ends = np.empty(size, np.bool_)
        phrase_ends(lengths[first:last], durations[first:last], ends)
        for k in range(size):
            metre = 0 if weights[k] <= low else (1 if weights[k] <= high else 2)
            phrase = 1 if ends[k] else 0
            if k == 0 or ends[k - 1]:
                phrase = 2
            labels[first + k] = 1 + 3 * metre + phrase
