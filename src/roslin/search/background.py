"""What chance is told by in one collection: a fixed sample of its melodies, and its calibrated tails.

A part of a larger collection has the background of the whole: then a hit is worth the same, wherever it was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.matchers import Matcher, Roslin
from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed
from roslin.search.chance import Null, Tail, sample_of, tail_of

__all__ = ["Background", "told_by"]

Numbers = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Melodies, which of them are the sample, and the tail by the way to compare and the notes of a query."""

    packed: Packed
    sample: Numbers
    tail: Callable[[str, int], Tail | None]

    @classmethod
    def of(cls, store: Store) -> Background:
        """The background of a collection."""
        return cls(store.packed(), sample_of(len(store)), lambda compared, size: tail_of(store, compared, size))

    def null(self, query: Melody, chosen: Matcher, known: Distances | None = None) -> Null:
        """What chance gives for a query: from all distances where they are known, otherwise from the sample."""
        # One melody must not take longer than the whole search may.
        sample = self.sample[np.diff(self.packed.offsets)[self.sample] <= chosen.longest(query)]
        if isinstance(chosen, Roslin):
            tail = self.tail(chosen.compared(query), len(melodic_line(query)))
            lacking = told_by(query, chosen, self.packed, sample, np.empty(0))
            return Null.of(lacking, tail, chosen.missing_backwards(query))
        if known is not None:
            return Null.of(known, None)
        if chosen.is_indexed:
            return Null.of(chosen.distances(query, self.packed)[sample], None)  # the index of all is there already
        return Null.of(chosen.distances(query, self.packed.take(sample)), None)


def told_by(query: Melody, chosen: Matcher, packed: Packed, numbers: Numbers, distances: Distances) -> Distances:
    """By what chance is told for the melodies with these numbers: their distances, or what they lack of the query."""
    if not isinstance(chosen, Roslin):
        return distances
    return chosen.missing_in(query, chosen.encoded(query, packed.take(numbers)))
