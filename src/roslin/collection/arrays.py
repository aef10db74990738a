"""Named arrays in one file, mapped into memory and shared by all processes that read them.

    file = ArrayFile(path, "table 3", {"starts": np.int64, "notes": np.int8})
    with file.room({"starts": 4, "notes": 1000}) as arrays:     # written a part at a time, there whole or not at all
        arrays["notes"][:] = ...
    arrays = file.read()                                        # None: not there, of another kind, or damaged

The file is sealed (`files`). After the seal comes a line with the kind of file and the names, types and lengths of its
arrays, padded with spaces. The arrays follow, each at a multiple of 64 bytes.

The arrays of a collection itself are `.npy` files, which other programs read as well. `checksums-TOKEN.txt` has a line
for each file of a state, in the form of the program `sha256sum`. A writer makes it before it publishes. Opening a
collection compares the checksums, then checks the numbers that kernels rely on. Checksums would be enough against
faults of disks; but a folder may come from anywhere, and a wrong offset sends a compiled loop out of its array. Both
happen once for each state and are remembered (`files.Remembered`).

    offsets     begin with 0, never fall, end with the number of rows
    notes       ticks from 0 to `MAX_TICKS`, pitches and voices in the ranges of `melody.table`, is_grace 0 or 1
    barlines    ticks from 0 to `MAX_TICKS`
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from roslin.collection import files
from roslin.errors import DamagedError, shortened
from roslin.melody.table import BASE40_RANGE, MAX_TICKS, PITCH_RANGE, VOICE_RANGE
from roslin.types import Array, Numbers

Arrays = dict[str, Array]
Lengths = Mapping[str, int]
Room = Callable[[Lengths], Arrays]
"""Gives empty arrays of these lengths: in a file, or in memory."""

_STEP = 64  # bytes; as wide as any register that arrays are read with
_LONGEST_LINE = 4096
_TICKS = (0, MAX_TICKS)
_RANGES = {
    "onset_ticks": _TICKS, "duration_ticks": _TICKS, "pitch_midi": PITCH_RANGE, "pitch_base40": BASE40_RANGE,
    "voice": VOICE_RANGE,
}  # fmt: skip
_ROWS_AT_ONCE = 2**18
_SOURCES_NAMED = 3

_Value = TypeVar("_Value")


class _Place(NamedTuple):
    name: str
    dtype: np.dtype[Any]
    first: int
    length: int

    @property
    def end(self) -> int:
        return self.first + self.length * self.dtype.itemsize


@dataclass(frozen=True)
class ArrayFile:
    """A file of arrays. `kind` names the contents, their version and the parameters that they were made with."""

    path: Path
    kind: str
    dtypes: Mapping[str, npt.DTypeLike]

    def read(self, is_whole: Callable[[Path], bool] = files.is_sealed) -> Arrays | None:
        """The arrays. None if the file is missing, damaged, or of another kind."""
        try:
            with self.path.open("rb") as file:
                line = file.read(files.SEAL_BYTES + _LONGEST_LINE)[files.SEAL_BYTES :].partition(b"\n")[0].decode()
            kind, _, lengths = line.removeprefix("Roslin ").partition(": ")
            if kind != self.kind:
                return None
            places = self._places(json.loads(lengths))
            if places[-1].end != self.path.stat().st_size or not is_whole(self.path):
                return None
            return self._mapped(self.path, places, "r")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, arrays: Mapping[str, Array]) -> None:
        with self.room({name: len(array) for name, array in arrays.items()}) as empty:
            for name, array in arrays.items():
                empty[name][:] = array

    @contextmanager
    def room(self, lengths: Lengths) -> Iterator[Arrays]:
        """Empty arrays in a file in preparation. It is sealed and gets its name when they are filled."""
        places = self._places(lengths)
        with files.whole_file(self.path) as scratch:
            with scratch.open("wb") as file:
                file.write(bytes(files.SEAL_BYTES) + self._line(lengths))
                _reserve(file, places[-1].end)
            yield self._mapped(scratch, places, "r+")
            files.seal(scratch)

    def fill(self, fill: Callable[[Room], object]) -> None:
        """Have the arrays made in the file, by a function that asks for room when it knows their lengths."""
        with ExitStack() as context:
            fill(lambda lengths: context.enter_context(self.room(lengths)))

    def _line(self, lengths: Lengths) -> bytes:
        line = f"Roslin {self.kind}: {json.dumps({name: int(lengths[name]) for name in self.dtypes})}\n".encode()
        return line[:-1].ljust(_filled(len(line)) - 1) + b"\n"

    def _places(self, lengths: Lengths) -> list[_Place]:
        is_whole = all(isinstance(each, (int, np.integer)) for each in lengths.values())
        if lengths.keys() != self.dtypes.keys() or not is_whole:
            raise ValueError(f"{self.path}: the arrays must be {', '.join(self.dtypes)}")
        if min(lengths.values(), default=0) < 0:
            raise ValueError(f"{self.path}: no array has fewer than 0 entries")
        places: list[_Place] = []
        for name, dtype in self.dtypes.items():
            first = places[-1].end if places else files.SEAL_BYTES + len(self._line(lengths))
            places.append(_Place(name, np.dtype(dtype), _filled(first), int(lengths[name])))
        return places

    @staticmethod
    def _mapped(path: Path, places: list[_Place], mode: Literal["r", "r+"]) -> Arrays:
        whole = np.memmap(path, dtype=np.uint8, mode=mode)
        return {place.name: np.asarray(whole[place.first : place.end]).view(place.dtype) for place in places}


def _filled(size: int) -> int:
    return -(-size // _STEP) * _STEP


def _reserve(file: BinaryIO, size: int) -> None:
    """Give a file its size. A full disk refuses it here; later, writing to the mapped memory would end the process."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def derived(
    file: ArrayFile,
    remembered: files.Remembered,
    value_of: Callable[[Arrays], _Value | None],
    fill: Callable[[Room], Arrays],
) -> _Value:
    """A value derived from a state of a collection: read if a safe file has it, else computed and written.

    `value_of` gives None for arrays that a kernel cannot trust. `fill` makes the arrays in the room that it is given:
    in memory, each time, where the folder cannot be written to.
    """

    def found() -> _Value | None:
        arrays = file.read(remembered.is_whole)
        return None if arrays is None else value_of(arrays)

    value = found()
    if value is None:
        with suppress(OSError):
            file.fill(fill)
            value = found()
    if value is None:
        types = file.dtypes.items()
        value = value_of(fill(lambda lengths: {name: np.empty(lengths[name], dtype) for name, dtype in types}))
    assert value is not None, f"{file.path}: what was just made cannot be trusted"
    return value


# -- the arrays of a collection ---------------------------------------------------------------------------------------


def write_checksums(folder: Path, token: str, checksums: Mapping[str, str]) -> None:
    """Record the checksums of the files of a state, by their names."""
    lines = "".join(f"{sum}  {name}\n" for name, sum in checksums.items())
    files.write_sealed(files.state_path(folder, "checksums", token), lines)


def read_checksums(folder: Path, token: str) -> dict[str, str]:
    """The checksums of the files of a state by their names."""
    path = files.state_path(folder, "checksums", token)
    content = files.read_sealed(path)
    rows = [line.split("  ") for line in (content or "").splitlines()]
    if content is None or any(len(row) != 2 for row in rows):
        raise damaged(folder, path.name)
    return {name: checksum for checksum, name in rows}


def verified_arrays(folder: Path, token: str, *, has_checksums: bool = True) -> dict[str, Array]:
    """The arrays of a state, mapped into memory, and remembered as safe. A changed or unsafe one is refused.

    A file that is not there raises `FileNotFoundError`.
    """
    checksums = read_checksums(folder, token) if has_checksums else {}
    names = [files.DATABASE, *(files.state_path(folder, name, token).name for name in files.ARRAY_NAMES)]
    remembered = files.Remembered(folder, token)
    stamps = remembered.stamps(names)
    # Arrays must have the right sizes before all is read.
    arrays = {name: open_array(folder, name, token) for name in files.ARRAY_NAMES}
    if remembered.holds(stamps):
        return arrays
    for name in names:
        if has_checksums and _checksum(folder, name) != checksums.get(name):
            raise damaged(folder, name)
    for name, fault in unsafe(arrays):
        raise damaged(folder, files.state_path(folder, name, token).name, fault)
    remembered.add(stamps)
    return arrays


def is_as_written(folder: Path, token: str) -> bool:
    """Whether the byte of the database that holds its format is valid."""
    try:
        return read_checksums(folder, token).get(files.DATABASE, "") in ("", files.checksum_of(folder / files.DATABASE))
    except FileNotFoundError:
        return True  # the format before has no checksums


def _checksum(folder: Path, name: str) -> str:
    with _reading(folder, name):
        return files.checksum_of(folder / name)


@contextmanager
def _reading(folder: Path, name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged(folder, name, f"cannot be read ({error})") from error


def open_array(folder: Path, name: str, token: str) -> Array:
    """Map an array into memory.

    Its header can only be one thing, so it is compared, not parsed: `np.load` would evaluate it as Python, which fails
    now and then when several threads do so at once (CPython 3.11).
    """
    path, dtype = files.state_path(folder, name, token), files.array_dtype(name)
    with _reading(folder, path.name):
        with path.open("rb") as file:
            head = file.read(len(files.array_header(name, 0)))
        length = (path.stat().st_size - len(head)) // dtype.itemsize
    if head != files.array_header(name, length):
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
            if name not in (files.REJECTS, files.WARNINGS):  # a writer that was stopped at the last moment leaves none
                yield missing(folder, error, token)
    for path in files.derived_files(folder, token):
        if not files.is_sealed(path):
            yield DamagedError(
                f"{folder}: damaged: {path.name} is not what was written; remove it, and it is made again when it is "
                "needed"
            )


def damaged(folder: Path, name: str, what: str = "is not what was written") -> DamagedError:
    """The refusal of a file of a collection, with the way to a whole one."""
    return DamagedError(
        f"{folder}: damaged: {name} {what}; restore the folder from a copy, or build it again from its sources"
        f"{_sources(folder) if name != files.DATABASE else ''}: roslin collection build SOURCE... {folder}"
    )


def missing(folder: Path, error: FileNotFoundError, token: str) -> DamagedError:
    """The refusal of a folder that lacks a file. Without checksums it is the name in the database that is in doubt."""
    name = Path(str(error.filename)).name
    if name == files.state_path(folder, "checksums", token).name:
        return damaged(folder, files.DATABASE, f"names {name}, which is missing")
    return damaged(folder, name, "is missing")


def _sources(folder: Path) -> str:
    try:
        with closing(files.connected(folder)) as database:
            statement = "SELECT DISTINCT source FROM melodies WHERE source <> '' ORDER BY source"
            rows = database.execute(statement).fetchall()
    except sqlite3.Error:
        return ""
    named = [shortened(str(row[0])) for row in rows[:_SOURCES_NAMED]]
    return f" ({', '.join(named)}{', ...' if len(rows) > _SOURCES_NAMED else ''})" if named else ""


def unsafe(arrays: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Each array that a kernel could not trust, with the reason."""
    for rows, offsets in (("notes", "offsets"), ("barlines", "bar_offsets")):
        if not divides(arrays[offsets], len(arrays[rows])):
            yield offsets, f"does not divide the {len(arrays[rows])} rows of {rows}"
    for name in ("notes", "barlines"):
        for start in range(0, len(arrays[name]), _ROWS_AT_ONCE):
            part = arrays[name][start : start + _ROWS_AT_ONCE]
            fault = out_of_range(part) if name == "notes" else _outside("a bar line", part, _TICKS)
            if fault:
                yield name, f"has {fault}"
                break


def divides(offsets: Numbers, rows: int) -> bool:
    """Whether offsets begin with 0, never fall, and end with the number of rows."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == rows and (offsets[1:] >= offsets[:-1]).all())


def out_of_range(notes: Array, barlines: Numbers | None = None) -> str:
    """The first value of the notes or bar lines that no kernel expects, in words; "" if there is none."""
    for field, limits in _RANGES.items():
        if fault := _outside(field, notes[field], limits):
            return fault
    if fault := _outside("is_grace", notes["is_grace"].view(np.uint8), (0, 1)):
        return fault
    return "" if barlines is None else _outside("a bar line", barlines, _TICKS)


def _outside(what: str, values: Array, limits: tuple[int, int]) -> str:
    if not values.size:
        return ""
    low, high = int(values.min()), int(values.max())
    if limits[0] <= low and high <= limits[1]:
        return ""
    return f"{what} of {low if low < limits[0] else high}; expected {limits[0]} to {limits[1]}"
