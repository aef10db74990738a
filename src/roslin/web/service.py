"""Search, for a request.

A list is searched once, as deep as the page that is asked for, and kept: the next page, an export and a reload of a
list that is deep enough cost nothing. Where the list is counted, narrowed, put into another order or its copies are
folded, more of it is needed: all lines above that where chance begins, or the first 1,000 where there are none or where
chance is unknown. `found` is what comes of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from roslin.api import Collection
from roslin.collection.chain import costs_of
from roslin.deadline import Deadline
from roslin.display.words import _
from roslin.errors import ArgumentError, TimeLimitError
from roslin.matchers import Matcher, Roslin
from roslin.melody import Melody
from roslin.notation.query import has_readings, surest
from roslin.represent.packed import Packed
from roslin.run import Hit, Run
from roslin.search import depended_on
from roslin.search.coinciding import COINCIDING
from roslin.search.engines.everything import beginnings, onsets_compared
from roslin.types import Numbers
from roslin.web.explaining import match_of
from roslin.web.found import Found, Result, Show
from roslin.web.library import BusyError, GoneError, Library
from roslin.web.listing import Line, Listing, listed
from roslin.web.progress import Wait
from roslin.web.queries import chosen_matcher, filters_of, readings_of
from roslin.web.schemas.explanations import MatchAnswer
from roslin.web.schemas.lists import FilterAnswer
from roslin.web.schemas.requests import SearchParams

SEARCH_SHARE = 0.9  # of the time of a search; the rest is for the notes that match
_STEP = 50  # lists are searched in depths of this size, so that neighbouring pages share one
_UNSEARCHED = {"page": 1, "k": 1, "only": (), "order": "", "copies": ""}  # no part of the search itself
_PLAIN = Show(needs_list=False, is_folded=False)


def find(library: Library, asked: SearchParams, wait: Wait, show: Show = _PLAIN) -> Found:
    """Search, unless the same was asked before. `wait` tells whether anybody still waits for the answer."""
    settings, collection = library.settings, library.collection
    if asked.page * asked.k > settings.most_results:
        raise ArgumentError(f"only the first {settings.most_results} results are listed; got page {asked.page}")
    chosen, _cut = asked.mode.of(chosen_matcher(asked.matcher, settings))
    began = time.perf_counter()
    found = library.kept(
        (collection.about["token"], "page", repr(asked), repr(chosen), show),
        lambda: _find(library, collection, asked, chosen, wait, show),
        lambda made: made.is_complete,
    )
    seconds = time.perf_counter() - began
    return found if seconds >= found.seconds else replace(found, seconds=seconds, matching=0.0)  # it was kept


def _find(
    library: Library, collection: Collection, asked: SearchParams, chosen: Matcher, wait: Wait, show: Show
) -> Found:
    readings = readings_of(asked, collection, library.settings)
    began = time.perf_counter()
    tried = dict[int, tuple[Run, int, tuple[FilterAnswer, ...], _ShownHits]]()

    def tried_with(query: Melody) -> Run:
        left = library.settings.search_seconds - (time.perf_counter() - began)
        try:
            tried[id(query)] = _deep_enough(library, collection, asked, query, chosen, wait, show, left)
        except BusyError as error:
            if not tried:
                raise
            raise TimeLimitError(str(error)) from error  # the list of another reading is there
        return tried[id(query)][0]

    query, run, count = (readings[0], tried_with(readings[0]), 1) if asked.id else surest(readings, tried_with)
    _, compared, steps, shown = tried[id(query)]
    if count > 1:  # each E is that of all readings
        shown = _shown(collection, run, asked, show, library.settings.most_results)
    searched = time.perf_counter()
    most = library.settings.most_results
    lines = shown.lines[: shown.above] if show.is_sure else shown.lines
    last = len(lines) if show.is_whole else asked.page * asked.k
    first = 0 if show.is_whole else last - asked.k
    page = lines[first:last]
    left = library.settings.search_seconds - (time.perf_counter() - began)
    hits = shown.hits
    matches = _matches(library, collection, page, hits, query, asked, chosen, wait, left) if not show.is_whole else None
    results = tuple(_results(library, collection, page, hits, query, asked, matches))
    return Found(
        query,
        chosen,
        run,
        compared,
        steps,
        results,
        asked.page,
        has_more=len(lines) > last and last + asked.k <= most,
        line=shown.above - first if run.has_meaning and 0 <= shown.above - first < len(page) else None,
        seconds=searched - began,
        matching=time.perf_counter() - searched,
        listing=shown.listing,
        readings=count,
        is_whole=shown.is_whole,
        is_complete=run.is_complete and (matches is None or len(matches) == len(page)),
    )


def query_used(library: Library, asked: SearchParams) -> tuple[Melody, int]:
    """The query in the reading that its list has, and how many readings were searched for."""
    readings = readings_of(asked, library.collection, library.settings)
    if asked.id or not isinstance(chosen_matcher(asked.matcher, library.settings), Roslin):
        return readings[0], 1
    if not has_readings(readings):
        return readings[0], 1
    search = SearchParams(**asked.model_dump(include=set(SearchParams.model_fields)))
    found = find(library, search, Wait(), Show.page(search))
    return found.query, found.readings


class _ShownHits(NamedTuple):
    """The hits of a list by the numbers of their melodies, and its lines: so many of them `above` chance."""

    hits: dict[int, Hit]
    lines: tuple[Line, ...]
    above: int
    listing: Listing | None
    is_whole: bool  # whether all that is counted is in it


def _deep_enough(
    library: Library,
    collection: Collection,
    asked: SearchParams,
    query: Melody,
    chosen: Matcher,
    wait: Wait,
    show: Show,
    seconds: float,
) -> tuple[Run, int, tuple[FilterAnswer, ...], _ShownHits]:
    """A search as deep as the page needs it; deeper, where what is counted does not end there."""
    most = library.settings.most_results
    needed = asked.page * asked.k + 1
    whole = SearchParams(**{**asked.model_dump(include=set(SearchParams.model_fields)), **_UNSEARCHED})
    for depth in dict.fromkeys((min(-(-needed // _STEP) * _STEP, most + 1), most + 1)):
        reading = (query.notation, query.notes.tobytes())
        run, compared, steps = library.kept(
            (collection.about["token"], "list", repr(whole), *reading, repr(chosen), depth),
            partial(_search, library, collection, asked, query, chosen, depth, wait, seconds),
            lambda made: made[0].is_complete,
        )
        shown = _shown(collection, run, asked, show, most)
        is_open = show.is_whole or bool(asked.order) or len(shown.lines) < needed or not shown.is_whole
        if len(run) < depth or not (show.needs_list and is_open):
            break
    return run, compared, steps, shown


def _shown(collection: Collection, run: Run, asked: SearchParams, show: Show, most: int) -> _ShownHits:
    """The list: lines above chance are counted; without any, and where chance is not counted, all of them."""
    above = run.above_line
    is_line_known = run.has_meaning and 0 < above < len(run)
    listed_run = run[:most] if show.needs_list else run
    hits = dict(zip(collection.numbers(listed_run.ids).tolist(), listed_run.hits, strict=True))
    is_whole = len(run) <= most or (is_line_known and above <= most)
    if not show.needs_list:
        return _ShownHits(hits, tuple(Line(number) for number in hits), above, None, is_whole)
    numbers = np.array(list(hits), np.int64)
    listing = listed(collection, numbers, asked, is_folded=show.is_folded, above=above if is_line_known else None)
    return _ShownHits(hits, listing.lines, listing.counted if above else 0, listing, is_whole)


def _search(
    library: Library,
    collection: Collection,
    asked: SearchParams,
    query: Melody,
    chosen: Matcher,
    depth: int,
    wait: Wait,
    allowed: float,
) -> tuple[Run, int, tuple[FilterAnswer, ...]]:
    """The ranked list, the number of melodies that it was chosen from, and the filters that left them."""

    def progress(done: float, _what: str) -> None:
        wait.done = done
        if wait.is_gone:
            raise GoneError("the search was given up: nobody waits for it")

    chain = filters_of(asked, query)
    itself = (asked.id,) if asked.id else ()
    with library.slot(allowed) as seconds:
        progress(0.0, "")
        seconds *= SEARCH_SHARE
        selection = collection.filter(*chain) if chain else None
        numbers = None if selection is None else selection.numbers
        taken = selection.report.steps if selection is not None else ()
        steps = tuple(FilterAnswer.model_validate(step) for step in taken)
        if library.settings.is_open:
            numbers, steps = short_enough(collection, numbers, steps, query, chosen)
        place = "start" if _is_cut(asked, chosen) else None
        run = collection.search(
            query, chosen, depth, place=place, within=numbers, exclude=itself, seconds=seconds, progress=progress
        )
    return run, len(collection) if numbers is None else len(numbers), steps


def short_enough(
    collection: Collection, numbers: Numbers | None, steps: tuple[FilterAnswer, ...], query: Melody, chosen: Matcher
) -> tuple[Numbers | None, tuple[FilterAnswer, ...]]:
    """Without melodies so long that a single comparison would go on after the time of a search is over."""
    offsets, longest = collection.packed().offsets, chosen.longest(query)
    is_short = np.diff(offsets) <= longest
    if is_short.all():
        return numbers, steps
    before = np.arange(len(is_short)) if numbers is None else numbers
    left = before[is_short[before]]
    sentence = _("At most {count} notes: {matcher} would take too long for longer melodies.").format(
        count=longest, matcher=chosen.name
    )
    return left, (*steps, FilterAnswer(sentence=sentence, removed=len(before) - len(left), left=len(left)))


def _matches(
    library: Library,
    collection: Collection,
    lines: Sequence[Line],
    hits: dict[int, Hit],
    query: Melody,
    asked: SearchParams,
    chosen: Matcher,
    wait: Wait,
    seconds: float,
) -> list[MatchAnswer]:
    """The notes that match in each line; of fewer lines, if that takes longer.

    Where a match depends on other melodies, all of the collection stand for them.
    """
    found: list[MatchAnswer] = []
    with suppress(BusyError, TimeLimitError), library.slot(seconds) as left, Deadline(left):
        packed, places = _compared(
            collection, np.array([line.number for line in lines], np.int64), query, asked, chosen
        )
        for line, place in zip(lines, places, strict=True):
            if wait.is_gone:
                raise GoneError("the search was given up: nobody waits for it")
            hit = hits[line.number]
            found.append(match_of(COINCIDING if hit.coincides else chosen, query, packed, place, hit.distance))
    return found


def _results(
    library: Library,
    collection: Collection,
    lines: Sequence[Line],
    hits: dict[int, Hit],
    query: Melody,
    asked: SearchParams,
    matches: Sequence[MatchAnswer] | None,
) -> Iterator[Result]:
    """Lines, with their matches as far as there are any."""
    numbers = np.array([line.number for line in lines], np.int64)
    costs = [each.cost for each in filters_of(asked, query) if each.cost is not None]
    paid = {cost.name: costs_of(collection.connection, cost, numbers) for cost in costs}
    shown = zip_longest(lines, collection.melodies(numbers), matches or ())
    for k, (line, melody, match) in enumerate(shown):
        its_costs = {name: values[k] for name, values in paid.items()}
        copies = tuple((copy, library.settings.link_to(copy)) for copy in collection.melodies(line.copies))
        yield Result(hits[line.number], melody, library.settings.link_to(melody), match, its_costs, copies)


def _compared(
    collection: Collection, numbers: Numbers, query: Melody, asked: SearchParams, chosen: Matcher
) -> tuple[Packed, list[int]]:
    """The melodies on which the matches of these depend, and where among them they are."""
    if _is_cut(asked, chosen):
        return beginnings(collection.packed().take(numbers), onsets_compared(query)), list(range(len(numbers)))
    packed, among = depended_on(query, collection, chosen.leading, numbers)
    return packed, among.tolist()


def _is_cut(asked: SearchParams, chosen: Matcher) -> bool:
    """Whether beginnings are asked for, of a matcher that has no way of its own to compare them."""
    return asked.mode.of(chosen)[1]
