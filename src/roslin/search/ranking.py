"""The end of every search: from numbers of melodies and their distances to a ranked list.

Ties are broken by id, so that the same collection and query give the same list everywhere.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Kind, Ranking, Run
from roslin.types import Distances, Numbers

# What is at infinity cannot be compared with the query: it is in no list.
_FARTHEST = float(np.finfo(np.float64).max)
# Less than any difference of evidence that means something, and more than rounding.
_DECIDES = 1e-9
# The ids of so many melodies are fetched faster than the order of all ids is made.
_TIES = 1000


class FoundMelodies(NamedTuple):
    """Numbers of melodies and their distances.

    `compared` is how many were, if the time was over before the end. With `evidence`, minus the logarithm (to base 10)
    of the number of chance matches, the list is in its order, otherwise in that of the distances. `fit`, from -1 to 1,
    decides between melodies with the same evidence, the highest first. `same` is the number of notes on which a melody
    and the query agree, if those are all that one of them has (`roslin.search.same`), `agreeing` how many have all of
    the query. `coincides` marks melodies that were found by the notes that coincide (`roslin.search.coinciding`).
    """

    numbers: Numbers
    distances: Distances
    compared: int | None = None
    evidence: Distances | None = None
    fit: Distances | None = None
    same: Numbers | None = None
    agreeing: int = 0
    coincides: npt.NDArray[np.bool_] | None = None


def nearest_first(
    query: Melody,
    matcher: Matcher,
    collection: Store,
    found: FoundMelodies,
    k: int,
    *,
    exclude: Container[str] = (),
    radius: float = np.inf,
    unfinished: str = "",
) -> Run:
    """The k best of some melodies, none beyond the radius. `unfinished` describes what was not compared."""
    distances, evidence = found.distances, found.evidence
    values = distances if evidence is None or found.fit is None else evidence + _DECIDES * found.fit
    keys = distances if evidence is None else -values
    allowed = np.flatnonzero(distances <= min(radius, _FARTHEST))
    best = allowed[_best(found.numbers[allowed], keys[allowed], collection, k + len(exclude))]
    ids = collection.ids(found.numbers[best])
    ranked = sorted(zip(keys[best].tolist(), ids, best.tolist(), strict=True))
    taken = [each for each in ranked if each[1] not in exclude][:k]
    places = [each[2] for each in taken]
    agreeing = found.agreeing
    if agreeing and found.same is not None:
        most = found.same.max()
        agreeing -= sum(id in exclude and found.same[place] == most for _key, id, place in ranked)
    near = tuple(distances[places].tolist())
    ranking = Ranking(
        query.id or "query",
        tuple(each[1] for each in taken),
        tuple(values[places].tolist()),
        remarks=matcher.remarks(query),
        unfinished=unfinished,
        distances=None if evidence is None else near,
        expected=None if evidence is None else tuple((10.0 ** -evidence[places]).tolist()),
        same=None if found.same is None or not found.same[places].any() else tuple(found.same[places].tolist()),
        agreeing=int(agreeing),
        coincides=None
        if found.coincides is None or not found.coincides[places].any()
        else tuple(found.coincides[places].tolist()),
    )

    def titles(ids: Sequence[str]) -> list[str | None]:
        return [melody.title for melody in collection.melodies(collection.numbers(ids))]

    kind: Kind = "distance" if evidence is None else "score"
    return Run([ranking], name=repr(matcher), kind=kind, titles=titles)


def stopped(seconds: float, compared: int, total: int) -> str:
    """What a list must say that has only what could be compared in so many seconds.

    >>> stopped(5, 1200, 37773)
    'Stopped after 5 seconds: 1,200 of 37,773 melodies had been compared. Nearer ones may be missing from the list.'
    """
    counted = f"{compared:,} of {total:,} melodies had been compared"
    return f"Stopped after {seconds:g} seconds: {counted}. Nearer ones may be missing from the list."


def _best(numbers: Numbers, keys: Distances, collection: Store, k: int) -> Numbers:
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
