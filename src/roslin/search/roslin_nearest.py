"""The exact nearest melodies: the same list as scoring everything, without scoring everything.

Every melody gets an upper bound of its score (`native/roslin_blocks.c`), and so a lower bound of its distance. The most
promising ones are scored; then all whose bound reaches what the k-th nearest has by then, a few at a time. No more than
that can be among the k nearest, so the list is that of brute force, with everything that is as near as the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from roslin.errors import TimeLimitError
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.rounding import UNKNOWN, Plan, check, highest_pair, plan_of, scale_for
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MELODIES, MelodyTable
from roslin.matchers.roslin.values import FARTHEST, Encoded, Tables
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.packed import Packed
from roslin.search.chance import Null
from roslin.search.nearest import Nearest
from roslin.search.same import Agreement, same_notes
from roslin.search.work import Work
from roslin.types import Distances, Flags, Numbers, Scores

# The key by which melodies with these scores are ranked, the smallest first: it falls as scores rise. The second
# argument is numbers, or a slice of them.
KeyOf = Callable[[Scores, Numbers | slice], Distances]

# Melodies bounded, or scored, in one piece of work.
PIECE = 8192
SCORED_AT_ONCE = 512
# About so many are scored first, and so many times as many in each further round.
FIRST, GROWTH = 256, 8
# With fewer than this share of the melodies allowed, scoring them all is faster than bounding whole blocks.
_FEW = 1 / 8
# One block in so many says how high bounds are, in bytes that hold this share of the highest score there could be; the
# bytes of the bounds then hold so many times what those melodies reach.
_SAMPLE, _COARSE, _ROOM = 64, 0.6, 1.1
# Closer bounds in bytes that hold so many times what the lowest quarter of the bounds has.
_CLOSER_ROOM = 1.15
_SLACK = 1e-9  # of a distance: what rounding may do to a function that falls


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A query as the kernels take it, and the table to search."""

    melody: Melody
    query: Encoded
    table: MelodyTable
    tables: Tables
    own: int  # self-score of the query
    others: Scores  # those of the melodies
    matcher: Roslin

    def distances(self, scores: Scores, numbers: Numbers | slice) -> Distances:
        """The distances of melodies with these scores."""
        return self.matcher.distances_of(scores, self.own, self.others[numbers])

    def keys(self, null: Null) -> KeyOf:
        """How melodies are ranked: by the evidence above what chance gives, the most first."""
        size, sizes = len(self.query.pitches), self.table.sizes

        def key(scores: Scores, numbers: Numbers | slice) -> Distances:
            evidence = self.matcher.evidence(scores, self.own, size, self.others[numbers], sizes[numbers])
            return -null.excess(evidence, sizes[numbers])

        return key

    def may_be_same(self) -> Numbers:
        """The melodies whose intervals are those of the query, as far as the shorter of both goes."""
        found = np.empty((len(self.table.starts) - 1, MELODIES), np.int8)
        kernels.same_intervals(self.table.blocks, self.query.intervals, found)
        places = np.flatnonzero(found.ravel()[: len(self.table)])
        return np.sort(self.table.order[places].astype(np.int64))


def prepared(query: Melody, matcher: Roslin, table: MelodyTable) -> Aligned:
    """A query as the kernels take it. The table has the melodies as `Roslin.encoded` gives them for it."""
    asked, compared = matcher.encoded(query, [query]), matcher.compared(query)
    tables = matcher.tables(query, max(int(table.sizes.max(initial=0)), len(asked.pitches)))
    own = np.empty(1, dtype=np.int32)
    kernels.self_scores(asked, tables, own)
    others = table.own_scores
    if compared in ("melody", "rhythm"):  # the table has the self-scores of both together
        others = np.empty(len(table), dtype=np.int32)
        kernels.self_scores(table.take(np.arange(len(table))), tables, others)
    return Aligned(query, asked, table, tables, int(own[0]), others, matcher)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The first by a key, and every melody that agrees with the query on all notes of one of them."""

    numbers: Numbers
    scores: Scores
    same: Agreement
    scored: int
    is_complete: bool


def best_aligned(aligned: Aligned, packed: Packed, key_of: KeyOf, k: int, allowed: Flags, work: Work) -> Best:
    """The k first by a key and whatever ties with the last of them, and all that agree with the query exactly.

    When the time is over, those found by then, if `Work.partial`.
    """
    table, query = aligned.table, aligned.query
    may_be_same = aligned.may_be_same()
    may_be_same = may_be_same[allowed[may_be_same]]
    same = same_notes(aligned.melody, table, packed, may_be_same, aligned.matcher)
    found = nearest(query, table, aligned.tables, k, allowed, work, np.inf, key_of, work.partial)
    numbers = np.union1d(found.numbers, may_be_same[same.notes > 0])
    agrees = Agreement(np.zeros(len(table), np.int64), np.zeros(len(table), bool))
    agrees.notes[may_be_same], agrees.is_full[may_be_same] = same
    with Work(work.threads) as rest:  # few, and found already: the time may be over
        scores = scores_of(query, table, aligned.tables, numbers, rest)
    return Best(numbers, scores, agrees.of(numbers), found.compared, found.is_complete)


def aligned_distances(query: Melody, matcher: Roslin, table: MelodyTable, numbers: Numbers, work: Work) -> Distances:
    """The distances by `roslin` of the melodies with these numbers."""
    aligned = prepared(query, matcher, table)
    return aligned.distances(scores_of(aligned.query, table, aligned.tables, numbers, work), numbers)


def aligned_within(query: Melody, matcher: Roslin, table: MelodyTable, radius: float, work: Work) -> Nearest:
    """All melodies that are not beyond the radius by `roslin`, in the order of their numbers."""
    aligned = prepared(query, matcher, table)
    upper = upper_bounds(aligned.query, table, aligned.tables, work)
    bounds = _lower_bounds(upper, aligned.distances, work)
    numbers = np.flatnonzero(bounds <= radius * (1 + _SLACK) + _SLACK)
    distances = aligned.distances(scores_of(aligned.query, table, aligned.tables, numbers, work), numbers)
    return Nearest(numbers[distances <= radius], distances[distances <= radius], len(numbers))


def nearest(
    query: Encoded,
    table: MelodyTable,
    tables: Tables,
    k: int,
    allowed: Flags,
    work: Work,
    radius: float,
    distance_of: KeyOf,
    partial: bool = False,
) -> Nearest:
    """The k nearest of the melodies that are allowed, and whatever is as near as the last; none beyond the radius.

    Near is what `distance_of` makes of the scores. `partial`: when the time is over, what was found by then.
    """
    is_open = np.array(allowed, dtype=bool)
    candidates = int(np.count_nonzero(is_open))
    found, scored, count = _Best(k, radius), 0, max(FIRST, 2 * k)
    if candidates <= max(count, _FEW * len(table)):
        numbers = np.flatnonzero(is_open)
        scores = scores_of(query, table, tables, numbers, work)
        found.add(numbers, scores, distance_of(scores, numbers))
        return found.nearest(candidates)
    upper = upper_bounds(query, table, tables, work)
    bounds = _lower_bounds(upper, distance_of, work)
    rest = np.flatnonzero(is_open & (bounds <= _about(bounds[is_open] if candidates < len(table) else bounds, count)))
    try:
        while len(rest):
            if len(rest) > count:
                rest = rest[np.argpartition(bounds[rest], count - 1)[:count]]
            numbers, is_open[rest] = rest, False
            if len(found.scores) >= k and len(numbers) > MELODIES:
                closer = closer_bounds(query, table, tables, numbers, upper[numbers], work)
                numbers = numbers[distance_of(closer, numbers) <= found.limit_with_slack]
            scores = scores_of(query, table, tables, numbers, work)
            found.add(numbers, scores, distance_of(scores, numbers))
            scored += len(numbers)
            rest = np.flatnonzero(is_open & (bounds <= found.limit_with_slack))
            count *= GROWTH
            work.report(0.9, "comparing")
    except TimeLimitError:
        if not partial or not len(found.numbers):
            raise
        return replace(found.nearest(scored), is_complete=False)
    return found.nearest(scored)


def _lower_bounds(upper: Scores, distance_of: KeyOf, work: Work) -> Distances:
    """Lower bounds of the distances of all melodies, a piece at a time."""
    pieces = [slice(start, min(start + PIECE, len(upper))) for start in range(0, len(upper), PIECE)]
    return np.concatenate(list(work.map(lambda piece: distance_of(upper[piece], piece), pieces)))


def _about(bounds: Distances, count: int) -> float:
    """What about so many of the bounds do not exceed, judged by a sample of them."""
    step = max(len(bounds) // (_SAMPLE * count), 1)
    few = np.sort(bounds[::step])
    return float(few[min(count // step, len(few) - 1)])


def scores_of(query: Encoded, table: MelodyTable, tables: Tables, numbers: Numbers, work: Work) -> Scores:
    """The scores of these melodies."""
    scores = np.empty(len(numbers), np.int32)
    order = np.argsort(table.places[numbers], kind="stable")
    score = scorer(query, table, tables)
    parts = [order[start : start + SCORED_AT_ONCE] for start in range(0, len(order), SCORED_AT_ONCE)]
    for part, found in zip(parts, work.map(lambda part: score(numbers[part]), parts), strict=True):
        scores[part] = found
        work.report(0.9, "comparing")
    return scores


def upper_bounds(query: Encoded, table: MelodyTable, tables: Tables, work: Work) -> Scores:
    """No melody scores more than this: for all of them, with all tempos at once.

    The longer melodies are, the higher they score. So for every piece, a few of its blocks say how high that is, in
    coarse bytes; its bytes are then as fine as nearly all scores allow.
    """
    size, blocks = len(query.pitches), table.blocks
    bounds = np.full(len(table), FARTHEST, np.int32)
    if not size or not len(table):
        return bounds
    check(tables)
    plans = _Plans(query, tables, combined=True)
    coarse = scale_for(size, _COARSE * size * highest_pair(tables), tables)

    def bounded(piece: tuple[int, int]) -> Scores:
        numbers = np.arange(*piece)
        found = np.empty((len(numbers), MELODIES), np.int32)
        if coarse is None:
            kernels.align_blocks(plans.of(None), blocks, numbers, found)
            return found.ravel()
        few = numbers[::-_SAMPLE].copy()
        sample = np.empty((len(few), MELODIES), np.int32)
        kernels.bound_blocks(plans.of(coarse), blocks, few, sample)
        highest = max(int(sample.max()), 0)
        scale = coarse if highest == UNKNOWN else scale_for(size, _ROOM * highest, tables)
        kernels.bound_blocks(plans.of(scale), blocks, numbers, found)
        return found.ravel()

    count, at_once = len(table.starts) - 1, PIECE // MELODIES
    pieces = [(start, min(start + at_once, count)) for start in range(0, count, at_once)]
    for done, (piece, found) in enumerate(zip(pieces, work.map(bounded, pieces), strict=True), start=1):
        numbers = table.order[piece[0] * MELODIES : piece[1] * MELODIES]
        bounds[numbers] = found[: len(numbers)]
        work.report(0.8 * done / len(pieces), "searching")
    return _at_most_all_pairs(bounds, table.sizes, size, tables)


def closer_bounds(
    query: Encoded, table: MelodyTable, tables: Tables, numbers: Numbers, bounds: Scores, work: Work
) -> Scores:
    """No melody scores more than this: for a few of them, which have these bounds, with every tempo by itself."""
    size, blocks = len(query.pitches), table.blocks
    closer = bounds.copy()
    if scale_for(size, 1, tables) is None:
        return closer
    plans = _Plans(query, tables, combined=False)
    places = table.places[numbers].astype(np.int64)
    order = np.argsort(places, kind="stable")

    def bounded(part: Numbers) -> Scores:
        found = np.empty(len(part), np.int32)
        low = float(np.partition(bounds[part], len(part) // 4)[len(part) // 4])
        kernels.bound_melodies(plans.of(scale_for(size, _CLOSER_ROOM * low, tables)), blocks, places[part], found)
        return found

    parts = [order[start : start + SCORED_AT_ONCE] for start in range(0, len(order), SCORED_AT_ONCE)]
    for part, found in zip(parts, work.map(bounded, parts), strict=True):
        closer[part] = found
        work.report(0.9, "searching")
    return np.minimum(closer, bounds, out=closer)


class _Plans:
    """The plans of one query, by the scale of their bytes."""

    def __init__(self, query: Encoded, tables: Tables, combined: bool):
        self.query, self.tables, self.combined = query, tables, combined
        self._made = dict[int | None, Plan]()

    def of(self, scale: int | None) -> Plan:
        """Two threads that ask at the same moment both make it; one of the two, which are equal, stays."""
        if scale not in self._made:
            self._made[scale] = plan_of(self.query, self.tables, scale, self.combined)
        return self._made[scale]


def _at_most_all_pairs(bounds: Scores, sizes: Scores, size: int, tables: Tables) -> Scores:
    """Where vectors have no bound: no alignment has more pairs than the shorter melody has notes."""
    return np.minimum(bounds, np.minimum(sizes, size) * np.int32(max(highest_pair(tables), 1)), out=bounds)


class _Best:
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
