"""What a matcher needs to know about a whole collection, counted once and kept as long as its notes are in memory.

A collection hands out the same memory-mapped arrays at every search, and nobody can write to them: what was computed
from them stays true. Of arrays that could change, such as melodies just laid end to end, nothing is kept.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np

from roslin.represent.packed import Packed

__all__ = ["kept"]

Made = TypeVar("Made")

_KEPT: dict[tuple[str, int, int], tuple[weakref.ref[np.ndarray], object]] = {}


def kept(make: Callable[[Packed], Made], packed: Packed) -> Made:
    """`make(packed)`, or what it gave the last time for the same arrays."""
    if packed.notes.flags.writeable or packed.offsets.flags.writeable:
        return make(packed)
    key = (f"{make.__module__}.{make.__qualname__}", id(packed.notes), id(packed.offsets))
    found = _KEPT.get(key)
    if found is None or found[0]() is not packed.notes:
        # An id may be used again once its array is gone: the reference tells, and takes its entry along when it goes.
        reference = weakref.ref(packed.notes, lambda _: _KEPT.pop(key, None))
        found = _KEPT[key] = reference, make(packed)
    return cast(Made, found[1])
