"""All pairs of melodies that are the same tune at a level of certainty: the same pairs as comparing every two.

Melodies stand in the order of their lengths, in blocks of 64 (`matchers.roslin.table`). Each is compared with those
behind it, so every two melodies meet once; or, where only some are new, each of these with all others. What a pair must
reach is known before (`levels`), so the bytes of its bound are as fine as that score allows. What the bound leaves is
scored exactly. With a shortlist (`blocking`) only those are scored, which is faster and not exact.

The work is cut into pieces of `PIECE` melodies, each with a result of its own: what is finished stays finished
(`journal`), and the result does not depend on the number of threads or on interruptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from roslin.concordances.blocking import Buckets, candidates_by
from roslin.matchers.roslin.notes import one
from roslin.matchers.roslin.rounding import Plan, Planner, highest_pair, scale_for
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MELODIES, MelodyTable, Rows
from roslin.matchers.roslin.values import Encoded, Tables
from roslin.native import kernels
from roslin.types import Flags, Numbers, Scores

PIECE = 512  # melodies that are compared with all others in one piece of work
_ROOM = 1.05  # bytes hold so many times the score that is needed


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Pairs by the places of their melodies in the table, the first before the second, and the score of each."""

    first: Numbers
    second: Numbers
    scores: Scores
    compared: int  # pairs that had to be scored exactly


def piece_count(melodies: int) -> int:
    """The pieces of work that so many melodies make."""
    return -(-melodies // PIECE)


def piece_of(melodies: Numbers, number: int) -> Numbers:
    """The melodies of one piece."""
    return np.asarray(melodies[number * PIECE : (number + 1) * PIECE])


def join_places(
    table: MelodyTable,
    tables: Tables,
    needed: Scores,
    places: Numbers,
    new: Flags | None = None,
    shortlist: Shortlist | None = None,
) -> ScoredPairs:
    """The pairs of the melodies at these places with all behind them; `needed` is by place (`levels.Chances`).

    With `new`, by place: pairs with all others, before and behind, each pair of two new ones once. With a
    shortlist: only pairs of those that share something rare.
    """
    side = _Side(table, needed, Planner(tables))
    candidates = None if shortlist is None else candidates_by(shortlist.buckets)
    first, second, scores = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    queries = table.take(table.order[places].astype(np.int64))
    compared = 0
    for row, place in enumerate(places.tolist()):
        start = place + 1 if new is None else 0
        query = one(queries, row)
        if shortlist is None or candidates is None:
            possible = side.possible(query, place, start)
        else:
            among = candidates(place)
            possible = side.possible_among(query, place, np.sort(among[among >= start]), shortlist.rows)
        others, reached = side.reaching(query, place, possible)
        if new is not None:
            once = (others > place) | ~new[others]
            others, reached = others[once & (others != place)], reached[once & (others != place)]
        first.append(np.minimum(others, place))
        second.append(np.maximum(others, place))
        scores.append(reached)
        compared += len(possible)
    return ScoredPairs(np.concatenate(first), np.concatenate(second), np.concatenate(scores), compared)


class Shortlist(NamedTuple):
    """Who is worth comparing with whom, and the notes of all melodies, both by place."""

    buckets: Buckets
    rows: Rows


class _Side(NamedTuple):
    """Those that a melody is compared with."""

    table: MelodyTable
    needed: Scores
    planner: Planner

    def possible(self, query: Encoded, place: int, start: int) -> Numbers:
        """The places from `start` on whose melodies may reach what is needed."""
        wanted = np.minimum(self.needed[start:], self.needed[place])
        most = len(query.pitches) * highest_pair(self.planner.tables)
        if not len(wanted) or int(wanted.min()) > most:
            return np.empty(0, np.int64)
        first, last = start // MELODIES, len(self.table.starts) - 1
        found = np.empty((last - first, MELODIES), np.int32)
        plan = self._plan(query, min(int(wanted.max()), most))
        bound = kernels.align_blocks if plan.unit == 1 else kernels.bound_blocks
        bound(plan, self.table.blocks, np.arange(first, last), found)
        bounds = found.ravel()[start - first * MELODIES : len(self.table) - first * MELODIES]
        return start + np.flatnonzero(bounds >= wanted)

    def possible_among(self, query: Encoded, place: int, places: Numbers, rows: Rows) -> Numbers:
        """Those of some places, which rise, whose melodies may reach what is needed."""
        wanted = np.minimum(self.needed[places], self.needed[place])
        most = len(query.pitches) * highest_pair(self.planner.tables)
        if not len(wanted) or int(wanted.min()) > most:
            return np.empty(0, np.int64)
        plan = self._plan(query, min(int(wanted.max()), most))
        if plan.unit == 1:
            return places  # a byte is too coarse for a query as long as this
        bounds = np.empty(len(places), np.int32)
        kernels.bound_rows(plan, rows, self.table.tempos[: len(self.table)], places, bounds)
        found: Numbers = places[bounds >= wanted]
        return found

    def reaching(self, query: Encoded, place: int, possible: Numbers) -> tuple[Numbers, Scores]:
        """Those places whose melodies do reach what is needed, and their scores."""
        if not len(possible):
            return possible, np.empty(0, np.int32)
        score = scorer(query, self.table, self.planner.tables, self.planner)
        scores = score(self.table.order[possible].astype(np.int64))
        reached = scores >= np.minimum(self.needed[possible], self.needed[place])
        return possible[reached], scores[reached]

    def _plan(self, query: Encoded, needed: int) -> Plan:
        """In bytes that tell what reaches `needed` from what does not; with all tempos at once."""
        scale = scale_for(len(query.pitches), _ROOM * needed, self.planner.tables)
        return self.planner.plan(query, scale, combined=True)
