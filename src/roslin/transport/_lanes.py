"""Thirty-two small sums at once, for Numba kernels: `Lanes` are 32 numbers from 0 to 65535, and stop there.

    no_lanes()                                  thirty-two zeros
    add_products(lanes, bytes, place, factor)   add `factor` times the 32 bytes from `place` on; products below 65536
    add_excess(lanes, shorts, place, value)     add what the 32 numbers from `place` on have above `value`
    add_missing(lanes, shorts, place, value)    add what they have below it
    lower(bytes, place, others, start)          make 32 bytes no larger than 32 others
    within(lanes, most)                         which lanes are not above `most`: bit k for lane k
    first_bit(word), last_bit(word)             the lowest and the highest bit of a word that is not 0

`_vector_lanes` keeps them in the processor's vector registers. Where Numba no longer takes that, or gets a small sum
wrong, `_plain_lanes` takes over with a warning: the lists stay the same, and a search takes several times as long.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numba
import numpy as np

from roslin.transport._plain_lanes import LANES

__all__ = [
    "LANES",
    "add_excess",
    "add_missing",
    "add_products",
    "first_bit",
    "is_right",
    "last_bit",
    "lower",
    "no_lanes",
    "within",
]

_VECTORS, _PLAIN = "roslin.transport._vector_lanes", "roslin.transport._plain_lanes"


def is_right(trial: Callable[..., int]) -> bool:
    """Whether a function that tries every operation (`_vector_lanes.trial`) gives the sums that are known."""
    numbers, shorts = np.arange(LANES + 2, dtype=np.uint8), np.arange(LANES, dtype=np.uint16)
    high = np.full(LANES + 2, 200, np.uint8)
    lane = np.arange(LANES)
    sums = 3 * (lane + 1) + np.maximum(lane - 10, 0) + np.maximum(20 - lane, 0)
    bits = sum(1 << k for k in np.flatnonzero(sums <= 70).tolist())
    return int(trial(numbers, shorts, high)) == bits and high.tolist() == [200, *range(LANES), 200]


def _chosen() -> Any:
    try:
        vectors = import_module(_VECTORS)
        if is_right(vectors.trial):
            return vectors
        reason = "sums come out wrong"
    except Exception as error:  # whatever a future Numba raises
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    warnings.warn(
        f"Numba {numba.__version__} does not take Roslin's vector operations ({reason}); plain loops take their place, "
        "and a search takes several times as long",
        RuntimeWarning,
        stacklevel=2,
    )
    return import_module(_PLAIN)


_lanes = _chosen()

# Any, because what they are called with are values of the kernels.
no_lanes: Any = _lanes.no_lanes
add_products: Any = _lanes.add_products
add_excess: Any = _lanes.add_excess
add_missing: Any = _lanes.add_missing
lower: Any = _lanes.lower
within: Any = _lanes.within
first_bit: Any = _lanes.first_bit
last_bit: Any = _lanes.last_bit
