"""Numba kernel of `dp`: lines in (represent/line.py), distances out, one pass over all candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["interval_edit_distances"]


@kernel
def interval_edit_distances(
    query: npt.NDArray[np.int16], pitch: npt.NDArray[np.int16], offsets: npt.NDArray[np.int64], inside: bool
) -> npt.NDArray[np.float64]:
    """Normalised D of `dp` from the pitches of the query to those of every candidate."""
    m, count = len(query), len(offsets) - 1
    distances = np.empty(count)
    column = np.empty(m + 1, np.int64)
    for k in range(count):
        notes = pitch[offsets[k] : offsets[k + 1]]
        n = len(notes)
        for i in range(m + 1):
            column[i] = i
        best = column[m]
        for j in range(1, n + 1):
            diagonal = column[0]
            column[0] = 0 if inside else j
            for i in range(1, m + 1):
                free = i == 1 or j == 1 or query[i - 1] - query[i - 2] == notes[j - 1] - notes[j - 2]
                value = diagonal if free else diagonal + 1
                diagonal = column[i]
                value = min(value, diagonal + 1, column[i - 1] + 1)
                column[i] = value
            best = min(best, column[m])
        distances[k] = best / m if inside else column[m] / max(m, n)
    return distances
