"""Melodies that the measure cannot tell apart: the same intervals, note values, metre and phrases, in any key.

A catalogue holds many of them, and comparing each with everything would find the same pairs again. The first of each
kind, its representative, is compared for all.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.table import MelodyTable

__all__ = ["representatives"]

Numbers = npt.NDArray[np.int64]

_AT_ONCE = 50_000


def representatives(table: MelodyTable) -> Numbers:
    """For every melody, by number, the first melody that is the same; itself, if there is none before it."""
    first_of: dict[bytes, int] = {}
    found = np.empty(len(table), np.int64)
    for start in range(0, len(table), _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, len(table)))
        notes = table.take(numbers)
        columns = [np.ascontiguousarray(column) for column in (notes.intervals, notes.values, notes.labels)]
        for number, (begin, end) in enumerate(zip(notes.offsets[:-1], notes.offsets[1:], strict=True), start=start):
            key = hashlib.blake2b(digest_size=16)
            for column in columns:
                key.update(column[begin:end].tobytes())
            found[number] = first_of.setdefault(key.digest(), number)
    return found
