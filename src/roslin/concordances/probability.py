"""How probable it is that two melodies are the same tune.

Two numbers say it together: how many melodies would by chance be as near to one of the two, and to the other (E, as
`levels` has it; their geometric mean), and the distance. E alone takes a run of a scale within two long melodies for
a find, the distance alone two short melodies that are alike by chance.

    logit P = base - by_chance * ln E - by_distance * distance

Fitted on RISM, where pairs of different records name the same composer or not, with half of the composers; the other
half says how true it is (docs/measurements/concordances.md, `tools/fit_concordances.py`). Two melodies without any
relation may have the same composer, too: the fit takes that off, and pairs judged by eye correct the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from roslin.types import Floats

_LEAST = 1e-300  # what the logarithm of no chance at all is taken of


class Fitted(NamedTuple):
    """The numbers of the formula above."""

    base: float
    by_chance: float
    by_distance: float


FITTED = Fitted(base=2.12, by_chance=0.473, by_distance=10.675)


def probability(expected: Floats, distances: Floats, numbers: Fitted = FITTED) -> Floats:
    """Of pairs, from their chance matches and their distances.

    >>> probability(np.array([1e-9, 0.01, 0.01]), np.array([0.1, 0.1, 0.5])).round(2)
    array([1.  , 0.96, 0.26])
    """
    odds = numbers.base - numbers.by_chance * np.log(np.maximum(expected, _LEAST)) - numbers.by_distance * distances
    found: Floats = 1.0 / (1.0 + np.exp(-odds))
    return found
