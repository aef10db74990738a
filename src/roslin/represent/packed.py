"""Many melodies as one table: what a batched kernel reads.

Row `offsets[k]` to `offsets[k + 1]` of `notes` is melody k. A collection hands out its memory-mapped arrays in this
form without copying; a list of melodies is laid end to end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from roslin.melody import NOTE_DTYPE, Melody, NoteTable

__all__ = ["Candidates", "Packed", "SupportsPacked", "pack"]


@dataclass(frozen=True, slots=True)
class Packed:
    """Note tables end to end, and where each starts."""

    notes: NoteTable
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, numbers: npt.NDArray[np.int64]) -> Packed:
        """Only these melodies, in this order, copied together."""
        starts, lengths = self.offsets[numbers], self.offsets[numbers + 1] - self.offsets[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Packed(self.notes[rows], offsets)


@runtime_checkable
class SupportsPacked(Protocol):
    """Anything that can hand out its melodies packed, such as a collection."""

    def packed(self) -> Packed:
        """All melodies, in order."""


Candidates = Iterable[Melody] | SupportsPacked | Packed


def pack(candidates: Candidates) -> Packed:
    """Candidates in packed form."""
    if isinstance(candidates, Packed):
        return candidates
    if isinstance(candidates, SupportsPacked):
        return candidates.packed()
    tables = [melody.notes for melody in candidates]
    notes = np.concatenate(tables) if tables else np.empty(0, dtype=NOTE_DTYPE)
    return Packed(notes, np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64))
