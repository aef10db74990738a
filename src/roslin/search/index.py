"""The index of a collection: what the lower bounds of `roslin.transport` read of every melody, in few bytes.

For each melody: the set of its pitches as one word, its lowest pitch, its span and its grid (the greatest common
divisor of its onsets); for each note: onset in ticks from the first note, length and pitch. Grace notes are left out,
as everywhere in `roslin.transport`.

It lies in the collection's folder as one sealed file, mapped into memory: a line that names its version, then the
arrays. Its name carries the token of the state that it was made from, so an index of an older state is never taken for
a newer one; it is made when it is first asked for, and again when its version is not this program's or a disk has
changed it. Where the folder cannot be written to, it is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.files import index_path, whole_file
from roslin.collection.sealed import SEAL_BYTES, Remembered, seal
from roslin.collection.store import Store
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.packed import Packed

__all__ = ["INDEX_VERSION", "Index", "open_index"]

INDEX_VERSION = 3
Progress = Callable[[float, str], None]

_MELODIES_AT_ONCE = 50_000
_HIGHEST_TICK = 2**31 - 1
_UNBOUNDED = 255  # as a span, wider than any that can be tabled: its times do not fit
_HEADER_BYTES = 128
_FIRST_BYTE = SEAL_BYTES + _HEADER_BYTES


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
    def size(self) -> int:
        """Bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


# In the file in this order: the widest numbers first, so that every array starts at a multiple of its width.
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
_OF_NOTES = ("times", "weights", "pitches")


def open_index(store: Store, progress: Progress | None = None) -> Index:
    """The index of a collection as it is now, made if it is not there."""
    path = index_path(store.path, store.about["token"])
    remembered = Remembered(store.path, store.about["token"])
    found = _read(path, len(store), remembered)
    if found is not None:
        return found
    index = build_index(store.packed(), progress)
    try:
        _write(index, path)
    except OSError:
        return index  # a folder that others own: it costs a moment each time
    return _read(path, len(store), remembered) or index


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


def _header(melodies: int, notes: int) -> bytes:
    return f"Roslin index {INDEX_VERSION}: {melodies} melodies, {notes} notes\n".encode().ljust(_HEADER_BYTES)


def _layout(melodies: int, notes: int) -> Iterator[tuple[str, int, int]]:
    """(array, first byte, length) of everything in the file."""
    place = _FIRST_BYTE
    for name, dtype in _DTYPES.items():
        length = notes if name in _OF_NOTES else melodies + 1 if name == "offsets" else melodies
        yield name, place, length
        place += length * np.dtype(dtype).itemsize
    yield "", place, 0


def _write(index: Index, path: Path) -> None:
    with whole_file(path) as scratch:
        with scratch.open("wb") as file:
            file.write(bytes(SEAL_BYTES) + _header(len(index), len(index.times)))
            for name, dtype in _DTYPES.items():
                file.write(np.ascontiguousarray(getattr(index, name), dtype=dtype).data)
        seal(scratch)


def _read(path: Path, melodies: int, remembered: Remembered) -> Index | None:
    """The index in a file, or None when there is none that this program made for so many melodies, or it is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(_FIRST_BYTE)[SEAL_BYTES:]
        size = path.stat().st_size
        notes = int(head.split()[-2])
        if head != _header(melodies, notes):
            return None
        layout = list(_layout(melodies, notes))
        if size != layout[-1][1] or not remembered.is_whole(path):
            return None
        whole = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError, IndexError):
        return None
    arrays = {}
    for name, first, length in layout[:-1]:
        dtype = np.dtype(_DTYPES[name])
        arrays[name] = np.asarray(whole[first : first + length * dtype.itemsize]).view(dtype)
    index = Index(**arrays)
    return index if _is_safe(index) else None


def _is_safe(index: Index) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays, even if a disk has changed some of them."""
    return bool(
        index.offsets[0] == 0
        and index.offsets[-1] == len(index.times)
        and (index.offsets[1:] >= index.offsets[:-1]).all()
        and index.times.min(initial=0) >= 0
        and index.pitches.min(initial=0) >= 0
        and index.lows.min(initial=0) >= 0
    )
