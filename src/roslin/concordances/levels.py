"""What chance gives for every melody of a collection, and the score that a pair must reach because of it.

As for a query (`search.chance`): a fixed sample of the collection says how much unrelated ones usually
score, and the calibrated tail how quickly that becomes rare. A level is a number of chance matches (E); turned round,
each level is a score. A pair is found when it reaches what either of its melodies asks for: a fragment is rare within a
long melody, though most of the long one is missing in the fragment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roslin.matchers.roslin.notes import backwards, one
from roslin.matchers.roslin.rounding import Planner
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable
from roslin.matchers.roslin.values import Tables
from roslin.native import kernels
from roslin.search.chance import TAIL_SHARE, Tail, between, middles_and_spreads
from roslin.types import Floats, Numbers, Scores

NEVER = np.iinfo(np.int32).max  # of a melody so short that chance explains even the whole of it


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """For each melody: the score at which the tail begins, how fast it falls from there, and its self-score.

    Among `searched` melodies, `searched * TAIL_SHARE * exp(-(score - begin) / scale)` score so much by chance.
    """

    begins: Floats
    scales: Floats
    own_scores: Scores
    searched: int

    def needed(self, level: float) -> Scores:
        """The score from which on each melody has at most `level` chance matches."""
        # The tail says nothing of more than its share of the melodies.
        rarer = np.log(min(level / (self.searched * TAIL_SHARE), 1.0))
        scores = np.maximum(np.ceil(self.begins - self.scales * rarer - _SLACK), 0)
        return np.where((scores <= self.own_scores) & (self.scales > 0), scores, NEVER).astype(np.int32)

    def expected(self, which: Numbers, scores: Scores) -> Floats:
        """How many melodies would reach these scores with these melodies by chance; the tail's share at most."""
        above = np.maximum(np.minimum(scores, self.own_scores[which]) - self.begins[which], 0.0)
        scales = np.where(self.scales[which] > 0, self.scales[which], np.inf)
        found: Floats = self.searched * TAIL_SHARE * np.exp(-above / scales)
        return found


_SLACK = 1e-6  # of a unit: what rounding may do to a product


def chances_of(
    table: MelodyTable, tables: Tables, tails: dict[int, Tail], sample: Numbers, numbers: Numbers
) -> tuple[Floats, Floats]:
    """(begins, scales) of the melodies with these numbers, from those of a sample."""
    planner = Planner(tables)
    queries = table.take(numbers)
    found, reversals = np.empty((len(numbers), len(sample))), np.empty(len(numbers), np.int32)
    kernels.align_each(queries, backwards(queries), tables, reversals)
    for row in range(len(numbers)):
        found[row] = scorer(one(queries, row), table, tables, planner)(sample)
    middles, spreads = middles_and_spreads(found)
    begins, scales = np.empty(len(numbers)), np.empty(len(numbers))
    for size in np.unique(table.sizes[numbers]).tolist():
        of_size = table.sizes[numbers] == size
        begins[of_size], scales[of_size] = between(tails, size).of(
            middles[of_size], spreads[of_size], reversals[of_size]
        )
    return begins, scales
