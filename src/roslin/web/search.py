"""Search and explain for a request: from the run of `roslin.search` to a page of the list, which is also JSON.

A list is searched once, as deep as the page that is asked for, and saved: the next page, an export and a reload of a
list that is deep enough cost nothing. More of the list is needed where it is counted, narrowed, put into another order
or folded: all lines above the line where chance begins, or the first 1,000 where there are none or where chance is
unknown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import Self

import numpy as np

from roslin.api import Collection
from roslin.collection.filters.chain import costs_of
from roslin.collection.store import Store
from roslin.deadline import Deadline, Work, check_stopped
from roslin.display.words import _
from roslin.errors import ArgumentError, BusyError, TimeLimitError
from roslin.matchers import Explanation, Matcher
from roslin.matchers.edit.dp import likeness
from roslin.melody import Melody
from roslin.notation.query import has_readings, surest
from roslin.represent.packed import Packed
from roslin.run import Hit, Run
from roslin.run.meaning import FEW_NOTES
from roslin.search import Request, depended_on, for_collections, search
from roslin.search.agreement import COINCIDING
from roslin.search.refine import beginnings, onsets_compared
from roslin.types import Numbers
from roslin.web.answers import AboutAnswer, FacetAnswer, FilterAnswer, MatchAnswer, ResultAnswer, SearchAnswer
from roslin.web.library import Library, Wait
from roslin.web.listing import Line, Listing, listed
from roslin.web.requests import ExplainParams, ListParams, SearchParams, chosen_matcher, filters_of, readings_of

SEARCH_SHARE = 0.9  # of the time of a search; the rest is for the notes that match
_DEPTH_STEP = 50  # lists are searched in depths of this size, so that neighbouring pages share one
_UNSEARCHED = {"page": 1, "k": 1, "only": (), "order": "", "copies": ""}  # no part of the search itself


@dataclass(frozen=True, slots=True)
class Show:
    """How a list is shown: counted, copies folded into one line, all lines at once, only those above chance."""

    needs_list: bool = False
    is_folded: bool = False
    is_whole: bool = False
    is_sure: bool = False
    has_facets: bool = False

    @classmethod
    def page(cls, asked: SearchParams) -> Self:
        return cls(needs_list=True, is_folded=asked.copies != "apart")

    @classmethod
    def data(cls, asked: ListParams) -> Self:
        """For programs: a page of a list without counts, unless the request needs them."""
        needs_list = asked.facets or asked.whole or bool(asked.only or asked.order) or asked.copies == "together"
        return cls(needs_list, asked.copies == "together", asked.whole, asked.sure, asked.facets)


@dataclass(frozen=True)
class Found:
    """The list of one reading of the query, from its run to JSON, and the page of it that is shown.

    `searched` melodies were left by the `filters`; `hits` are by the numbers of their melodies. `listing` is the whole
    list where that was asked for, and `above` of the `lines` are above the line where chance begins. The list
    `is_whole` if everything that is counted is in it.

    The page has `results` from the line `first` on. `readings` of the query were searched for. `matching` is the time
    for comparing notes. The page `is_complete` unless the time limit cut the search or the matches short.
    """

    asked: SearchParams
    show: Show
    query: Melody
    matcher: Matcher
    run: Run
    searched: int
    filters: tuple[FilterAnswer, ...]
    hits: dict[int, Hit]
    lines: tuple[Line, ...]
    above: int
    listing: Listing | None
    is_whole: bool
    results: tuple[ResultAnswer, ...] = ()
    first: int = 0
    has_more: bool = False
    readings: int = 1
    seconds: float = 0.0
    matching: float = 0.0
    is_complete: bool = True

    @property
    def line(self) -> int | None:
        """How many lines of this page are above the line where chance begins; None if that line is on another page."""
        line = self.above - self.first
        return line if self.run.has_meaning and 0 <= line < len(self.results) else None

    @property
    def notes(self) -> int:
        """The number of notes of the query, without ornaments."""
        return int((~self.query.notes["is_grace"]).sum())

    @property
    def is_few(self) -> bool:
        """Whether more notes would help: there are few, and they left something to chance."""
        return self.run.has_meaning and self.notes < FEW_NOTES and self.run.above_line < len(self.run)

    @property
    def timing(self) -> str:
        """Both times for the header Server-Timing, in milliseconds."""
        return f"search;dur={self.seconds * 1000:.2f}, match;dur={self.matching * 1000:.2f}"

    @cached_property
    def answer(self) -> SearchAnswer:
        run, listing = self.run, self.listing
        facets = listing.facets if listing and self.show.has_facets else None
        return SearchAnswer(
            query_notes=len(self.query),
            deviations=self.query.deviations,
            matcher=repr(self.matcher),
            compare=self.asked.compare,
            place=self.asked.place,
            key=self.asked.key,
            searched=self.searched,
            filters=list(self.filters),
            is_close=run.is_close,
            headline=run.headline,
            agreeing=sum(ranking.agreeing for ranking in run.rankings.values()),
            is_complete=run.is_complete,
            remarks=list(run.remarks),
            page=self.asked.page,
            has_more=self.has_more,
            counted=listing.total if listing else None,
            is_counted_whole=self.is_whole,
            left=listing.left if listing else None,
            facets=None if facets is None else [FacetAnswer.model_validate(each) for each in facets],
            seconds=self.seconds,
            results=list(self.results),
        )


def find(library: Library, asked: SearchParams, wait: Wait, show: Show = Show()) -> Found:  # noqa: B008 (frozen)
    """Search, unless the same was asked before. `wait` knows whether the client still waits for the answer."""
    most = library.settings.most_results
    if asked.page * asked.k > most:
        raise ArgumentError(f"only the first {most} results are listed; got page {asked.page}")
    asking = PageSearch(library, asked, wait, show)
    began = time.perf_counter()
    found = library.kept(asking.key("page", repr(asked), show), asking.found, lambda made: made.is_complete)
    seconds = time.perf_counter() - began
    return found if seconds >= found.seconds else replace(found, seconds=seconds, matching=0.0)  # it was saved


def query_used(library: Library, asked: SearchParams) -> tuple[Melody, int]:
    """The query in the reading that its list has, and how many readings were searched for."""
    readings = readings_of(asked, library.collection, library.settings)
    chosen = chosen_matcher(asked.matcher, library.settings)
    if asked.id or not chosen.estimates_chance or not has_readings(readings):
        return readings[0], 1
    plain = asked.only_search()
    found = find(library, plain, Wait(), Show.page(plain))
    return found.query, found.readings


class PageSearch:
    """The search of one request."""

    def __init__(self, library: Library, asked: SearchParams, wait: Wait, show: Show):
        self.library, self.asked, self.wait, self.show = library, asked, wait, show
        self.settings, self.collection = library.settings, library.collection
        self.matcher, self.is_cut = asked.mode.of(chosen_matcher(asked.matcher, self.settings))
        self.began = 0.0

    def key(self, *what: object) -> tuple[object, ...]:
        return self.collection.about["token"], repr(self.matcher), *what

    @property
    def left(self) -> float:
        return self.settings.search_seconds - (time.perf_counter() - self.began)

    def found(self) -> Found:
        asked, most = self.asked, self.settings.most_results
        readings = readings_of(asked, self.collection, self.settings)
        self.began = time.perf_counter()
        lists = dict[int, Found]()

        def searched(query: Melody) -> Run:
            try:
                lists[id(query)] = self.deep_enough(query)
            except BusyError as error:
                if not lists:
                    raise
                raise TimeLimitError(str(error)) from error  # the list of another reading is there
            return lists[id(query)].run

        query, run, count = (
            (readings[0], searched(readings[0]), 1)
            if asked.id
            else surest(readings, searched, self.collection.__getitem__)
        )
        found = lists[id(query)]
        if count > 1:  # each E is that of all readings
            found = self.listed(query, run, found.searched, found.filters)
        ended = time.perf_counter()
        lines = found.lines[: found.above] if self.show.is_sure else found.lines
        first, last = (0, len(lines)) if self.show.is_whole else ((asked.page - 1) * asked.k, asked.page * asked.k)
        page = lines[first:last]
        matches = None if self.show.is_whole else self.matches(query, page, found.hits)
        results = tuple(self.results(query, page, found.hits, matches or []))
        return replace(
            found,
            results=results,
            first=first,
            has_more=len(lines) > last and last + asked.k <= most,
            readings=count,
            seconds=ended - self.began,
            matching=time.perf_counter() - ended,
            is_complete=run.is_complete and (matches is None or len(matches) == len(page)),
        )

    def deep_enough(self, query: Melody) -> Found:
        """A search as deep as the page needs it; deeper where the list that is counted does not end there."""
        asked, show, most = self.asked, self.show, self.settings.most_results
        needed = asked.page * asked.k + 1
        whole = repr(asked.only_search(**_UNSEARCHED))
        for depth in dict.fromkeys((min(-(-needed // _DEPTH_STEP) * _DEPTH_STEP, most + 1), most + 1)):
            run, searched, steps = self.library.kept(
                self.key("list", whole, query.notation, query.notes.tobytes(), depth),
                partial(self.run_of, query, depth),
                lambda made: made[0].is_complete,
            )
            found = self.listed(query, run, searched, steps)
            is_open = show.is_whole or bool(asked.order) or len(found.lines) < needed or not found.is_whole
            if len(run) < depth or not (show.needs_list and is_open):
                break
        return found

    def run_of(self, query: Melody, depth: int) -> tuple[Run, int, tuple[FilterAnswer, ...]]:
        """The ranked list, the number of melodies that it was chosen from, and the filters that left them."""
        collection, filters = self.collection, filters_of(self.asked, query)
        with self.library.slot(self.left) as seconds:
            self.wait.report(0.0)
            seconds *= SEARCH_SHARE
            numbers, steps = None, tuple[FilterAnswer, ...]()
            if filters:
                selection = collection.filter(*filters)
                numbers = selection.numbers
                steps = tuple(FilterAnswer.model_validate(step) for step in selection.report.steps)
            if self.settings.is_open:
                numbers, steps = short_enough(collection, numbers, steps, query, self.matcher)
            itself = frozenset([self.asked.id] if self.asked.id else [])
            request = Request(query, self.matcher, depth, numbers, itself, is_cut=self.is_cut)
            run = search(request, collection, Work(seconds=seconds, progress=self.wait.report))
        return run, len(collection) if numbers is None else len(numbers), steps

    def listed(self, query: Melody, run: Run, searched: int, steps: tuple[FilterAnswer, ...]) -> Found:
        """The list: lines above chance are counted; without any, and where chance is not counted, all of them."""
        above, most = run.above_line, self.settings.most_results
        is_line_known = run.has_meaning and 0 < above < len(run)
        shown = run[:most] if self.show.needs_list else run
        hits = dict(zip(self.collection.numbers(shown.ids).tolist(), shown.hits, strict=True))
        found = Found(
            self.asked,
            self.show,
            query,
            self.matcher,
            run,
            searched,
            steps,
            hits,
            tuple(map(Line, hits)),
            above,
            listing=None,
            is_whole=len(run) <= most or (is_line_known and above <= most),
        )
        if not self.show.needs_list:
            return found
        listing = listed(
            self.collection,
            np.array(list(hits), np.int64),
            self.asked,
            is_folded=self.show.is_folded,
            above=above if is_line_known else None,
        )
        return replace(found, lines=listing.lines, above=listing.counted if above else 0, listing=listing)

    def matches(self, query: Melody, lines: tuple[Line, ...], hits: dict[int, Hit]) -> list[MatchAnswer]:
        """The notes that match in each line; in fewer lines if that takes longer."""
        found: list[MatchAnswer] = []
        with suppress(BusyError, TimeLimitError), self.library.slot(self.left) as seconds, Deadline(seconds):
            packed, places = self.compared(query, np.array([line.number for line in lines], np.int64))
            for line, place in zip(lines, places, strict=True):
                self.wait.check()
                hit = hits[line.number]
                chosen = COINCIDING if hit.coincides else for_collections(self.matcher, query, [self.collection])
                found.append(match_of(chosen, query, packed, place, hit.distance))
        return found

    def compared(self, query: Melody, numbers: Numbers) -> tuple[Packed, list[int]]:
        """The melodies on which the matches of these depend, and where among them they are.

        Where a match depends on other melodies, the whole collection represents them.
        """
        if self.is_cut:
            return beginnings(self.collection.packed().take(numbers), onsets_compared(query)), [*range(len(numbers))]
        packed, among = depended_on(query, self.collection, self.matcher.leading, numbers)
        return packed, among.tolist()

    def results(
        self, query: Melody, lines: tuple[Line, ...], hits: dict[int, Hit], matches: list[MatchAnswer]
    ) -> Iterator[ResultAnswer]:
        """The lines of the page, with their matches as far as there are any."""
        numbers, link_to = np.array([line.number for line in lines], np.int64), self.settings.link_to
        costs = [each.cost for each in filters_of(self.asked, query) if each.cost is not None]
        paid = {cost.name: costs_of(self.collection.connection, cost, numbers) for cost in costs}
        shown = zip_longest(lines, self.collection.melodies(numbers), matches)
        for place, (line, melody, match) in enumerate(shown):
            hit = hits[line.number]
            yield ResultAnswer.of(
                melody,
                link_to(melody),
                rank=hit.rank,
                distance=hit.distance,
                costs={name: values[place] for name, values in paid.items()},
                expected=hit.expected,
                meaning=hit.meaning,
                above_chance=hit.is_above_chance,
                same_notes=hit.same,
                coincides=hit.coincides,
                match=match,
                copies=[AboutAnswer.of(copy, link_to(copy)) for copy in self.collection.melodies(line.copies)],
            )


def short_enough(
    collection: Store, numbers: Numbers | None, steps: tuple[FilterAnswer, ...], query: Melody, chosen: Matcher
) -> tuple[Numbers | None, tuple[FilterAnswer, ...]]:
    """Without melodies for which a single comparison would exceed the time limit of a search."""
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


# -- explanations ------------------------------------------------------------------------------------------------------


def explain(library: Library, asked: ExplainParams, query: Melody) -> Explanation:
    """Explain one melody by a reading of the query, in one of the slots for searches.

    Some matchers weigh notes by how often others have them, so it is compared among the melodies that were searched.
    """
    collection, settings = library.collection, library.settings
    candidate = collection[asked.candidate]
    chosen, is_cut = asked.mode.of(chosen_matcher(asked.matcher, settings))
    chosen = for_collections(chosen, query, [collection])
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
    """The melody as a search by one of this many readings of the query finds it; None if chance is not counted."""
    if asked.mode.of(why.matcher)[1]:
        return None
    with library.slot() as seconds:
        return library.collection.found_as(why.query, asked.candidate, why.matcher, seconds=seconds, readings=readings)


def match_of(chosen: Matcher, query: Melody, among: Packed, number: int, distance: float) -> MatchAnswer:
    """The notes that belong together, by the part of the matcher that decides most. A `Deadline` around it ends it."""
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
    """Progress of an explanation: ends it when its time is over."""
    check_stopped()
