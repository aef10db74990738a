"""Numba kernels of `alignment`: transposition by histograms, inner metric weights, affine gaps.

`alignment_scores` aligns the documents of a block of `LANES` side by side, as those of `shapes` do: shorter documents
are filled up with notes that cost nothing to leave out and are like no other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.edit._arguments import NoteColumns, NoteScores

__all__ = ["BINS", "alignment_scores", "best_shifts", "inner_metric_weights", "log_times"]

BINS = 1024
_LANES = 64
_NEVER = -1e6  # a score that no alignment comes near
_UNLIKE = 2.0  # lengths that differ by so many doublings have nothing in common
_SPREAD = 0x9E3779B97F4A7C15  # 2 ** 64 by the golden ratio: products of it with successive numbers lie far apart
_SAME = 1e-9  # shares that differ by less are equal but for rounding

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


# -- inner metric weight ----------------------------------------------------------------------------------------------


@kernel
def _slot(times: Numbers, time: int) -> int:
    """Where a time is in the table, or would be put; the size of the table is a power of two, -1 is an empty slot."""
    spread = np.uint64(time) * np.uint64(_SPREAD) >> np.uint64(32)
    slot = int(spread) & (len(times) - 1)
    while times[slot] != -1 and times[slot] != time:
        slot = (slot + 1) & (len(times) - 1)
    return slot


@kernel
def _has(times: Numbers, time: int) -> bool:
    return time >= 0 and times[_slot(times, time)] == time


@kernel
def _is_part_of_a_finer_one(times: Numbers, start: int, step: int, length: int, n: int) -> bool:
    """Whether a local metre lies inside another with steps of which several make one of its own."""
    for parts in range(2, (n - 1) // length + 1):
        if step % parts == 0:
            k = 1
            while k < parts * length and _has(times, start + k * (step // parts)):
                k += 1
            if k == parts * length:
                return True
    return False


@kernel
def _weigh(onsets: Numbers, times: Numbers, places: Numbers, weights: Array) -> None:
    """Inner metric weights of one melody; `times` and `places` are room for a table of its onsets."""
    n = len(onsets)
    times[:] = -1
    for i in range(n):
        slot = _slot(times, onsets[i])
        times[slot], places[slot] = onsets[i], i
    for i in range(n):
        for j in range(i + 1, n):
            start, step = onsets[i], onsets[j] - onsets[i]
            if onsets[n - 1] - start < 2 * step:
                break
            if not _has(times, start + 2 * step) or _has(times, start - step):
                continue
            length = 2
            while _has(times, start + (length + 1) * step):
                length += 1
            if not _is_part_of_a_finer_one(times, start, step, length, n):
                for k in range(length + 1):
                    weights[places[_slot(times, start + k * step)]] += length * length
    heaviest = 1.0
    for weight in weights:
        heaviest = max(heaviest, weight)
    weights /= heaviest


@kernel
def inner_metric_weights(onsets: Numbers, offsets: Numbers) -> Array:
    """For every onset, the sum of length ** 2 over the local metres it belongs to, by the largest sum in the melody.

    A local metre is a set of equally spaced onsets, three at least, that no other contains; its length is the number
    of its steps. Where there is none, the weight is 0.
    """
    longest = 1
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    room = 16
    while room < 4 * longest:
        room *= 2
    times, places = np.empty(room, np.int64), np.empty(room, np.int64)
    weights = np.zeros(len(onsets))
    for k in range(len(offsets) - 1):
        own = slice(offsets[k], offsets[k + 1])
        size = 16
        while size < 4 * (own.stop - own.start):
            size *= 2
        _weigh(onsets[own], times[:size], places[:size], weights[own])
    return weights


# -- transposition and tempo ------------------------------------------------------------------------------------------


@kernel
def log_times(onsets: Numbers, durations: Numbers, offsets: Numbers) -> Array:
    """log2 of the ticks to the next onset; of the duration for the last note of a melody."""
    logs = np.empty(len(onsets))
    for k in range(len(offsets) - 1):
        for note in range(offsets[k], offsets[k + 1]):
            is_last = note == offsets[k + 1] - 1
            logs[note] = np.log2(float(max(durations[note], 1) if is_last else onsets[note + 1] - onsets[note]))
    return logs


@kernel
def _histogram(values: Numbers, lengths: Numbers, bins: Array, used: Numbers) -> int:
    """Each value's share of the whole length into `bins`, the values that there are into `used`; how many these are."""
    total, count = 0.0, 0
    for note in range(len(values)):
        if bins[values[note]] == 0.0:
            used[count] = values[note]
            count += 1
        length = float(max(lengths[note], 1))
        bins[values[note]] += length
        total += length
    for value in used[:count]:
        bins[value] /= total
    return count


@kernel
def best_shifts(query: Numbers, query_lengths: Numbers, values: Numbers, lengths: Numbers, offsets: Numbers) -> Numbers:
    """By how much the query's histogram of values, weighted by lengths, must be moved to share most with each other.

    Of equally good shifts the one nearest to the difference of the first notes, then the lowest. Values are below BINS.
    """
    query_bins, bins, shared = np.zeros(BINS), np.zeros(BINS), np.zeros(2 * BINS)
    asked, found = np.empty(BINS, np.int64), np.empty(BINS, np.int64)
    asked = asked[: _histogram(query, query_lengths, query_bins, asked)]
    shifts = np.zeros(len(offsets) - 1, np.int64)
    for k in range(len(offsets) - 1):
        start, end = offsets[k], offsets[k + 1]
        there = found[: _histogram(values[start:end], lengths[start:end], bins, found)]
        # Only a shift that puts some value of the query on one of the other shares anything.
        most = 0.0
        for value in asked:
            for other in there:
                place = other - value + BINS
                shared[place] += min(query_bins[value], bins[other])
                most = max(most, shared[place])
        nearest = 4 * BINS
        for value in asked:
            for other in there:
                shift = other - value
                away = abs(shift - (values[start] - query[0]))
                is_better = away < nearest or (away == nearest and shift < shifts[k])
                if is_better and shared[shift + BINS] > most - _SAME:
                    shifts[k], nearest = shift, away
        for other in there:
            bins[other] = 0.0
            for value in asked:
                shared[other - value + BINS] = 0.0
    return shifts


# -- alignment --------------------------------------------------------------------------------------------------------


@kernel
def alignment_scores(
    query: NoteColumns, documents: NoteColumns, offsets: Numbers, order: Numbers, scoring: NoteScores
) -> Array:
    """The score of every document, in the given order. Pitches and logs of the documents are moved to the query's."""
    query_pitches, query_logs, query_weights = query
    pitches, logs, weights = documents
    likeness_of_interval, rhythm, opening, extending, is_local = scoring
    m, blocks = len(query_pitches), (len(order) + _LANES - 1) // _LANES
    floor = 0.0 if is_local else -np.inf
    scores = np.empty((blocks, _LANES))
    # The best score up to here; the best that leaves out the last note of the document, and of the query.
    best, without_document, without_query = np.empty((m + 1, _LANES)), np.empty((m + 1, _LANES)), np.empty(_LANES)
    diagonal, highest, similarity = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    pitch_here, log_here, weight_here = np.zeros(_LANES, np.int64), np.zeros(_LANES), np.zeros(_LANES)
    open_here, extend_here, only_here = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    for block in range(blocks):
        members = order[block * _LANES : (block + 1) * _LANES]
        rows = 0
        for k in members:
            rows = max(rows, offsets[k + 1] - offsets[k])
        for i in range(m + 1):
            best[i, :] = max(-opening - extending * (i - 1), floor) if i else 0.0
            without_document[i, :] = _NEVER
        highest[:] = 0.0
        for row in range(rows):
            open_here[:], extend_here[:], only_here[:] = 0.0, 0.0, _NEVER
            for lane in range(len(members)):
                note = offsets[members[lane]] + row
                if note < offsets[members[lane] + 1]:
                    pitch_here[lane], log_here[lane], weight_here[lane] = pitches[note], logs[note], weights[note]
                    open_here[lane], extend_here[lane], only_here[lane] = opening, extending, 0.0
            for lane in range(_LANES):
                diagonal[lane] = best[0, lane]
                skip = max(best[0, lane] - open_here[lane], without_document[0, lane] - extend_here[lane])
                without_document[0, lane] = skip
                best[0, lane] = max(skip, floor)
                without_query[lane] = _NEVER
            for i in range(m):
                pitch, log, weight = query_pitches[i], query_logs[i], query_weights[i]
                for lane in range(_LANES):
                    likeness = likeness_of_interval[abs(pitch_here[lane] - pitch)]
                    likeness *= 1.0 - abs(weight_here[lane] - weight)
                    likeness *= 1.0 - rhythm * min(abs(log_here[lane] - log) / _UNLIKE, 1.0)
                    similarity[lane] = 2.0 * likeness - 1.0 + only_here[lane]
                for lane in range(_LANES):
                    left = best[i + 1, lane]
                    skip = max(left - open_here[lane], without_document[i + 1, lane] - extend_here[lane])
                    pause = max(best[i, lane] - opening, without_query[lane] - extending)
                    value = max(max(diagonal[lane] + similarity[lane], skip), max(pause, floor))
                    diagonal[lane] = left
                    without_document[i + 1, lane] = skip
                    without_query[lane] = pause
                    best[i + 1, lane] = value
                    highest[lane] = max(highest[lane], value)
        scores[block] = highest if is_local else best[m]
    return scores.ravel()
