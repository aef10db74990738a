"""The index of a collection: what the lower bounds of `roslin.transport` read of every melody, in few bytes.

For each melody: the set of its pitches as one word, its lowest pitch, its span and its grid (the greatest common
divisor of its onsets); for each note: onset in ticks from the first note, length and pitch. Grace notes are left out,
as everywhere in `roslin.transport`.

It lies in the collection's folder as one file of arrays. Its name carries the token of the state that it was made from,
so an index of an older state is never taken for a newer one; it is made when it is first asked for, and again when its
version is not this program's or a disk has changed it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.arrays import ArrayFile, Arrays, Room, derived
from roslin.collection.files import index_path
from roslin.collection.sealed import Remembered
from roslin.collection.store import Store
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.packed import Packed
from roslin.types import Progress

INDEX_VERSION = 4

_MELODIES_AT_ONCE = 50_000
_HIGHEST_TICK = 2**31 - 1
_UNBOUNDED = 255  # as a span, wider than any that can be tabled: its times do not fit


@dataclass(frozen=True, slots=True)
class Index:
    """One entry for each melody; `offsets` says where its notes are in `times`, `weights` and `pitches`."""

    words: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    grids: npt.NDArray[np.int32]
    times: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    lows: npt.NDArray[np.int8]
    spans: npt.NDArray[np.uint8]
    pitches: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def arrays(self) -> Arrays:
        """The arrays by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(array.nbytes for array in self.arrays.values())


_DTYPES = {
    "words": np.uint64,
    "offsets": np.int64,
    "grids": np.int32,
    "times": np.int32,
    "weights": np.float32,
    "lows": np.int8,
    "spans": np.uint8,
    "pitches": np.int8,
}


def open_index(store: Store, progress: Progress | None = None) -> Index:
    """The index of a collection as it is now, made if it is not there."""
    token = store.about["token"]
    file = ArrayFile(index_path(store.path, token), f"index {INDEX_VERSION}", _DTYPES)

    def fill(room: Room) -> Arrays:
        made = build_index(store.packed(), progress).arrays
        arrays = room({name: len(array) for name, array in made.items()})
        for name, array in made.items():
            arrays[name][:] = array
        return arrays

    def trusted(arrays: Arrays) -> Index | None:
        index = Index(**arrays)
        return index if len(index) == len(store) and _is_safe(index) else None

    return derived(file, Remembered(store.path, token), trusted, fill)


def build_index(packed: Packed, progress: Progress | None = None) -> Index:
    """The index of many melodies, a part at a time."""
    parts = []
    for start in range(0, len(packed), _MELODIES_AT_ONCE):
        stop = min(start + _MELODIES_AT_ONCE, len(packed))
        parts.append(_entries(packed.part(start, stop)))
        if progress:
            progress(stop / len(packed), "making the index")
    if not parts:
        parts = [_entries(packed)]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _DTYPES if name != "offsets"}
    return Index(offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), **joined)


def _entries(packed: Packed) -> Index:
    rows = np.flatnonzero(~packed.notes["is_grace"])
    offsets = np.searchsorted(rows, packed.offsets).astype(np.int64)
    lengths = np.diff(offsets)
    notes = packed.notes[rows]
    pitch = notes["pitch_midi"].astype(np.int64)
    has_notes = np.flatnonzero(lengths)
    firsts = offsets[has_notes]
    melody = np.repeat(np.arange(len(lengths)), lengths)

    def reduced(function: np.ufunc, values: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = np.zeros(len(lengths), dtype=dtype)
        if len(firsts):
            whole[has_notes] = function.reduceat(values, firsts)
        return whole

    ticks = notes["onset_ticks"] - np.repeat(reduced(np.minimum, notes["onset_ticks"], np.int64), lengths)
    lows = reduced(np.minimum, pitch, np.int64)
    spans = reduced(np.maximum, pitch, np.int64) - lows
    spans[reduced(np.maximum, ticks, np.int64) > _HIGHEST_TICK] = _UNBOUNDED
    above = pitch - lows[melody]
    bits = np.where(above < 64, np.left_shift(np.uint64(1), np.minimum(above, 63).astype(np.uint64)), np.uint64(0))
    return Index(
        reduced(np.bitwise_or, bits, np.uint64),
        offsets,
        np.minimum(reduced(np.gcd, ticks, np.int64), _HIGHEST_TICK).astype(np.int32),
        np.minimum(ticks, _HIGHEST_TICK).astype(np.int32),
        (notes["duration_ticks"] / TICKS_PER_QUARTER).astype(np.float32),
        lows.astype(np.int8),
        spans.astype(np.uint8),
        pitch.astype(np.int8),
    )


def _is_safe(index: Index) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays, even if a disk has changed some of them."""
    return bool(
        len(index.offsets) == len(index) + 1
        and len({len(each) for each in (index.words, index.grids, index.lows, index.spans)}) == 1
        and len({len(each) for each in (index.times, index.weights, index.pitches)}) == 1
        and index.offsets[0] == 0
        and index.offsets[-1] == len(index.times)
        and (index.offsets[1:] >= index.offsets[:-1]).all()
        and index.times.min(initial=0) >= 0
        and index.pitches.min(initial=0) >= 0
        and index.lows.min(initial=0) >= 0
    )
