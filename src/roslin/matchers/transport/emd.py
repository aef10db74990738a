"""`emd`: the Earth Mover's Distance from the whole query to the closest part of the candidate.

Reference: Typke, Wiering and Veltkamp (2007), sections 2.1 to 2.4, without the segments. The query is one
weighted point set. It is moved in time, transposed and, with `tempos`, stretched to where the distance is least, and
matched with the notes there; the rest of the candidate costs nothing. The parameters are those of `transport.align`.

Distances are in units of the query's frame: with the defaults, 1 is a semitone, or the mean length of a query note.
A candidate without notes is at `NOWHERE`, further than any melody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.deadline import check_stopped
from roslin.display.words import N_, _
from roslin.errors import MelodyError
from roslin.matchers.base import Matcher, Modes, register, rounded
from roslin.matchers.explanation import Explanation, Step, transformation_words
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.packed import Candidates, Packed
from roslin.represent.points import PointSets, point_sets
from roslin.tolerances import RECOMPUTED
from roslin.transport.align import (
    Document,
    Placement,
    Query,
    Setting,
    aligned_points,
    best_alignment,
    in_quarters,
    rules_of,
)
from roslin.transport.emd import least_flow
from roslin.types import Distances, Floats, Numbers


@dataclass(frozen=True, repr=False)
class Transport(Matcher, Setting):
    """A matcher that moves weight between point sets: a setting of `transport.align`, with its parameters."""

    pairs_at_once = 20_000
    pairs_explained = 20_000  # beyond that, moving weight would take seconds for one result
    kind = "transport"

    def points(self, melodies: Candidates) -> PointSets:
        """Melodies as point sets, as this matcher sees them."""
        return point_sets(melodies, pitch=self.pitch, weight=self.weight)

    def query_points(self, query: Candidates) -> PointSets:
        """The same for a query, which must have weight to move."""
        points = self.points(query)
        if not points.weight.sum() > 0:
            raise MelodyError("the query has no weight; expected at least one note that lasts")
        return points


# -- the flow of weight, as steps --------------------------------------------------------------------------------------
#
# Weights and distances are in the frame of the query. The costs of all moves add up to the distance of the alignment.


def laid(
    chosen: Transport,
    melodies: tuple[Melody, Melody],
    points: tuple[PointSets, PointSets],
    moving: Query,
    rows: slice,
    found: Placement,
) -> Explanation:
    """The query, or the `rows` of it that are `moving`, laid onto the candidate.

    `melodies` and `points` are those of the query and of the candidate.
    """
    asked, stored = points
    document = Document.of(stored, 0, chosen)
    query_set, document_set = aligned_points(moving, document, chosen, found)
    ground = _ground(query_set[0], document_set[0], document.table, chosen.ground)
    steps = _moves(ground, query_set[1], document_set[1], chosen.missing, asked.rows[rows], stored.rows)
    place = in_quarters(moving, found)
    start = place.tempo * moving.start + place.shift
    words = transformation_words(place.transposition, place.tempo, start, melodies[1], chosen.pitch)
    sentence, moved = _("The query is {changed}.").format(changed=words), (place.transposition, place.tempo, start)
    return Explanation(chosen, "transport", *melodies, 0.0, tuple(steps), sentence, words, *moved)


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
        for j in np.flatnonzero(flow[i] > RECOMPUTED).tolist():
            weight, apart = float(flow[i, j]), float(ground[i, j])
            to = int(document_rows[j])
            moves.append(Step("moved", ((row,),), ((to,),), weight * apart / base, weight=weight, apart=apart))
        left = float(query_weight[i] - flow[i].sum())
        if missing is not None and left > RECOMPUTED:
            cost = left * missing / base
            moves.append(Step("missing", ((row,),), (), cost, weight=left, apart=float(missing)))
    return moves


NOWHERE = 1e6


@register
@dataclass(frozen=True, repr=False)
class EMD(Transport):
    """Whole query, best place."""

    name = "emd"
    summary = N_("Moves the notes of the whole query to the most similar place (Earth Mover's Distance).")
    reference = "Typke, Wiering & Veltkamp 2007, sections 2.1-2.4, without segments"

    engine = "emd"
    modes: ClassVar[Modes] = {"compare": {"both": {}}, "place": {"anywhere": {}}, "key": {"any": {}}}

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        moving = Query.of(self.query_points([query]), self)
        points = self.points(candidates)
        if self.alignment == "coincidence" and self.ground != "tonal":
            no_bounds, all_of_them = np.zeros(len(points)), np.empty(0)
            found = np.empty((len(points), 2))
            kernels.align_documents(
                moving, points, points.offsets, moving, rules_of(self), no_bounds, all_of_them, found
            )
            distances = found[:, 0]
        else:
            each = (Document.of(points, number, self) for number in range(len(points)))
            distances = np.array([self._distance(moving, document) for document in each], dtype=np.float64)
        check_stopped()
        return np.where(np.isfinite(distances), rounded(distances), NOWHERE)

    def _distance(self, query: Query, document: Document) -> float:
        return best_alignment(query, document, self).distance if document.weight.sum() > 0 else np.inf

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        candidate = candidates.melody(number)
        asked, stored = self.query_points([query]), self.points([candidate])
        if not stored.weight.sum() > 0:
            sentence = _("The melody has no notes with a duration.")
            return Explanation(self, self.kind, query, candidate, NOWHERE, (), sentence)
        moving, document = Query.of(asked, self), Document.of(stored, 0, self)
        found = best_alignment(moving, document, self)
        return laid(self, (query, candidate), (asked, stored), moving, slice(None), found)
