"""All pairs of melodies that are the same tune at a level of certainty: the same pairs as comparing every two.

Melodies stand in the order of their lengths, in blocks of 64 (`matchers.roslin.table`). Each is compared with those
behind it, so every two melodies meet once; or, where only some are new, each of these with all others. What a pair must
reach is known before (`levels`), so the bytes of its bound are as fine as that score allows. What the bound leaves is
scored exactly. With `candidates` (`blocking`) only those are scored, which is faster and not exact.

The work is cut into pieces of `PIECE` melodies, each with a result of its own: what is finished stays finished
(`journal`), and the result does not depend on the number of threads or on interruptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.concordances.blocking import Candidates
from roslin.matchers.roslin._alignment import Encoded, Tables
from roslin.matchers.roslin._blocks import MELODIES
from roslin.matchers.roslin.rounding import highest_pair, plan_of, scale_for
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable

__all__ = ["PIECE", "ScoredPairs", "join_places", "piece_count", "piece_of"]

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]

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
    candidates: Candidates | None = None,
) -> ScoredPairs:
    """The pairs of the melodies at these places with all behind them; `needed` is by place (`levels.Chances`).

    With `new`, by place: pairs with all others, before and behind, each pair of two new ones once. With `candidates`,
    by number: only pairs with these.
    """
    first, second, scores = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    compared = 0
    for place in places.tolist():
        start = place + 1 if new is None else 0
        query = table.take(table.order[place : place + 1].astype(np.int64))
        if candidates is None:
            possible = _possible(query, table, tables, needed, place, start)
        else:
            possible = np.sort(table.places[candidates(int(table.order[place]))].astype(np.int64))
            possible = possible[possible >= start]
        others, reached = _reaching(query, table, tables, needed, place, possible)
        if new is not None:
            once = (others > place) | ~new[others]
            others, reached = others[once & (others != place)], reached[once & (others != place)]
        first.append(np.minimum(others, place))
        second.append(np.maximum(others, place))
        scores.append(reached)
        compared += len(possible)
    return ScoredPairs(np.concatenate(first), np.concatenate(second), np.concatenate(scores), compared)


def _possible(query: Encoded, table: MelodyTable, tables: Tables, needed: Scores, place: int, start: int) -> Numbers:
    """The places from `start` on whose melodies may reach what is needed."""
    wanted = np.minimum(needed[start:], needed[place])
    most = len(query.pitches) * highest_pair(tables)
    if not len(wanted) or int(wanted.min()) > most:
        return np.empty(0, np.int64)
    bounds = _bounds(query, table, tables, start, min(int(wanted.max()), most))
    return start + np.flatnonzero(bounds >= wanted)


def _reaching(
    query: Encoded, table: MelodyTable, tables: Tables, needed: Scores, place: int, possible: Numbers
) -> tuple[Numbers, Scores]:
    """Those places whose melodies do reach what is needed, and their scores."""
    if not len(possible):
        return possible, np.empty(0, np.int32)
    scores = scorer(query, table, tables)(table.order[possible].astype(np.int64))
    reached = scores >= np.minimum(needed[possible], needed[place])
    return possible[reached], scores[reached]


def _bounds(query: Encoded, table: MelodyTable, tables: Tables, start: int, needed: int) -> Scores:
    """No melody from `start` on scores more than this, in bytes that tell what reaches `needed` from what does not."""
    from roslin.matchers.roslin._bound import bound_in_bytes
    from roslin.matchers.roslin._side_by_side import align_in_shorts

    first, last = start // MELODIES, len(table.starts) - 1
    found = np.empty((last - first) * MELODIES, np.int32)
    scale = scale_for(len(query.pitches), _ROOM * needed, tables)
    plan = plan_of(query, tables, scale, combined=True)
    bound = align_in_shorts if scale is None else bound_in_bytes
    bound(plan, table.blocks, first, last, np.empty(0, np.int64), found)
    return found[start - first * MELODIES : len(table) - first * MELODIES]
