"""Search: score a collection with a matcher, keep the best.

Every candidate gets its distance from the matcher's batched kernel; the k best are picked without sorting the rest.
Ties are broken by id, so the same collection and query give the same list everywhere.
"""

from __future__ import annotations

from collections.abc import Collection as Container

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.errors import ArgumentError
from roslin.matchers import Matcher, matcher
from roslin.melody import Melody
from roslin.search.run import Hit, Run

__all__ = ["DEFAULT_MATCHER", "search"]

DEFAULT_MATCHER = "dp"


def search(
    query: Melody,
    collection: Store,
    matcher_name: str | Matcher = DEFAULT_MATCHER,
    k: int = 10,
    *,
    within: npt.NDArray[np.int64] | None = None,
    exclude: Container[str] = (),
) -> Run:
    """The k melodies most similar to the query, among the numbers `within` (all by default) and without `exclude`."""
    if not isinstance(k, int) or k < 1:
        raise ArgumentError(f"k must be a whole number, at least 1; got {k!r}")
    chosen = matcher(matcher_name)
    numbers = np.arange(len(collection)) if within is None else np.asarray(within, dtype=np.int64)
    packed = collection.packed()
    distances = chosen.distances(query, packed if within is None else packed.take(numbers))
    enough = min(k + len(exclude), len(distances))
    if not enough:
        return Run(query.id or "query", repr(chosen), ())
    # Everything up to the distance of the last place: with ties, more than asked for, so that ids can decide.
    best = np.flatnonzero(distances <= np.partition(distances, enough - 1)[enough - 1])
    ranked = sorted(zip(distances[best].tolist(), collection.ids(numbers[best]), strict=True))
    kept = [(distance, id) for distance, id in ranked if id not in exclude][:k]
    hits = tuple(Hit(rank, id, distance) for rank, (distance, id) in enumerate(kept, start=1))
    return Run(query.id or "query", repr(chosen), hits)
