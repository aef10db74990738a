"""All pairs of melodies that are the same tune at a level of certainty: the same pairs as comparing every two.

Melodies stand in the order of their lengths, in blocks of 64 (`matchers.roslin.table`). Each is compared with those
behind it, so every two melodies meet once. What a pair must reach is known before (`levels`), so the bytes of its bound
are as fine as that score allows, and whatever is sure to reach it need not be bounded further. What the bound leaves is
bounded more closely, then scored exactly.

The work is cut into pieces of `PIECE` melodies, each with a result of its own: what is finished stays finished
(`journal`), and the result does not depend on the number of threads or on interruptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import Encoded, Tables
from roslin.matchers.roslin._blocks import MELODIES
from roslin.matchers.roslin.rounding import highest_pair, plan_of, scale_for
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable

__all__ = ["PIECE", "Scored", "joined", "piece_count"]

Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]

PIECE = 512  # melodies that are compared with all behind them in one piece of work
_ROOM = 1.05  # bytes hold so many times the score that is needed


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Pairs by the places of their melodies in the table, and the score of each."""

    first: Numbers
    second: Numbers
    scores: Scores
    compared: int = 0  # pairs that were scored exactly


def piece_count(melodies: int) -> int:
    """How many pieces of work so many melodies make."""
    return -(-melodies // PIECE)


def joined(table: MelodyTable, tables: Tables, needed: Scores, piece: int) -> Scored:
    """The pairs of one piece: its melodies, each with all behind it. `needed` is by place (`levels`)."""
    first = [np.empty(0, np.int64)]
    second, scores, compared = [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    # What is needed of any melody from here on: nothing behind a place can ask for less.
    for place in range(piece * PIECE, min((piece + 1) * PIECE, len(table) - 1)):
        others, reached, looked = _pairs_of(table, tables, needed, place)
        first.append(np.full(len(others), place))
        second.append(others)
        scores.append(reached)
        compared += looked
    return Scored(np.concatenate(first), np.concatenate(second), np.concatenate(scores), compared)


def _pairs_of(table: MelodyTable, tables: Tables, needed: Scores, place: int) -> tuple[Numbers, Scores, int]:
    """The places behind one whose melodies reach what is needed, their scores, and how many had to be scored."""
    query = table.take(table.order[place : place + 1].astype(np.int64))
    wanted = np.minimum(needed[place + 1 :], needed[place])
    least, most = int(wanted.min()), len(query.pitches) * highest_pair(tables)
    if least > most:
        return np.empty(0, np.int64), np.empty(0, np.int32), 0
    behind = place + 1 + np.flatnonzero(_bounds(query, table, tables, place, min(int(wanted.max()), most)) >= wanted)
    if not len(behind):
        return behind, np.empty(0, np.int32), 0
    scores = scorer(query, table, tables)(table.order[behind].astype(np.int64))
    reached = scores >= wanted[behind - place - 1]
    return behind[reached], scores[reached], len(behind)


def _bounds(query: Encoded, table: MelodyTable, tables: Tables, place: int, needed: int) -> Scores:
    """No melody behind a place scores more than this; in bytes that tell what reaches `needed` from what does not."""
    from roslin.matchers.roslin._bound import bound_in_bytes
    from roslin.matchers.roslin._side_by_side import align_in_shorts

    first, last = (place + 1) // MELODIES, len(table.starts) - 1
    found = np.empty((last - first) * MELODIES, np.int32)
    scale = scale_for(len(query.pitches), _ROOM * needed, tables)
    plan, nowhere = plan_of(query, tables, scale, combined=True), np.empty(0, np.int64)
    kernel = align_in_shorts if scale is None else bound_in_bytes
    kernel(plan, table.blocks, first, last, nowhere, found)
    return found[place + 1 - first * MELODIES : len(table) - first * MELODIES]
