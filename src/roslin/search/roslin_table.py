"""The table of the measure `roslin` for a collection, in its folder.

It is one file, mapped into memory and shared by all processes: a line that names its version and the fitted numbers
that it was made with, then the arrays. Its name carries the token of the state that it was made from, so a table of an
older state is never taken for a newer one; it is made when it is first asked for, and again when its first line is not
what this program would write. Where the folder cannot be written to, it is kept in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.files import scratch_path, sync, table_path
from roslin.collection.store import Store
from roslin.matchers.roslin._alignment import Tables
from roslin.matchers.roslin._blocks import FIELDS, MELODIES
from roslin.matchers.roslin.table import MelodyTable, build_table

__all__ = ["TABLE_VERSION", "open_table"]

TABLE_VERSION = 1
Progress = Callable[[float, str], None]

_HEADER_BYTES = 128

# In the file in this order: the widest numbers first, so that every array starts at a multiple of its width.
_DTYPES = {
    "starts": np.int64,
    "places": np.int32,
    "order": np.int32,
    "sizes": np.int32,
    "own_scores": np.int32,
    "lengths": np.int32,
    "tempos": np.int8,
    "notes": np.int8,
}


def open_table(store: Store, tables: Tables, progress: Progress | None = None) -> MelodyTable:
    """The table of a collection as it is now, made if it is not there."""
    path, fitted = table_path(store.path, store.about["token"]), _stamp(tables)
    found = _read(path, len(store), fitted)
    if found is not None:
        return found
    table = build_table(store.packed(), tables, progress)
    try:
        _write(table, path, fitted)
    except OSError:
        return table  # a folder that others own: it costs a moment each time
    return _read(path, len(store), fitted) or table


def _stamp(tables: Tables) -> str:
    """A name for fitted numbers."""
    total = hashlib.blake2b(digest_size=8)
    for each in tables:
        total.update(np.ascontiguousarray(each).tobytes())
    return total.hexdigest()


def _header(melodies: int, notes: int, fitted: str) -> bytes:
    text = f"Roslin table {TABLE_VERSION}, fitted numbers {fitted}: {melodies} melodies, {notes} bytes\n"
    return text.encode().ljust(_HEADER_BYTES)


def _layout(melodies: int, notes: int) -> Iterator[tuple[str, int, int]]:
    """(array, first byte, length) of everything in the file."""
    blocks = -(-melodies // MELODIES)
    lengths = {"starts": blocks + 1, "notes": notes}
    lengths |= {"lengths": blocks * MELODIES, "tempos": blocks * MELODIES}
    place = _HEADER_BYTES
    for name, dtype in _DTYPES.items():
        length = lengths.get(name, melodies)
        yield name, place, length
        place += length * np.dtype(dtype).itemsize
    yield "", place, 0


def _write(table: MelodyTable, path: Path, fitted: str) -> None:
    prepared = scratch_path(path.parent)
    try:
        with prepared.open("wb") as file:
            file.write(_header(len(table), len(table.notes), fitted))
            for name, dtype in _DTYPES.items():
                file.write(np.ascontiguousarray(getattr(table, name), dtype=dtype).data)
        sync(prepared)
        prepared.replace(path)
    finally:
        prepared.unlink(missing_ok=True)


def _read(path: Path, melodies: int, fitted: str) -> MelodyTable | None:
    """The table in a file, or None when there is none that this program made for so many melodies."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        notes = int(head.split()[-2])
        if head != _header(melodies, notes, fitted):
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
    table = MelodyTable(**arrays)
    return table if _is_safe(table) else None


def _is_safe(table: MelodyTable) -> bool:
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
