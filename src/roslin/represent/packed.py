"""Many melodies as one table: what a batched kernel reads.

Row `offsets[k]` to `offsets[k + 1]` of `notes` is melody k; `bar_offsets` does the same for `barlines` (in ticks). A
collection hands out its memory-mapped arrays in this form without copying. A list of melodies is laid end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from roslin.melody import NOTE_DTYPE, Melody, NoteTable
from roslin.types import Numbers

Made = TypeVar("Made")

_WORTH_STORING = 16  # melodies of a list that is stored for the next query


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Note tables end to end, and where each starts."""

    notes: NoteTable
    offsets: Numbers
    barlines: Numbers
    bar_offsets: Numbers
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, start: int, stop: int) -> Packed:
        notes = _between(self.notes, self.offsets, start, stop)
        return Packed(*notes, *_between(self.barlines, self.bar_offsets, start, stop))

    def take(self, numbers: Numbers) -> Packed:
        return Packed(*_taken(self.notes, self.offsets, numbers), *_taken(self.barlines, self.bar_offsets, numbers))

    def melodies(self) -> list[Melody]:
        """The melodies one by one, without any metadata."""
        return [self.melody(number) for number in range(len(self))]

    def melody(self, number: int) -> Melody:
        return Melody(
            _locked(self.notes[self.offsets[number] : self.offsets[number + 1]]),
            barlines_ticks=_locked(self.barlines[self.bar_offsets[number] : self.bar_offsets[number + 1]]),
        )

    def keep(self, name: Hashable, make: Callable[[Packed], Made]) -> Made:
        """What `make` makes of these melodies, such as an index: made when it is first asked for under this name.

        Two threads that ask at the same moment both make it. One of the two, which are equal, stays.
        """
        if name not in self._kept:
            self._kept[name] = make(self)
        made: Made = self._kept[name]
        return made


def _locked(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = rows.view()
    view.flags.writeable = False
    return view


def _between(values: npt.NDArray[Any], offsets: Numbers, start: int, stop: int) -> tuple[npt.NDArray[Any], Numbers]:
    rows = offsets[start : stop + 1]
    return values[rows[0] : rows[-1]], rows - rows[0]


def _taken(values: npt.NDArray[Any], offsets: Numbers, numbers: Numbers) -> tuple[npt.NDArray[Any], Numbers]:
    starts, lengths = offsets[numbers], offsets[numbers + 1] - offsets[numbers]
    taken = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.repeat(starts - taken[:-1], lengths) + np.arange(taken[-1])
    return values[rows], taken


def pieces(lengths: Numbers, most: int, most_notes: int) -> list[slice]:
    """Melodies of these lengths in pieces of at most `most` melodies and, but for single ones, `most_notes` notes.

    >>> pieces(np.array([3, 3, 9, 1, 1, 1]), most=2, most_notes=6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None), slice(5, 6, None)]
    """
    notes = np.concatenate([[0], np.cumsum(lengths)])
    found, start = list[slice](), 0
    while start < len(lengths):
        end = int(np.searchsorted(notes, notes[start] + most_notes, side="right")) - 1
        found.append(slice(start, min(start + most, max(end, start + 1), len(lengths))))
        start = found[-1].stop
    return found


@runtime_checkable
class SupportsPacked(Protocol):
    """Anything that can hand out its melodies packed, such as a collection."""

    def packed(self) -> Packed:
        """All melodies, in order."""


@runtime_checkable
class SupportsMelodies(Protocol):
    """Anything that can hand out single melodies by their number, such as a collection."""

    def melodies(self, numbers: Sequence[int]) -> Iterator[Melody]:
        """The melodies with these numbers, in that order."""


Candidates = Iterable[Melody] | SupportsPacked | Packed


def pack(candidates: Candidates) -> Packed:
    """Candidates in packed form."""
    if isinstance(candidates, Packed):
        return candidates
    if isinstance(candidates, SupportsPacked):
        return candidates.packed()
    melodies = tuple(candidates)
    if len(melodies) < _WORTH_STORING:
        return _end_to_end(melodies)
    [(known, packed)] = _LAST  # read at once: another thread may replace it
    if melodies != known:  # melodies are immutable, and the same object is equal at once
        packed = _end_to_end(melodies)
        _LAST[:] = [(melodies, packed)]
    return packed


def _end_to_end(melodies: Sequence[Melody]) -> Packed:
    return Packed(
        *_joined([melody.notes for melody in melodies], NOTE_DTYPE),
        *_joined([melody.barlines_ticks for melody in melodies], np.dtype(np.int64)),
    )


def melody_of(candidates: Sequence[Melody] | SupportsPacked | Packed, number: int) -> Melody:
    """One of the candidates, with all that is known about it."""
    if isinstance(candidates, Packed):
        return candidates.melody(number)
    if isinstance(candidates, SupportsMelodies):
        return next(candidates.melodies([number]))
    return candidates.packed().melody(number) if isinstance(candidates, SupportsPacked) else candidates[number]


def _joined(tables: list[npt.NDArray[Any]], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Numbers]:
    values = np.concatenate(tables) if tables else np.empty(0, dtype=dtype)
    return values, np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)


# The last list of melodies in packed form, so that comparing many queries with one list prepares it once.
_LAST: list[tuple[tuple[Melody, ...], Packed]] = [((), _end_to_end(()))]
