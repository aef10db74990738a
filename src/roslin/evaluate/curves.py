"""Curves over the ranks of one list: precision and recall, ROC, lift, and the normalised lift curve of Serrà (2007).

Each function gives two arrays (x, y). The normalised lift curve has the share of the list on x and recall on y, from
(0, 0): lists of different lengths and queries with different numbers of relevant documents fit into one plot, and can
be averaged. The area under it is a measure, `LiftArea`.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.measures.base import Measure, hits_of_one, register
from roslin.evaluate.rankings import Groups, Hits, RankedIds, share
from roslin.tolerances import REORDERED
from roslin.types import Floats
from roslin.values.parameters import choice

Curve = tuple[Floats, Floats]


def _found(groups: Groups, ranking: RankedIds, query: Hashable | None) -> tuple[Floats, int]:
    """Relevant documents among the first 0, 1, ... ranks, and how many there are in all."""
    hits = hits_of_one(groups, ranking, query=query)
    relevant = int(hits.relevant[0])
    if not relevant:
        raise ArgumentError("a curve needs a truth with at least one document")
    return np.cumsum(np.bincount(hits.rank, minlength=int(hits.depth[0]) + 1)).astype(np.float64), relevant


def precision_recall_curve(groups: Groups, ranking: RankedIds, *, query: Hashable | None = None) -> Curve:
    """(recall, precision) after each rank.

    >>> [axis.tolist() for axis in precision_recall_curve([["a", "b"]], ["a", "x"])]
    [[0.5, 0.5], [1.0, 0.5]]
    """
    found, relevant = _found(groups, ranking, query)
    return found[1:] / relevant, found[1:] / np.arange(1, len(found))


def interpolated_precision(
    groups: Groups, ranking: RankedIds, levels: int = 11, *, query: Hashable | None = None
) -> Curve:
    """(recall, precision) at evenly spaced recalls from 0 to 1: the largest precision at that recall or beyond."""
    if levels < 2:
        raise ArgumentError(f"levels must be at least 2; got {levels}")
    recall, precision = precision_recall_curve(groups, ranking, query=query)
    wanted = np.linspace(0.0, 1.0, levels)
    # Rounding must not push a recall of 3/10 below the level 0.3.
    values = [float(precision[recall >= level - REORDERED].max(initial=0.0)) for level in wanted]
    return wanted, np.array(values)


def roc_curve(groups: Groups, ranking: RankedIds, size: int, *, query: Hashable | None = None) -> Curve:
    """(fallout, recall) from (0, 0) after each rank, and (1, 1) last; `size` is that of the collection."""
    found, relevant = _found(groups, ranking, query)
    others = size - relevant
    wrong = np.arange(len(found)) - found
    if others <= 0 or wrong[-1] > others:
        raise ArgumentError(f"size must be that of the whole collection; got {size}")
    return np.append(wrong / others, 1.0), np.append(found / relevant, 1.0)


def lift_curve(groups: Groups, ranking: RankedIds, *, query: Hashable | None = None) -> Curve:
    """(ranks seen, relevant documents found), from (0, 0)."""
    found, _ = _found(groups, ranking, query)
    return np.arange(len(found), dtype=np.float64), found


def normalised_lift_curve(groups: Groups, ranking: RankedIds, *, query: Hashable | None = None) -> Curve:
    """(share of the list seen, share of the relevant documents found), from (0, 0): Serrà (2007), figure 1.

    >>> [axis.tolist() for axis in normalised_lift_curve([["a", "b"]], ["a", "x"])]
    [[0.0, 0.5, 1.0], [0.0, 0.5, 0.5]]
    """
    found, relevant = _found(groups, ranking, query)
    return np.arange(len(found)) / max(len(found) - 1, 1), found / relevant


def mean_lift_curve(curves: list[Curve], points: int = 101) -> Curve:
    """The mean of normalised lift curves, each read at evenly spaced shares of its list."""
    if not curves:
        raise ArgumentError("a mean needs at least one curve")
    at = np.linspace(0.0, 1.0, points)
    return at, np.mean([np.interp(at, x, y) for x, y in curves], axis=0)


@register
class LiftArea(Measure):
    """Area under the normalised lift curve: `trapezoid` under straight lines, `step` the mean recall over the ranks."""

    name = "LiftArea"
    summary = "Area under the normalised lift curve: recall, averaged along the list."
    reference = "Serrà 2007, figure 1"
    exact_in_ties = True

    rule: str = choice("trapezoid", "trapezoid", "step")

    def _values(self, hits: Hits) -> Floats:
        # A hit at rank w raises the curve for all that follows; the trapezoid also has half of its own step.
        rank = hits.before + (hits.tied + 1) / 2
        after = hits.depth[hits.query] - rank + (0.5 if self.rule == "trapezoid" else 1.0)
        return share(hits.per_query(after), (hits.depth * hits.relevant).astype(np.float64))


def lift_area(groups: Groups, ranking: RankedIds, *, rule: str = "trapezoid") -> float:
    """Area under the normalised lift curve of one query.

    >>> lift_area([["a", "b"]], ["a", "x"])
    0.375
    """
    return LiftArea(rule=rule)(groups, ranking)
