"""Notes that coincide: a second kind of evidence, for tunes that are ornamented, reduced or have another voice.

The alignment of `roslin` pays for every note that only one of two melodies has. `p2` does not: it moves the query in
time and pitch to where most notes coincide, so a turn on every long note leaves the notes of the tune in place. The
search uses it if the alignment finds nothing certain (`is_certain`), for queries of at least `LEAST_COINCIDING` notes.

The null model is the sample of melodies that the alignment is compared with as well (`roslin.search.chance`). With the
median m of their distances and the distance s from there to the nearest tenth of them,

    ln p = ln TAIL_SHARE - ((m - distance) / s - BEGIN) / SCALE        for distances below m - BEGIN s

BEGIN and SCALE are the same for queries of 13 to 45 notes, among incipits and songs alike. They were measured with
decoys: shuffled, inverted and foreign melodies. A melody has two chances to be found, so its expected chance matches
are multiplied by `DOUBT`, and only those that stay below one are believed. They replace a higher E of the alignment.
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
LEAST_COINCIDING = 13  # fewer coincide too often by chance
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
        and int(np.count_nonzero(~query.notes["is_grace"])) >= LEAST_COINCIDING
    )


def is_certain(agreeing: int, expected: float) -> bool:
    """Whether the alignment has found the tune: melodies with all notes of the query, or a first one with this E."""
    return agreeing > 0 or expected <= CLOSE


def has_certain(run: Run) -> bool:
    """The same for the list of a search."""
    (ranking,) = run.rankings.values()
    return is_certain(ranking.agreeing, min(ranking.expected or (np.inf,)))


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
