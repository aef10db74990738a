"""What somebody's own code gives back, checked: one number for each of so many things."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import PluginError
from roslin.values.parameters import shown

_WORDS = {"U": "text", "S": "bytes", "b": "True and False", "c": "complex numbers", "O": "things that are no numbers"}


def one_number_each(found: Any, count: int, expected: str, *, undefined: bool = False) -> npt.NDArray[np.float64]:
    """The numbers as an array, if there are `count` and each is one; `expected` says in the error what they should be.

    Infinity is a number here, minus infinity is none; `undefined`: NaN is allowed.
    """
    try:
        array = np.asarray(found)
    except ValueError:  # lists of different lengths
        raise PluginError(f"{expected}; got {shown(found)}") from None
    if array.shape != (count,):
        what = (
            f"{len(array)}" if array.ndim == 1 else f"an array of shape {array.shape}" if array.ndim else shown(found)
        )
        raise PluginError(f"{expected}; got {what}")
    if array.dtype.kind not in "fiu" and count:
        raise PluginError(f"{expected}; got {_WORDS.get(array.dtype.kind, array.dtype)}, such as {shown(array[0])}")
    numbers: npt.NDArray[np.float64] = array.astype(np.float64, copy=False)
    for name, is_wrong in (("NaN", np.isnan(numbers) & (not undefined)), ("minus infinity", np.isneginf(numbers))):
        if is_wrong.any():
            raise PluginError(f"{expected}; got {name} for number {int(np.argmax(is_wrong)) + 1}")
    return numbers
