"""Numba kernels of the matchers: arrays in, arrays out, one pass over all candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

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
    """Normalised D of `dp` for every candidate. The candidate is reduced to its top line on the way."""
    m, count = len(query), len(offsets) - 1
    distances = np.empty(count)
    column = np.empty(m + 1, np.int64)
    for k in range(count):
        for i in range(m + 1):
            column[i] = i
        best = column[m]
        n = 0
        previous = np.int64(0)
        row = offsets[k]
        end = offsets[k + 1]
        while row < end:
            if is_grace[row]:
                row += 1
                continue
            onset = onset_ticks[row]
            pitch = np.int64(pitch_midi[row])
            row += 1
            while row < end and onset_ticks[row] == onset and not is_grace[row]:
                pitch = max(pitch, np.int64(pitch_midi[row]))
                row += 1
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
