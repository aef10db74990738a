"""The table of the measure `roslin` for a collection, in its folder.

It is one sealed file, mapped into memory and shared by all processes: a line that names its version and the fitted
numbers that it was made with, then the arrays. Its name carries the token of the state that it was made from, so a
table of an older state is never taken for a newer one; it is made when it is first asked for, and again when its first
line is not what this program would write or a disk has changed it. It is written a part at a time, so memory does not
grow with the collection. Where the folder cannot be written to, it is kept in memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from roslin.collection.files import table_path, whole_file
from roslin.collection.sealed import SEAL_BYTES, Remembered, is_sealed, seal
from roslin.collection.store import Store
from roslin.matchers.roslin.table import DTYPES, FIELDS, MELODIES, MelodyTable, build_table
from roslin.matchers.roslin.values import Tables
from roslin.types import Progress

TABLE_VERSION = 2

_HEADER_BYTES = 128
_FIRST_BYTE = SEAL_BYTES + _HEADER_BYTES


def open_table(store: Store, tables: Tables, progress: Progress | None = None) -> MelodyTable:
    """The table of a collection as it is now, made if it is not there."""
    path, fitted = table_path(store.path, store.about["token"]), fitted_stamp(tables)
    remembered = Remembered(store.path, store.about["token"])
    found = read_table(path, len(store), fitted, remembered.is_whole)
    if found is not None:
        return found
    made = partial(build_table, store.packed(), tables, progress)
    try:
        write_table(path, fitted, made)
    except OSError:
        return made()  # a folder that others own: it costs a moment each time
    return read_table(path, len(store), fitted, remembered.is_whole) or made()


def fitted_stamp(tables: Tables) -> str:
    """A name for fitted numbers."""
    total = hashlib.blake2b(digest_size=8)
    for each in tables:
        total.update(np.ascontiguousarray(each).tobytes())
    return total.hexdigest()


def _header(melodies: int, notes: int, fitted: str) -> bytes:
    text = f"Roslin table {TABLE_VERSION}, fitted numbers {fitted}: {melodies} melodies, {notes} bytes\n"
    return text.encode().ljust(_HEADER_BYTES)


def _layout(shape: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """(array, first byte, length) of everything in the file.

    The widest numbers come first, so that every array starts at a multiple of its width.
    """
    place = _FIRST_BYTE
    for name, dtype in DTYPES.items():
        yield name, place, shape[name]
        place += shape[name] * np.dtype(dtype).itemsize
    yield "", place, 0


def _shape(melodies: int, notes: int) -> dict[str, int]:
    blocks = -(-melodies // MELODIES)
    lengths = {"starts": blocks + 1, "lengths": blocks * MELODIES, "tempos": blocks * MELODIES, "notes": notes}
    return {name: lengths.get(name, melodies) for name in DTYPES}


def write_table(path: Path, fitted: str, make: Callable[..., MelodyTable]) -> None:
    """Have a table made in a file: `make` gets the `room` to write it to."""
    with whole_file(path) as scratch:
        make(room=partial(_room, scratch, fitted))
        seal(scratch)


def _room(scratch: Path, fitted: str, shape: dict[str, int]) -> MelodyTable:
    layout = list(_layout(shape))
    with scratch.open("wb") as file:
        file.write(bytes(SEAL_BYTES) + _header(shape["places"], shape["notes"], fitted))
        _reserve(file, layout[-1][1])
    return _mapped(scratch, layout, "r+")


def _reserve(file: BinaryIO, size: int) -> None:
    """Give a file its size. A full disk refuses it here; later, writing to the mapped memory would end the process."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def _mapped(path: Path, layout: list[tuple[str, int, int]], mode: Literal["r", "r+"]) -> MelodyTable:
    whole = np.memmap(path, dtype=np.uint8, mode=mode)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, first, length in layout[:-1]:
        dtype = np.dtype(DTYPES[name])
        arrays[name] = np.asarray(whole[first : first + length * dtype.itemsize]).view(dtype)
    return MelodyTable(**arrays)


def read_table(
    path: Path, melodies: int, fitted: str, is_whole: Callable[[Path], bool] = is_sealed
) -> MelodyTable | None:
    """The table in a file, or None when there is none that this program made for so many melodies, or it is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(_FIRST_BYTE)[SEAL_BYTES:]
        notes = int(head.split()[-2])
        if head != _header(melodies, notes, fitted):
            return None
        layout = list(_layout(_shape(melodies, notes)))
        if path.stat().st_size != layout[-1][1] or not is_whole(path):
            return None
        table = _mapped(path, layout, "r")
    except (OSError, ValueError, IndexError):
        return None
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
