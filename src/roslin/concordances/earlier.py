"""Concordances that were found before, so that only what is new in a collection is compared with all of it.

Two melodies with one digest are the same for the measure (`copies`), whatever their ids and numbers are. So a melody is
new when no earlier one had its digest, and a pair is taken over when both of its digests are still there. Pairs that
are taken over are scored again, and have today's probability.

What comes out is what a full comparison finds, but for one thing. How many matches chance brings to a melody depends on
the whole collection, and the probability on that, so a pair of two old melodies may have been beyond what is kept (far
more than the level, `find.REACH`) and be within the level now. Such a pair is not found: it was not looked for. By a
radius nothing is missing: distances do not move.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roslin.concordances.certainty import Certainty
from roslin.concordances.copies import firsts_of
from roslin.errors import ArgumentError
from roslin.types import Floats, Numbers, Words


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPairs:
    """Pairs by the numbers that melodies had then, without those of copies; and the digest of every melody then."""

    folder: Path
    digests: Words
    first: Numbers
    second: Numbers
    distances: Floats
    certainty: Certainty
    is_exact: bool

    def check(self, wanted: Certainty) -> None:
        """Refuse what these pairs cannot be the beginning of."""
        known = self.certainty
        if known.matcher != wanted.matcher:
            found = f"by the distance of {known.matcher}" if known.matcher else "by their probability"
            asked = f"by that of {wanted.matcher}" if wanted.matcher else "by their probability"
            raise ArgumentError(f"{self.folder}: its pairs were found {found}, and must be found {asked} here")
        if known.level < wanted.level:
            raise ArgumentError(
                f"{self.folder}: its pairs have {known.level_words}, and must go as far as {wanted.level_words}; "
                "what is beyond that is not in it"
            )

    def new_among(self, digests: Words) -> Numbers:
        """The numbers of the melodies that were not there."""
        firsts = firsts_of(np.concatenate([self.digests, digests]))[len(self.digests) :]
        return np.flatnonzero(firsts >= len(self.digests))

    def pairs_among(self, digests: Words) -> tuple[Numbers, Numbers, Floats]:
        """The pairs whose melodies are still there, by today's numbers; of copies, the first stands for all."""
        today = firsts_of(np.concatenate([digests, self.digests]))[len(digests) :]
        first, second = today[self.first], today[self.second]
        is_there = np.maximum(first, second) < len(digests)
        first, second = first[is_there], second[is_there]
        return np.minimum(first, second), np.maximum(first, second), self.distances[is_there]
