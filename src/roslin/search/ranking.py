"""The end of every search: from numbers of melodies and their distances to a ranked list.

Ties are broken by id, so that the same collection and query give the same list everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Container

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Ranking, Run

__all__ = ["Expected", "nearest_first", "stopped"]

Numbers = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]
# From the numbers of melodies and their distances to how many would be as near by chance.
Expected = Callable[[Numbers, Distances], Distances]

# What is at infinity cannot be compared with the query: it is in no list.
_FARTHEST = float(np.finfo(np.float64).max)
# The ids of so many melodies are fetched faster than the order of all ids is made.
_TIES = 1000


def nearest_first(
    query: Melody,
    matcher: Matcher,
    collection: Store,
    found: tuple[Numbers, Distances],
    k: int,
    *,
    exclude: Container[str] = (),
    radius: float = np.inf,
    expected: Expected | None = None,
    unfinished: str = "",
) -> Run:
    """The k nearest of some melodies, given by their numbers and distances, none beyond the radius.

    With `expected`, each is told how many of those that were searched would be as near by chance. `unfinished` says how
    much was compared, where it was not everything.
    """
    numbers, distances = found
    near = _best(numbers, distances, collection, k + len(exclude), min(radius, _FARTHEST))
    ranked = sorted(zip(distances[near].tolist(), collection.ids(numbers[near]), numbers[near].tolist(), strict=True))
    kept = [each for each in ranked if each[1] not in exclude][:k]
    nearest, places = np.array([each[0] for each in kept]), np.array([each[2] for each in kept], dtype=np.int64)
    ranking = Ranking(
        query.id or "query",
        tuple(each[1] for each in kept),
        tuple(nearest.tolist()),
        expected=None if expected is None else tuple(expected(places, nearest).tolist()),
        remarks=matcher.remarks(query),
        unfinished=unfinished,
    )

    def titles(ids: Sequence[str]) -> list[str | None]:
        return [melody.title for melody in collection.melodies(collection.numbers(ids))]

    return Run([ranking], name=repr(matcher), kind="distance", titles=titles)


def stopped(seconds: float, compared: int, total: int) -> str:
    """What a list must say that has only what could be compared in so many seconds.

    >>> stopped(5, 1200, 37773)
    'Stopped after 5 seconds: 1,200 of 37,773 melodies had been compared. Nearer ones may be missing from the list.'
    """
    counted = f"{compared:,} of {total:,} melodies had been compared"
    return f"Stopped after {seconds:g} seconds: {counted}. Nearer ones may be missing from the list."


def _best(numbers: Numbers, distances: Distances, collection: Store, k: int, radius: float) -> Numbers:
    """The places of the k nearest within the radius, and perhaps some that tie with the last of them.

    Where many tie, those whose ids come first are chosen here: fetching the ids of all would take longer than all else.
    """
    if len(numbers) <= k:
        return np.flatnonzero(distances <= radius)
    last = np.partition(distances, k - 1)[k - 1]
    if last > radius:
        return np.flatnonzero(distances <= radius)
    nearer, tied = np.flatnonzero(distances < last), np.flatnonzero(distances == last)
    if len(tied) > _TIES:
        tied = tied[np.argsort(collection.id_ranks[numbers[tied]])[: k - len(nearer)]]
    return np.concatenate([nearer, tied])
