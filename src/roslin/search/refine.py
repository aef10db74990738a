"""Filter and refine: the one driver of all exact searches.

An engine gives every melody a lower bound of its key, the number by which melodies are ranked, the smallest first.
`refine` compares melodies in the order of their bounds and stops where no bound is within the limit, the key that k
melodies are known to reach. So the result is that of comparing everything: each melody that is left out has a bound
above the key of k others.

Some engines need a limit before they can compute bounds. Then a small sample is compared first, and the collection is
bounded in rounds, each a few times as large as the one before. The melodies that one round has found suggest a limit
for the next that is probably large enough. Rounds whose limit turns out to have been too small are bounded again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import ceil, sqrt
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from roslin.deadline import Work
from roslin.errors import TimeLimitError
from roslin.matchers import Matcher
from roslin.matchers.base import COMPARED_AT_ONCE
from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed, pieces
from roslin.types import Flags, Floats, Numbers

_Result = TypeVar("_Result")

# From this many melodies for each one wanted on, a sample of the bounds finds the lowest ones sooner than sorting them.
_SAMPLED_FROM = 64
_LONGER = 1.25  # times as many onsets as the query has a beginning that is compared with it: ornaments need room


class Nearest(NamedTuple):
    """Melodies by number with their distances, and with the evidence for each if the matcher has an estimate of chance.

    `compared` counts the melodies compared before the time limit. It is None for a complete result. `evidence` is minus
    the logarithm (to base 10) of the expected chance matches. A list with evidence is in its order, any other in the
    order of the distances. `fit`, from -1 to 1, decides between melodies with the same evidence, the highest first.
    `same` is the number of notes on which a melody and the query agree, if those are all that one of them has
    (`roslin.search.agreement`). `agreeing` counts the melodies with all notes of the query. `coincides` marks melodies
    found by notes that coincide.
    """

    numbers: Numbers
    distances: Floats
    compared: int | None = None
    evidence: Floats | None = None
    fit: Floats | None = None
    same: Numbers | None = None
    agreeing: int = 0
    coincides: Flags | None = None


class Slack(NamedTuple):
    """How far rounding may lift a bound above its key: a share of the limit, and a number beside it."""

    relative: float
    absolute: float

    def added_to(self, limit: float) -> float:
        """A limit that no bound of a melody within it exceeds."""
        return limit + self.relative * abs(limit) + self.absolute if np.isfinite(limit) else limit


class Round(NamedTuple):
    """A part of the collection that is bounded at once, and the shares of the whole that are done before and after."""

    part: Any
    before: float
    after: float


class Best:
    """The melodies with the k smallest keys so far, and all that tie with the last of them; none beyond the radius."""

    def __init__(self, k: int, radius: float, slack: Slack):
        self.k, self.radius, self.limit, self._slack = k, radius, radius, slack
        self.numbers, self.keys = np.empty(0, np.int64), np.empty(0)

    @property
    def reach(self) -> float:
        """The limit with room for rounding: bounds above it are those of melodies beyond it."""
        return self._slack.added_to(self.limit)

    @property
    def smallest(self) -> Floats:
        """The k smallest keys, rising. The radius where there are fewer."""
        found = np.sort(self.keys)[: self.k]
        return np.concatenate([found, np.full(self.k - len(found), self.radius)])

    def likely_limit(self, share: float) -> float:
        """A key that k melodies probably reach, after this share of them has been seen.

        Of the k best, about k * share have been seen: hardly ever more than two standard deviations beyond that.
        """
        if len(self.keys) < self.k or self.radius < np.inf:
            return self.limit
        seen = self.k * share + 2 * sqrt(self.k * share * (1 - share)) + 0.5
        return float(np.sort(self.keys)[min(ceil(seen), self.k) - 1])

    def add(self, numbers: Numbers, keys: Floats) -> None:
        numbers, keys = np.concatenate([self.numbers, numbers]), np.concatenate([self.keys, keys])
        if len(keys) >= self.k:
            self.limit = min(self.limit, float(np.partition(keys, self.k - 1)[self.k - 1]))
        within = keys <= self.limit
        self.numbers, self.keys = numbers[within], keys[within]

    def sort(self) -> None:
        order = np.lexsort((self.numbers, self.keys))
        self.numbers, self.keys = self.numbers[order], self.keys[order]


class Engine(ABC):
    """One query, ready to be compared with the melodies of one collection by one matcher.

    `candidates` are the numbers of the melodies that are searched, in rising order. `compared` counts the melodies that
    were compared in full.
    """

    slack: ClassVar[Slack] = Slack(0.0, 0.0)

    def __init__(self, candidates: Numbers, work: Work):
        self.candidates, self.work, self.compared = candidates, work, 0

    def find(self, k: int, radius: float) -> Nearest:
        best, compared = refine(self, k, radius)
        return Nearest(best.numbers, best.keys, compared)

    def within(self, radius: float) -> tuple[Numbers, Floats]:
        found = self.find(max(len(self.candidates), 1), radius)
        inside = np.flatnonzero(found.distances <= radius)
        order = inside[np.argsort(found.numbers[inside], kind="stable")]
        return found.numbers[order], found.distances[order]

    def all_at_once(self, k: int) -> bool:
        """Whether comparing all candidates is quicker than bounding them."""
        del k
        return True

    def sample(self, k: int) -> Numbers:
        """Candidates that are compared before anything is bounded, to have a first limit."""
        del k
        return self.candidates[:0]

    def rounds(self) -> Iterator[Round]:
        """The parts of the collection in the order in which they are bounded."""
        yield Round(None, 0.0, 1.0)

    def bounds(self, part: Round, limit: float) -> tuple[Numbers, Floats]:
        """Candidates of a part and lower bounds of their keys; those with a bound above the limit may be left out."""
        raise NotImplementedError

    def batch(self, number: int, k: int) -> int:
        """The most melodies of a batch, by its number from 0. All of them, unless an engine decides."""
        del number, k
        return max(len(self.candidates), 1)

    @abstractmethod
    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        """The keys of these melodies, or infinity for one that cannot be among the best.

        There are fewer keys than melodies if the time was over before the last. `done`: the share of all work by then.
        """


def refine(engine: Engine, k: int, radius: float) -> tuple[Best, int | None]:
    """The k best within a radius, and how many melodies were compared if the time was over before the end."""
    best = Best(k, radius, engine.slack)
    comparing = _Comparing(engine, best, k)
    try:
        _search(engine, comparing, k)
    except TimeLimitError:
        if not engine.work.partial or not len(best.numbers):
            raise
        comparing.is_complete = False
    best.sort()
    return best, None if comparing.is_complete else comparing.count


def _search(engine: Engine, comparing: _Comparing, k: int) -> None:
    candidates, best = engine.candidates, comparing.best
    nothing_known = np.full(len(candidates), -np.inf)
    if engine.all_at_once(k):
        comparing.compare(candidates, nothing_known, 1.0)
        return
    sample = engine.sample(k) if best.radius == np.inf else candidates[:0]
    if len(sample):
        comparing.compare(sample, nothing_known[: len(sample)], 0.0)
        if best.limit == np.inf:  # hardly any can be compared, so there is nothing to filter with
            comparing.compare(candidates, nothing_known, 1.0)
            return
    rounds = []
    for part in engine.rounds():
        limit = best.likely_limit(max(part.before, comparing.count / max(len(candidates), 1)))
        comparing.compare(*engine.bounds(part, limit), part.after)
        rounds.append((part, limit))
    for part, limit in rounds:
        if limit < best.limit:
            comparing.compare(*engine.bounds(part._replace(before=1.0, after=1.0), best.limit), 1.0)


class _Comparing:
    def __init__(self, engine: Engine, best: Best, k: int):
        self.engine, self.best, self.k, self.is_complete = engine, best, k, True
        self._seen = np.zeros(int(engine.candidates[-1]) + 1 if len(engine.candidates) else 0, bool)

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self._seen))

    def compare(self, numbers: Numbers, bounds: Floats, done: float) -> None:
        """Compare these melodies in batches, as far as that can change the result."""
        is_open = ~self._seen[numbers]
        for batch in range(len(numbers)):
            size = self.engine.batch(batch, self.k)
            chosen = np.flatnonzero(is_open & (bounds <= self.best.reach))
            if len(chosen) > _SAMPLED_FROM * size:
                chosen = chosen[bounds[chosen] <= _about(bounds[chosen], size)]
            if not len(chosen):
                return
            if len(chosen) > size:
                is_bounded = bounds[chosen].max() != -np.inf
                chosen = chosen[np.argpartition(bounds[chosen], size - 1)[:size] if is_bounded else np.arange(size)]
            is_open[chosen] = False
            keys = self.engine.keys(numbers[chosen], bounds[chosen], self.best, done)
            compared = numbers[chosen[: len(keys)]]
            self.best.add(compared, keys)
            self._seen[compared] = True
            if len(keys) < len(chosen):
                self.is_complete = False


def _about(bounds: Floats, count: int) -> float:
    """About `count` of the bounds do not exceed it, judged by a sample of them."""
    step = max(len(bounds) // (_SAMPLED_FROM * count), 1)
    few = np.sort(bounds[::step])
    return float(few[min(count // step, len(few) - 1)])


# -- the engine of a matcher without a shortcut ------------------------------------------------------------------------


class Everything(Engine):
    """Compares all candidates with a query, a piece at a time, or only their beginnings (`is_cut`)."""

    def __init__(
        self, query: Melody, matcher: Matcher, packed: Packed, candidates: Numbers, work: Work, is_cut: bool = False
    ):
        super().__init__(candidates, work)
        self.query, self.matcher, self.packed = query, matcher, packed
        self.onsets = onsets_compared(query) if is_cut else None

    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        del bounds, best, done
        if not len(numbers):
            return np.empty(0)
        if not self.matcher.is_independent or (self.matcher.is_indexed and self.onsets is None):
            return self._together(numbers)
        lengths = self.packed.offsets[numbers + 1] - self.packed.offsets[numbers]
        if self.onsets is not None:
            lengths = np.minimum(lengths, self.onsets)
        cut = pieces(lengths, COMPARED_AT_ONCE, self.matcher.notes_at_once(self.query))
        parts = [numbers[piece] for piece in cut]
        found = finished(lambda part: self.matcher.distances(self.query, self._melodies(part)), parts, self.work)
        return np.concatenate(found)

    def _melodies(self, numbers: Numbers) -> Packed:
        melodies = part_of(self.packed, numbers)
        return melodies if self.onsets is None else beginnings(melodies, self.onsets)

    def _together(self, numbers: Numbers) -> Floats:
        """The distances of a matcher that must see all candidates, or is faster if it does."""

        def distances(candidates: Packed) -> Floats:
            report = self.work.report
            return self.matcher.distances_told(self.query, candidates, lambda done: report(done, "comparing"))

        if self.onsets is not None:
            return distances(self._melodies(numbers))
        is_everything = np.array_equal(numbers, np.arange(len(self.packed)))
        if is_everything or self.matcher.is_independent:
            # The collection's own table keeps the index of a matcher from search to search.
            return distances(self.packed)[numbers]
        return distances(self.packed.take(numbers))


def finished(compare: Callable[[Numbers], _Result], parts: list[Numbers], work: Work) -> list[_Result]:
    """The results of the parts that were compared before the time was over: of all of them without a time limit."""
    found: list[_Result] = []
    try:
        for result in work.map(compare, parts):
            found.append(result)
            work.report(len(found) / len(parts), "comparing")
    except TimeLimitError:
        if not found or not work.partial:
            raise
    return found


def part_of(packed: Packed, numbers: Numbers) -> Packed:
    """Melodies with these numbers, without copying them if they follow each other."""
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return packed.part(int(numbers[0]), int(numbers[-1]) + 1)
    return packed.take(numbers)


def onsets_compared(query: Melody) -> int:
    """How many onsets a beginning has that is compared with this query."""
    return int(np.ceil(_LONGER * len(melodic_line(query))))


def beginnings(packed: Packed, onsets: int) -> Packed:
    """Each melody up to this number of different onsets. Bar lines stay."""
    lengths = np.diff(packed.offsets)
    onset = packed.notes["onset_ticks"]
    is_new = np.ones(len(onset), dtype=np.int64)
    is_new[1:] = onset[1:] != onset[:-1]
    is_new[packed.offsets[:-1][lengths > 0]] = 1
    counted = np.concatenate([[0], np.cumsum(is_new)])
    number = counted[1:] - np.repeat(counted[packed.offsets[:-1]], lengths)  # of the onset in its melody, from 1
    is_in = number <= onsets
    offsets = np.concatenate([[0], np.cumsum(is_in)])[packed.offsets].astype(np.int64)
    return Packed(packed.notes[is_in], offsets, packed.barlines, packed.bar_offsets)
