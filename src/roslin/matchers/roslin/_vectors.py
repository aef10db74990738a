"""Vectors of whole numbers for Numba kernels.

Numba vectorises only long loops. An alignment has short ones: twelve transpositions, or sixty-four melodies, at each of
a few hundred places. So a kernel here works on values that hold many numbers at once:

    bytes64(), bytes32()             zeros: 64 or 32 bytes
    shorts64(), shorts32()           64 or 32 numbers of 16 bits
    longs16()                        16 numbers of 32 bits
    load(array, place, wide)         the numbers of an array from a place on; `wide` is a vector of the kind wanted
    store(array, place, vector)      write them
    spread(number, wide)             the same number everywhere
    plus, minus                      addition and subtraction; they stop at the smallest and the largest number
    higher, lower                    the larger, the smaller of two, number by number
    where_equal(a, b, yes, no)       `yes` where a and b are equal, otherwise `no`
    largest(vector)                  the largest of its numbers
    look_up(table, place, at, wide)  the entry of a table of sixteen for each of the bytes `at`, which are 0 to 15
    narrow(shorts, wide)             the upper byte of each, as 64 bytes; where shorts are wanted, the same shorts

`_llvm_vectors` keeps them in the processor's vector registers. Where Numba no longer takes that, or gets a small sum
wrong, `_plain_vectors` takes over with a warning: the scores stay the same, and a search takes many times as long.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numba
import numpy as np

__all__ = [
    "bytes32",
    "bytes64",
    "higher",
    "is_right",
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

_LLVM, _PLAIN = f"{__package__}._llvm_vectors", f"{__package__}._plain_vectors"


def is_right(trial: Callable[..., int]) -> bool:
    """Whether a function that tries every operation (`_llvm_vectors.trial`) gives the numbers that are known."""
    small = np.arange(64, dtype=np.int8)
    large = np.arange(-3200, 3200, 100, dtype=np.int16)
    table = np.array([*range(80)], dtype=np.int8) % 16
    wide_table = np.arange(-1600, 1600, 200, dtype=np.int16)
    out = np.zeros(128, np.int8)
    total = int(trial(small, large, table, wide_table, out))
    sums = np.where(small == 7, -5, np.minimum(np.minimum(2 * small.astype(np.int64), 127) + 3, 90))
    sums = np.minimum(sums + np.where(small == 0, 1, 10), 127)
    upper = (wide_table[table[1:65]].astype(np.int64) + large) >> 8
    return total == 1400 - 3100 and out.tolist() == [*sums.tolist(), *upper.tolist()]


def _chosen() -> Any:
    try:
        vectors = import_module(_LLVM)
        if is_right(vectors.trial):
            return vectors
        reason = "numbers come out wrong"
    except Exception as error:  # whatever a future Numba raises
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    warnings.warn(
        f"Numba {numba.__version__} does not take Roslin's vector operations ({reason}); plain loops take their place, "
        "and a search takes many times as long",
        RuntimeWarning,
        stacklevel=2,
    )
    return import_module(_PLAIN)


_vectors = _chosen()

# Any, because what they are called with are values of the kernels.
bytes32: Any = _vectors.bytes32
bytes64: Any = _vectors.bytes64
shorts32: Any = _vectors.shorts32
shorts64: Any = _vectors.shorts64
longs16: Any = _vectors.longs16
load: Any = _vectors.load
store: Any = _vectors.store
spread: Any = _vectors.spread
plus: Any = _vectors.plus
minus: Any = _vectors.minus
higher: Any = _vectors.higher
lower: Any = _vectors.lower
where_equal: Any = _vectors.where_equal
largest: Any = _vectors.largest
look_up: Any = _vectors.look_up
narrow: Any = _vectors.narrow
