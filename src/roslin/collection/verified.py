"""Before anything trusts a collection: is every file what was written, and does it hold what kernels rely on?

`checksums-TOKEN.txt` has a line for each file of a state, in the form of the program `sha256sum`; it is a sealed file
itself. A writer makes it before it publishes. Whoever opens the collection compares: first the checksums, then the
numbers. The second would be needless if only disks made mistakes; but a folder may come from anywhere, and a wrong
offset sends a compiled loop out of its array. Both happen once for each state and are remembered (`sealed.py`).

    offsets     begin with 0, never fall, end with the number of rows
    notes       ticks from 0 to `MAX_TICKS`, pitches and voices in the ranges of `melody.table`, is_grace 0 or 1
    barlines    ticks from 0 to `MAX_TICKS`
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.files import (
    ARRAY_NAMES,
    DATABASE,
    REJECTS,
    WARNINGS,
    array_dtype,
    array_header,
    array_path,
    checksums_path,
    derived_files,
)
from roslin.collection.sealed import Remembered, checksum_of, is_sealed, read_sealed, write_sealed
from roslin.errors import DamagedError, shortened
from roslin.melody.table import BASE40_RANGE, MAX_TICKS, PITCH_RANGE, VOICE_RANGE

Arrays = Mapping[str, npt.NDArray[Any]]

_TICKS = (0, MAX_TICKS)
_RANGES = {
    "onset_ticks": _TICKS,
    "duration_ticks": _TICKS,
    "pitch_midi": PITCH_RANGE,
    "pitch_base40": BASE40_RANGE,
    "voice": VOICE_RANGE,
}
_ROWS_AT_ONCE = 2**18
_SOURCES_NAMED = 3


def write_checksums(folder: Path, token: str, checksums: Mapping[str, str]) -> None:
    """Record what the files of a state are: their checksums by their names."""
    write_sealed(checksums_path(folder, token), "".join(f"{sum}  {name}\n" for name, sum in checksums.items()))


def read_checksums(folder: Path, token: str) -> dict[str, str]:
    """The checksums of the files of a state by their names."""
    path = checksums_path(folder, token)
    content = read_sealed(path)
    rows = [line.split("  ") for line in (content or "").splitlines()]
    if content is None or any(len(row) != 2 for row in rows):
        raise damaged(folder, path.name)
    return {name: checksum for checksum, name in rows}


def verified_arrays(folder: Path, token: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a state, mapped into memory. One that is not what was written, or unsafe, is refused.

    What was seen once is remembered. A file that is not there raises `FileNotFoundError`.
    """
    checksums = read_checksums(folder, token)
    names = [DATABASE, *(array_path(folder, name, token).name for name in ARRAY_NAMES)]
    remembered = Remembered(folder, token)
    stamps = remembered.stamps(names)
    if remembered.holds(stamps):
        return {name: open_array(folder, name, token) for name in ARRAY_NAMES}
    arrays = {name: open_array(folder, name, token) for name in ARRAY_NAMES}  # of the right sizes, before all is read
    for name in names:
        if _checksum(folder, name) != checksums.get(name):
            raise damaged(folder, name)
    for name, fault in unsafe(arrays):
        raise damaged(folder, array_path(folder, name, token).name, fault)
    remembered.add(stamps)
    return arrays


def is_as_written(folder: Path, token: str) -> bool:
    """Whether nothing speaks against the database: one byte of it says which format it has."""
    try:
        return read_checksums(folder, token).get(DATABASE, "") in ("", checksum_of(folder / DATABASE))
    except FileNotFoundError:
        return True  # formats before 4 had no checksums


def _checksum(folder: Path, name: str) -> str:
    try:
        return checksum_of(folder / name)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged(folder, name, f"cannot be read ({error})") from error


def open_array(folder: Path, name: str, token: str) -> npt.NDArray[Any]:
    """Map an array into memory.

    Its header can only be one thing, so it is compared, not parsed: `np.load` would evaluate it as Python, which fails
    now and then when several threads do so at once (CPython 3.11).
    """
    path, dtype = array_path(folder, name, token), array_dtype(name)
    try:
        with path.open("rb") as file:
            head = file.read(len(array_header(name, 0)))
        length = (path.stat().st_size - len(head)) // dtype.itemsize
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged(folder, path.name, f"cannot be read ({error})") from error
    if head != array_header(name, length):
        raise damaged(folder, path.name)
    if not length:
        return np.empty(0, dtype=dtype)  # nothing cannot be mapped
    return np.memmap(path, dtype=dtype, mode="r", offset=len(head), shape=(length,))


def damaged_files(folder: Path, token: str) -> Iterator[DamagedError]:
    """Every file of a state that is not what was written, read to its end whatever is remembered."""
    try:
        checksums = read_checksums(folder, token)
    except FileNotFoundError as error:
        yield missing(folder, error, token)
        return
    for name, checksum in checksums.items():
        try:
            if _checksum(folder, name) != checksum:
                yield damaged(folder, name)
        except FileNotFoundError as error:
            if name not in (REJECTS, WARNINGS):  # a writer that was stopped at the last moment leaves none
                yield missing(folder, error, token)
    for path in derived_files(folder, token):
        if not is_sealed(path):
            yield DamagedError(
                f"{folder}: damaged: {path.name} is not what was written; remove it, and it is made again when it is "
                "needed"
            )


def damaged(folder: Path, name: str, what: str = "is not what was written") -> DamagedError:
    """The refusal of a file of a collection, with the way to a whole one."""
    return DamagedError(
        f"{folder}: damaged: {name} {what}; restore the folder from a copy, or build it again from its sources"
        f"{_sources(folder) if name != DATABASE else ''}: roslin collection build SOURCE... {folder}"
    )


def missing(folder: Path, error: FileNotFoundError, token: str) -> DamagedError:
    """The refusal of a folder that lacks a file. Without checksums it is the name in the database that is in doubt."""
    name = Path(str(error.filename)).name
    if name == checksums_path(folder, token).name:
        return damaged(folder, DATABASE, f"names {name}, which is missing")
    return damaged(folder, name, "is missing")


def _sources(folder: Path) -> str:
    """The names of the sources, as far as the database knows them."""
    try:
        database = sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?immutable=1", uri=True)
        try:
            rows = database.execute(
                "SELECT DISTINCT source FROM melodies WHERE source <> '' ORDER BY source"
            ).fetchall()
        finally:
            database.close()
    except sqlite3.Error:
        return ""
    named = [shortened(str(row[0])) for row in rows[:_SOURCES_NAMED]]
    return f" ({', '.join(named)}{', ...' if len(rows) > _SOURCES_NAMED else ''})" if named else ""


def unsafe(arrays: Arrays) -> Iterator[tuple[str, str]]:
    """What a kernel could not trust: the array and what is wrong with it."""
    for rows, offsets in (("notes", "offsets"), ("barlines", "bar_offsets")):
        starts = arrays[offsets]
        if starts[0] != 0 or starts[-1] != len(arrays[rows]) or (starts[1:] < starts[:-1]).any():
            yield offsets, f"does not divide the {len(arrays[rows])} rows of {rows}"
    for name in ("notes", "barlines"):
        for start in range(0, len(arrays[name]), _ROWS_AT_ONCE):
            part = arrays[name][start : start + _ROWS_AT_ONCE]
            fault = out_of_range(part) if name == "notes" else _outside("a bar line", part, _TICKS)
            if fault:
                yield name, f"has {fault}"
                break


def out_of_range(notes: npt.NDArray[Any], barlines: npt.NDArray[np.int64] | None = None) -> str:
    """What of a note table, and of bar lines, no kernel expects; nothing in words when all is well."""
    for field, limits in _RANGES.items():
        if fault := _outside(field, notes[field], limits):
            return fault
    if fault := _outside("is_grace", notes["is_grace"].view(np.uint8), (0, 1)):
        return fault
    return "" if barlines is None else _outside("a bar line", barlines, _TICKS)


def _outside(what: str, values: npt.NDArray[Any], limits: tuple[int, int]) -> str:
    if not values.size:
        return ""
    low, high = int(values.min()), int(values.max())
    if limits[0] <= low and high <= limits[1]:
        return ""
    return f"{what} of {low if low < limits[0] else high}; expected {limits[0]} to {limits[1]}"
