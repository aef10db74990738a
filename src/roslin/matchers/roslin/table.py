"""The table of many melodies: what the measure reads of each, about 110 bytes.

For each note five bytes, in blocks of 64 melodies of much the same length (`_blocks`); for each melody its place in
them, its number of notes and what it is worth beside itself. That of a collection lies in its folder
(`search.roslin_table`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import Encoded, Tables
from roslin.matchers.roslin._blocks import FIELDS, MELODIES, Blocks
from roslin.matchers.roslin.notes import encoded
from roslin.represent.packed import Packed

__all__ = ["MelodyTable", "build_table", "table_of"]

Progress = Callable[[float, str], None]
Numbers = npt.NDArray[np.int64]

_MELODIES_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class MelodyTable:
    """One entry for each melody in `places`, `sizes` and `own_scores`; the rest as in `_blocks.Blocks`."""

    starts: Numbers
    places: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]  # which melody is at each place
    sizes: npt.NDArray[np.int32]
    own_scores: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    tempos: npt.NDArray[np.int8]
    notes: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def blocks(self) -> Blocks:
        """For the kernels."""
        return Blocks(self.notes, self.starts, self.lengths, self.tempos)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def take(self, numbers: Numbers) -> Encoded:
        """The notes of these melodies, in this order."""
        from roslin.matchers.roslin._layout import take_melodies

        sizes = self.sizes[numbers].astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = self.places[numbers].astype(np.int64)
        columns = [np.empty(offsets[-1], np.int8) for _ in range(FIELDS)]
        take_melodies(self.blocks, places, offsets, *columns)
        pitches, values, kinds, labels, intervals = columns
        return Encoded(offsets, self.tempos[places], pitches, values, intervals, kinds, kinds % 3, labels)


def build_table(packed: Packed, tables: Tables, progress: Progress | None = None) -> MelodyTable:
    """The table of many melodies, encoded a part at a time."""
    parts = []
    for start in range(0, max(len(packed), 1), _MELODIES_AT_ONCE):
        stop = min(start + _MELODIES_AT_ONCE, len(packed))
        parts.append(encoded(packed.part(start, stop)))
        if progress:
            progress(stop / max(len(packed), 1), "making the table of notes")
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = [np.concatenate(each) for each in zip(*(part[1:] for part in parts), strict=True)]
    return table_of(Encoded(offsets, *columns), tables)


def table_of(melodies: Encoded, tables: Tables) -> MelodyTable:
    """The table of encoded melodies."""
    from roslin.matchers.roslin._alignment import self_scores
    from roslin.matchers.roslin._layout import fill_blocks

    sizes = np.diff(melodies.offsets)
    count = len(sizes)
    order = np.argsort(sizes, kind="stable")
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    blocks = -(-count // MELODIES)
    lengths, tempos = np.zeros(blocks * MELODIES, np.int64), np.zeros(blocks * MELODIES, np.int8)
    lengths[:count], tempos[:count] = sizes[order], melodies.tempos[order]
    lengths[count:] = lengths[count - 1] if count else 0
    columns = lengths[MELODIES - 1 :: MELODIES]
    starts = np.concatenate([[0], np.cumsum((FIELDS * columns + 1) * MELODIES)]).astype(np.int64)
    notes = np.empty(starts[-1], np.int8)
    fill_blocks(melodies, order, lengths, starts, notes)
    own = np.empty(count, np.int32)
    self_scores(melodies, tables, own)
    return MelodyTable(
        starts,
        places.astype(np.int32),
        order.astype(np.int32),
        sizes.astype(np.int32),
        own,
        lengths.astype(np.int32),
        tempos,
        notes,
    )
