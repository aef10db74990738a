"""One explanation: a query, a melody of the collection, and how a matcher brings them together.

The request holds the whole search that the melody was found by. Some matchers weigh what they compare by how often
others have it; so the melody is seen among those that were searched, and its distance is that of the list.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from roslin.api import Collection
from roslin.errors import ArgumentError, TimeLimitError
from roslin.matchers import Matcher
from roslin.matchers.account import Account
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.search.beginnings import beginnings, onsets_compared
from roslin.web.asking import Asked, chosen_matcher, filters_of, query_of
from roslin.web.library import Library
from roslin.web.matching import MOST_CELLS, Match, match

__all__ = ["AskedExplanation", "Explained", "explained"]


class AskedExplanation(Asked):
    """A search, and which melody of it is to be explained."""

    candidate: str = Field(max_length=500, min_length=1, description="A melody of the collection.")


@dataclass(frozen=True, slots=True)
class Explained:
    """Both melodies, what belongs together, and the distance with its account, where there is one."""

    query: Melody
    candidate: Melody
    matcher: Matcher
    match: Match
    account: Account | None
    distance: float


def explained(library: Library, asked: AskedExplanation) -> Explained:
    """Explain, in one of the slots for searches: it computes as they do."""
    collection, settings = library.collection, library.settings
    query, candidate = query_of(asked, collection, settings), collection[asked.candidate]
    chosen = chosen_matcher(asked.matcher, settings)
    with library.slot() as seconds:
        end = time.monotonic() + seconds

        def look_at_the_clock(_done: float) -> None:
            if time.monotonic() > end:
                raise TimeLimitError(f"the explanation was stopped after {settings.search_seconds:g} seconds")

        among, number = _among(collection, asked, chosen)
        if asked.place == "start":
            among = beginnings(among, onsets_compared(query))
        length = int(among.offsets[number + 1] - among.offsets[number])
        compared = replace(candidate, notes=candidate.notes[:length])
        longest = chosen.longest(query)
        if settings.is_open and length > longest:
            raise ArgumentError(f"{chosen.name} compares melodies of at most {longest} notes with it; got {length}")
        found = match(query, compared, chosen, among, number)
        if found.explanation is not None:
            return Explained(query, candidate, chosen, found, None, found.explanation.distance)
        account = found.account
        if chosen.leading is not chosen and len(query) * length <= MOST_CELLS:
            account = chosen.account(query, among, number, look_at_the_clock)
        if account is None:
            return Explained(query, candidate, chosen, found, None, float(chosen.distances(query, among)[number]))
        return Explained(query, candidate, chosen, found, account, account.distance)


def _among(collection: Collection, asked: AskedExplanation, chosen: Matcher) -> tuple[Packed, int]:
    """The melodies on which the distance depends, and which of them is the candidate."""
    packed, number = collection.packed(), int(collection.numbers([asked.candidate])[0])
    if chosen.is_independent or chosen.kind == "transport":
        return packed.part(number, number + 1), 0
    if not asked.has_filters:
        return packed, number
    left = np.union1d(collection.filter(*filters_of(asked)).numbers, [number])
    return packed.take(left), int(np.searchsorted(left, number))
