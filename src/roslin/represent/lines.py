"""Many melodies reduced to one line each, as plain columns: what the kernels of single-line matchers read.

The rule is that of line.py: no grace notes, the highest of the notes that start together. Line k is rows `offsets[k]`
to `offsets[k + 1]` of every column, in order of onset, all onsets of a line different. Bar lines are as in packed.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.represent.packed import Candidates, pack

__all__ = ["Lines", "melodic_lines"]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines end to end; time in ticks, pitch as MIDI and as base-40 numbers."""

    onset_ticks: npt.NDArray[np.int64]
    duration_ticks: npt.NDArray[np.int64]
    pitch_midi: npt.NDArray[np.int16]
    pitch_base40: npt.NDArray[np.int16]
    offsets: npt.NDArray[np.int64]
    barlines: npt.NDArray[np.int64]
    bar_offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def melodic_lines(candidates: Candidates) -> Lines:
    """The lines of many melodies.

    >>> from roslin.melody import Melody
    >>> chord, note = Melody.from_notes([0, 0, 1], [1, 1, 1], [60, 64, 62]), Melody.from_notes([0], [1], [70])
    >>> lines = melodic_lines([chord, note])
    >>> lines.pitch_midi.tolist(), lines.offsets.tolist()
    ([64, 62, 70], [0, 2, 3])
    """
    from roslin.represent._line_kernels import top_lines  # Numba loads only when something is searched

    packed = pack(candidates)
    notes = packed.notes
    columns = top_lines(
        notes["onset_ticks"],
        notes["duration_ticks"],
        notes["pitch_midi"],
        notes["pitch_base40"],
        notes["is_grace"],
        packed.offsets,
    )
    return Lines(*columns, packed.barlines, packed.bar_offsets)
