"""One search: the query, what the filters left, and a page of ranked results with the notes that matched.

A list is searched once, as deep as the page that is asked for, and kept: the next page, an export and a reload of a
list that is deep enough cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from roslin.api import Collection
from roslin.errors import ArgumentError
from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Hit, Run
from roslin.search.beginnings import beginnings, onsets_compared, search_beginnings
from roslin.web.asking import Asked, chosen_matcher, filters_of, query_of
from roslin.web.library import GoneError, Library
from roslin.web.matching import Match, match
from roslin.web.settings import Settings
from roslin.web.waiting import Wait

__all__ = ["Found", "Narrowed", "Result", "find", "link_to"]

Numbers = npt.NDArray[np.int64]

_STEP = 50  # lists are searched in depths of this size, so that neighbouring pages share one


@dataclass(frozen=True, slots=True)
class Result:
    """One melody of a ranked list."""

    rank: int
    distance: float
    melody: Melody
    link: str | None
    match: Match


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a step to fewer melodies asks for, how many it removed, and how many it left."""

    sentence: str
    removed: int
    left: int


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a ranked list. `seconds` is what the search itself took, `matching` what it took to compare notes."""

    query: Melody
    matcher: Matcher
    run: Run
    searched: int
    steps: tuple[Narrowed, ...]
    results: tuple[Result, ...]
    page: int
    has_more: bool
    seconds: float
    matching: float

    @property
    def timing(self) -> str:
        """Both, as browsers show it (the header Server-Timing), in milliseconds."""
        return f"search;dur={self.seconds * 1000:.2f}, match;dur={self.matching * 1000:.2f}"


@dataclass(frozen=True, slots=True)
class _Listed:
    """A ranked list, before its melodies are looked at."""

    run: Run
    searched: int
    steps: tuple[Narrowed, ...]


def find(library: Library, asked: Asked, wait: Wait) -> Found:
    """Search, unless the same was asked before. `wait` tells whether anybody still waits for the answer."""
    settings, collection = library.settings, library.collection
    if asked.page * asked.k > settings.most_results:
        raise ArgumentError(f"only the first {settings.most_results} results are listed; got page {asked.page}")
    chosen = chosen_matcher(asked.matcher, settings)
    began = time.perf_counter()
    found = library.kept(
        (collection.about["token"], "page", repr(asked), repr(chosen)),
        lambda: _find(library, collection, asked, chosen, wait),
    )
    seconds = time.perf_counter() - began
    return found if seconds >= found.seconds else replace(found, seconds=seconds, matching=0.0)  # it was kept


def _find(library: Library, collection: Collection, asked: Asked, chosen: Matcher, wait: Wait) -> Found:
    settings, last = library.settings, asked.page * asked.k
    query = query_of(asked, collection, settings)
    depth = min(-(-(last + 1) // _STEP) * _STEP, settings.most_results + 1)
    whole = asked.model_copy(update={"page": 1, "k": 1})
    began = time.perf_counter()
    listed = library.kept(
        (collection.about["token"], "list", repr(whole), repr(chosen), depth),
        lambda: _search(library, collection, asked, query, chosen, depth, wait),
    )
    searched = time.perf_counter()
    hits = listed.run.hits[last - asked.k : last]
    return Found(
        query,
        chosen,
        listed.run,
        listed.searched,
        listed.steps,
        tuple(_results(hits, query, collection, asked, chosen, settings)),
        asked.page,
        has_more=len(listed.run) > last and last + asked.k <= settings.most_results,
        seconds=searched - began,
        matching=time.perf_counter() - searched,
    )


def _results(
    hits: Sequence[Hit], query: Melody, collection: Collection, asked: Asked, chosen: Matcher, settings: Settings
) -> Iterator[Result]:
    """Hits with the notes that match. Where these depend on other melodies, all of the collection stand for them."""
    numbers, packed = collection.numbers([hit.id for hit in hits]), collection.packed()
    places = numbers.tolist()
    if chosen.leading.is_independent or asked.place == "start":
        packed, places = packed.take(numbers), list(range(len(numbers)))
    if asked.place == "start":
        packed = beginnings(packed, onsets_compared(query))
    for hit, melody, place in zip(hits, collection.melodies(numbers), places, strict=True):
        length = int(packed.offsets[place + 1] - packed.offsets[place])
        compared = replace(melody, notes=melody.notes[:length])
        found = match(query, compared, chosen, packed, place)
        # What was taken apart is not shown in a list, and lists are kept.
        shown = replace(found, explanation=None, account=None)
        yield Result(hit.rank, hit.distance, melody, link_to(melody, settings), shown)


def _search(
    library: Library,
    collection: Collection,
    asked: Asked,
    query: Melody,
    chosen: Matcher,
    depth: int,
    wait: Wait,
) -> _Listed:
    def progress(done: float, _what: str) -> None:
        wait.done = done
        if wait.is_gone:
            raise GoneError("the search was given up: nobody waits for it")

    chain = filters_of(asked)
    itself = (asked.id,) if asked.id else ()
    with library.slot() as seconds:
        progress(0.0, "")
        selection = collection.filter(*chain) if chain else None
        numbers = None if selection is None else selection.numbers
        taken = selection.report.steps if selection is not None else ()
        steps = tuple(Narrowed(step.sentence, step.removed, step.left) for step in taken)
        if library.settings.is_open:
            numbers, steps = _short_enough(collection, numbers, steps, query, chosen)
        if asked.place == "start":
            run = search_beginnings(
                query, collection, chosen, depth, within=numbers, exclude=itself, seconds=seconds, progress=progress
            )
        else:
            run = collection.search(
                query, chosen, depth, within=numbers, exclude=itself, seconds=seconds, progress=progress
            )
    return _Listed(run, len(collection) if numbers is None else len(numbers), steps)


def _short_enough(
    collection: Collection, numbers: Numbers | None, steps: tuple[Narrowed, ...], query: Melody, chosen: Matcher
) -> tuple[Numbers | None, tuple[Narrowed, ...]]:
    """Without melodies so long that a single comparison would go on after the time of a search is over."""
    offsets, longest = collection.packed().offsets, chosen.longest(query)
    is_short = np.diff(offsets) <= longest
    if is_short.all():
        return numbers, steps
    before = np.arange(len(is_short)) if numbers is None else numbers
    left = before[is_short[before]]
    sentence = f"At most {longest} notes: {chosen.name} would take too long for longer melodies."
    return left, (*steps, Narrowed(sentence, len(before) - len(left), len(left)))


def link_to(melody: Melody, settings: Settings) -> str | None:
    """The melody at its source. What goes into the address is quoted, so it stays where the pattern put it."""
    if not settings.link:
        return None
    id = melody.id or ""
    values = {
        "id": id,
        "record": id.partition("-")[0],  # RISM: the number of the source, without that of the incipit
        "source": melody.source or "",
        "title": melody.title or "",
        "composer": melody.composer or "",
    }
    return settings.link.format(**{name: quote(value, safe="") for name, value in values.items()})
