"""A list of melodies: narrowed by facets, identical melodies folded into one line, in an order of choice.

The list that was found is narrowed; nothing is searched again. The counts beside the facets are those of the list, and
a choice leaves exactly as many as its count. Where a line in the list shows where chance begins, the melodies above it
are counted. The others follow, narrowed, folded and ordered by themselves. Melodies are identical if they have the
same intervals, note values, metre and phrases, in any key (`roslin.concordances.pairs`).

Without a query, the list has all melodies that the filters leave.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from roslin.api import Collection
from roslin.collection.facets import Facet, facets_of
from roslin.collection.filters import chosen_values
from roslin.concordances.pairs import same_among
from roslin.errors import ArgumentError
from roslin.types import Numbers
from roslin.web.answers import AboutAnswer, BrowseAnswer, FacetAnswer, FilterAnswer
from roslin.web.library import Library
from roslin.web.requests import BrowseParams, NarrowParams, filters_of

# Where nothing is said, a melody comes last; of equals, the one that came before.
_ORDERED = {
    "composer": "folded.composer IS NULL, folded.composer, listed.key",
    "date": "folded.date IS NULL, folded.date, listed.key",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A melody, by its number, and others of the list that are the same."""

    number: int
    copies: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenValue:
    """One choice by which a list is narrowed."""

    field: str
    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Listing:
    """`total` melodies are counted and `left` of them are left by the facets, on `counted` lines without copies.

    Further `lines` are those of melodies no more alike than chance.
    """

    total: int
    left: int
    lines: tuple[Line, ...]
    facets: tuple[Facet, ...]
    counted: int

    @property
    def chosen(self) -> list[ChosenValue]:
        return [
            ChosenValue(facet.field, value.value, value.label)
            for facet in self.facets
            for value in facet.values
            if value.is_chosen
        ]

    @property
    def offered(self) -> list[Facet]:
        """The useful facets: those by which the list is narrowed, and those with more than one value."""
        return [facet for facet in self.facets if facet.is_chosen or len(facet.values) > 1 or facet.unknown]

    @property
    def has_copies(self) -> bool:
        return any(line.copies for line in self.lines[: self.counted])


def listed(
    collection: Collection, numbers: Numbers, asked: NarrowParams, *, is_folded: bool, above: int | None = None
) -> Listing:
    """The list of these melodies, in their natural order. Those `above` a line are counted, by default all."""
    table, chosen = facets_of(collection), chosen_values(asked.only)

    def lines(some: Numbers) -> list[Line]:
        made = _folded(collection, some) if is_folded else [Line(number) for number in some.tolist()]
        return _in_order(collection, made, asked.order)

    counted, others = numbers[:above], numbers[len(numbers[:above]) :]
    left = table.narrowed(counted, chosen)
    first = lines(left)
    rest = lines(table.narrowed(others, chosen)) if len(others) else []
    return Listing(len(counted), len(left), (*first, *rest), tuple(table.count(counted, chosen)), len(first))


def _folded(collection: Collection, numbers: Numbers) -> list[Line]:
    """Identical melodies as one line, in the place of the first."""
    firsts = same_among(collection.packed().take(numbers)).tolist() if len(numbers) else []
    copies: dict[int, list[int]] = {}
    for first, number in zip(firsts, numbers.tolist(), strict=True):
        copies.setdefault(first, []).append(number)
    return [Line(number, tuple(others)) for number, *others in copies.values()]


def _in_order(collection: Collection, lines: list[Line], order: str) -> list[Line]:
    if order not in _ORDERED:
        return lines
    # Only words of our own are put together here.
    rows = collection.connection.execute(
        "SELECT listed.key FROM json_each(?) AS listed JOIN folded ON folded.number = listed.value "  # noqa: S608
        f"ORDER BY {_ORDERED[order]}",
        (json.dumps([line.number for line in lines]),),
    )
    return [lines[place] for (place,) in rows]


@dataclass(frozen=True, slots=True)
class Browsed:
    """A page of melodies without a query: the answer as JSON, the whole list, and where in the list the page begins."""

    answer: BrowseAnswer
    listing: Listing
    first: int  # from 1


def browse(library: Library, asked: NarrowParams) -> Browsed:
    """The melodies that are asked for."""
    settings, collection = library.settings, library.collection
    last = asked.page * asked.k
    if last > settings.most_results:
        raise ArgumentError(f"only the first {settings.most_results} melodies are listed; got page {asked.page}")
    with library.slot():
        report = collection.filter(*filters_of(asked, None)).report
        listing = listed(collection, report.numbers, asked, is_folded=False)
    melodies = collection.melodies([line.number for line in listing.lines[last - asked.k : last]])
    has_facets = isinstance(asked, BrowseParams) and asked.facets
    answer = BrowseAnswer(
        searched=listing.total,
        left=listing.left,
        filters=[FilterAnswer.model_validate(step) for step in report.steps],
        page=asked.page,
        has_more=len(listing.lines) > last and last + asked.k <= settings.most_results,
        facets=[FacetAnswer.model_validate(facet) for facet in listing.facets] if has_facets else None,
        melodies=[AboutAnswer.of(each, settings.link_to(each)) for each in melodies],
    )
    return Browsed(answer, listing, last - asked.k + 1)
