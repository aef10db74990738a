"""Numba kernel of the implication-realization parser. Labels are places in `implication.LABELS`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["parse"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_P, _D, _ID, _IP, _VP, _R, _IR, _VR, _DYAD, _MONAD = 0, 2, 3, 5, 7, 9, 11, 13, 15, 16
_RETROSPECTIVE = 1
_SIMILAR_SAME_DIRECTION, _SIMILAR_OTHER_DIRECTION = 3, 2


@kernel
def parse(
    onset: Numbers,
    stop: Numbers,
    pitch: Numbers,
    stress: Array,
    has_bars: npt.NDArray[np.bool_],
    offsets: Numbers,
    small: int,
    rest: float,
    longer: float,
    accent: float,
) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """(label, size, direction, overlap, offsets) of the structures of all lines."""
    # A structure for each note is more than any line has.
    label, size = np.empty(len(onset), np.int64), np.empty(len(onset), np.int64)
    direction, overlap = np.empty(len(onset), np.int64), np.empty(len(onset), np.int64)
    bounds = np.zeros(len(offsets), np.int64)
    count = 0
    for k in range(len(offsets) - 1):
        first, last = offsets[k], offsets[k + 1] - 1
        while first <= last:
            # From the first note to the one that closes, or to the last of the line.
            end, cues = first, 0
            while end < last and cues == 0:
                end += 1
                if end < last:
                    cues = _cues(end, onset, stop, stress, has_bars[k], rest, longer, accent)
            if end - first < 2:
                label[count] = _DYAD if end > first else _MONAD
                size[count], direction[count] = end - first + 1, np.sign(pitch[end] - pitch[first])
                count += 1
            for note in range(first, end - 1):
                found = _label(pitch[note + 1] - pitch[note], pitch[note + 2] - pitch[note + 1], small)
                is_chain = note > first and found == label[count - 1] and found <= _D
                if is_chain:
                    size[count - 1] += 1
                else:
                    if note > first:
                        overlap[count - 1] = 2
                    label[count], size[count] = found, 3
                    count += 1
                direction[count - 1] = np.sign(pitch[note + 2] - pitch[note + 3 - size[count - 1]])
            overlap[count - 1] = 1 if cues == 1 else 0
            if end == last:
                break
            first = end if cues == 1 else end + 1
        bounds[k + 1] = count
    return label[:count].copy(), size[:count].copy(), direction[:count].copy(), overlap[:count].copy(), bounds


@kernel
def _label(x: int, y: int, small: int) -> int:
    """The label of two intervals that follow each other."""
    size, next_size = abs(x), abs(y)
    is_small = size <= small
    if np.sign(x) == np.sign(y):
        if x == 0:
            return _D
        if abs(size - next_size) <= _SIMILAR_SAME_DIRECTION:
            return _P if is_small else _P + _RETROSPECTIVE
        if next_size > size:
            return _VP if is_small else _VP + _RETROSPECTIVE
        return _IR + _RETROSPECTIVE if is_small else _IR
    if size == next_size:
        return _ID if is_small else _ID + _RETROSPECTIVE
    if abs(size - next_size) <= _SIMILAR_OTHER_DIRECTION:
        return _IP if is_small else _IP + _RETROSPECTIVE
    if next_size < size:
        return _R + _RETROSPECTIVE if is_small else _R
    return _VR + _RETROSPECTIVE if is_small else _VR


@kernel
def _cues(
    note: int, onset: Numbers, stop: Numbers, stress: Array, has_bars: bool, rest: float, longer: float, accent: float
) -> int:
    """How many cues for closure a note has that is neither the first nor the last of its line."""
    cues = 0
    if onset[note + 1] - stop[note] >= rest * (onset[note + 1] - onset[note]):
        cues += 1
    if stop[note] - onset[note] >= longer * (stop[note - 1] - onset[note - 1]):
        cues += 1
    is_stronger = stress[note] > stress[note - 1] and stress[note] > stress[note + 1]
    if has_bars and is_stronger and stress[note] >= accent:
        cues += 1
    return cues
