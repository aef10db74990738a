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

from roslin.matchers.roslin_new._alignment import FARTHEST, Encoded, Tables
from roslin.matchers.roslin_new._blocks import MELODIES, UNKNOWN, Blocks
from roslin.matchers.roslin_new.rounding import check, highest_pair, plan_of, scale_for
from roslin.matchers.roslin_new.table import Table
from roslin.search.work import Work

__all__ = ["Nearest", "nearest", "scores_of", "upper_bounds"]

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
FIRST, GROWTH = 256, 8
# With fewer than this share of the melodies allowed, scoring them all is faster than bounding whole blocks.
_FEW = 1 / 8
# So many blocks say how high scores are, in bytes that hold this share of the highest score there could be; the bytes
# of the bounds hold so many times what all but a small share of those melodies reach.
_SAMPLE, _COARSE, _HIGH, _ROOM = 64, 0.6, 0.001, 1.1
# Closer bounds: so many times the score of the k-th nearest.
_CLOSER_ROOM = 1.2
_SLACK = 1e-9  # of a distance: what rounding may do to a function that falls


@dataclass(frozen=True, slots=True)
class Nearest:
    """Numbers of melodies and their distances, complete up to the largest; `scored` is how many were scored."""

    numbers: Numbers
    distances: Distances
    scored: int


def nearest(
    query: Encoded,
    table: Table,
    tables: Tables,
    k: int,
    allowed: Flags,
    work: Work,
    radius: float,
    distance_of: DistanceOf,
) -> Nearest:
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
        if len(found.scores) >= k and len(numbers) > MELODIES:
            closer = closer_bounds(query, table, tables, numbers, _CLOSER_ROOM * found.scores[-1], work)
            numbers = numbers[distance_of(closer, numbers) <= found.limit_with_slack]
        scores = scores_of(query, table, tables, numbers, work)
        found.add(numbers, scores, distance_of(scores, numbers))
        scored += len(numbers)
        rest = rest[bounds[rest] <= found.limit_with_slack]
        count *= GROWTH
        work.report(1 - len(rest) / len(candidates), "comparing")
    return found.nearest(scored)


def scores_of(query: Encoded, table: Table, tables: Tables, numbers: Numbers, work: Work) -> Scores:
    """The scores of these melodies: those of `_alignment.align_all`, many side by side."""
    from roslin.matchers.roslin_new._alignment import align_all
    from roslin.matchers.roslin_new._blocks import score_places

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
    """No melody scores more than this: for all of them, with all tempos at once.

    A few blocks say how high scores are, in coarse bytes; bytes are then as fine as nearly all scores allow.
    """
    size, blocks = len(query.pitches), table.blocks
    bounds = np.full(len(table), FARTHEST, np.int32)
    if not size or not len(table):
        return bounds
    check(tables)
    count, at_once = len(table.starts) - 1, PIECE // MELODIES
    scale = scale_for(size, _COARSE * size * highest_pair(tables), tables)
    if scale is not None:
        few = [(block, block + 1) for block in range(0, count, max(count // _SAMPLE, 1))]
        sample = np.sort(np.concatenate(list(work.map(_bounding(query, tables, scale, blocks), few))))
        typical = float(sample[-1 - int(_HIGH * len(sample))])
        if typical < UNKNOWN:
            scale = scale_for(size, _ROOM * typical, tables)
    pieces = [(start, min(start + at_once, count)) for start in range(0, count, at_once)]
    results = work.map(_bounding(query, tables, scale, blocks), pieces)
    for done, (piece, found) in enumerate(zip(pieces, results, strict=True), start=1):
        numbers = table.order[piece[0] * MELODIES : piece[1] * MELODIES]
        bounds[numbers] = found[: len(numbers)]
        work.report(0.8 * done / len(pieces), "searching")
    return _at_most_all_pairs(bounds, table.sizes, size, tables)


def _bounding(
    query: Encoded, tables: Tables, scale: int | None, blocks: Blocks
) -> Callable[[tuple[int, int]], Scores]:
    """A function that bounds all melodies from one block to another."""
    from roslin.matchers.roslin_new._blocks import bound_blocks, bound_long

    plan = plan_of(query, tables, scale, combined=True)
    bound = bound_long if scale is None else bound_blocks

    def bounded(piece: tuple[int, int]) -> Scores:
        found = np.empty((piece[1] - piece[0]) * MELODIES, np.int32)
        bound(plan, blocks, *piece, found)
        return found

    return bounded


def closer_bounds(
    query: Encoded, table: Table, tables: Tables, numbers: Numbers, highest: float, work: Work
) -> Scores:
    """No melody scores more than this: for a few of them, with every tempo by itself; UNKNOWN from `highest` on."""
    from roslin.matchers.roslin_new._blocks import bound_places

    bounds = np.full(len(numbers), UNKNOWN, np.int32)
    size = len(query.pitches)
    scale = scale_for(size, highest, tables)
    if scale is None:
        return bounds
    plan, blocks = plan_of(query, tables, scale), table.blocks
    places = table.places[numbers].astype(np.int64)
    order = np.argsort(places)

    def bounded(part: Numbers) -> Scores:
        found = np.empty(len(part), np.int32)
        bound_places(plan, blocks, places[part], found)
        return found

    parts = [order[start : start + SCORED_AT_ONCE] for start in range(0, len(order), SCORED_AT_ONCE)]
    for part, found in zip(parts, work.map(bounded, parts), strict=True):
        bounds[part] = found
        work.report(0.9, "searching")
    return _at_most_all_pairs(bounds, table.sizes[numbers], size, tables)


def _at_most_all_pairs(bounds: Scores, sizes: Scores, size: int, tables: Tables) -> Scores:
    """Where vectors have no bound: no alignment has more pairs than the shorter melody has notes."""
    return np.minimum(bounds, np.minimum(sizes, size) * np.int32(max(highest_pair(tables), 1)), out=bounds)


class _Found:
    """The best so far, the nearest first. `limit` is what k of them are known to reach, and not beyond the radius."""

    def __init__(self, k: int, radius: float):
        self.k, self.limit = k, radius
        self.numbers, self.scores, self.distances = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)

    @property
    def limit_with_slack(self) -> float:
        return self.limit + _SLACK * abs(self.limit) if np.isfinite(self.limit) else self.limit

    def add(self, numbers: Numbers, scores: Scores, distances: Distances) -> None:
        numbers, scores = np.concatenate([self.numbers, numbers]), np.concatenate([self.scores, scores])
        distances = np.concatenate([self.distances, distances])
        if len(distances) >= self.k:
            self.limit = min(self.limit, float(np.partition(distances, self.k - 1)[self.k - 1]))
        kept = np.flatnonzero(distances <= self.limit)
        kept = kept[np.lexsort((numbers[kept], distances[kept]))]
        self.numbers, self.scores, self.distances = numbers[kept], scores[kept], distances[kept]

    def nearest(self, scored: int) -> Nearest:
        return Nearest(self.numbers, self.distances, scored)
