"""`p3`: for how long the query and the candidate sound the same, after one move of the whole query.

Reference: Ukkonen, Lemstrom and Makinen, algorithm P3; entered to MIREX 2005 as L(P3). A note is a segment: its pitch,
from its onset to its end. For a shift in time and a transposition, the common time is how long segments of both lie on
each other; c is the largest common time of all moves, exactly (geometric/base.py). As the shift grows, the common
time of a transposition rises and falls in straight lines. A pair of segments, [a, b] of the query and [s, e] of the
candidate, bends the line upwards at the shifts s - b and e - a and downwards at s - a and e - b; a sweep over all bends
finds its maximum.

Example, with [onset, end] in quarters. The query C [0, 1], D [1, 2] in the candidate G [0, 2], A [2, 4]: transposed by
a fifth and moved by 1, C lies on G and D on A for a whole quarter each. So c = 2, a = 2, b = 4, and the distance is
1 - 4/6 = 1/3, or 0 with divide="query".

Repeated notes and one long note sound at the same times, so `p3` does not tell them apart. Notes of one pitch that
overlap count once where they do (the authors' variant with counters). The authors merge the bends of all pairs with a
heap. Here they are dealt out to a table of transpositions and shifts, or sorted where that table would be too large,
and transpositions that cannot reach the maximum are not swept: the result is the same. The distance does not change
under transposition and shift in time; under tempo it does, but for `tempos`. What is certain: c. Our choice: the
distance (`divide`) and `tempos`.
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.display.words import N_
from roslin.matchers.base import register
from roslin.matchers.geometric.base import Geometric


@register
@dataclass(frozen=True, repr=False)
class P3(Geometric):
    """The longest common time."""

    name = "p3"
    summary = N_("Lays the query onto the melody, in any key, where both sound the same pitches for the longest time.")
    reference = "Ukkonen, Lemstrom & Makinen 2003, algorithm P3; MIREX 2005 entry L(P3)"
    timed = True
