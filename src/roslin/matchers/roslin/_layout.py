"""Writing notes into blocks of melodies side by side, reading them back, and what a melody is worth beside itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import Encoded
from roslin.matchers.roslin._blocks import FIELDS, MELODIES, NO_NOTE, NO_PITCH, Blocks

__all__ = ["fill_blocks", "take_melodies"]

Bytes = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@kernel
def fill_blocks(melodies: Encoded, order: Numbers, lengths: Numbers, starts: Numbers, notes: Bytes) -> None:
    """Write all melodies in this order; `lengths` are those of the places, `starts` where the blocks begin."""
    offsets = melodies.offsets
    pitches, values, kinds, labels = melodies.pitches, melodies.values, melodies.kinds, melodies.labels
    intervals = melodies.intervals
    for block in range(len(starts) - 1):
        columns, base = lengths[block * MELODIES + MELODIES - 1], starts[block]
        field = columns * MELODIES
        for at in range(field):
            notes[base + at] = NO_PITCH
        for at in range(field, 4 * field):
            notes[base + at] = 0
        for at in range(4 * field, FIELDS * field + MELODIES):
            notes[base + at] = NO_NOTE
        for lane in range(MELODIES):
            place = block * MELODIES + lane
            if place >= len(order):
                continue
            first, last = offsets[order[place]], offsets[order[place] + 1]
            for k in range(first, last):
                at = base + (k - first) * MELODIES + lane
                notes[at] = pitches[k]
                notes[at + field] = values[k]
                notes[at + 2 * field] = kinds[k]
                notes[at + 3 * field] = labels[k]
                notes[at + 4 * field] = intervals[k]


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
