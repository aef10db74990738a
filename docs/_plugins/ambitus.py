"""A matcher: melodies with the same range are alike."""

from dataclasses import dataclass

import numpy as np

from roslin import Matcher, register_matcher
from roslin.values import real


@register_matcher
@dataclass(frozen=True, repr=False)
class Ambitus(Matcher):
    """The difference in range."""

    name = "ambitus"
    summary = "Compares the distance between the lowest and the highest note."
    reference = "an example"

    unit: float = real(1.0, above=0)

    def _distances(self, query, candidates):
        widths = np.array([np.ptp(each.notes["pitch_midi"]) for each in candidates.melodies()])
        return np.abs(widths - np.ptp(query.notes["pitch_midi"])) / self.unit
