"""Why a melody is as near to the query as it is: in full for a request, in short for a line of a list.

A request for an explanation holds the whole search that the melody was found by: some matchers weigh what they compare
by how often others have it, so the melody is seen among those that were searched, and its distance is that of the list.
"""

from __future__ import annotations

import numpy as np

from roslin.api import Collection
from roslin.deadline import Deadline, check_stopped
from roslin.errors import ArgumentError
from roslin.matchers import Explanation, Matcher
from roslin.matchers.edit.dp import likeness
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.run import Hit
from roslin.search import depended_on
from roslin.search.engines.everything import beginnings, onsets_compared
from roslin.web.answers import MatchAnswer
from roslin.web.library import Library
from roslin.web.requests import ExplainParams, chosen_matcher, filters_of, query_of


def explain(library: Library, asked: ExplainParams, reading: Melody | None = None) -> Explanation:
    """Explain one melody by a reading of the query (the first by default), in one of the slots for searches."""
    collection, settings = library.collection, library.settings
    query = query_of(asked, collection, settings) if reading is None else reading
    candidate = collection[asked.candidate]
    chosen, is_cut = asked.mode.of(chosen_matcher(asked.matcher, settings))
    words = f"the explanation was stopped after {settings.search_seconds:g} seconds"
    with library.slot() as seconds, Deadline(seconds, lambda: words):
        among, number = _among(collection, query, asked, chosen)
        if is_cut:
            among = beginnings(among, onsets_compared(query))
        length, longest = _length(among, number), chosen.longest(query)
        if settings.is_open and length > longest:
            raise ArgumentError(f"{chosen.name} compares melodies of at most {longest} notes with it; got {length}")
        if len(query) * length <= chosen.leading.pairs_explained:
            return chosen.explain(query, among, number, _tell).about(query, candidate)
        distance = float(chosen.distances_told(query, among, _tell)[number])
        return likeness(chosen, query, among, number, distance).about(query, candidate)


def found_as(library: Library, asked: ExplainParams, why: Explanation, readings: int) -> Hit | None:
    """The melody as a search of the whole collection finds it by one of so many readings of the query.

    None where chance matches are not counted.
    """
    if asked.mode.of(why.matcher)[1]:
        return None
    with library.slot() as seconds:
        return library.collection.found_as(why.query, asked.candidate, why.matcher, seconds=seconds, readings=readings)


def match_of(chosen: Matcher, query: Melody, among: Packed, number: int, distance: float) -> MatchAnswer:
    """What belongs together, by what decides most in the matcher: all of a sum would be searched for again.

    It ends with the limit of time in hand (`Deadline`).

    What was taken apart is not shown in a list, and lists are kept; so the steps are left behind.
    """
    check_stopped()
    leading = chosen.leading
    is_long = len(query) * _length(among, number) > leading.pairs_explained
    if is_long or leading.kind == "likeness":
        return MatchAnswer.model_validate(likeness(chosen, query, among, number, distance))
    found = leading.explain(query, among, number, _tell)
    is_part = chosen.kind == "sum" and not found.candidate.notes["is_grace"].all()
    sentence = found.counting_most if is_part else found.sentence
    return MatchAnswer.model_validate(found).model_copy(update={"kind": chosen.kind, "sentence": sentence})


def _among(collection: Collection, query: Melody, asked: ExplainParams, chosen: Matcher) -> tuple[Packed, int]:
    """The melodies on which the distance depends, and which of them is the candidate."""
    within = collection.filter(*filters_of(asked, query)).numbers if asked.has_filters else None
    numbers = collection.numbers([asked.candidate])
    if asked.place == "start" and not chosen.is_independent:  # what is cut has no bounds
        among = np.arange(len(collection)) if within is None else np.union1d(within, numbers)
        return collection.packed().take(among), int(np.searchsorted(among, numbers[0]))
    packed, places = depended_on(query, collection, chosen, numbers, within)
    return packed, int(places[0])


def _length(among: Packed, number: int) -> int:
    return int(among.offsets[number + 1] - among.offsets[number])


def _tell(_done: float) -> None:
    """Told how far an explanation is, it ends one whose time is over."""
    check_stopped()
