"""Melodies by what is known about them, without a query: all that the filters leave, counted and in an order."""

from __future__ import annotations

from dataclasses import dataclass

from roslin.errors import ArgumentError
from roslin.melody import Melody
from roslin.web.library import Library
from roslin.web.listing import Listing, listed
from roslin.web.queries import filters_of
from roslin.web.schemas.lists import BrowseAnswer, FacetAnswer, FilterAnswer
from roslin.web.schemas.melodies import AboutAnswer
from roslin.web.schemas.requests import NarrowParams


@dataclass(frozen=True, slots=True)
class Browsed:
    """A page of melodies, each with its link, and the list that it is of."""

    listing: Listing
    steps: tuple[FilterAnswer, ...]
    melodies: tuple[tuple[Melody, str | None], ...]
    page: int
    first: int  # the place in the list of the first of the page, from 1
    has_more: bool

    def answer(self, *, has_facets: bool) -> BrowseAnswer:
        """The page as JSON."""
        return BrowseAnswer(
            searched=self.listing.total,
            left=self.listing.left,
            filters=list(self.steps),
            page=self.page,
            has_more=self.has_more,
            facets=[FacetAnswer.model_validate(facet) for facet in self.listing.facets] if has_facets else None,
            melodies=[AboutAnswer(**AboutAnswer.known(*each)) for each in self.melodies],
        )


def browse(library: Library, asked: NarrowParams) -> Browsed:
    """The melodies that are asked for."""
    settings, collection = library.settings, library.collection
    last = asked.page * asked.k
    if last > settings.most_results:
        raise ArgumentError(f"only the first {settings.most_results} melodies are listed; got page {asked.page}")
    with library.slot():
        report = collection.filter(*filters_of(asked, None)).report
        listing = listed(collection, report.numbers, asked, is_folded=False)
    lines = listing.lines[last - asked.k : last]
    return Browsed(
        listing,
        tuple(FilterAnswer.model_validate(step) for step in report.steps),
        tuple((each, settings.link_to(each)) for each in collection.melodies([line.number for line in lines])),
        asked.page,
        last - asked.k + 1,
        has_more=len(listing.lines) > last and last + asked.k <= settings.most_results,
    )
