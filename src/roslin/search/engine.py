"""Search: the melodies of a collection that a matcher finds nearest to a query.

Every matcher can compare the query with everything, a piece of the collection at a time. Some can do with less, and
give the same list: they have an entry in `SHORTCUTS`. The list of `roslin` is in the order of its evidence, with the
number of chance matches of every hit (`roslin.search.chance`); every other list is in the order of its distances. When
the time is over, what has been compared by then makes the list, and the list says that it is incomplete. Ties are
broken by id, so the same collection and query give the same list everywhere, with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Container
from dataclasses import dataclass, replace
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
from roslin.run import Run
from roslin.run.meaning import BY_CHANCE
from roslin.search.beginnings import MOST_AT_ONCE, beginnings, onsets_compared
from roslin.search.chance import Background
from roslin.search.coinciding import COINCIDING, can_ask, evidence_of, is_sure
from roslin.search.index import open_index
from roslin.search.longest import check_length
from roslin.search.ranking import FoundMelodies, nearest_first, stopped
from roslin.search.work import Work
from roslin.transport.align import Query
from roslin.types import Distances, Numbers

if TYPE_CHECKING:
    from roslin.matchers.roslin.table import MelodyTable

_Compared = TypeVar("_Compared")

# Of segments, in one piece of work: under a second where every one of them has to be solved.
_ALIGNMENTS_AT_ONCE = 20_000


class WholeCollection(NamedTuple):
    """The collection of which a part is searched: what chance gives in it, and how many melodies it has.

    `coinciding`: whether notes that coincide are asked for; None if the part decides (`roslin.search.coinciding`).
    """

    background: Background
    searched: int
    coinciding: bool | None = None


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
    is_cut: bool = False,
    whole: WholeCollection | None = None,
) -> Run:
    """The k melodies most similar to the query, none beyond the radius.

    Only those with the numbers `within` (all by default) and without the ids `exclude`. `work` has threads, a limit of
    time and a function that receives progress. When the time is over, the melodies compared by then make the list,
    which is marked (`Ranking.unfinished`); where there are none, or `Work.partial` is false, it is a `TimeLimitError`.
    `is_cut`: only the beginnings of melodies are compared, each a little longer than the query. `whole`: of what the
    collection is a part.
    """
    with work or Work() as working:
        chosen = matcher(matcher_name)
        wanted = _checked(query, collection, chosen, k, within, radius, working, len(exclude), is_cut)
        wanted = replace(wanted, whole=whole)
        found = _found(wanted)
        seconds, total = working.seconds or 0.0, len(wanted.numbers)

        def listed(found: FoundMelodies) -> Run:
            unfinished = "" if found.compared is None else stopped(seconds, found.compared, total)
            return nearest_first(
                query, chosen, collection, found, k, exclude=exclude, radius=wanted.radius, unfinished=unfinished
            )

        run = listed(found)
        if found.compared is not None or is_cut or not can_ask(query, chosen):
            return run
        asked = None if whole is None else whole.coinciding
        more = not is_sure(run) if asked is None else asked
        return listed(_with_coinciding(wanted, found)) if more else run


def _checked(
    query: Melody,
    collection: Store,
    chosen: Matcher,
    k: int,
    within: Numbers | None,
    radius: float | None,
    work: Work,
    excluded: int,
    is_cut: bool,
) -> _Wanted:
    if not isinstance(k, int) or k < 1:
        raise ArgumentError(f"k must be a whole number, at least 1; got {k!r}")
    if radius is not None and not radius >= 0:
        raise ArgumentError(f"radius must be a number, at least 0; got {radius!r}")
    check_query(query)
    check_length(query, chosen)
    numbers = np.arange(len(collection)) if within is None else np.asarray(within, dtype=np.int64)
    if is_cut and not chosen.is_independent and len(numbers) > MOST_AT_ONCE:
        raise ArgumentError(
            f"{chosen.name} compares the beginnings of at most {MOST_AT_ONCE} melodies; got {len(numbers)}: "
            "filter the collection first, or choose another matcher"
        )
    reach = np.inf if radius is None else radius
    return _Wanted(query, chosen, collection, numbers, k + excluded, reach, work, is_cut=is_cut)


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
    is_cut: bool = False
    whole: WholeCollection | None = None

    @property
    def known_whole(self) -> WholeCollection:
        """What chance gives, and among how many melodies."""
        return self.whole or WholeCollection(Background.of(self.collection), len(self.numbers))

    @property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """For each melody of the collection, whether it is asked for."""
        allowed = np.zeros(len(self.collection), dtype=bool)
        allowed[self.numbers] = True
        return allowed


def _found(wanted: _Wanted) -> FoundMelodies:
    wanted.work.report(0.0, "getting ready")
    if wanted.is_cut:
        return _compare_all(wanted)
    return SHORTCUTS.get(type(wanted.matcher), _compare_all)(wanted)


def _compare_all(wanted: _Wanted) -> FoundMelodies:
    """Every melody that is asked for gets its distance."""
    packed, numbers = wanted.collection.packed(), wanted.numbers
    if not len(numbers):
        return FoundMelodies(numbers, np.empty(0))
    if not wanted.matcher.is_independent or (wanted.matcher.is_indexed and not wanted.is_cut):
        return FoundMelodies(numbers, _compare_at_once(wanted, packed))

    def cut(melodies: Packed) -> Packed:
        return beginnings(melodies, onsets_compared(wanted.query)) if wanted.is_cut else melodies

    def compare(piece: Numbers) -> Distances:
        return wanted.matcher.distances(wanted.query, cut(_part(packed, piece)))

    lengths = packed.offsets[numbers + 1] - packed.offsets[numbers]
    if wanted.is_cut:
        lengths = np.minimum(lengths, onsets_compared(wanted.query))
    parts = [numbers[piece] for piece in pieces(lengths, COMPARED_AT_ONCE, wanted.matcher.notes_at_once(wanted.query))]
    found, compared = _in_pieces(wanted, compare, parts)
    return FoundMelodies(numbers[: len(numbers) if compared is None else compared], np.concatenate(found), compared)


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
        if not found or not wanted.work.partial:
            raise
        return found, sum(map(len, parts[: len(found)])) if len(found) < len(parts) else None
    return found, None


def _compare_at_once(wanted: _Wanted, packed: Packed) -> Distances:
    """The distances of a matcher that must see all candidates, or is faster when it does."""

    def distances(candidates: Packed) -> Distances:
        return wanted.matcher.distances_told(
            wanted.query, candidates, lambda done: wanted.work.report(done, "comparing")
        )

    if wanted.is_cut:
        return distances(beginnings(packed.take(wanted.numbers), onsets_compared(wanted.query)))
    is_everything = np.array_equal(wanted.numbers, np.arange(len(packed)))
    if is_everything or wanted.matcher.is_independent:
        # The collection's own table is the one that keeps the index from search to search.
        return distances(packed)[wanted.numbers]
    return distances(packed.take(wanted.numbers))


def _nearest(wanted: _Wanted) -> FoundMelodies:
    """For `emd`: lower bounds first, then only what can be among the best."""
    chosen = wanted.matcher
    assert isinstance(chosen, EMD)
    query = Query.of(chosen.query_points([wanted.query]), chosen)
    if wanted.k >= len(wanted.numbers) or not _can_be_bounded(query, chosen):
        return _compare_all(wanted)
    from roslin.search.nearest import nearest

    index = open_index(wanted.collection, wanted.work.progress)
    packed, allowed = wanted.collection.packed(), wanted.allowed
    found = nearest(query, chosen, packed, index, wanted.k, allowed, wanted.work, wanted.radius, wanted.work.partial)
    if found.is_complete and len(found.numbers) < wanted.k and wanted.radius == np.inf:
        return _compare_all(wanted)  # some melodies have no notes, and are wanted all the same
    return FoundMelodies(found.numbers, found.distances, None if found.is_complete else found.compared)


def _by_segments(wanted: _Wanted) -> FoundMelodies:
    """For `twv`: segments are matched only where bounds leave room for a match; without any, it is infinitely far."""
    chosen = wanted.matcher
    assert isinstance(chosen, TWV)
    possible, packed = _possible(wanted, chosen), wanted.collection.packed()
    # With both directions, a melody may also be found in the query.
    looked_at = wanted.numbers if possible is None or chosen.both else np.flatnonzero(possible.any(axis=0))
    if not len(looked_at):
        return FoundMelodies(wanted.numbers, np.full(len(wanted.numbers), np.inf))

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
    return FoundMelodies(wanted.numbers, distances[wanted.numbers], compared)


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
    found = _BOUNDED.get(type(chosen), SHORTCUTS.get(type(chosen), _compare_all))(wanted)
    is_near = found.distances <= radius
    return found.numbers[is_near], found.distances[is_near]


def _emd_within(wanted: _Wanted) -> FoundMelodies:
    """For `emd`: only melodies whose bound is within the radius get a distance."""
    chosen = wanted.matcher
    assert isinstance(chosen, EMD)
    query = Query.of(chosen.query_points([wanted.query]), chosen)
    if not _can_be_bounded(query, chosen):
        return _compare_all(wanted)
    from roslin.search.nearest import possible_within

    index = open_index(wanted.collection, wanted.work.progress)
    possible = np.flatnonzero(possible_within(query, chosen, index, wanted.allowed, wanted.radius, wanted.work))
    return FoundMelodies(possible, chosen.distances(wanted.query, wanted.collection.packed().take(possible)))


def _aligned_within(wanted: _Wanted) -> FoundMelodies:
    """For `roslin`: the same with its bounds."""
    chosen = wanted.matcher
    assert isinstance(chosen, Roslin)
    from roslin.search.roslin_nearest import aligned_within

    near = aligned_within(wanted.query, chosen, _table(wanted), wanted.radius, wanted.work)
    is_asked = wanted.allowed[near.numbers]
    return FoundMelodies(near.numbers[is_asked], near.distances[is_asked])


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


def _aligned(wanted: _Wanted) -> FoundMelodies:
    """For `roslin`: bounds first, then only what can be among the best; in the order of evidence."""
    from roslin.search.roslin_nearest import aligned_within, best_aligned, prepared

    chosen, allowed = wanted.matcher, wanted.allowed
    assert isinstance(chosen, Roslin)
    if not len(wanted.numbers):
        return FoundMelodies(wanted.numbers, np.empty(0), None, np.empty(0), np.empty(0), np.empty(0, np.int64))
    table = _table(wanted)
    if wanted.radius < np.inf:
        near = aligned_within(wanted.query, chosen, table, wanted.radius, wanted.work).numbers
        allowed &= np.isin(np.arange(len(allowed)), near)
    background, searched, _ = wanted.known_whole
    null = background.null(wanted.query, chosen)
    aligned = prepared(wanted.query, chosen, table)
    key_of = aligned.keys(null)
    best = best_aligned(aligned, wanted.collection.packed(), key_of, wanted.k, allowed, wanted.work)
    excess = -key_of(best.scores, best.numbers)
    rarities = null.rarity(excess)
    for common in np.unique(best.same.notes[best.same.is_full]).tolist():
        of = (best.same.notes == common) & best.same.is_full
        rarities[of] = null.rarity_of_same(common)
    evidence = (rarities - np.log(searched)) / np.log(10)
    # A few notes from within the query are in many melodies: that is no news where chance gives as much.
    same = np.where(best.same.is_full | (10.0**-evidence <= BY_CHANCE), best.same.notes, 0)
    distances = aligned.distances(best.scores, best.numbers)
    fit = np.clip(excess / max(aligned.own, 1), -1.0, 1.0)
    compared = None if best.is_complete else best.scored
    agreeing = int(np.count_nonzero(best.same.notes == len(aligned.query.pitches)))
    return FoundMelodies(best.numbers, distances, compared, evidence, fit, same, agreeing)


def _with_coinciding(wanted: _Wanted, found: FoundMelodies) -> FoundMelodies:
    """With every melody whose notes coincide with those of the query more than chance explains.

    Its E is the smaller of the two. What the alignment has not listed keeps its place behind the list unless its notes
    coincide, so the first k are those of comparing everything in both ways.
    """
    from roslin.search.roslin_nearest import aligned_distances

    assert isinstance(wanted.matcher, Roslin)
    assert found.evidence is not None
    assert found.fit is not None
    assert found.same is not None
    try:
        compared = _compare_all(replace(wanted, matcher=COINCIDING))
    except TimeLimitError:
        if not wanted.work.partial:
            raise
        return found._replace(compared=0)
    background, searched, _ = wanted.known_whole
    rare = evidence_of(compared.distances, COINCIDING.distances(wanted.query, background.melodies), searched)
    believed = np.flatnonzero(np.isfinite(rare))
    new = np.setdiff1d(compared.numbers[believed], found.numbers)
    with Work(wanted.work.threads) as rest:  # few, and found already: the time may be over
        distances = aligned_distances(wanted.query, wanted.matcher, _table(wanted), new, rest)
    numbers, none = np.append(found.numbers, new), np.zeros(len(new))
    evidence, fit = np.append(found.evidence, none - np.inf), np.append(found.fit, none)
    same, coincides = np.append(found.same, none.astype(np.int64)), np.zeros(len(numbers), bool)
    order = np.argsort(numbers)
    at = order[np.searchsorted(numbers, compared.numbers[believed], sorter=order)]
    is_rarer = (rare[believed] > evidence[at]) & (same[at] == 0)
    believed, at = believed[is_rarer], at[is_rarer]
    evidence[at], fit[at], coincides[at] = rare[believed], -compared.distances[believed], True
    distances = np.append(found.distances, distances)
    return FoundMelodies(numbers, distances, compared.compared, evidence, fit, same, found.agreeing, coincides)


def _table(wanted: _Wanted) -> MelodyTable:
    """The notes of the collection as the matcher takes them for the query."""
    from roslin.matchers.roslin.notes import contours
    from roslin.matchers.roslin.scores import fitted, tables
    from roslin.matchers.roslin.table import table_of
    from roslin.search.roslin_table import open_table

    def opened(_: Packed) -> MelodyTable:
        return open_table(wanted.collection, tables(fitted("both"), 1), wanted.work.progress)

    chosen, packed = wanted.matcher, wanted.collection.packed()
    assert isinstance(chosen, Roslin)
    table = packed.keep("table of notes", opened)
    if chosen.compared(wanted.query) != "contour":
        return table
    return packed.keep(
        "table of contours",
        lambda _: table_of(
            contours(table.take(np.arange(len(table)))), tables(fitted("contour"), 1, compared="contour")
        ),
    )


def _can_be_bounded(query: Query, chosen: EMD | TWV) -> bool:
    from roslin.transport.bounds import can_be_bounded

    return can_be_bounded(query, chosen)


# By type, not by name: a class made from one of these may compare in its own way.
_SEGMENTED: tuple[type[Matcher], ...] = (TWV, TWVCovered)
SHORTCUTS: dict[type[Matcher], Callable[[_Wanted], FoundMelodies]] = {
    EMD: _nearest,
    TWV: _by_segments,
    TWVCovered: _by_segments,
    Roslin: _aligned,
}
_BOUNDED: dict[type[Matcher], Callable[[_Wanted], FoundMelodies]] = {EMD: _emd_within, Roslin: _aligned_within}
