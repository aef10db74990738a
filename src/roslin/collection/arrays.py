"""Named arrays in one file, mapped into memory and shared by all processes that read them.

    file = ArrayFile(path, "table 3", {"starts": np.int64, "notes": np.int8})
    with file.room({"starts": 4, "notes": 1000}) as arrays:     # written a part at a time, there whole or not at all
        arrays["notes"][:] = ...
    arrays = file.read()                                        # None: not there, of another kind, or damaged

The file is sealed (`sealed.py`). After the seal comes a line that says what the file is, with the names, types and
lengths of its arrays, filled up with spaces; then the arrays one after another, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from roslin.collection.files import whole_file
from roslin.collection.sealed import SEAL_BYTES, Remembered, is_sealed, seal

Arrays = dict[str, npt.NDArray[Any]]
Lengths = Mapping[str, int]
Room = Callable[[Lengths], Arrays]
"""Gives empty arrays of these lengths: in a file, or in memory."""

_STEP = 64  # bytes; as wide as any register that arrays are read with
_LONGEST_LINE = 4096

_Value = TypeVar("_Value")


class _Place(NamedTuple):
    """Where an array is in a file."""

    name: str
    dtype: np.dtype[Any]
    first: int
    length: int

    @property
    def end(self) -> int:
        return self.first + self.length * self.dtype.itemsize


@dataclass(frozen=True)
class ArrayFile:
    """A file of arrays. `kind` says what they are, of which version, and what they were made with."""

    path: Path
    kind: str
    dtypes: Mapping[str, npt.DTypeLike]

    def read(self, is_whole: Callable[[Path], bool] = is_sealed) -> Arrays | None:
        """The arrays; None if there is no such file, or it is damaged, or says that it is something else."""
        try:
            with self.path.open("rb") as file:
                line = file.read(SEAL_BYTES + _LONGEST_LINE)[SEAL_BYTES:].partition(b"\n")[0].decode()
            kind, _, lengths = line.removeprefix("Roslin ").partition(": ")
            if kind != self.kind:
                return None
            places = self._places(json.loads(lengths))
            if self._end(places) != self.path.stat().st_size or not is_whole(self.path):
                return None
            return self._mapped(self.path, places, "r")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write arrays that are in memory."""
        with self.room({name: len(array) for name, array in arrays.items()}) as empty:
            for name, array in arrays.items():
                empty[name][:] = array

    @contextmanager
    def room(self, lengths: Lengths) -> Iterator[Arrays]:
        """Empty arrays in a file in preparation. It is sealed and gets its name when they are filled."""
        places = self._places(lengths)
        with whole_file(self.path) as scratch:
            with scratch.open("wb") as file:
                file.write(bytes(SEAL_BYTES) + self._line(lengths))
                _reserve(file, self._end(places))
            yield self._mapped(scratch, places, "r+")
            seal(scratch)

    def fill(self, fill: Callable[[Room], object]) -> None:
        """Have the arrays made in the file, by a function that asks for room when it knows their lengths."""
        with ExitStack() as context:
            fill(lambda lengths: context.enter_context(self.room(lengths)))

    def _line(self, lengths: Lengths) -> bytes:
        line = f"Roslin {self.kind}: {json.dumps({name: int(lengths[name]) for name in self.dtypes})}\n".encode()
        return line[:-1].ljust(_filled(len(line)) - 1) + b"\n"

    def _places(self, lengths: Lengths) -> list[_Place]:
        if lengths.keys() != self.dtypes.keys() or not all(
            isinstance(each, (int, np.integer)) for each in lengths.values()
        ):
            raise ValueError(f"{self.path}: the arrays must be {', '.join(self.dtypes)}")
        if min(lengths.values(), default=0) < 0:
            raise ValueError(f"{self.path}: no array has fewer than 0 entries")
        places: list[_Place] = []
        for name, dtype in self.dtypes.items():
            first = places[-1].end if places else SEAL_BYTES + len(self._line(lengths))
            places.append(_Place(name, np.dtype(dtype), _filled(first), int(lengths[name])))
        return places

    @staticmethod
    def _end(places: list[_Place]) -> int:
        return places[-1].end

    @staticmethod
    def _mapped(path: Path, places: list[_Place], mode: Literal["r", "r+"]) -> Arrays:
        whole = np.memmap(path, dtype=np.uint8, mode=mode)
        return {place.name: np.asarray(whole[place.first : place.end]).view(place.dtype) for place in places}


def _filled(size: int) -> int:
    """The next multiple of what arrays begin at."""
    return -(-size // _STEP) * _STEP


def _reserve(file: BinaryIO, size: int) -> None:
    """Give a file its size. A full disk refuses it here; later, writing to the mapped memory would end the process."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def derived(
    file: ArrayFile, remembered: Remembered, value_of: Callable[[Arrays], _Value | None], fill: Callable[[Room], Arrays]
) -> _Value:
    """What was made from a state of a collection: read if it is there and safe, otherwise made and written.

    `value_of` gives None for arrays that a kernel cannot trust. `fill` makes the arrays in the room that it is given.
    Where the folder cannot be written to, they are made in memory, which costs a moment each time.
    """

    def found() -> _Value | None:
        arrays = file.read(remembered.is_whole)
        return None if arrays is None else value_of(arrays)

    value = found()
    if value is None:
        try:
            file.fill(fill)
        except OSError:
            value = value_of(fill(room_in_memory(file.dtypes)))
        else:
            value = found()
    if value is None:
        value = value_of(fill(room_in_memory(file.dtypes)))
    assert value is not None, f"{file.path}: what was just made cannot be trusted"
    return value


def room_in_memory(dtypes: Mapping[str, npt.DTypeLike]) -> Room:
    """Room that is in no file."""
    return lambda lengths: {name: np.empty(lengths[name], dtype) for name, dtype in dtypes.items()}
