"""The exact nearest melodies: the same list as scoring everything, without scoring everything.

Every melody gets an upper bound of its score (`_blocks`), and so a lower bound of its distance. The most promising ones
are scored; then all whose bound reaches what the k-th nearest has by then, a few at a time. No more than that can be
among the k nearest, so the list is that of brute force, with everything that is as near as the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import FARTHEST, Encoded, Tables
from roslin.matchers.roslin._blocks import MELODIES, UNKNOWN
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.rounding import check, highest_pair, long_plan_of, plan_of, scale_for
from roslin.melody import Melody
from roslin.search.roslin_table import Table
from roslin.search.work import Work

__all__ = [
    "NearestAligned",
    "aligned_distances",
    "distances_of",
    "nearest",
    "nearest_aligned",
    "scores_of",
    "upper_bounds",
]

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]
Distances = npt.NDArray[np.float64]
# The distances of melodies with these scores: they fall as scores rise. The second is numbers, or a slice of them.
DistanceOf = Callable[[Scores, Numbers | slice], Distances]

# Melodies bounded, or scored, in one piece of work.
PIECE = 8192
SCORED_AT_ONCE = 512
# So many are scored first, and so many times as many in each further round.
FIRST, GROWTH = 256, 4
# With fewer than this share of the melodies allowed, scoring them all is faster than bounding whole blocks.
_FEW = 1 / 8
_SLACK = 1e-9  # of a distance: what rounding may do to a function that falls


@dataclass(frozen=True, slots=True)
class NearestAligned:
    """Numbers of melodies and their distances, complete up to the largest; `scored` is how many were scored."""

    numbers: Numbers
    distances: Distances
    scored: int


def nearest_aligned(
    query: Melody, matcher: Roslin, table: Table, k: int, allowed: Flags, work: Work, radius: float
) -> NearestAligned:
    """The k nearest by `roslin`, and whatever is as near as the last; none beyond the radius."""
    asked, tables, distance_of = _prepared(query, matcher, table)
    return nearest(asked, table, tables, k, allowed, work, radius, distance_of)


def aligned_distances(query: Melody, matcher: Roslin, table: Table, numbers: Numbers, work: Work) -> Distances:
    """The distances by `roslin` of the melodies with these numbers."""
    asked, tables, distance_of = _prepared(query, matcher, table)
    return distances_of(asked, table, tables, numbers, work, distance_of)


def _prepared(query: Melody, matcher: Roslin, table: Table) -> tuple[Encoded, Tables, DistanceOf]:
    """A query as the kernels take it, and how its scores become distances."""
    from roslin.matchers.roslin._alignment import self_scores

    asked = matcher.encoded(query, [query])
    tables = matcher.tables(query, max(int(table.sizes.max(initial=0)), len(asked.pitches)))
    own = np.empty(1, dtype=np.int32)
    self_scores(asked, tables, own)
    others = table.own_scores
    if matcher.compared(query) != "both":
        others = np.empty(len(table), dtype=np.int32)
        self_scores(table.take(np.arange(len(table))), tables, others)

    def distance_of(scores: Scores, numbers: Numbers | slice) -> Distances:
        return matcher.distances_of(scores, int(own[0]), others[numbers])

    return asked, tables, distance_of


def nearest(
    query: Encoded,
    table: Table,
    tables: Tables,
    k: int,
    allowed: Flags,
    work: Work,
    radius: float,
    distance_of: DistanceOf,
) -> NearestAligned:
    """The k nearest of the melodies that are allowed, and whatever is as near as the last; none beyond the radius."""
    candidates = np.flatnonzero(allowed)
    bounds = np.full(len(candidates), -np.inf)
    if len(candidates) > max(FIRST, k, _FEW * len(table)):
        upper = upper_bounds(query, table, tables, work)
        every = distance_of(upper, slice(None))
        bounds = every if len(candidates) == len(table) else every[candidates]
    found = _Found(k, radius)
    rest = np.arange(len(candidates))
    count, scored = max(FIRST, 2 * k), 0
    while len(rest):
        if len(rest) > count:
            first = np.argpartition(bounds[rest], count - 1)[:count]
            chosen = rest[first]
            rest = np.delete(rest, first)
        else:
            chosen, rest = rest, rest[:0]
        numbers = candidates[chosen]
        found.add(numbers, distances_of(query, table, tables, numbers, work, distance_of))
        scored += len(numbers)
        rest = rest[bounds[rest] <= found.limit + _SLACK * abs(found.limit)]
        count *= GROWTH
        work.report(1 - len(rest) / len(candidates), "comparing")
    return found.nearest(scored)


def distances_of(
    query: Encoded, table: Table, tables: Tables, numbers: Numbers, work: Work, distance_of: DistanceOf
) -> Distances:
    """The distances of these melodies."""
    return distance_of(scores_of(query, table, tables, numbers, work), numbers)


def scores_of(query: Encoded, table: Table, tables: Tables, numbers: Numbers, work: Work) -> Scores:
    """The scores of these melodies: those of `_alignment.align_all`, many side by side."""
    from roslin.matchers.roslin._alignment import align_all
    from roslin.matchers.roslin._blocks import score_places

    scores = np.full(len(numbers), FARTHEST, np.int32)
    if not len(query.pitches) or not len(numbers):
        return scores
    check(tables)
    plan, blocks = plan_of(query, tables), table.blocks
    places = table.places[numbers].astype(np.int64)
    order = np.argsort(places, kind="stable")

    def score(part: Numbers) -> Scores:
        found = np.empty(len(part), np.int32)
        score_places(plan, blocks, places[part], found)
        unknown = np.flatnonzero(found == UNKNOWN)
        if len(unknown):
            exact = np.empty(len(unknown), np.int32)
            align_all(query, table.take(numbers[part[unknown]]), tables, np.arange(len(unknown)), exact)
            found[unknown] = exact
        return found

    parts = [order[start : start + SCORED_AT_ONCE] for start in range(0, len(order), SCORED_AT_ONCE)]
    for part, found in zip(parts, work.map(score, parts), strict=True):
        scores[part] = found
        work.report(0.9, "comparing")
    return scores


def upper_bounds(query: Encoded, table: Table, tables: Tables, work: Work) -> Scores:
    """No melody scores more than this."""
    from roslin.matchers.roslin._blocks import bound_blocks, bound_long

    size = len(query.pitches)
    bounds = np.full(len(table), FARTHEST, np.int32)
    if not size or not len(table):
        return bounds
    check(tables)
    scale = scale_for(size, tables)
    plan = long_plan_of(query, tables) if scale is None else plan_of(query, tables, scale)
    bound, blocks = bound_long if scale is None else bound_blocks, table.blocks

    def bounded(piece: tuple[int, int]) -> Scores:
        found = np.empty((piece[1] - piece[0]) * MELODIES, np.int32)
        bound(plan, blocks, *piece, found)
        return found

    count, at_once = len(table.starts) - 1, PIECE // MELODIES
    pieces = [(start, min(start + at_once, count)) for start in range(0, count, at_once)]
    for done, (piece, found) in enumerate(zip(pieces, work.map(bounded, pieces), strict=True), start=1):
        numbers = table.order[piece[0] * MELODIES : piece[1] * MELODIES]
        bounds[numbers] = found[: len(numbers)]
        work.report(0.8 * done / len(pieces), "searching")
    # Where bytes have no bound: no alignment has more pairs than the shorter melody has notes.
    return np.minimum(bounds, np.minimum(table.sizes, size) * max(highest_pair(tables), 1), out=bounds)


class _Found:
    """The best so far. `limit` is the distance that k melodies are known to reach, and not beyond the radius."""

    def __init__(self, k: int, radius: float):
        self.k, self.limit = k, radius
        self.numbers, self.distances = np.empty(0, np.int64), np.empty(0)

    def add(self, numbers: Numbers, distances: Distances) -> None:
        self.numbers = np.concatenate([self.numbers, numbers])
        self.distances = np.concatenate([self.distances, distances])
        if len(self.distances) >= self.k:
            self.limit = min(self.limit, float(np.partition(self.distances, self.k - 1)[self.k - 1]))
        kept = np.flatnonzero(self.distances <= self.limit)
        self.numbers, self.distances = self.numbers[kept], self.distances[kept]

    def nearest(self, scored: int) -> NearestAligned:
        order = np.lexsort((self.numbers, self.distances))
        return NearestAligned(self.numbers[order], self.distances[order], scored)
