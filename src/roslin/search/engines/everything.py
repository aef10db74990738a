"""The engine of a matcher without a shortcut: every candidate is compared, a piece of the collection at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from roslin.errors import TimeLimitError
from roslin.matchers import Matcher
from roslin.matchers.base import COMPARED_AT_ONCE
from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed, pieces
from roslin.search.refine import Best, Engine
from roslin.search.work import Work
from roslin.types import Floats, Numbers

_Result = TypeVar("_Result")

_LONGER = 1.25  # times as many onsets as the query has a beginning that is compared with it: ornaments need room


class Everything(Engine):
    """Compares all candidates with a query, or only their beginnings (`is_cut`)."""

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
