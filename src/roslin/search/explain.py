"""Why a candidate is as near as it is: where the query was moved, and which note's weight went to which note.

`explain` works for the matchers by transportation distance. `emd` has one part, the whole query; `twv` has a part for
each segment of its best combination, with an alignment of its own. In a part, the costs of all moves add up to its
distance. Weights and distances are in the frame of the query, as in `transport/align.py`.

An explanation looks at one candidate alone. What `twv` takes from the other candidates, the largest distance as the
penalty for a segment that is not matched, it does not know: the radius stands in its place. Of the two directions of
`both` it shows the first, query in candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, MelodyError
from roslin.matchers import EMD, TWV, Matcher, matcher
from roslin.matchers.transport.base import Transport
from roslin.melody import Melody
from roslin.represent.points import PointSets
from roslin.represent.segments import segments
from roslin.search.words import transformation_words
from roslin.transport.align import ALIGNMENTS, Alignment, Document, Query, aligned_points, in_quarters, unit_of
from roslin.transport.emd import least_flow

__all__ = ["Explanation", "Move", "Part", "explain"]

Array = npt.NDArray[np.float64]

# Less weight than this is what rounding left over.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Move:
    """Weight that goes from one note of the query to one of the candidate; numbers are rows of their note tables.

    `candidate_note` is None for weight that finds no partner because the candidate is too light. `cost` is this move's
    share of the distance.
    """

    query_note: int
    candidate_note: int | None
    weight: float
    distance: float
    cost: float


@dataclass(frozen=True, slots=True)
class Part:
    """The query, or one of its segments (counted from 1), laid onto the candidate."""

    segment: int | None
    query_notes: tuple[int, ...]
    alignment: Alignment
    words: str
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A distance taken apart. `expected` is how many parts there would ideally be."""

    query: Melody
    candidate: Melody
    matcher: Transport
    distance: float
    expected: int
    parts: tuple[Part, ...]

    @property
    def words(self) -> str:
        """The whole in a sentence or two."""
        if not isinstance(self.matcher, TWV):
            return f"The query is {self.parts[0].words}."
        ways = [part.words for part in self.parts]
        found = f"{len(ways)} of {self.expected} expected segments found"
        return f"{found}; {ways[0]}." if ways else f"{found}: none is within the radius."


def explain(query: Melody, candidate: Melody, matcher_name: str | Matcher = "emd") -> Explanation:
    """How the distance from a query to a candidate comes about.

    >>> from roslin import load
    >>> explain(load("'4CDE")[0], load("4-'GAB2''C")[0]).words
    'The query is transposed up a perfect fifth, at the same tempo, starting after 1 quarter.'
    """
    chosen = matcher(matcher_name)
    if not isinstance(chosen, (EMD, TWV)):
        raise ArgumentError(f"only emd and twv can be explained; got {chosen.name}")
    asked, stored = chosen.query_points([query]), chosen.points([candidate])
    if not stored.weight.sum() > 0:
        raise MelodyError("there is nothing to explain: the candidate has no notes")
    alone = replace(chosen, penalty="radius") if isinstance(chosen, TWV) else chosen
    distance = float(alone.distances(query, [candidate])[0])
    if isinstance(chosen, EMD):
        return Explanation(query, candidate, chosen, distance, 1, (_whole(chosen, asked, stored, candidate),))
    chain = chosen.best_chain(query, candidate, chosen.radius)
    cut, unit = segments(asked, chosen.segment, chosen.step), unit_of(asked, chosen.setting)
    parts = []
    for number, _, start, _, transposition, tempo in chain.matches.tolist():
        rows = slice(int(cut.first[int(number)]), int(cut.end[int(number)]))
        moving = Query.of(asked, chosen.setting, rows, unit=unit)
        place = start / tempo * moving.time_unit, transposition * moving.pitch_unit, tempo
        parts.append(_part(chosen, asked, rows, moving, stored, candidate, place, int(number) + 1))
    return Explanation(query, candidate, chosen, distance, chain.expected, tuple(parts))


def _whole(chosen: EMD, asked: PointSets, stored: PointSets, candidate: Melody) -> Part:
    moving, document = Query.of(asked, chosen.setting), Document.of(stored, 0, chosen.setting)
    _, x, y, tempo = ALIGNMENTS[chosen.alignment](moving, document, chosen.setting)
    return _part(chosen, asked, slice(0, len(asked.time)), moving, stored, candidate, (x, y, tempo), None)


def _part(
    chosen: Transport,
    asked: PointSets,
    rows: slice,
    moving: Query,
    stored: PointSets,
    candidate: Melody,
    place: tuple[float, float, float],
    segment: int | None,
) -> Part:
    document = Document.of(stored, 0, chosen.setting)
    query_set, document_set = aligned_points(moving, document, chosen.setting, *place)
    ground = _ground(query_set[0], document_set[0], document.table, chosen.ground)
    moves = _moves(ground, query_set[1], document_set[1], chosen.missing, asked.rows[rows], stored.rows)
    alignment = in_quarters(moving, sum(move.cost for move in moves), *place)
    start = alignment.tempo * moving.start + alignment.shift
    words = transformation_words(alignment, start, candidate, chosen.pitch)
    return Part(segment, tuple(asked.rows[rows].tolist()), alignment, words, tuple(moves))


def _ground(query: Array, document: Array, table: Array, name: str) -> Array:
    """Distances between all points, as the kernels measure them."""
    time = np.abs(np.subtract.outer(query[:, 0], document[:, 0]))
    pitch = np.abs(np.subtract.outer(query[:, 1], document[:, 1]))
    if name == "tonal":
        pitch = table[np.ix_(np.clip(np.rint(query[:, 1]), 0, 127).astype(int), document[:, 1].astype(int))]
    return time + pitch if name == "cityblock" else np.hypot(time, pitch)


def _moves(
    ground: Array,
    query_weight: Array,
    document_weight: Array,
    missing: float | None,
    query_rows: npt.NDArray[np.int64],
    document_rows: npt.NDArray[np.int64],
) -> list[Move]:
    is_light = document_weight.sum() < query_weight.sum()
    _, flow = least_flow(ground, query_weight, document_weight)
    base = float(document_weight.sum() if is_light and missing is None else query_weight.sum())
    moves = []
    for i, row in enumerate(query_rows.tolist()):
        for j in np.flatnonzero(flow[i] > _NOTHING).tolist():
            weight, apart = float(flow[i, j]), float(ground[i, j])
            moves.append(Move(row, int(document_rows[j]), weight, apart, weight * apart / base))
        left = float(query_weight[i] - flow[i].sum())
        if missing is not None and left > _NOTHING:
            moves.append(Move(row, None, left, float(missing), left * missing / base))
    return moves
