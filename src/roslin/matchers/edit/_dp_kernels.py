"""Numba kernel of `dp`: note tables in, distances out, one pass over all candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.represent._kernels import next_top

__all__ = ["interval_edit_distances"]


@kernel
def interval_edit_distances(
    query: npt.NDArray[np.int64],
    onset_ticks: npt.NDArray[np.int64],
    pitch_midi: npt.NDArray[np.int16],
    is_grace: npt.NDArray[np.bool_],
    offsets: npt.NDArray[np.int64],
    inside: bool,
) -> npt.NDArray[np.float64]:
    """Normalised D of `dp` from the pitches of the query's line to every candidate.

    A candidate is reduced to its line on the way: making all lines first takes as long again.
    """
    m, count = len(query), len(offsets) - 1
    distances = np.empty(count)
    column = np.empty(m + 1, np.int64)
    for k in range(count):
        for i in range(m + 1):
            column[i] = i
        best, n, previous = column[m], 0, np.int64(0)
        row, end = offsets[k], offsets[k + 1]
        while row < end:
            top, row = next_top(row, end, onset_ticks, pitch_midi, is_grace)
            if top < 0:
                break
            pitch = np.int64(pitch_midi[top])
            n += 1
            diagonal = column[0]
            column[0] = 0 if inside else n
            for i in range(1, m + 1):
                free = i == 1 or n == 1 or query[i - 1] - query[i - 2] == pitch - previous
                value = diagonal if free else diagonal + 1
                diagonal = column[i]
                value = min(value, diagonal + 1, column[i - 1] + 1)
                column[i] = value
            best = min(best, column[m])
            previous = pitch
        distances[k] = best / m if inside else column[m] / max(m, n)
    return distances
