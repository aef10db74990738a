"""Arrays in files of their own, mapped into memory: shared by all who read them, and read only where they are needed.

A file holds the numbers and nothing else, and is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.files import whole_file
from roslin.types import Array


def map_array(path: Path, dtype: npt.DTypeLike) -> Array:
    """The array in a file."""
    if not path.stat().st_size:
        return np.empty(0, dtype)  # nothing cannot be mapped
    return np.asarray(np.memmap(path, dtype=np.dtype(dtype), mode="r"))


def write_array(path: Path, values: Array) -> None:
    """Put an array into a file."""
    new_array(path, values.dtype, len(values), lambda room: np.copyto(room, values))


def new_array(path: Path, dtype: npt.DTypeLike, length: int, fill: Callable[[Array], object]) -> None:
    """Have an array filled in a file, without holding it in memory."""
    with whole_file(path) as scratch:
        with scratch.open("wb") as file:
            file.truncate(length * np.dtype(dtype).itemsize)
        if length:
            fill(np.asarray(np.memmap(scratch, dtype=np.dtype(dtype), mode="r+")))


def kept_array(
    path: Path, dtype: npt.DTypeLike, make: Callable[[], Array], is_safe: Callable[[Array], object]
) -> Array:
    """The array in a file: made if it is not there, or not what its readers can trust."""
    try:
        found = map_array(path, dtype)
    except (OSError, ValueError):
        found = None
    if found is None or not is_safe(found):
        write_array(path, make().astype(dtype, copy=False))
    return map_array(path, dtype)
