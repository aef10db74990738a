"""Request: what a search is asked for, checked once. Commands, pages, campaigns and identification make one.

    request = Request(query, matcher("roslin"), k=20, within=numbers)
    run = search(request, collection)

`search` finds the engine of the matcher (`ENGINES`), has it find the best melodies, and makes the ranked
list. Ties are broken by id, so the same collection and request give the same list everywhere, with any number of
threads. If the time limit is reached, the melodies compared by then make the list, and the list is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.collection.store import Store
from roslin.deadline import Work
from roslin.display.words import _
from roslin.errors import ArgumentError
from roslin.matchers import Matcher, Roslin
from roslin.matchers.base import check_query
from roslin.melody import Melody
from roslin.run import Kind, Ranking, Run
from roslin.search.engines.emd import NearestByEmd, SegmentsByEmd
from roslin.search.engines.roslin import ByEvidence
from roslin.search.refine import Engine, Everything, Nearest
from roslin.tolerances import RECOMPUTED
from roslin.types import Array, Floats, Numbers

if TYPE_CHECKING:
    from roslin.search.chance import WholeCollection

# A query is too long if comparing it with a melody of the same length takes more than this many steps: a second or two.
_TIMES_AT_ONCE = 10
# A matcher that must see all candidates at once cannot be stopped, so beginnings of more melodies are not compared.
MOST_BEGINNINGS = 50_000
# Melodies at infinity cannot be compared with the query and are in no list.
_FARTHEST = float(np.finfo(np.float64).max)
# Fetching the ids of this many melodies is faster than making the order of all ids.
_TIES = 1000


@dataclass(frozen=True, eq=False)
class Request:
    """The k melodies most similar to a query, none beyond the radius."""

    query: Melody
    matcher: Matcher = Roslin()  # noqa: RUF009 (a frozen value)
    k: int = 10
    within: Numbers | None = None  # only melodies with these numbers
    exclude: frozenset[str] = frozenset()  # none with these ids
    radius: float = np.inf
    is_cut: bool = False  # only beginnings are compared, each a little longer than the query
    whole: WholeCollection | None = None  # if the one searched is a part of it: it decides what chance gives

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or self.k < 1:
            raise ArgumentError(f"k must be a whole number, at least 1; got {self.k!r}")
        if not self.radius >= 0:
            raise ArgumentError(f"radius must be a number, at least 0; got {self.radius!r}")
        check_query(self.query)
        most = longest_query(self.matcher)
        if len(self.query) > most:
            raise ArgumentError(
                f"the query has {len(self.query)} notes; {self.matcher.name} searches for at most {most}: "
                "search for a part of it, such as its first 40 notes (in Python, query[:40])"
            )

    def numbers(self, collection: Store) -> Numbers:
        numbers = np.arange(len(collection)) if self.within is None else np.unique(self.within).astype(np.int64)
        if self.is_cut and not self.matcher.is_independent and len(numbers) > MOST_BEGINNINGS:
            raise ArgumentError(
                f"{self.matcher.name} compares the beginnings of at most {MOST_BEGINNINGS} melodies; "
                f"got {len(numbers)}: filter the collection first, or choose another matcher"
            )
        return numbers


def longest_query(chosen: Matcher) -> int:
    """How many notes a query of a matcher may have.

    Without a time limit nothing interrupts one comparison of two melodies, and with one, a query that is too long for a
    single comparison finds nothing. For a matcher made of others, the slowest decides.

    >>> from roslin.matchers import matcher
    >>> longest_query(matcher("emd")), longest_query(matcher("dp")), longest_query(matcher("fuse(dp, emd)"))
    (447, 4472, 447)
    """
    members: tuple[Matcher, ...] = getattr(chosen, "members", ())
    return min(map(longest_query, members)) if members else isqrt(_TIMES_AT_ONCE * chosen.pairs_at_once)


MakeEngine = Callable[[Request, Store, Numbers, Work], Engine | None]
# A matcher class names its engine. Every other matcher, and a class made from one of these, is compared with every
# melody: such a class may compare in its own way.

ENGINES: dict[str, MakeEngine] = {"emd": NearestByEmd.of, "segments": SegmentsByEmd.of, "roslin": ByEvidence.of}


def engine_of(request: Request, collection: Store, candidates: Numbers, work: Work) -> Engine:
    """The engine that searches some melodies of a collection for a request."""
    make = ENGINES.get(vars(type(request.matcher)).get("engine", ""))
    engine = None if make is None or request.is_cut else make(request, collection, candidates, work)
    return engine or Everything(
        request.query, request.matcher, collection.packed(), candidates, work, is_cut=request.is_cut
    )


def search(request: Request, collection: Store, work: Work | None = None) -> Run:
    """The ranked list of a request.

    `work` has threads, a time limit and a function that receives progress. A search that is stopped before anything is
    compared, or whose `Work.partial` is false, raises `TimeLimitError`.
    """
    with work or Work() as working:
        numbers = request.numbers(collection)
        working.report(0.0, "getting ready")
        used = request
        if request.whole is None:
            used = replace(request, matcher=for_collections(request.matcher, request.query, [collection]))
        found = engine_of(used, collection, numbers, working).find(request.k + len(request.exclude), request.radius)
        seconds = working.seconds or 0.0
    unfinished = "" if found.compared is None else _stopped(seconds, found.compared, len(numbers))
    run = _listed(request, collection, found, unfinished)
    return run if used.matcher == request.matcher else run.with_remarks([without_rhythm()])


def for_collections(chosen: Matcher, query: Melody, collections: Iterable[Store]) -> Matcher:
    """The matcher that is used: where no collection has rhythm, `auto` compares the melody alone."""
    if isinstance(chosen, Roslin) and chosen.compare == "auto" and chosen.compared(query) == "both":
        return chosen if any(each.has_rhythm for each in collections) else replace(chosen, compare="melody")
    return chosen


def without_rhythm() -> str:
    """The remark of a list for which `for_collections` chose."""
    return _("The collection is chant, which has no written rhythm, so only the melody was compared.")


def within_radius(request: Request, collection: Store, work: Work) -> tuple[Numbers, Floats]:
    """Every melody that is not beyond the radius, in the order of their numbers, with its distance."""
    return engine_of(request, collection, request.numbers(collection), work).within(request.radius)


def _listed(request: Request, collection: Store, found: Nearest, unfinished: str) -> Run:
    k, exclude = request.k, request.exclude
    distances, evidence = found.distances, found.evidence
    values = distances if evidence is None or found.fit is None else evidence + RECOMPUTED * found.fit
    keys = distances if evidence is None else -values
    allowed = np.flatnonzero(distances <= min(request.radius, _FARTHEST))
    best = allowed[_best(found.numbers[allowed], keys[allowed], collection, k + len(exclude))]
    ids = collection.ids(found.numbers[best])
    ranked = sorted(zip(keys[best].tolist(), ids, best.tolist(), strict=True))
    taken = [each for each in ranked if each[1] not in exclude][:k]
    places = [each[2] for each in taken]
    ranking = Ranking(
        request.query.id or "query",
        tuple(each[1] for each in taken),
        tuple(values[places].tolist()),
        remarks=request.matcher.remarks(request.query),
        unfinished=unfinished,
        distances=None if evidence is None else tuple(distances[places].tolist()),
        expected=None if evidence is None else tuple((10.0 ** -evidence[places]).tolist()),
        same=_if_any(found.same, places),
        agreeing=found.agreeing,
        coincides=_if_any(found.coincides, places),
    )

    def titles(ids: Sequence[str]) -> list[str | None]:
        return [melody.title for melody in collection.melodies(collection.numbers(ids))]

    kind: Kind = "distance" if evidence is None else "score"
    return Run([ranking], name=repr(request.matcher), kind=kind, titles=titles)


def _if_any(values: Array | None, places: list[int]) -> tuple[Any, ...] | None:
    return None if values is None or not values[places].any() else tuple(values[places].tolist())


def _stopped(seconds: float, compared: int, total: int) -> str:
    """The remark of a list that has only what could be compared within the time limit.

    >>> _stopped(5, 1200, 37773)
    'Stopped after 5 seconds: 1,200 of 37,773 melodies had been compared. Closer ones may be missing from the list.'
    """
    counted = f"{compared:,} of {total:,} melodies had been compared"
    return f"Stopped after {seconds:g} seconds: {counted}. Closer ones may be missing from the list."


def _best(numbers: Numbers, keys: Floats, collection: Store, k: int) -> Numbers:
    """The places of the k first by these keys, and perhaps some that tie with the last of them.

    Where many tie, those whose ids come first are chosen here: fetching the ids of all would take longer than all else.
    """
    if len(numbers) <= k:
        return np.arange(len(numbers))
    last = np.partition(keys, k - 1)[k - 1]
    before, tied = np.flatnonzero(keys < last), np.flatnonzero(keys == last)
    if len(tied) > _TIES:
        tied = tied[np.argsort(collection.id_ranks[numbers[tied]])[: k - len(before)]]
    return np.concatenate([before, tied])
