"""Search and explain, for a request.

A list is searched once, as deep as the page that is asked for, and kept: the next page, an export and a reload of a
list that is deep enough cost nothing. Where the list is counted, narrowed, put into another order or its copies are
folded, all of it is needed: as far as it goes before chance begins, or the first 1,000. A request for an explanation
holds the whole search that the melody was found by: some matchers weigh what they compare by how often others have it,
so the melody is seen among those that were searched, and its distance is that of the list.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from roslin.api import Collection
from roslin.collection.chain import costs_of
from roslin.display.words import _
from roslin.errors import ArgumentError, TimeLimitError
from roslin.matchers import Explanation, Matcher
from roslin.matchers.base import Tell
from roslin.matchers.likeness import likeness
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.run import Hit, Run
from roslin.search import depended_on
from roslin.search.beginnings import beginnings, onsets_compared, search_beginnings
from roslin.web.library import GoneError, Library
from roslin.web.listing import Line, Listing, listed
from roslin.web.progress import Wait
from roslin.web.queries import chosen_matcher, filters_of, query_of
from roslin.web.schemas.explanations import MatchAnswer
from roslin.web.schemas.lists import FacetAnswer, FilterAnswer, ResultAnswer, SearchAnswer
from roslin.web.schemas.melodies import AboutAnswer
from roslin.web.schemas.requests import ExplainParams, ListParams, SearchParams

__all__ = ["Found", "Result", "Show", "expected", "explain", "find", "match_of", "short_enough"]

Numbers = npt.NDArray[np.int64]

_STEP = 50  # lists are searched in depths of this size, so that neighbouring pages share one
_UNSEARCHED = {"page": 1, "k": 1, "all": True, "only": (), "order": "", "copies": ""}  # no part of the search itself


@dataclass(frozen=True, slots=True)
class Show:
    """How a list is shown: with all of it known, copies folded into one line, all lines at once."""

    needs_list: bool
    is_folded: bool
    is_whole: bool = False

    @classmethod
    def page(cls, asked: SearchParams) -> Self:
        """As people read it."""
        return cls(needs_list=True, is_folded=asked.copies != "apart")

    @classmethod
    def data(cls, asked: ListParams) -> Self:
        """As programs ask for it: of a page of a list no more is known than that page, unless they need it."""
        needs_list = asked.facets or asked.whole or bool(asked.only or asked.order) or asked.copies == "together"
        return cls(needs_list, asked.copies == "together", asked.whole)


_PLAIN = Show(needs_list=False, is_folded=False)


@dataclass(frozen=True, slots=True)
class Result:
    """One melody of a ranked list."""

    hit: Hit
    melody: Melody
    link: str | None
    match: MatchAnswer | None
    costs: dict[str, float]
    copies: tuple[tuple[Melody, str | None], ...] = ()  # identical ones, each with its link

    @property
    def rank(self) -> int:
        """From 1."""
        return self.hit.rank

    @property
    def distance(self) -> float:
        """How far it is from the query."""
        return self.hit.distance

    @property
    def copied_in(self) -> list[str]:
        """The libraries that have the copies, each once."""
        libraries = (copy.extra.get("siglum") for copy, _link in self.copies)
        return list(dict.fromkeys(filter(None, libraries)))


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a ranked list. `seconds` is what the search itself took, `matching` what it took to compare notes.

    `run` is all that was found; the list `ends_at_chance` where that goes on with what is no more alike than chance.
    `listing` is all of the list, where that was asked for; `is_whole` says that it does not go on beyond it.
    """

    query: Melody
    matcher: Matcher
    run: Run
    searched: int
    steps: tuple[FilterAnswer, ...]
    results: tuple[Result, ...]
    page: int
    has_more: bool
    ends_at_chance: bool
    seconds: float
    matching: float
    listing: Listing | None = None
    is_whole: bool = False

    @property
    def timing(self) -> str:
        """Both, as browsers show it (the header Server-Timing), in milliseconds."""
        return f"search;dur={self.seconds * 1000:.2f}, match;dur={self.matching * 1000:.2f}"

    def answer(self, asked: ListParams) -> SearchAnswer:
        """The page as JSON."""
        return SearchAnswer(
            query_notes=len(self.query),
            deviations=self.query.deviations,
            matcher=repr(self.matcher),
            compare=asked.compare,
            place=asked.place,
            key=asked.key,
            searched=self.searched,
            filters=list(self.steps),
            is_close=self.run.is_close,
            is_complete=self.run.is_complete,
            remarks=list(self.run.remarks),
            ends_at_chance=self.ends_at_chance,
            page=self.page,
            has_more=self.has_more,
            counted=self.listing.total if self.listing else None,
            is_counted_whole=self.is_whole,
            left=self.listing.left if self.listing else None,
            facets=[FacetAnswer.model_validate(each) for each in self.listing.facets]
            if self.listing and asked.facets
            else None,
            seconds=self.seconds,
            results=[
                ResultAnswer(
                    **AboutAnswer.known(result.melody, result.link),
                    copies=[AboutAnswer(**AboutAnswer.known(*copy)) for copy in result.copies],
                    rank=result.rank,
                    distance=result.distance,
                    costs=result.costs,
                    expected=result.hit.expected,
                    meaning=result.hit.meaning,
                    match=result.match,
                )
                for result in self.results
            ],
        )


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
        lambda made: made.run.is_complete,
    )
    seconds = time.perf_counter() - began
    return found if seconds >= found.seconds else replace(found, seconds=seconds, matching=0.0)  # it was kept


def explain(library: Library, asked: ExplainParams) -> Explanation:
    """Explain one melody, in one of the slots for searches: it computes as they do."""
    collection, settings = library.collection, library.settings
    query, candidate = query_of(asked, collection, settings), collection[asked.candidate]
    chosen, is_cut = asked.mode.of(chosen_matcher(asked.matcher, settings))
    with library.slot() as seconds:
        among, number = _among(collection, query, asked, chosen)
        if is_cut:
            among = beginnings(among, onsets_compared(query))
        length, longest = _length(among, number), chosen.longest(query)
        if settings.is_open and length > longest:
            raise ArgumentError(f"{chosen.name} compares melodies of at most {longest} notes with it; got {length}")
        tell = _until(time.monotonic() + seconds, settings.search_seconds)
        if len(query) * length <= chosen.leading.pairs_explained:
            return chosen.explain(query, among, number, tell).about(query, candidate)
        distance = float(chosen.distances_told(query, among, tell)[number])
        return likeness(chosen, query, among, number, distance).about(query, candidate)


def expected(library: Library, asked: ExplainParams, why: Explanation) -> float | None:
    """How many melodies of the whole collection would be as near by chance; None where nobody can tell."""
    if asked.mode.of(why.matcher)[1]:
        return None
    with library.slot():
        return library.collection.expected(why.query, asked.candidate, why.matcher)


def _find(
    library: Library, collection: Collection, asked: SearchParams, chosen: Matcher, wait: Wait, show: Show
) -> Found:
    query = query_of(asked, collection, library.settings)
    began = time.perf_counter()
    run, compared, steps, is_whole = _deep_enough(library, collection, asked, query, chosen, wait, show)
    searched = time.perf_counter()
    most = library.settings.most_results
    shown = run if asked.all else run.matches
    shown = shown[:most] if show.needs_list else shown
    hits = dict(zip(collection.numbers(shown.ids).tolist(), shown.hits, strict=True))
    listing = None
    if show.needs_list:
        listing = listed(collection, np.array(list(hits), np.int64), asked, is_folded=show.is_folded)
    lines = listing.lines if listing else [Line(number) for number in hits]
    last = len(lines) if show.is_whole else asked.page * asked.k
    page = lines[0 if show.is_whole else last - asked.k : last]
    results = _results(library, collection, page, hits, query, asked, chosen, is_matched=not show.is_whole)
    return Found(
        query,
        chosen,
        run,
        compared,
        steps,
        tuple(results),
        asked.page,
        has_more=len(lines) > last and last + asked.k <= most,
        ends_at_chance=len(run.matches) < len(run) and not asked.all,
        seconds=searched - began,
        matching=time.perf_counter() - searched,
        listing=listing,
        is_whole=is_whole,
    )


def _deep_enough(
    library: Library,
    collection: Collection,
    asked: SearchParams,
    query: Melody,
    chosen: Matcher,
    wait: Wait,
    show: Show,
) -> tuple[Run, int, tuple[FilterAnswer, ...], bool]:
    """A search as deep as the page needs it; deeper, where all of the list is needed and it has not ended there.

    At last: whether the list ends within what is listed.
    """
    most = library.settings.most_results + 1
    first = min(-(-(asked.page * asked.k + 1) // _STEP) * _STEP, most)
    whole = SearchParams(**{**asked.model_dump(include=set(SearchParams.model_fields)), **_UNSEARCHED})
    for depth in dict.fromkeys((first, most)):
        run, compared, steps = library.kept(
            (collection.about["token"], "list", repr(whole), repr(chosen), depth),
            partial(_search, library, collection, asked, query, chosen, depth, wait),
            lambda made: made[0].is_complete,
        )
        length = len(run if asked.all else run.matches)
        if not show.needs_list or length < depth:
            break
    return run, compared, steps, length < most


def _search(
    library: Library,
    collection: Collection,
    asked: SearchParams,
    query: Melody,
    chosen: Matcher,
    depth: int,
    wait: Wait,
) -> tuple[Run, int, tuple[FilterAnswer, ...]]:
    """The ranked list, the number of melodies that it was chosen from, and the filters that left them."""

    def progress(done: float, _what: str) -> None:
        wait.done = done
        if wait.is_gone:
            raise GoneError("the search was given up: nobody waits for it")

    chain = filters_of(asked, query)
    itself = (asked.id,) if asked.id else ()
    with library.slot() as seconds:
        progress(0.0, "")
        selection = collection.filter(*chain) if chain else None
        numbers = None if selection is None else selection.numbers
        taken = selection.report.steps if selection is not None else ()
        steps = tuple(FilterAnswer.model_validate(step) for step in taken)
        if library.settings.is_open:
            numbers, steps = short_enough(collection, numbers, steps, query, chosen)
        if _is_cut(asked, chosen):
            run = search_beginnings(
                query, collection, chosen, depth, within=numbers, exclude=itself, seconds=seconds, progress=progress
            )
        else:
            run = collection.search(
                query, chosen, depth, within=numbers, exclude=itself, seconds=seconds, progress=progress
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


def _results(
    library: Library,
    collection: Collection,
    lines: Sequence[Line],
    hits: dict[int, Hit],
    query: Melody,
    asked: SearchParams,
    chosen: Matcher,
    *,
    is_matched: bool,
) -> Iterator[Result]:
    """Lines with the notes that match. Where these depend on other melodies, all of the collection stand for them."""
    numbers = np.array([line.number for line in lines], np.int64)
    places: Sequence[int] = ()
    if is_matched:
        packed, places = _compared(collection, numbers, query, asked, chosen)
    costs = [each.cost for each in filters_of(asked, query) if each.cost is not None]
    paid = {cost.name: costs_of(collection.connection, cost, numbers) for cost in costs}
    for k, (line, melody) in enumerate(zip(lines, collection.melodies(numbers), strict=True)):
        hit = hits[line.number]
        match = match_of(chosen, query, packed, places[k], hit.distance) if is_matched else None
        its_costs = {name: values[k] for name, values in paid.items()}
        copies = tuple((copy, library.settings.link_to(copy)) for copy in collection.melodies(line.copies))
        yield Result(hit, melody, library.settings.link_to(melody), match, its_costs, copies)


def _compared(
    collection: Collection, numbers: Numbers, query: Melody, asked: SearchParams, chosen: Matcher
) -> tuple[Packed, list[int]]:
    """The melodies on which the matches of these depend, and where among them they are."""
    if _is_cut(asked, chosen):
        return beginnings(collection.packed().take(numbers), onsets_compared(query)), list(range(len(numbers)))
    packed, among = depended_on(query, collection, chosen.leading, numbers)
    return packed, among.tolist()


def match_of(chosen: Matcher, query: Melody, among: Packed, number: int, distance: float) -> MatchAnswer:
    """What belongs together, by what decides most in the matcher: all of a sum would be searched for again.

    What was taken apart is not shown in a list, and lists are kept; so the steps are left behind.
    """
    leading = chosen.leading
    is_long = len(query) * _length(among, number) > leading.pairs_explained
    if is_long or leading.kind == "likeness":
        return MatchAnswer.model_validate(likeness(chosen, query, among, number, distance))
    found = leading.explain(query, among, number)
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


def _is_cut(asked: SearchParams, chosen: Matcher) -> bool:
    """Whether beginnings are asked for, of a matcher that has no way of its own to compare them."""
    return asked.mode.of(chosen)[1]


def _length(among: Packed, number: int) -> int:
    return int(among.offsets[number + 1] - among.offsets[number])


def _until(end: float, allowed: float) -> Tell:
    """Something to be told how far an explanation is, that ends it when its time is over."""

    def look_at_the_clock(_done: float) -> None:
        if time.monotonic() > end:
            raise TimeLimitError(f"the explanation was stopped after {allowed:g} seconds")

    return look_at_the_clock
