"""`shapetime`: the best of `shapeh`, put into the order of `time`.

Reference: J. Urbano, ShapeTime (MIREX 2012 to 2015; MelodyShape 1.4). All candidates are ranked by `shapeh`; those up
to the k-th distance, with all that tie with it, are ranked again by `time`. What the list looks like depends on k;
MIREX had k = 10. The parameters `aligner`, `divide`, `mismatch` and `rhythm` are those of the two.

The distance is t / (1 + t), below 1, for what was ranked again, t being that of `time`; and 1 + s for the others, s
being that of `shapeh`: all of these come after, in the order of `shapeh`. That scale is our choice; the order is as
published, but for the rules for equal scores (see `shapeh`). It depends on the other candidates.

Input and invariances are those of `shapeh` and `time` together: one line; the same under transposition and in any
tempo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_
from roslin.matchers.base import Modes, register
from roslin.matchers.explanation import Explanation, scaled
from roslin.matchers.shapes.melodyshape import GRAM_PLACES, GramAlignment
from roslin.matchers.shapes.shapeh import MISMATCHES, ShapeH
from roslin.matchers.shapes.time import Time
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.parameters import choice, real, whole


@register
@dataclass(frozen=True, repr=False)
class ShapeTime(GramAlignment):
    """Two rankings, one inside the other."""

    name = "shapetime"
    summary = N_(
        "Takes the best that the shapes of three notes find, and puts them in order by curves that know rhythm."
    )
    reference = "Urbano, MelodyShape (ShapeTime), MIREX 2012-2015"

    things = N_("groups of notes")
    modes: ClassVar[Modes] = {
        "compare": {"both": {}, "melody": {"rhythm": 0.0}},
        "place": GRAM_PLACES,
        "key": {"any": {}},
    }
    is_independent = False

    k: int = whole(10)
    mismatch: str = choice("symmetric", *MISMATCHES)
    rhythm: float = real(0.5, least=0)

    @property
    def first(self) -> ShapeH:
        """What finds."""
        return ShapeH(self.aligner, self.divide, self.mismatch)

    @property
    def second(self) -> Time:
        """What puts in order."""
        return Time(self.aligner, self.divide, self.rhythm)

    @property
    def leading(self) -> Time:
        """What the best are put in order by."""
        return self.second

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        shapes = self.first.distances(query, candidates)
        if not len(shapes):
            return shapes
        again = np.flatnonzero(self._is_again(shapes))
        times = self.second.distances(query, candidates.take(again))
        distances = 1.0 + shapes
        distances[again] = times / (1.0 + times)
        return distances

    def _is_again(self, shapes: Distances) -> npt.NDArray[np.bool_]:
        """Which candidates are ranked again."""
        last = min(self.k, len(shapes)) - 1
        is_again: npt.NDArray[np.bool_] = shapes <= np.partition(shapes, last)[last]
        return is_again

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        is_again = self._is_again(self.first.distances(query, candidates))[number]
        found = (self.second if is_again else self.first).explain(query, candidates, number)
        if not is_again:
            return replace(found, matcher=self, start=1.0 + found.start)
        factor = 1.0 / (1.0 + found.distance)
        return replace(found, matcher=self, start=found.start * factor, steps=scaled(found.steps, factor))
