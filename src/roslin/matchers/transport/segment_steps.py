"""A combination of matched segments as steps of an explanation (`twv.py`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from roslin.display.words import _
from roslin.matchers.explanation import Step
from roslin.matchers.transport.flow import laid
from roslin.melody import Melody
from roslin.represent.points import PointSets
from roslin.transport.align import Query

if TYPE_CHECKING:
    from roslin.matchers.transport.twv import TWV


@dataclass(frozen=True, slots=True)
class Chain:
    """The best combination in one document: rows of matches (arguments.py), and how many segments were expected."""

    matches: npt.NDArray[np.float64]
    expected: int


def segment_steps(
    chosen: TWV,
    chain: Chain,
    melodies: tuple[Melody, Melody],
    points: tuple[PointSets, PointSets],
    penalty: float,
) -> list[Step]:
    """A step for each segment of a combination, with its moves, and one for each that is expected and not there.

    `melodies` and `points` are those of the query and of the candidate. Where nothing at all was found, every segment
    counts. Which ones are not found is known unless fewer are expected than there are.
    """
    asked, _stored = points
    spans, unit = chosen.spans(asked), chosen.unit_of(asked)
    steps, left = list[Step](), dict(enumerate(spans))
    for segment, _last, start, _apart, transposition, tempo in chain.matches.tolist():
        span = left.pop(int(segment))
        moving = Query.of(asked, chosen, span, unit=unit)
        place = start / tempo * moving.time_unit, transposition * moving.pitch_unit, tempo
        within = laid(chosen, melodies, points, moving, span, place)
        rows, name = tuple(asked.rows[span].tolist()), _("segment {number}").format(number=int(segment) + 1)
        steps.append(Step("segment", (rows,), (within.candidate_notes,), within.distance, name, within=within))
    missing = chain.expected - len(steps) if steps else len(spans)
    if len(left) > missing:
        return steps + [Step("unmatched", cost=penalty, words=_("a segment, not found"))] * missing
    for number, span in left.items():
        rows = tuple(asked.rows[span].tolist())
        words = _("segment {number}, not found").format(number=number + 1)
        steps.append(Step("unmatched", (rows,), (), penalty, words))
    return sorted(steps, key=lambda step: step.query_places)


def turned(step: Step) -> Step:
    """A step of the other direction, the document in the query, as a step of this one."""
    kind = "back" if step.kind == "segment" else step.kind
    words = _("{segment} (of the melody, in the query)").format(segment=step.words)
    return replace(step, kind=kind, query_places=step.candidate_places, candidate_places=step.query_places, words=words)
