"""Exact search with the Earth Mover's Distance: the same list as comparing everything, without comparing everything.

Filter and refine. Every melody gets a lower bound (`roslin.transport.bounds`); only those whose bound is within a limit
are compared, in the order of their bounds. The limit should be the distance of the k-th nearest, which nobody knows
yet. So a small sample is compared completely, and the collection is scanned in rounds, each a few times as large as the
one before. What was found in a share of the collection tells for the next round a limit that is probably large enough.
In the end the k-th nearest is known, and rounds that had too small a limit are scanned again. Nothing is lost: in the
end every melody that was left out had a bound above a distance that k others are known to reach.

Work is cut into pieces that threads share. What is found does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import ceil, sqrt

import numpy as np

from roslin.deadline import check_stopped
from roslin.errors import TimeLimitError
from roslin.matchers.base import rounded
from roslin.native import kernels
from roslin.represent.packed import Packed
from roslin.represent.points import point_sets
from roslin.search.index import Index
from roslin.search.work import Work
from roslin.transport.align import Query, Setting, notes_of, rules_of
from roslin.transport.bounds import Block, scan_of
from roslin.types import Distances, Flags, Numbers

# Melodies scanned, and compared, in one piece of work.
PIECE = 8192
COMPARED_AT_ONCE = 256
# Of long melodies fewer: so many pairs of notes take a few seconds at most, and then the clock is looked at.
_PAIRS_AT_ONCE = 100_000
# So many are compared for the first limit. Then so many of each piece are scanned by the end of the first rounds.
FIRST_SAMPLE = 32
ROUNDS = (32, 128, 512, 1280, 2560, 4096, 6144)
# So many melodies say which grid is common.
_GRIDS = 2048
# Bounds and distances are computed in different orders; this is more than rounding can make of it.
_SLACK = 1e-7


@dataclass(frozen=True, slots=True)
class Nearest:
    """Numbers of melodies and their distances, complete up to the largest; `compared` is how many got an EMD.

    Where the time was over before the end, it is not complete: nearer melodies may be missing.
    """

    numbers: Numbers
    distances: Distances
    compared: int
    is_complete: bool = True


def nearest(
    query: Query,
    setting: Setting,
    packed: Packed,
    index: Index,
    k: int,
    allowed: Flags,
    work: Work,
    radius: float = np.inf,
    partial: bool = False,
) -> Nearest:
    """The k nearest of the melodies that are allowed, and whatever is as near as the last; none beyond the radius.

    `partial`: when the time is over, what was found by then.
    """
    found = _Found(k, radius)
    refining = _Refining(query, setting, packed, found, work)
    try:
        _look_for_nearest(refining, index, allowed)
    except TimeLimitError:
        if not partial or not found.distances:
            raise
        return replace(found.nearest(len(refining.seen)), is_complete=False)
    return found.nearest(refining.compared)


def _look_for_nearest(refining: _Refining, index: Index, allowed: Flags) -> None:
    """Filter and refine, in rounds, until nothing can be among the best any more."""
    found, k, radius = refining.found, refining.found.k, refining.found.radius
    candidates = np.flatnonzero(allowed & (np.diff(index.offsets) > 0))
    if len(candidates) <= FIRST_SAMPLE + 2 * k:
        refining.compare(candidates, np.zeros(len(candidates)), 0.0)
        return
    if radius == np.inf:
        sample = candidates[:: len(candidates) // (FIRST_SAMPLE + 2 * k)]
        refining.compare(sample, np.zeros(len(sample)), 0.0)
        if found.limit == np.inf:  # hardly any has weight: there is nothing to filter with
            refining.compare(candidates, np.zeros(len(candidates)), 0.0)
            return
    scanning, scanned = Scanning(refining.query, refining.setting, index, allowed, refining.work), []
    done = len(refining.seen) / len(candidates)
    for pieces, share in _rounds(len(index)):
        limit = found.likely_limit(done)
        refining.compare(*scanning.within(limit, pieces, (done, share)), share)
        scanned.append((pieces, limit))
        done = share
    for pieces, limit in scanned:
        if limit < found.limit:
            refining.compare(*scanning.within(found.limit, pieces, (1.0, 1.0)), 1.0)


def _rounds(count: int) -> Iterator[tuple[list[tuple[int, int]], float]]:
    """Parts of all pieces in rounds, small at first, and the share of the whole that is done after each."""
    done = 0
    for begin, end in pairwise((0, *ROUNDS, PIECE)):
        parts = [(at + begin, min(at + end, count)) for at in range(0, count, PIECE) if at + begin < count]
        if parts:
            done += sum(stop - start for start, stop in parts)
            yield parts, done / count


def possible_within(
    query: Query,
    setting: Setting,
    index: Index,
    allowed: Flags,
    radius: float,
    work: Work,
    share: tuple[float, float] = (0.0, 1.0),
) -> Flags:
    """Which melodies may have an alignment within the radius: all that do, and few others.

    `share` is where this lies in the work that progress is told of.
    """
    possible = np.zeros(len(index), dtype=bool)
    pieces = [(start, min(start + PIECE, len(index))) for start in range(0, len(index), PIECE)]
    numbers, _ = Scanning(query, setting, index, allowed, work).within(radius, pieces, share)
    possible[numbers] = True
    return possible


class Scanning:
    """Gives every melody that is allowed a lower bound on its distance, at the least of all tempos."""

    def __init__(self, query: Query, setting: Setting, index: Index, allowed: Flags, work: Work):
        self.query, self.setting, self.index, self.allowed, self.work = query, setting, index, allowed, work
        self._weights = index.weights if setting.weight == "duration" else np.ones(len(index.times), np.float32)
        self._grids = index.grids[:: len(index) // _GRIDS + 1].astype(np.int64)

    def within(
        self, limit: float, pieces: list[tuple[int, int]], share: tuple[float, float]
    ) -> tuple[Numbers, Distances]:
        """Numbers and bounds of the melodies in these pieces whose bound is not above the limit, the nearest first.

        `share` is where this lies in the work that progress is told of.
        """
        known = scan_of(self.query, self.setting, limit * (1 + _SLACK) + _SLACK, self._grids)

        def bounds_of(piece: tuple[int, int]) -> Distances:
            bounds = np.empty(piece[1] - piece[0])
            kernels.scan_block(self._block(*piece), known, bounds)
            return bounds

        numbers, bounds = [np.empty(0, np.int64)], [np.empty(0)]
        for done, (piece, bound) in enumerate(zip(pieces, self.work.map(bounds_of, pieces), strict=True), start=1):
            kept = np.flatnonzero(np.isfinite(bound))
            numbers.append(piece[0] + kept)
            bounds.append(bound[kept])
            self.work.report(share[0] + (share[1] - share[0]) * done / len(pieces), "searching")
        all_numbers, all_bounds = np.concatenate(numbers), np.concatenate(bounds)
        order = np.lexsort((all_numbers, all_bounds))
        return all_numbers[order], all_bounds[order]

    def _block(self, start: int, stop: int) -> Block:
        index, part = self.index, slice(start, stop)
        return Block(
            index.words[part],
            index.lows[part],
            index.spans[part],
            index.grids[part],
            index.offsets[start : stop + 1],
            index.times,
            index.pitches,
            self._weights,
            self.allowed[part],
        )


class _Found:
    """The best so far. `limit` is the distance that k melodies are known to reach."""

    def __init__(self, k: int, radius: float):
        self.k, self.radius = k, radius
        self.distances: dict[int, float] = {}

    @property
    def best(self) -> Distances:
        """The k smallest distances, rising; the radius where there are fewer."""
        nearest = sorted(self.distances.values())[: self.k]
        return np.array(nearest + [self.radius] * (self.k - len(nearest)))

    @property
    def limit(self) -> float:
        return float(self.best[-1])

    def likely_limit(self, share: float) -> float:
        """A distance that k melodies probably reach, when so large a share of them has been seen.

        Of the k nearest, about k * share have been seen: hardly ever more than two standard deviations beyond that.
        """
        if len(self.distances) < self.k or self.radius < np.inf:
            return self.limit
        seen = self.k * share + 2 * sqrt(self.k * share * (1 - share)) + 0.5
        return sorted(self.distances.values())[min(ceil(seen), self.k) - 1]

    def add(self, numbers: Numbers, distances: Distances) -> None:
        limit = self.limit
        kept = np.flatnonzero(distances <= limit)
        self.distances.update(zip(numbers[kept].tolist(), distances[kept].tolist(), strict=True))
        limit = self.limit
        self.distances = {number: distance for number, distance in self.distances.items() if distance <= limit}

    def nearest(self, compared: int) -> Nearest:
        ranked = sorted((distance, number) for number, distance in self.distances.items())
        return Nearest(
            np.array([number for _, number in ranked], dtype=np.int64),
            np.array([distance for distance, _ in ranked], dtype=np.float64),
            compared,
        )


class _Refining:
    """Compares melodies exactly, the most promising first, until none can be among the best."""

    def __init__(self, query: Query, setting: Setting, packed: Packed, found: _Found, work: Work):
        self.query, self.setting, self.packed, self.found, self.work = query, setting, packed, found, work
        self.seen: set[int] = set()
        self.compared = 0

    def compare(self, numbers: Numbers, bounds: Distances, done: float) -> None:
        """Compare these melodies, given in order of their bounds, as far as that can change anything."""
        is_new = np.array([number not in self.seen for number in numbers.tolist()], dtype=bool)
        numbers, bounds = numbers[is_new], bounds[is_new]
        notes = int((self.packed.offsets[numbers + 1] - self.packed.offsets[numbers]).sum())
        few = _PAIRS_AT_ONCE * len(numbers) // max(len(self.query.x) * notes, 1)
        at_once = max(min(COMPARED_AT_ONCE, few), 1) * self.work.threads
        for place in range(0, len(numbers), at_once):
            if bounds[place] > self.found.limit * (1 + _SLACK) + _SLACK:
                return
            batch = slice(place, place + at_once)
            # Every thread gets promising ones: the sooner it finds good ones, the less it has to do.
            shares = [np.arange(len(numbers))[batch][one :: self.work.threads] for one in range(self.work.threads)]
            compare = partial(self._distances, best=self.found.best)
            results = self.work.map(compare, [(numbers[share], bounds[share]) for share in shares])
            for share, (distances, emds) in zip(shares, results, strict=True):
                self.found.add(numbers[share], distances)
                self.compared += int(np.count_nonzero(emds))
            self.seen.update(numbers[batch].tolist())
            self.work.report(done, "comparing")

    def _distances(self, melodies: tuple[Numbers, Distances], best: Distances) -> tuple[Distances, Distances]:
        numbers, bounds = melodies
        points = point_sets(self.packed.take(numbers), pitch=self.setting.pitch, weight=self.setting.weight)
        query, rules = self.query, rules_of(self.setting)
        found, documents = np.empty((len(numbers), 2)), (notes_of(points), points.offsets)
        kernels.align_documents(query.points, *documents, query.frame, rules, bounds, best.copy(), found)
        check_stopped()
        return rounded(found[:, 0]), found[:, 1]
