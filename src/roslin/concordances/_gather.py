"""The candidates of a melody: all that share a bucket with it, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["Buckets", "gather"]

Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


class Buckets(NamedTuple):
    """Which melodies are in a bucket, and in which buckets a melody is; both end to end."""

    starts: Numbers
    members: Longs
    of_starts: Numbers
    buckets: Longs


@kernel
def gather(index: Buckets, number: int, round_: int, seen: Longs, found: Longs) -> int:
    """Write the melodies that share a bucket with one, and say how many they are.

    `seen` remembers in which round each was last found; every round needs a number of its own.
    """
    count = 0
    seen[number] = round_
    for place in range(index.of_starts[number], index.of_starts[number + 1]):
        bucket = index.buckets[place]
        for at in range(index.starts[bucket], index.starts[bucket + 1]):
            other = index.members[at]
            if seen[other] != round_:
                seen[other] = round_
                found[count] = other
                count += 1
    return count
