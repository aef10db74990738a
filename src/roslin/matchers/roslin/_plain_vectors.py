"""Vectors in plain loops: the twin of `_llvm_vectors`, for a Numba that no longer takes it, and for tests.

A value is an array, made anew by every operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from roslin.kernels import kernel

__all__ = [
    "bytes32",
    "bytes64",
    "higher",
    "largest",
    "load",
    "longs16",
    "look_up",
    "lower",
    "minus",
    "narrow",
    "plus",
    "shorts32",
    "shorts64",
    "spread",
    "store",
    "where_equal",
]

# Any, because the kernels take vectors of several kinds.


@kernel
def bytes32() -> Any:
    """Thirty-two bytes."""
    return np.zeros(32, np.int8)


@kernel
def bytes64() -> Any:
    """Sixty-four bytes."""
    return np.zeros(64, np.int8)


@kernel
def shorts32() -> Any:
    """Thirty-two numbers of 16 bits."""
    return np.zeros(32, np.int16)


@kernel
def shorts64() -> Any:
    """Sixty-four numbers of 16 bits."""
    return np.zeros(64, np.int16)


@kernel
def longs16() -> Any:
    """Sixteen numbers of 32 bits."""
    return np.zeros(16, np.int32)


@kernel
def load(array: Any, place: int, wide: Any) -> Any:
    """The numbers of an array from a place on."""
    found = np.empty_like(wide)
    for k in range(len(wide)):
        found[k] = array[place + k]
    return found


@kernel
def store(array: Any, place: int, vector: Any) -> None:
    """Write them."""
    for k in range(len(vector)):
        array[place + k] = vector[k]


@kernel
def spread(number: int, wide: Any) -> Any:
    """The same number everywhere."""
    found = np.empty_like(wide)
    found[:] = number
    return found


@kernel
def plus(left: Any, right: Any) -> Any:
    """Sums that stop at the ends."""
    found = np.empty_like(left)
    most = (1 << (8 * left.itemsize - 1)) - 1
    for k in range(len(left)):
        found[k] = min(max(np.int64(left[k]) + np.int64(right[k]), -most - 1), most)
    return found


@kernel
def minus(left: Any, right: Any) -> Any:
    """Differences that stop at the ends."""
    found = np.empty_like(left)
    most = (1 << (8 * left.itemsize - 1)) - 1
    for k in range(len(left)):
        found[k] = min(max(np.int64(left[k]) - np.int64(right[k]), -most - 1), most)
    return found


@kernel
def higher(left: Any, right: Any) -> Any:
    """The larger, number by number."""
    return np.maximum(left, right)


@kernel
def lower(left: Any, right: Any) -> Any:
    """The smaller, number by number."""
    return np.minimum(left, right)


@kernel
def where_equal(left: Any, right: Any, yes: Any, no: Any) -> Any:
    """`yes` where the first two are equal, otherwise `no`."""
    found = np.empty_like(yes)
    for k in range(len(left)):
        found[k] = yes[k] if left[k] == right[k] else no[k]
    return found


@kernel
def largest(vector: Any) -> Any:
    """The largest of its numbers."""
    found = np.int64(vector[0])
    for k in range(len(vector)):
        found = max(found, np.int64(vector[k]))
    return found


@kernel
def narrow(sums: Any, wide: Any) -> Any:
    """The upper bytes, where bytes are wanted."""
    found = np.empty_like(wide)
    shift = 8 * (sums.itemsize - wide.itemsize)
    for k in range(len(sums)):
        found[k] = sums[k] >> shift
    return found


@kernel
def look_up(table: Any, place: int, indices: Any, wide: Any) -> Any:
    """The entry of a table of sixteen from a place on, for each index from 0 to 15."""
    found = np.empty_like(wide)
    for k in range(len(indices)):
        found[k] = table[place + (indices[k] & 15)]
    return found
