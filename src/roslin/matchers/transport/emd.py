"""`emd`: the Earth Mover's Distance from the whole query to the part of the candidate that is nearest to it.

Reference: Typke, Wiering and Veltkamp, paper 002, sections 2.1 to 2.4, without the segments. The query is one weighted
point set. It is moved in time, transposed and, with `tempos`, stretched to where the distance is least, and matched
with whatever lies there; the rest of the candidate costs nothing. The parameters are those of `transport.align`.

Distances are in units of the query's frame: with the defaults, 1 is a semitone, or the mean length of a query note.
A candidate without notes is at `NOWHERE`, further than any melody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.deadline import check_stopped
from roslin.display.words import N_, _
from roslin.matchers.base import Modes, register, rounded
from roslin.matchers.explanation import Explanation
from roslin.matchers.transport.base import Transport
from roslin.matchers.transport.flow import laid
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.packed import Packed
from roslin.transport.align import ALIGNMENTS, Document, Query, Setting, notes_of, rules_of
from roslin.types import Distances

NOWHERE = 1e6


@register
@dataclass(frozen=True, repr=False)
class EMD(Transport):
    """Whole query, best place."""

    name = "emd"
    summary = N_("Moves the notes of the whole query to the most similar place; the Earth Mover's Distance.")
    reference = "Typke, Wiering & Veltkamp 2007, sections 2.1-2.4, without segments"

    engine = "emd"
    modes: ClassVar[Modes] = {"compare": {"both": {}}, "place": {"anywhere": {}}, "key": {"any": {}}}

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        moving = Query.of(self.query_points([query]), self)
        points = self.points(candidates)
        if self.alignment == "coincidence" and self.ground != "tonal":
            no_bounds, all_of_them = np.zeros(len(points)), np.empty(0)
            found = np.empty((len(points), 2))
            documents = notes_of(points), points.offsets
            kernels.align_documents(
                moving.points, *documents, moving.frame, rules_of(self), no_bounds, all_of_them, found
            )
            distances = found[:, 0]
        else:
            each = (Document.of(points, number, self) for number in range(len(points)))
            distances = np.array([_one(moving, document, self) for document in each], dtype=np.float64)
        check_stopped()
        return np.where(np.isfinite(distances), rounded(distances), NOWHERE)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        candidate = candidates.melody(number)
        asked, stored = self.query_points([query]), self.points([candidate])
        if not stored.weight.sum() > 0:
            return Explanation(self, self.kind, query, candidate, NOWHERE, (), _("No note of the melody lasts."))
        moving, document = Query.of(asked, self), Document.of(stored, 0, self)
        _distance, x, y, tempo = ALIGNMENTS[self.alignment](moving, document, self)
        return laid(self, (query, candidate), (asked, stored), moving, slice(None), (x, y, tempo))


def _one(query: Query, document: Document, setting: Setting) -> float:
    if not document.weight.sum() > 0:
        return np.inf
    return ALIGNMENTS[setting.alignment](query, document, setting)[0]
