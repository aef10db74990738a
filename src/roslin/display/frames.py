"""Data frames, of pandas or of polars. Neither is a dependency: who asks for a frame has the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from roslin.errors import ArgumentError, UnknownNameError

FrameLibrary = Literal["pandas", "polars"]
_LIBRARIES = ("pandas", "polars")


def frame(columns: Mapping[str, Sequence[Any]], library: FrameLibrary = "pandas") -> Any:
    """A data frame with these columns."""
    if library not in _LIBRARIES:
        raise UnknownNameError("library of data frames", str(library), _LIBRARIES)
    try:
        made_by = import_module(library)
    except ImportError:
        raise ArgumentError(f"a data frame of {library} needs that library; pip install {library}") from None
    return made_by.DataFrame(dict(columns))
