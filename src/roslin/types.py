"""The types of arrays, by their elements, and what receives progress: named once for the whole project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Bytes = NDArray[np.int8]
UBytes = NDArray[np.uint8]
Shorts = NDArray[np.int16]
UShorts = NDArray[np.uint16]
Ints = NDArray[np.int32]
Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Array = NDArray[Any]

Scores = Ints  # of the alignment, in units of its tables
Distances = Floats

Allocate = Callable[[Mapping[str, int]], dict[str, Array]]
"""Gives empty arrays of these lengths, by name: in memory, or in a file."""

Progress = Callable[[float, str], None]
"""Receives the share of the work that is done, from 0 to 1, and what is being done."""
