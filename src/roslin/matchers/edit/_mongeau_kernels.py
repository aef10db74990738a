"""Numba kernel of `mongeau_sankoff`: edit distance with one note for several, all candidates in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["edit_distances"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@kernel
def _cost(
    query: Numbers, query_lengths: Array, pitches: Numbers, lengths: Array, shift: int,
    by_interval: Array, k: float, most: int, table: Array,
) -> float:  # fmt: skip
    """The cheapest way to turn the query, moved by `shift`, into the other melody."""
    m, n = len(query), len(pitches)
    table[0, 0] = 0.0
    for j in range(n):
        table[0, j + 1] = table[0, j] + k * lengths[j]
    for i in range(m):
        table[i + 1, 0] = table[i, 0] + k * query_lengths[i]
        for j in range(n):
            pitch, length = query[i] + shift, query_lengths[i]
            best = min(table[i, j + 1] + k * length, table[i + 1, j] + k * lengths[j])
            # One note of the query for one or several of the other melody, the last of them being j ...
            interval, total = 0.0, 0.0
            for step in range(min(most, j + 1)):
                other = lengths[j - step]
                interval += by_interval[abs(pitch - pitches[j - step])] * min(length, other)
                total += other
                best = min(best, table[i, j - step] + interval + k * abs(total - length))
            # ... and several of the query for one of the other.
            pitch, length = pitches[j], lengths[j]
            interval, total = (
                by_interval[abs(query[i] + shift - pitch)] * min(length, query_lengths[i]),
                query_lengths[i],
            )
            for step in range(1, min(most, i + 1)):
                other = query_lengths[i - step]
                interval += by_interval[abs(query[i - step] + shift - pitch)] * min(length, other)
                total += other
                best = min(best, table[i - step, j] + interval + k * abs(total - length))
            table[i + 1, j + 1] = best
    return float(table[m, n])


@kernel
def edit_distances(
    query: Numbers,
    query_lengths: Array,
    pitches: Numbers,
    lengths: Array,
    offsets: Numbers,
    shifts: Numbers,
    tries_all: bool,
    by_interval: Array,
    k: float,
    most: int,
) -> Array:
    """For every candidate, the cost with its own shift, or the least over all shifts that let the two ranges meet.

    All are divided by what it costs to delete the one melody and insert the other.
    """
    longest = 0
    for document in range(len(offsets) - 1):
        longest = max(longest, offsets[document + 1] - offsets[document])
    table = np.empty((len(query) + 1, longest + 1))
    distances = np.empty(len(offsets) - 1)
    lowest, highest = query.min(), query.max()
    for document in range(len(offsets) - 1):
        notes = slice(offsets[document], offsets[document + 1])
        first = last = shifts[document]
        if tries_all and notes.stop > notes.start:
            first, last = pitches[notes].min() - highest, pitches[notes].max() - lowest
        best = np.inf
        for shift in range(first, last + 1):
            cost = _cost(query, query_lengths, pitches[notes], lengths[notes], shift, by_interval, k, most, table)
            best = min(best, cost)
        distances[document] = best / (k * (query_lengths.sum() + lengths[notes].sum()))
    return distances
