"""One explanation: a query, a melody of the collection, and how a matcher brings them together."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.search.engine import DEFAULT_MATCHER
from roslin.web.asking import AskedMelody, chosen_matcher, query_of
from roslin.web.library import Library
from roslin.web.matching import Match, match

__all__ = ["AskedExplanation", "Explained", "explained"]


class AskedExplanation(AskedMelody):
    """Which melody is to be explained, for which query."""

    candidate: str = Field(max_length=500, min_length=1, description="A melody of the collection.")
    matcher: str = Field(default=DEFAULT_MATCHER, max_length=200, description="How to compare: see /api/matchers.")


@dataclass(frozen=True, slots=True)
class Explained:
    """Both melodies, what belongs together, and the distance of this one candidate alone."""

    query: Melody
    candidate: Melody
    matcher: Matcher
    match: Match
    distance: float


def explained(library: Library, asked: AskedExplanation) -> Explained:
    """Explain, in one of the slots for searches: it computes as they do."""
    collection, settings = library.collection, library.settings
    query, candidate = query_of(asked, collection, settings), collection[asked.candidate]
    chosen = chosen_matcher(asked.matcher, settings)
    with library.slot():
        found = match(query, candidate, chosen)
        if found.explanation is not None:
            return Explained(query, candidate, chosen, found, found.explanation.distance)
        return Explained(query, candidate, chosen, found, float(chosen.distances(query, [candidate])[0]))
