"""All pairs of a collection that any matcher puts within a radius of each other.

Every melody is the query once, and all others are its candidates, as in a search. Not every matcher gives the same
distance both ways (a fragment may be found in a whole, which is not found in the fragment): a pair counts when either
way is within the radius, and its distance is the smaller of the two. Where a matcher has an engine (`search.engines`),
only what its bounds leave is compared. The pairs are the same as without.

Melodies with the same notes and bar lines are the same for every matcher: the first of them is compared, and its pairs
are repeated for the others. Those without notes, and those too long for the matcher (`search.request`), have no pairs.
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from roslin.collection.arrays import ArrayFile, Arrays
from roslin.collection.store import Store, opened
from roslin.concordances.pairs import EarlierPairs, FoundPairs, digests_of_notes, firsts_of, unfold
from roslin.concordances.resume import Journal, Stage
from roslin.deadline import Work
from roslin.errors import ArgumentError, CollectionError
from roslin.matchers import Matcher, matcher
from roslin.represent.packed import Packed
from roslin.search.request import Request, longest_query, within_radius
from roslin.types import Flags, Floats, Numbers

RADIUS_VERSION = 2  # of the files in a folder
ASKED_AT_ONCE = 64  # melodies that are queries in one piece of work
_CHECKED_AT_ONCE = 20_000  # melodies
_NEAR = Stage("near", {"first": np.int64, "second": np.int64, "distances": np.float64}, "comparing")


def find_within(
    store: Store,
    name: str | Matcher,
    radius: float,
    work: Work,
    *,
    folder: str | Path | None = None,
    new: Numbers | None = None,
    earlier: EarlierPairs | None = None,
) -> FoundPairs:
    """All pairs within the radius. `new`: only pairs with one of these melodies. `folder`: keeps finished work.

    `earlier`: only what is new since is compared with all, and the rest is taken over.
    """
    chosen = matcher(name)
    if not 0 <= radius < np.inf:
        raise ArgumentError(f"the radius must be a distance, at least 0; got {radius!r}")
    if earlier is not None and not chosen.is_independent:
        raise ArgumentError(f"a distance by {chosen!r} depends on the whole collection: compare all of it again")
    digests = digests_of_notes(store.packed())
    if earlier is not None:
        new = earlier.new_among(digests)
    copies = firsts_of(digests)
    distinct = _comparable(store.packed(), chosen, np.flatnonzero(copies == np.arange(len(copies))))
    asked = np.ones(len(store), dtype=bool) if new is None else np.isin(copies, copies[new])
    with ExitStack() as stack:
        place = Path(folder if folder is not None else stack.enter_context(tempfile.TemporaryDirectory()))
        near = _joined(store, chosen, radius, work, place, distinct, asked)
    if earlier is not None:
        known = dict(zip(near, earlier.pairs_among(digests), strict=True))
        is_within = known["distances"] <= radius
        near, new = {name: np.concatenate([near[name], known[name][is_within]]) for name in near}, None
    one, two, distances = _once(near, len(store))
    alike = distinct[np.bincount(copies, minlength=len(copies))[distinct] > 1]
    one, two = np.concatenate([one, alike]), np.concatenate([two, alike])
    first, second, of, folded = unfold(one, two, copies, new)
    distances = np.concatenate([distances, np.zeros(len(alike))])[of]
    columns = first, second, distances, np.full(len(first), np.nan), (one == two)[of]
    queries = int(asked[distinct].sum())
    compared = queries * (queries - 1) // 2 + queries * (len(distinct) - queries)
    about = radius, compared, len(store)
    return FoundPairs(*columns, *about, is_all=new is None, matcher=repr(chosen), folded=folded)


def _joined(
    store: Store, chosen: Matcher, radius: float, work: Work, place: Path, distinct: Numbers, asked: Flags
) -> Arrays:
    """The columns of pairs of distinct melodies with one that is asked for."""
    token = store.about["token"]
    about = {"version": RADIUS_VERSION, "token": token, "melodies": len(store), "matcher": repr(chosen)}
    journal = Journal(place, about | {"radius": radius, "new": hashlib.sha256(asked.tobytes()).hexdigest()})
    _queries_file(place).write({"queries": distinct, "is_new": asked})
    task = partial(radius_piece, str(store.path.resolve()), token, str(place.resolve()), repr(chosen), radius)
    count = -(-len(distinct) // ASKED_AT_ONCE)
    work.report(0.0, "getting ready")
    journal.do(work, _NEAR, task, count)
    return journal.columns(_NEAR, count)


def radius_piece(collection: str, token: str, folder: str, name: str, radius: float, number: int) -> Arrays:
    """The pairs within the radius of the melodies of a piece. Threads and other processes find all else in files."""
    store, chosen = opened(collection, token), matcher(name)
    asked = _queries_file(Path(folder)).read()
    if asked is None:
        raise CollectionError(f"{folder}: damaged: queries.bin is not what was written; delete the folder")
    queries, is_new = asked["queries"], asked["is_new"]
    news = queries[is_new[queries]]
    found = [{name: np.empty(0, dtype) for name, dtype in _NEAR.arrays.items()}]
    for query in queries[number * ASKED_AT_ONCE : (number + 1) * ASKED_AT_ONCE].tolist():
        found.append(_near(store, chosen, radius, query, queries if is_new[query] else news))
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def _queries_file(folder: Path) -> ArrayFile:
    return ArrayFile(folder / "queries.bin", "queries of a comparison", {"queries": np.int64, "is_new": np.bool_})


def _near(store: Store, chosen: Matcher, radius: float, query: int, asked: Numbers) -> Arrays:
    # A distance that depends on the other candidates is that of a search in the whole collection.
    numbers = asked if chosen.is_independent and len(asked) < len(store) else None
    with Work() as alone:
        request = Request(store.packed().melody(query), chosen, within=numbers, radius=radius)
        near, distances = within_radius(request, store, alone)
    is_asked = np.isin(near, asked) & (near != query)
    return {
        "first": np.full(int(is_asked.sum()), query, np.int64),
        "second": near[is_asked].astype(np.int64),
        "distances": distances[is_asked].astype(np.float64),
    }


def _once(near: Arrays, melodies: int) -> tuple[Numbers, Numbers, Floats]:
    first, second = np.minimum(near["first"], near["second"]), np.maximum(near["first"], near["second"])
    order = np.lexsort((near["distances"], first * melodies + second))
    keys = (first * melodies + second)[order]
    kept = order[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    return first[kept], second[kept], near["distances"][kept]


def _comparable(packed: Packed, chosen: Matcher, numbers: Numbers) -> Numbers:
    """Those of some melodies that can be a query."""
    most = longest_query(chosen)
    found = [np.empty(0, np.int64)]
    for start in range(0, len(numbers), _CHECKED_AT_ONCE):
        piece = numbers[start : start + _CHECKED_AT_ONCE]
        notes = packed.take(piece)
        sounding = np.concatenate([[0], np.cumsum(~notes.notes["is_grace"])])[notes.offsets]
        found.append(piece[(np.diff(notes.offsets) <= most) & (np.diff(sounding) > 0)])
    return np.concatenate(found)
