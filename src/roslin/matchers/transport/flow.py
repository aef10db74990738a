"""The flow of weight of an alignment, as steps: which note's weight went to which note, and what that costs.

Weights and distances are in the frame of the query, as in `transport/align.py`. The costs of all moves add up to the
distance of the alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roslin.display.words import _
from roslin.matchers.explanation import Explanation, Step
from roslin.matchers.sentences import transformation_words
from roslin.melody import Melody
from roslin.represent.points import PointSets
from roslin.transport.align import Document, Query, aligned_points, in_quarters
from roslin.transport.emd import least_flow
from roslin.types import Floats, Numbers

if TYPE_CHECKING:
    from roslin.matchers.transport.base import Transport


# Less weight than this is what rounding left over.
_NOTHING = 1e-9


def laid(
    chosen: Transport,
    melodies: tuple[Melody, Melody],
    points: tuple[PointSets, PointSets],
    moving: Query,
    rows: slice,
    place: tuple[float, float, float],
) -> Explanation:
    """The query, or the `rows` of it that are `moving`, laid onto the candidate.

    `melodies` and `points` are those of the query and of the candidate, `place` the (shift in time, shift in pitch,
    tempo) in units of the query's frame.
    """
    asked, stored = points
    document = Document.of(stored, 0, chosen)
    query_set, document_set = aligned_points(moving, document, chosen, *place)
    ground = _ground(query_set[0], document_set[0], document.table, chosen.ground)
    steps = _moves(ground, query_set[1], document_set[1], chosen.missing, asked.rows[rows], stored.rows)
    found = in_quarters(moving, 0.0, *place)
    start = found.tempo * moving.start + found.shift
    words = transformation_words(found.transposition, found.tempo, start, melodies[1], chosen.pitch)
    return Explanation(
        chosen,
        "transport",
        *melodies,
        0.0,
        tuple(steps),
        _("The query is {changed}.").format(changed=words),
        words,
        found.transposition,
        found.tempo,
        start,
    )


def _ground(query: Floats, document: Floats, table: Floats, name: str) -> Floats:
    """Distances between all points, as the kernels measure them."""
    time = np.abs(np.subtract.outer(query[:, 0], document[:, 0]))
    pitch = np.abs(np.subtract.outer(query[:, 1], document[:, 1]))
    if name == "tonal":
        pitch = table[np.clip(np.rint(query[:, 1]), 0, 127).astype(int)]
    return time + pitch if name == "cityblock" else np.hypot(time, pitch)


def _moves(
    ground: Floats,
    query_weight: Floats,
    document_weight: Floats,
    missing: float | None,
    query_rows: Numbers,
    document_rows: Numbers,
) -> list[Step]:
    is_light = document_weight.sum() < query_weight.sum()
    _distance, flow = least_flow(ground, query_weight, document_weight)
    base = float(document_weight.sum() if is_light and missing is None else query_weight.sum())
    moves = []
    for i, row in enumerate(query_rows.tolist()):
        for j in np.flatnonzero(flow[i] > _NOTHING).tolist():
            weight, apart = float(flow[i, j]), float(ground[i, j])
            to = int(document_rows[j])
            moves.append(Step("moved", ((row,),), ((to,),), weight * apart / base, weight=weight, apart=apart))
        left = float(query_weight[i] - flow[i].sum())
        if missing is not None and left > _NOTHING:
            cost = left * missing / base
            moves.append(Step("missing", ((row,),), (), cost, weight=left, apart=float(missing)))
    return moves
