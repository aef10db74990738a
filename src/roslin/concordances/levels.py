"""What chance gives for every melody of a collection, and the score that a pair must reach because of it.

As for a query (`search.chance`): a fixed sample of the collection says how much of a melody unrelated ones usually
lack, and the calibrated tail how quickly that becomes rare. A level is a number of chance matches (E); turned round,
each level is a score. A pair is found when it reaches what either of its melodies asks for: a fragment is rare within a
long melody, though most of the long one is missing in the fragment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import Tables
from roslin.matchers.roslin.notes import backwards
from roslin.matchers.roslin.rounding import Planner
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable
from roslin.search.chance import Tail, between, middles_and_spreads, sample_of

__all__ = ["NEVER", "Chances", "chances_of"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]

NEVER = np.iinfo(np.int32).max  # of a melody so short that chance explains even the whole of it


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """For each melody: what is missing where the tail begins, how fast it falls from there, and what it is worth.

    Among `searched` melodies, `searched * share * exp(-(begin - missing) / scale)` lack so little by chance.
    """

    begins: Floats
    scales: Floats
    own_scores: Scores
    share: float
    searched: int

    def needed(self, level: float) -> Scores:
        """The score from which on each melody has at most `level` chance matches."""
        # The tail says nothing of more than its share of the melodies.
        rarer = np.log(min(level / (self.searched * self.share), 1.0))
        missing = np.minimum(self.begins + self.scales * rarer, 1.0)
        scores = np.ceil((1.0 - missing) * self.own_scores - _SLACK)
        return np.where((missing >= 0) & (self.scales > 0), scores, NEVER).astype(np.int32)

    def expected(self, which: Numbers, scores: Scores) -> Floats:
        """How many melodies would reach these scores with these melodies by chance; the tail's share at most."""
        missing = np.clip(1.0 - scores / np.maximum(self.own_scores[which], 1), 0.0, 1.0)
        below = np.maximum(self.begins[which] - missing, 0.0)
        scales = np.where(self.scales[which] > 0, self.scales[which], np.inf)
        found: Floats = self.searched * self.share * np.exp(-below / scales)
        return found


_SLACK = 1e-6  # of a unit: what rounding may do to a product


def chances_of(table: MelodyTable, tables: Tables, tails: dict[int, Tail], numbers: Numbers) -> tuple[Floats, Floats]:
    """(begins, scales) of the melodies with these numbers."""
    from roslin.matchers.roslin._alignment import align_all

    sample, planner = sample_of(len(table)), Planner(tables)
    missing, reversals = np.empty((len(numbers), len(sample))), np.empty(len(numbers))
    for row, number in enumerate(numbers.tolist()):
        query, worth = table.take(np.array([number])), max(int(table.own_scores[number]), 1)
        missing[row] = np.clip(1.0 - scorer(query, table, tables, planner)(sample) / worth, 0.0, 1.0)
        itself = np.empty(1, np.int32)
        align_all(query, backwards(query), tables, np.zeros(1, np.int64), itself)
        reversals[row] = np.clip(1.0 - itself[0] / worth, 0.0, 1.0)
    middles, spreads = middles_and_spreads(missing)
    begins, scales = np.empty(len(numbers)), np.empty(len(numbers))
    for size in np.unique(table.sizes[numbers]).tolist():
        of_size = table.sizes[numbers] == size
        begins[of_size], scales[of_size] = between(tails, size).of(
            middles[of_size], spreads[of_size], reversals[of_size]
        )
    return begins, scales
