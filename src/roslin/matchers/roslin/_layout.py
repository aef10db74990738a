"""Writing notes into blocks of melodies side by side, reading them back, and what a melody is worth beside itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import Encoded
from roslin.matchers.roslin._blocks import MELODIES, NO_NOTE, NO_PITCH, Blocks

__all__ = ["put_melodies", "take_melodies"]

Bytes = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@kernel
def put_melodies(melodies: Encoded, places: Numbers, lengths: Longs, starts: Numbers, notes: Bytes) -> None:
    """Write melodies at these places; `lengths` are those of all places, `starts` where the blocks begin."""
    offsets = melodies.offsets
    pitches, values, kinds, labels = melodies.pitches, melodies.values, melodies.kinds, melodies.labels
    intervals = melodies.intervals
    for number in range(len(places)):
        block, lane = places[number] // MELODIES, places[number] % MELODIES
        columns = np.int64(lengths[block * MELODIES + MELODIES - 1])
        field, at = columns * MELODIES, starts[block] + lane
        for k in range(offsets[number], offsets[number + 1]):
            notes[at] = pitches[k]
            notes[at + field] = values[k]
            notes[at + 2 * field] = kinds[k]
            notes[at + 3 * field] = labels[k]
            notes[at + 4 * field] = intervals[k]
            at += MELODIES
        for _ in range(offsets[number + 1] - offsets[number], columns):
            notes[at] = NO_PITCH
            notes[at + field] = 0
            notes[at + 2 * field] = 0
            notes[at + 3 * field] = 0
            notes[at + 4 * field] = NO_NOTE
            at += MELODIES
        notes[at + 4 * field] = NO_NOTE  # intervals have one column more


@kernel
def take_melodies(
    blocks: Blocks,
    places: Numbers,
    offsets: Numbers,
    pitches: Bytes,
    values: Bytes,
    kinds: Bytes,
    labels: Bytes,
    intervals: Bytes,
) -> None:
    """Read the melodies at these places; `offsets` says where each is to lie."""
    notes, lengths, starts = blocks.notes, blocks.lengths, blocks.starts
    for k in range(len(places)):
        block = places[k] // MELODIES
        field = np.int64(lengths[block * MELODIES + MELODIES - 1]) * MELODIES
        at = starts[block] + places[k] % MELODIES
        for place in range(offsets[k], offsets[k + 1]):
            pitches[place] = notes[at]
            values[place] = notes[at + field]
            kinds[place] = notes[at + 2 * field]
            labels[place] = notes[at + 3 * field]
            intervals[place] = notes[at + 4 * field]
            at += MELODIES
