"""Search: the melodies of a collection that a matcher finds nearest to a query.

Every matcher can compare the query with everything, a piece of the collection at a time. Some can do with less, and
give the same list: they have an entry in `SHORTCUTS`. When the time is over, what has been compared by then makes the
list, and the list says that it is incomplete. Ties are broken by id, so the same collection and query give the
same list everywhere, with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Container
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.errors import ArgumentError, TimeLimitError
from roslin.matchers import DEFAULT_MATCHER, EMD, TWV, Matcher, Roslin, TWVCovered, matcher
from roslin.matchers.base import COMPARED_AT_ONCE, check_query
from roslin.matchers.transport.twv import MatchedSegments
from roslin.melody import Melody
from roslin.represent.packed import Packed, pieces
from roslin.run import Ranking, Run
from roslin.search.background import Background, told_by
from roslin.search.index import open_index
from roslin.search.longest import check_length
from roslin.search.ranking import Expected, nearest_first, stopped
from roslin.search.work import Work
from roslin.transport.align import Query

if TYPE_CHECKING:
    from roslin.matchers.roslin.table import MelodyTable

__all__ = ["DEFAULT_MATCHER", "PartialAnswer", "depended_on", "search", "search_part", "within_radius"]

Numbers = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]
_Compared = TypeVar("_Compared")

# Of segments, in one piece of work: under a second where every one of them has to be solved.
_ALIGNMENTS_AT_ONCE = 20_000


class FoundDistances(NamedTuple):
    """Numbers of melodies and their distances. `compared` is how many were, if the time was over before the end."""

    numbers: Numbers
    distances: Distances
    compared: int | None = None


def search(
    query: Melody,
    collection: Store,
    matcher_name: str | Matcher = DEFAULT_MATCHER,
    k: int = 10,
    *,
    within: Numbers | None = None,
    exclude: Container[str] = (),
    radius: float | None = None,
    work: Work | None = None,
    chance: bool = True,
    partial: bool = True,
) -> Run:
    """The k melodies most similar to the query, none beyond the radius.

    Only those with the numbers `within` (all by default) and without the ids `exclude`. `work` has threads, a limit of
    time and somebody to tell about progress. `chance`: every hit is told how many melodies would be as near by chance
    (`roslin.search.chance`). `partial`: when the time is over, what was compared by then is returned and marked
    (`Ranking.unfinished`); otherwise, and where nothing was compared yet, it is a `TimeLimitError`.
    """
    with work or Work() as working:
        wanted = _checked(query, collection, matcher(matcher_name), k, within, radius, working, len(exclude), partial)
        found = _found(wanted)
        expected, unfinished = _judged(wanted, found, chance and len(wanted.numbers) > 0)
        return nearest_first(
            query, wanted.matcher, collection, found[:2], k, exclude=exclude, radius=wanted.radius, expected=expected,
            unfinished=unfinished,
        )  # fmt: skip


def _judged(wanted: _Wanted, found: FoundDistances, chance: bool) -> tuple[Expected | None, str]:
    """What chance gives, where it is asked for, and what is missing if the time was over."""
    seconds, total = wanted.work.seconds or 0.0, len(wanted.numbers)
    if found.compared is not None:
        return None, stopped(seconds, found.compared, total)
    if not chance:
        return None, ""
    try:
        return _expected(wanted, found), ""
    except TimeLimitError:
        if not wanted.partial:
            raise
        return None, f"Stopped after {seconds:g} seconds: all {total:,} melodies had been compared, chance had not."


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """What a part of a collection has for a query.

    `ranking.expected` is by what chance is told for each hit (`background.told_by`), `known` all distances where the
    matcher compares everything: whoever knows the whole makes numbers of chance matches of it.
    """

    ranking: Ranking
    known: Distances | None


def search_part(
    query: Melody, part: Store, chosen: Matcher, k: int, *, exclude: Container[str] = (), radius: float | None = None
) -> PartialAnswer:
    """The k nearest melodies of a part of a collection, for a matcher whose distances do not depend on the rest."""
    with Work() as work:
        wanted = _checked(query, part, chosen, k, None, radius, work, len(exclude))
        found = _found(wanted)
        told = partial(_told_by, wanted)
        run = nearest_first(query, chosen, part, found[:2], k, exclude=exclude, radius=wanted.radius, expected=told)
    return PartialAnswer(run.rankings[run.query], found.distances if _knows_all(wanted) else None)


def _checked(
    query: Melody,
    collection: Store,
    chosen: Matcher,
    k: int,
    within: Numbers | None,
    radius: float | None,
    work: Work,
    excluded: int,
    partial: bool = False,
) -> _Wanted:
    if not isinstance(k, int) or k < 1:
        raise ArgumentError(f"k must be a whole number, at least 1; got {k!r}")
    if radius is not None and not radius >= 0:
        raise ArgumentError(f"radius must be a number, at least 0; got {radius!r}")
    check_query(query)
    check_length(query, chosen)
    numbers = np.arange(len(collection)) if within is None else np.asarray(within, dtype=np.int64)
    return _Wanted(
        query, chosen, collection, numbers, k + excluded, np.inf if radius is None else radius, work, partial
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A search in the form that every way of searching takes."""

    query: Melody
    matcher: Matcher
    collection: Store
    numbers: Numbers
    k: int
    radius: float
    work: Work
    partial: bool = False

    @property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """For each melody of the collection, whether it is asked for."""
        allowed = np.zeros(len(self.collection), dtype=bool)
        allowed[self.numbers] = True
        return allowed


def _found(wanted: _Wanted) -> FoundDistances:
    wanted.work.report(0.0, "getting ready (the first search after installation compiles for a while)")
    return SHORTCUTS.get(type(wanted.matcher), _compare_all)(wanted)


def _expected(wanted: _Wanted, found: FoundDistances) -> Expected:
    """What chance gives for the query."""
    known = found.distances if _knows_all(wanted) or not wanted.matcher.is_independent else None
    null = Background.of(wanted.collection).null(wanted.query, wanted.matcher, known)
    return lambda numbers, distances: null.expected(_told_by(wanted, numbers, distances), len(wanted.numbers))


def _told_by(wanted: _Wanted, numbers: Numbers, distances: Distances) -> Distances:
    return told_by(wanted.query, wanted.matcher, wanted.collection.packed(), numbers, distances)


def _knows_all(wanted: _Wanted) -> bool:
    """Whether every melody of the collection gets its distance, however many are asked for."""
    return len(wanted.numbers) == len(wanted.collection) and type(wanted.matcher) not in SHORTCUTS


def _compare_all(wanted: _Wanted) -> FoundDistances:
    """Every melody that is asked for gets its distance."""
    packed, numbers = wanted.collection.packed(), wanted.numbers
    if not len(numbers):
        return FoundDistances(numbers, np.empty(0))
    if wanted.matcher.is_indexed or not wanted.matcher.is_independent:
        return FoundDistances(numbers, _compare_at_once(wanted, packed))

    def compare(piece: Numbers) -> Distances:
        return wanted.matcher.distances(wanted.query, _part(packed, piece))

    lengths = packed.offsets[numbers + 1] - packed.offsets[numbers]
    parts = [numbers[piece] for piece in pieces(lengths, COMPARED_AT_ONCE, wanted.matcher.notes_at_once(wanted.query))]
    found, compared = _in_pieces(wanted, compare, parts)
    return FoundDistances(numbers[: len(numbers) if compared is None else compared], np.concatenate(found), compared)


def _part(packed: Packed, piece: Numbers) -> Packed:
    is_run = piece[-1] - piece[0] == len(piece) - 1
    return packed.part(int(piece[0]), int(piece[-1]) + 1) if is_run else packed.take(piece)


def _in_pieces(
    wanted: _Wanted, compare: Callable[[Numbers], _Compared], parts: list[Numbers]
) -> tuple[list[_Compared], int | None]:
    """What came of the pieces, and how many melodies were compared if the time was over before the end."""
    found: list[_Compared] = []
    try:
        for piece in wanted.work.map(compare, parts):
            found.append(piece)
            wanted.work.report(len(found) / len(parts), "comparing")
    except TimeLimitError:
        if not found or not wanted.partial:
            raise
        return found, sum(map(len, parts[: len(found)])) if len(found) < len(parts) else None
    return found, None


def _compare_at_once(wanted: _Wanted, packed: Packed) -> Distances:
    """The distances of a matcher that must see all candidates, or is faster when it does."""

    def distances(candidates: Packed) -> Distances:
        return wanted.matcher.distances_told(
            wanted.query, candidates, lambda done: wanted.work.report(done, "comparing")
        )

    is_everything = np.array_equal(wanted.numbers, np.arange(len(packed)))
    if is_everything or wanted.matcher.is_independent:
        # The collection's own table is the one that keeps the index from search to search.
        return distances(packed)[wanted.numbers]
    return distances(packed.take(wanted.numbers))


def _nearest(wanted: _Wanted) -> FoundDistances:
    """For `emd`: lower bounds first, then only what can be among the best."""
    chosen = wanted.matcher
    assert isinstance(chosen, EMD)
    query = Query.of(chosen.query_points([wanted.query]), chosen)
    if wanted.k >= len(wanted.numbers) or not _can_be_bounded(query, chosen):
        return _compare_all(wanted)
    from roslin.search.nearest import nearest

    index = open_index(wanted.collection, wanted.work.progress)
    packed, allowed = wanted.collection.packed(), wanted.allowed
    found = nearest(query, chosen, packed, index, wanted.k, allowed, wanted.work, wanted.radius, wanted.partial)
    if found.is_complete and len(found.numbers) < wanted.k and wanted.radius == np.inf:
        return _compare_all(wanted)  # some melodies have no notes, and are wanted all the same
    return FoundDistances(found.numbers, found.distances, None if found.is_complete else found.compared)


def _by_segments(wanted: _Wanted) -> FoundDistances:
    """For `twv`: segments are matched only where bounds leave room for a match; without any, it is infinitely far."""
    chosen = wanted.matcher
    assert isinstance(chosen, TWV)
    possible, packed = _possible(wanted, chosen), wanted.collection.packed()
    # With both directions, a melody may also be found in the query.
    looked_at = wanted.numbers if possible is None or chosen.both else np.flatnonzero(possible.any(axis=0))
    if not len(looked_at):
        return FoundDistances(wanted.numbers, np.full(len(wanted.numbers), np.inf))

    def matched(piece: Numbers) -> MatchedSegments:
        where = None if possible is None else np.ascontiguousarray(possible[:, piece])
        return chosen.matched(wanted.query, _part(packed, piece), where)

    tried = len(chosen.segments(wanted.query)) if possible is None else possible[:, looked_at].sum(axis=0)
    lengths = packed.offsets[looked_at + 1] - packed.offsets[looked_at]
    alignments = lengths * tried * chosen.segment * len(chosen.tempos)
    parts = [looked_at[piece] for piece in pieces(alignments, COMPARED_AT_ONCE, _ALIGNMENTS_AT_ONCE)]
    found, compared = _in_pieces(wanted, matched, parts)
    distances = np.full(len(wanted.collection), np.inf)
    distances[looked_at[:compared]] = chosen.distances_of(found)
    return FoundDistances(wanted.numbers, distances[wanted.numbers], compared)


def _possible(wanted: _Wanted, chosen: TWV) -> npt.NDArray[np.bool_] | None:
    """(segments, melodies of the collection): where bounds leave room for a match. None: there are no bounds."""
    segments = chosen.segments(wanted.query)
    if not len(wanted.numbers) or not all(_can_be_bounded(segment, chosen) for segment in segments):
        return None
    from roslin.search.nearest import possible_within

    index, allowed, count = open_index(wanted.collection, wanted.work.progress), wanted.allowed, len(segments)
    return np.array(
        [
            possible_within(segment, chosen, index, allowed, chosen.radius, wanted.work, (k / count, (k + 1) / count))
            for k, segment in enumerate(segments)
        ]
    )


def within_radius(
    query: Melody, collection: Store, chosen: Matcher, radius: float, work: Work, numbers: Numbers | None = None
) -> tuple[Numbers, Distances]:
    """Every melody that is not beyond the radius, however many, with its distance; in the order of their numbers.

    Only those with these numbers, in rising order (all by default).
    """
    asked = np.arange(len(collection)) if numbers is None else numbers
    wanted = _Wanted(query, chosen, collection, asked, len(asked), radius, work)
    found, distances, _ = _BOUNDED.get(type(chosen), SHORTCUTS.get(type(chosen), _compare_all))(wanted)
    is_near = distances <= radius
    return found[is_near], distances[is_near]


def _emd_within(wanted: _Wanted) -> FoundDistances:
    """For `emd`: only melodies whose bound is within the radius get a distance."""
    chosen = wanted.matcher
    assert isinstance(chosen, EMD)
    query = Query.of(chosen.query_points([wanted.query]), chosen)
    if not _can_be_bounded(query, chosen):
        return _compare_all(wanted)
    from roslin.search.nearest import possible_within

    index = open_index(wanted.collection, wanted.work.progress)
    possible = np.flatnonzero(possible_within(query, chosen, index, wanted.allowed, wanted.radius, wanted.work))
    return FoundDistances(possible, chosen.distances(wanted.query, wanted.collection.packed().take(possible)))


def _aligned_within(wanted: _Wanted) -> FoundDistances:
    """For `roslin`: the same with its bounds."""
    chosen = wanted.matcher
    assert isinstance(chosen, Roslin)
    if chosen.compared(wanted.query) == "contour":
        return _compare_all(wanted)
    from roslin.search.roslin_nearest import aligned_within

    near = aligned_within(wanted.query, chosen, _table(wanted), wanted.radius, wanted.work)
    is_asked = wanted.allowed[near.numbers]
    return FoundDistances(near.numbers[is_asked], near.distances[is_asked])


def depended_on(
    query: Melody, collection: Store, chosen: Matcher, numbers: Numbers, within: Numbers | None = None
) -> tuple[Packed, Numbers]:
    """The melodies on which the distances to some depend, and which of them those are: to explain these distances.

    `within` are the melodies that were searched. Of `twv` it is those that may have a match: the others have no say.
    """
    packed, numbers = collection.packed(), np.asarray(numbers, dtype=np.int64)
    if chosen.is_independent:
        return packed.take(numbers), np.arange(len(numbers))
    others = np.arange(len(collection)) if within is None else within
    if type(chosen) in _SEGMENTED and isinstance(chosen, TWV) and not chosen.both:
        with Work() as work:
            wanted = _Wanted(query, chosen, collection, others, len(others), np.inf, work)
            possible = _possible(wanted, chosen)
        others = others if possible is None else np.flatnonzero(possible.any(axis=0))
    elif within is None:
        return packed, numbers
    together = np.union1d(others, numbers).astype(np.int64)
    return packed.take(together), np.searchsorted(together, numbers)


def _aligned(wanted: _Wanted) -> FoundDistances:
    """For `roslin`: upper bounds of scores first, then only what can be among the best."""
    chosen = wanted.matcher
    assert isinstance(chosen, Roslin)
    if chosen.compared(wanted.query) == "contour":
        return _compare_all(wanted)  # the table has pitches, not contours
    from roslin.search.roslin_nearest import nearest_aligned

    found = nearest_aligned(
        wanted.query, chosen, _table(wanted), wanted.k, wanted.allowed, wanted.work, wanted.radius, wanted.partial
    )
    return FoundDistances(found.numbers, found.distances, None if found.is_complete else found.compared)


def _table(wanted: _Wanted) -> MelodyTable:
    from roslin.matchers.roslin.scores import fitted, tables
    from roslin.search.roslin_table import open_table

    def opened(_: Packed) -> MelodyTable:
        return open_table(wanted.collection, tables(fitted("both"), 1), wanted.work.progress)

    return wanted.collection.packed().keep("table of notes", opened)


def _can_be_bounded(query: Query, chosen: EMD | TWV) -> bool:
    from roslin.transport.bounds import can_be_bounded

    return can_be_bounded(query, chosen)


# By type, not by name: a class made from one of these may compare in its own way.
_SEGMENTED: tuple[type[Matcher], ...] = (TWV, TWVCovered)
SHORTCUTS: dict[type[Matcher], Callable[[_Wanted], FoundDistances]] = {
    EMD: _nearest,
    TWV: _by_segments,
    TWVCovered: _by_segments,
    Roslin: _aligned,
}
_BOUNDED: dict[type[Matcher], Callable[[_Wanted], FoundDistances]] = {EMD: _emd_within, Roslin: _aligned_within}
