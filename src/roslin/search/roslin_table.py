"""The table of a collection: what the measure reads of every melody, about 110 bytes each.

For each note five bytes, in blocks of 64 melodies of much the same length (`_blocks`); for each melody its place in
them, its number of notes and what it is worth beside itself. For the collection: how fast chance matches become rare
(`tails`, for a search by melody and rhythm and for one by melody alone).

It lies in the collection's folder as one file, mapped into memory and shared by all processes: a line that names its
version and the fitted numbers that it was made with, then the arrays. Its name carries the token of the state that it
was made from, so a table of an older state is never taken for a newer one; it is made when it is first asked for, and
again when its first line is not what this program would write. Where the folder cannot be written to, it is kept in
memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.files import scratch_path, sync, table_path
from roslin.collection.store import Store
from roslin.matchers.roslin._alignment import Encoded
from roslin.matchers.roslin._blocks import FIELDS, MELODIES, Blocks
from roslin.matchers.roslin.notes import encoded
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import fitted, tables
from roslin.represent.packed import Packed
from roslin.search.chance import Tail, calibrated

__all__ = ["CALIBRATED", "TABLE_VERSION", "Table", "build_table", "open_table", "table_of"]

TABLE_VERSION = 1
CALIBRATED = ("both", "melody")  # ways to compare whose tails are kept
Progress = Callable[[float, str], None]
Numbers = npt.NDArray[np.int64]

_MELODIES_AT_ONCE = 50_000
_HEADER_BYTES = 128


@dataclass(frozen=True, slots=True)
class Table:
    """One entry for each melody in `places`, `sizes` and `own_scores`; the rest as in `_blocks.Blocks`."""

    starts: Numbers
    places: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]  # which melody is at each place
    sizes: npt.NDArray[np.int32]
    own_scores: npt.NDArray[np.int32]
    tails: npt.NDArray[np.float64]  # [2, 3]: the fields of `chance.Tail`, for each of CALIBRATED
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

    def tail(self, compared: str) -> Tail | None:
        """How fast chance matches become rare, for one way to compare; None where that is not known."""
        return Tail(*self.tails[CALIBRATED.index(compared)].tolist()) if compared in CALIBRATED else None

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


# In the file in this order: the widest numbers first, so that every array starts at a multiple of its width.
_DTYPES = {
    "starts": np.int64,
    "tails": np.float64,
    "places": np.int32,
    "order": np.int32,
    "sizes": np.int32,
    "own_scores": np.int32,
    "lengths": np.int32,
    "tempos": np.int8,
    "notes": np.int8,
}


def open_table(store: Store, progress: Progress | None = None) -> Table:
    """The table of a collection as it is now, made if it is not there."""
    path, numbers = table_path(store.path, store.about["token"]), _stamp()
    found = _read(path, len(store), numbers)
    if found is not None:
        return found
    table = build_table(store.packed(), progress)
    try:
        _write(table, path, numbers)
    except OSError:
        return table  # a folder that others own: it costs a moment each time
    return _read(path, len(store), numbers) or table


def build_table(packed: Packed, progress: Progress | None = None) -> Table:
    """The table of many melodies, encoded a part at a time."""
    parts = []
    for start in range(0, max(len(packed), 1), _MELODIES_AT_ONCE):
        stop = min(start + _MELODIES_AT_ONCE, len(packed))
        parts.append(encoded(packed.part(start, stop)))
        if progress:
            progress(0.5 * stop / max(len(packed), 1), "making the table of notes")
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = [np.concatenate(each) for each in zip(*(part[1:] for part in parts), strict=True)]
    tails = []
    for done, compared in enumerate(CALIBRATED, start=1):
        tails.append(astuple(calibrated(packed, Roslin(compare=compared))))
        if progress:
            progress(0.5 + 0.5 * done / len(CALIBRATED), "counting chance matches")
    return table_of(Encoded(offsets, *columns), np.array(tails))


def table_of(melodies: Encoded, tails: npt.NDArray[np.float64]) -> Table:
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
    self_scores(melodies, tables(fitted("both"), 1), own)
    return Table(
        starts,
        places.astype(np.int32),
        order.astype(np.int32),
        sizes.astype(np.int32),
        own,
        tails,
        lengths.astype(np.int32),
        tempos,
        notes,
    )


def _stamp() -> str:
    """A name for the fitted numbers that a table is made with."""
    return hashlib.blake2b(repr([fitted(compared) for compared in CALIBRATED]).encode(), digest_size=8).hexdigest()


def _header(melodies: int, notes: int, numbers: str) -> bytes:
    text = f"Roslin table {TABLE_VERSION}, fitted numbers {numbers}: {melodies} melodies, {notes} bytes\n"
    return text.encode().ljust(_HEADER_BYTES)


def _layout(melodies: int, notes: int) -> Iterator[tuple[str, int, int]]:
    """(array, first byte, length) of everything in the file."""
    blocks = -(-melodies // MELODIES)
    lengths = {"starts": blocks + 1, "tails": len(CALIBRATED) * 3, "notes": notes}
    lengths |= {"lengths": blocks * MELODIES, "tempos": blocks * MELODIES}
    place = _HEADER_BYTES
    for name, dtype in _DTYPES.items():
        length = lengths.get(name, melodies)
        yield name, place, length
        place += length * np.dtype(dtype).itemsize
    yield "", place, 0


def _write(table: Table, path: Path, numbers: str) -> None:
    prepared = scratch_path(path.parent)
    try:
        with prepared.open("wb") as file:
            file.write(_header(len(table), len(table.notes), numbers))
            for name, dtype in _DTYPES.items():
                file.write(np.ascontiguousarray(getattr(table, name), dtype=dtype).data)
        sync(prepared)
        prepared.replace(path)
    finally:
        prepared.unlink(missing_ok=True)


def _read(path: Path, melodies: int, numbers: str) -> Table | None:
    """The table in a file, or None when there is none that this program made for so many melodies."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        notes = int(head.split()[-2])
        if head != _header(melodies, notes, numbers):
            return None
        layout = list(_layout(melodies, notes))
        if path.stat().st_size != layout[-1][1]:
            return None
        whole = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError, IndexError):
        return None
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, first, length in layout[:-1]:
        dtype = np.dtype(_DTYPES[name])
        arrays[name] = np.asarray(whole[first : first + length * dtype.itemsize]).view(dtype)
    arrays["tails"] = arrays["tails"].reshape(len(CALIBRATED), 3)
    table = Table(**arrays)
    return table if _is_safe(table) else None


def _is_safe(table: Table) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays, even if a disk has changed some of them."""
    lengths, count = table.lengths.astype(np.int64), len(table)
    expected = np.cumsum((FIELDS * lengths[MELODIES - 1 :: MELODIES] + 1) * MELODIES)
    return bool(
        lengths.min(initial=0) >= 0
        and (lengths[1:] >= lengths[:-1]).all()
        and table.starts[0] == 0
        and np.array_equal(table.starts[1:], expected)
        and table.starts[-1] == len(table.notes)
        and table.order.min(initial=0) >= 0
        and table.order.max(initial=0) < max(count, 1)
        and np.array_equal(table.places[table.order], np.arange(count))
        and np.array_equal(table.sizes[table.order], lengths[:count])
    )
