"""The score that a pair must reach to be the same tune at a level of certainty.

A level is a number of chance matches (E). For every melody a fixed sample of the collection says what chance gives, as
it does for a query (`search.chance`); that is turned round into the score from which on fewer than E melodies of the
collection would match by chance. A pair is found when it reaches what either of its two melodies asks for: a fragment is
rare within a long melody, though most of the long one is missing in the fragment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import Tables
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable
from roslin.search.chance import Null, Tail, between, sample_of
from roslin.search.work import Work

__all__ = ["NEVER", "most_missing", "needed_scores", "nulls_of"]

Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]

NEVER = np.iinfo(np.int32).max  # of a melody so short that chance explains even the whole of it
_AT_ONCE = 256
_HALVINGS = 24  # finer than a unit of any score


def nulls_of(table: MelodyTable, tables: Tables, tails: dict[int, Tail], places: Numbers) -> list[Null]:
    """What chance gives for the melodies at these places."""
    sample = table.places[sample_of(len(table))].astype(np.int64)
    sample_numbers = table.order[sample].astype(np.int64)
    found = []
    for place in places.tolist():
        number = int(table.order[place])
        scores = scorer(table.take(np.array([number])), table, tables)(sample_numbers)
        own = max(int(table.own_scores[number]), 1)
        missing = np.clip(1.0 - scores / own, 0.0, 1.0)
        found.append(Null.of(missing, between(tails, int(table.sizes[number]))))
    return found


def needed_scores(
    table: MelodyTable, tables: Tables, tails: dict[int, Tail], level: float, work: Work, places: Numbers | None = None
) -> Scores:
    """The score from which on each melody, by place, has at most `level` chance matches among all."""
    wanted = np.arange(len(table)) if places is None else places
    parts = [wanted[start : start + _AT_ONCE] for start in range(0, len(wanted), _AT_ONCE)]

    def needed(part: Numbers) -> Scores:
        own = table.own_scores[table.order[part]]
        missing = np.array([most_missing(null, level, len(table)) for null in nulls_of(table, tables, tails, part)])
        scores = np.where(missing >= 0, np.ceil((1.0 - missing) * own), NEVER)
        return scores.astype(np.int32)

    found = [np.empty(0, np.int32)]
    for done, each in enumerate(work.map(needed, parts), start=1):
        found.append(each)
        work.report(done / len(parts), "what chance gives")
    return np.concatenate(found)


def most_missing(null: Null, level: float, searched: int) -> float:
    """The largest share that may be missing for E to stay within the level; below 0 where nothing may.

    `Null.expected` never falls as more is missing, so its inverse is found by halving.
    """
    if null.expected(np.zeros(1), searched)[0] > level:
        return -1.0
    low, high = 0.0, 1.0
    if null.expected(np.ones(1), searched)[0] <= level:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if null.expected(np.array([middle]), searched)[0] <= level:
            low = middle
        else:
            high = middle
    return low
