"""Compiled loop of lines.py."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

__all__ = ["top_lines"]

Numbers = npt.NDArray[np.int64]
Pitches = npt.NDArray[np.int16]


@nb.njit(cache=True, nogil=True)
def top_lines(
    onset_ticks: Numbers,
    duration_ticks: Numbers,
    pitch_midi: Pitches,
    pitch_base40: Pitches,
    is_grace: npt.NDArray[np.bool_],
    offsets: Numbers,
) -> tuple[Numbers, Numbers, Pitches, Pitches, Numbers]:
    """The columns of `Lines`. Notes come in order of onset."""
    onsets, durations = np.empty(len(onset_ticks), np.int64), np.empty(len(onset_ticks), np.int64)
    midi, base40 = np.empty(len(onset_ticks), np.int16), np.empty(len(onset_ticks), np.int16)
    starts = np.zeros(len(offsets), np.int64)
    count = 0
    for k in range(len(offsets) - 1):
        first = count
        for row in range(offsets[k], offsets[k + 1]):
            if is_grace[row]:
                continue
            place = count
            if count > first and onsets[count - 1] == onset_ticks[row]:
                if pitch_midi[row] <= midi[count - 1]:
                    continue
                place = count - 1
            onsets[place], durations[place] = onset_ticks[row], duration_ticks[row]
            midi[place], base40[place] = pitch_midi[row], pitch_base40[row]
            count = place + 1
        starts[k + 1] = count
    return onsets[:count], durations[:count], midi[:count], base40[:count], starts
