"""Notes that coincide: a second kind of evidence, for tunes that are ornamented, reduced or have another voice.

The alignment of `roslin` pays for every note that only one of two melodies has. `p2` does not: it moves the query in
time and pitch to where most notes coincide, so a turn on every long note leaves the notes of the tune where they were.
It is asked where the alignment finds nothing sure (`is_sure`), for queries of at least `LEAST_NOTES` notes.

How many melodies chance puts as near is told by the sample that tells it for the alignment (`roslin.search.chance`).
With the median m of its distances and the distance s from there to their nearest tenth,

    ln p = ln TAIL_SHARE - ((m - distance) / s - BEGIN) / SCALE        for distances below m - BEGIN s

BEGIN and SCALE are the same for queries of 13 to 45 notes, among incipits and songs alike: counted with decoys,
shuffled, inverted and foreign melodies (docs/measurements/musical-changes.md). A melody has two chances to be found, so
its expected chance matches are multiplied by `DOUBT`, and only those that stay below one are believed. A smaller E
than the alignment's replaces it.
"""

from __future__ import annotations

import numpy as np

from roslin.matchers import P2, Matcher, Roslin
from roslin.melody import Melody
from roslin.run import Run
from roslin.run.meaning import BY_CHANCE, CLOSE
from roslin.search.chance import TAIL_SHARE
from roslin.types import Distances, Floats

COINCIDING = P2()
LEAST_NOTES = 13  # fewer coincide too often by chance
_LEAST_SAMPLED = 100  # melodies; of fewer, the nearest tenth may be relatives of the query
_NEAREST = 0.1
_BEGIN, _SCALE = 1.77, 0.43
_DOUBT = 10.0  # chosen on the choosing share


def can_ask(query: Melody, chosen: Matcher) -> bool:
    """Whether notes that coincide can be asked for: melody and rhythm may count, anywhere, in any key.

    A tune reduced to its beats is often in equal values. `auto` then compares the melody alone, but they were meant.
    """
    return (
        type(chosen) is Roslin
        and (chosen.place, chosen.key) == ("anywhere", "any")
        and chosen.compare in ("auto", "both")
        and int(np.count_nonzero(~query.notes["is_grace"])) >= LEAST_NOTES
    )


def is_sure(run: Run) -> bool:
    """Whether the one list of a search begins with a melody that is found, or has one with all notes of the query."""
    (ranking,) = run.rankings.values()
    return ranking.agreeing > 0 or min(ranking.expected or (np.inf,)) <= CLOSE


def evidence_of(distances: Distances, sampled: Distances, searched: int) -> Floats:
    """Minus the logarithm (to base 10) of the expected chance matches; minus infinity where it is not believed."""
    if len(sampled) < _LEAST_SAMPLED:
        return np.full(len(distances), -np.inf)
    middle, near = np.quantile(sampled, (0.5, _NEAREST))
    if middle <= near:
        return np.full(len(distances), -np.inf)
    above = (middle - distances) / (middle - near) - _BEGIN
    evidence = (above / _SCALE - np.log(_DOUBT * TAIL_SHARE * searched)) / np.log(10)
    return np.where((above > 0) & (evidence >= -np.log10(BY_CHANCE)), evidence, -np.inf)
