"""Into one key, and into one tempo: by how much a melody must be moved to share most with another.

Reference: P. van Kranenburg (2010) for pitch: each melody has a histogram of its pitches, weighted by duration, in
shares of the whole; the query is moved by the interval under which the two histograms have most in common. Tempo is
our use of the same idea: the histogram of the lengths of notes, on a logarithmic axis, is moved instead.

Of equally good shifts the one nearest to the difference of the first notes is taken, then the lowest: our choice, under
which the shift of a melody that is moved itself moves along with it.
"""

from __future__ import annotations

import numpy as np

from roslin.native import kernels
from roslin.types import Floats, Numbers

_TIME_STEPS = 12  # of a doubling: fine enough to tell the values of notes apart


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
    shifts: Floats = steps / _TIME_STEPS
    return shifts
