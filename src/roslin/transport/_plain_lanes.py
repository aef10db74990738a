"""Lanes in plain loops: the twin of `_vector_lanes`, for a Numba that no longer takes it, and for tests.

A value is an array of thirty-two numbers, changed in place and given back.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = [
    "LANES",
    "add_excess",
    "add_missing",
    "add_products",
    "first_bit",
    "last_bit",
    "lower",
    "no_lanes",
    "within",
]

LANES = 32

Sums = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Shorts = npt.NDArray[np.uint16]

_LARGEST = (1 << 16) - 1


@kernel
def no_lanes() -> Sums:
    """Thirty-two zeros."""
    return np.zeros(LANES, np.int64)


@kernel
def add_products(lanes: Sums, array: Bytes, place: int, factor: int) -> Sums:
    """Add `factor` times the 32 bytes from `place` on."""
    for k in range(LANES):
        lanes[k] = min(lanes[k] + np.int64(array[place + k]) * np.int64(factor), _LARGEST)
    return lanes


@kernel
def add_excess(lanes: Sums, array: Shorts, place: int, value: int) -> Sums:
    """Add what the 32 numbers from `place` on have above `value`."""
    for k in range(LANES):
        lanes[k] = min(lanes[k] + max(np.int64(array[place + k]) - np.int64(value), 0), _LARGEST)
    return lanes


@kernel
def add_missing(lanes: Sums, array: Shorts, place: int, value: int) -> Sums:
    """Add what the 32 numbers from `place` on have below `value`."""
    for k in range(LANES):
        lanes[k] = min(lanes[k] + max(np.int64(value) - np.int64(array[place + k]), 0), _LARGEST)
    return lanes


@kernel
def lower(array: Bytes, place: int, others: Bytes, start: int) -> None:
    """Make the 32 bytes from `place` on no larger than the 32 of `others` from `start` on."""
    for k in range(LANES):
        if others[start + k] < array[place + k]:
            array[place + k] = others[start + k]


@kernel
def first_bit(word: np.uint64) -> int:
    """The number of the lowest bit of a word that is not 0."""
    bit = 0
    while (word >> np.uint64(bit)) & np.uint64(1) == np.uint64(0):
        bit += 1
    return bit


@kernel
def last_bit(word: np.uint64) -> int:
    """The number of the highest bit of a word that is not 0."""
    bit = 63
    while (word >> np.uint64(bit)) & np.uint64(1) == np.uint64(0):
        bit -= 1
    return bit


@kernel
def within(lanes: Sums, most: int) -> np.uint64:
    """Which lanes are not above `most`: bit k of the result for lane k."""
    bits: np.uint64 = np.uint64(0)
    for k in range(LANES):
        if lanes[k] <= most:
            bits |= np.uint64(1) << np.uint64(k)
    return bits
