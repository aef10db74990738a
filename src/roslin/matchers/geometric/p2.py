"""`p2`: how many notes of the query stand in the candidate, after one move of the whole query.

Reference: Ukkonen, Lemstrom and Makinen, algorithm P2. Notes are points (onset, pitch); durations do not matter. Every
shift in time with a transposition takes some points of the query onto points of the candidate; c is the largest number
that one of them takes (geometric/base.py). It is the size of the largest set of equal difference vectors.

Example, with (onset in quarters, pitch). The query is (0, 60) (1, 62) (2, 64), the candidate (0, 67) (1, 69) (2, 70)
(3, 72). Up by 7, two points coincide; up by 8 and a quarter later, two others: (2, 70) and (3, 72). No move does
better, so c = 2, a = 3, b = 4, and the distance is 1 - 4/7 = 3/7, or 1/3 with divide="query".

The authors merge the sorted differences with a heap; here they are counted in a hash table, with the same result. The
distance does not change under transposition and shift in time; under tempo it does, but for `tempos`. One wrong pitch
costs one note; one wrong duration moves all notes after it, and costs the shorter part. What is certain: c. Our choice:
the distance (`divide`), `tempos`, and that doublings count once.
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.display.words import N_
from roslin.matchers.base import register
from roslin.matchers.geometric.base import Geometric


@register
@dataclass(frozen=True, repr=False)
class P2(Geometric):
    """The most notes that coincide."""

    name = "p2"
    summary = N_("Lays the query onto the melody, in any key, where most notes coincide in onset and pitch.")
    reference = "Ukkonen, Lemstrom & Makinen 2003, algorithm P2"
    timed = False
