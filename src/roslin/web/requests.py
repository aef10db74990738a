"""Requests: a query, the melodies to search, how to compare them, and the form of the answer.

A query is text in a notation (`q`), or the id of a melody of the collection. A reader process reads the text, and it
receives bytes: a string could be the name of a file, and no request may open a file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from roslin.api import Collection
from roslin.collection.filters import NEAR, Filter, all_asked
from roslin.collection.folding import FOLDED_FIELDS, folded_field
from roslin.errors import ArgumentError, MelodyError, NotationError
from roslin.matchers import DEFAULT_MATCHER, Matcher, matcher, matchers
from roslin.matchers.base import Mode
from roslin.melody import Melody
from roslin.melody.variants import DIRECTIONS
from roslin.represent.edits import parse_costs
from roslin.represent.line import melodic_line
from roslin.web.readers import READERS
from roslin.web.settings import MAX_QUERY, Settings

_MAX_ID = 500
_MAX_WORDS = 200
_MAX_CHOICES = 40
Choice = Annotated[str, Field(max_length=1000)]
# The fields of filters in the order in which filters are applied, cheap ones first, and the names of their filters.
_FILTER_FIELDS = {
    **{name: name for name in ("pitch_range", "max_interval", "note_count", "duration_ratio")},
    "intervals": "contains",
    "pattern": "pattern",
    **{name: name for name in ("title", "composer", "words")},
    **{f"{name}_cost": name for name in NEAR},
}


class QueryParams(BaseModel):
    """A query: text, or the id of a melody of the collection."""

    q: str = Field(default="", max_length=MAX_QUERY, description="The query as text.")
    notation: Literal["auto", "names", "pae", "abc", "jsonl"] = Field(default="auto", description="How to read `q`.")
    id: str = Field(default="", max_length=_MAX_ID, description="A melody of the collection, in place of `q`.")
    strict: bool = Field(default=False, description="Refuse `q` if it deviates from the rules of its notation.")
    direction: Literal["", "inverted", "retrograde", "both"] = Field(
        default="", description="The query upside down, backwards, or both."
    )

    @property
    def is_empty(self) -> bool:
        return not self.q.strip() and not self.id


class NarrowParams(BaseModel):
    """Which melodies, in which order.

    Ranges are LOW..HIGH, LOW.., ..HIGH or one value. Names of intervals are understood.
    """

    words: str = Field(default="", max_length=_MAX_WORDS, description="Words in title, composer, text or source.")
    title: str = Field(default="", max_length=_MAX_WORDS)
    composer: str = Field(default="", max_length=_MAX_WORDS)
    pitch_range: str = Field(default="", max_length=60, description="Semitones from the lowest to the highest note.")
    max_interval: str = Field(default="", max_length=60, description="Semitones of the largest step.")
    note_count: str = Field(default="", max_length=60, description="Number of notes.")
    duration_ratio: str = Field(
        default="", max_length=60, description="Ratio of the shortest to the longest note, 0 to 1."
    )
    intervals: str = Field(default="", max_length=_MAX_WORDS, description="It contains: fifth up, third down.")
    pattern: str = Field(
        default="", max_length=_MAX_WORDS, description="Intervals, wildcards, repeats, rhythm: +5 .{1,3} -2:L."
    )
    only: tuple[Choice, ...] = Field(
        default=(),
        max_length=_MAX_CHOICES,
        description="Narrow the list to FIELD=VALUE, as in `facets`. Several values of one field are alternatives.",
    )
    order: Literal["", "composer", "date"] = Field(
        default="", description="Empty: most similar first; without a query, in the order of the catalogue."
    )
    k: int = Field(default=10, ge=1, le=100, description="Results on a page.")
    page: int = Field(default=1, ge=1, le=100)

    @property
    def has_filters(self) -> bool:
        return any(getattr(self, name, "") for name in _FILTER_FIELDS)

    def toggled(self, field: str, value: str) -> tuple[str, ...]:
        """The choices after this one is added or removed.

        >>> NarrowParams(only=("key=g minor",)).toggled("century", "18")
        ('key=g minor', 'century=18')
        """
        others = tuple(chosen for chosen in self.only if not _is_choice(chosen, field, value))
        return others if len(others) < len(self.only) else (*self.only, f"{field}={value}")


class SearchParams(NarrowParams, QueryParams):
    """A search among the melodies that are asked for."""

    matcher: str = Field(
        default=DEFAULT_MATCHER, max_length=_MAX_WORDS, description="How to compare: see /api/matchers."
    )
    compare: Literal["", "both", "melody", "rhythm", "contour"] = Field(
        default="", description="What counts; empty: the default of the matcher, here and below."
    )
    place: Literal["", "anywhere", "start", "whole", "end"] = Field(
        default="", description="Where in a melody the query may be."
    )
    key: Literal["", "any", "written"] = Field(
        default="", description="Whether any key matches, or only the written one."
    )
    contour_cost: str = Field(
        default="", max_length=60, description="Largest edit distance of the gross contour from that of the query."
    )
    rhythm_cost: str = Field(
        default="", max_length=60, description="Largest edit distance of the rhythm from that of the query."
    )
    edit_costs: str = Field(
        default="", max_length=_MAX_WORDS, description="Costs for both, such as insertion=0.5 UD=2. Others are 1."
    )
    copies: Literal["", "together", "apart"] = Field(
        default="",
        description="Whether identical melodies share a line. Empty: together on the page, apart in the API.",
    )

    @property
    def mode(self) -> Mode:
        return Mode(self.compare or None, self.place or None, self.key or None)

    def only_search(self, **changes: object) -> SearchParams:
        """The search itself, with changes, without the fields of other requests."""
        return SearchParams(**{**self.model_dump(include=set(SearchParams.model_fields)), **changes})

    @property
    def is_browsing(self) -> bool:
        """Whether melodies are asked for by what is known about them, without a query."""
        return self.is_empty and (self.has_filters or bool(self.only))


class IdentifyParams(BaseModel):
    """A source whose composer is asked for: a text, or a record of the collection."""

    q: str = Field(
        default="",
        max_length=MAX_QUERY,
        description="A MARCXML record, incipits in any notation, or the number of a record of the collection.",
    )
    id: str = Field(
        default="", max_length=_MAX_ID, description="A melody or a record of the collection, in place of it."
    )
    record: str = Field(default="", max_length=_MAX_ID, description="Which record, where there are several.")

    @property
    def is_empty(self) -> bool:
        return not self.q.strip() and not self.id


class ListParams(SearchParams):
    """A search, and the form of its answer."""

    format: Literal["json", "csv", "trec", "citations"] = Field(default="json", description="The form of the answer.")
    facets: bool = Field(default=False, description="Also count the values of the list by field.")
    whole: bool = Field(default=False, description="The whole list, up to 1,000, without the notes that match.")
    sure: bool = Field(default=False, description="Only the results that are better than chance.")


class BrowseParams(NarrowParams):
    """Melodies without a query."""

    facets: bool = Field(default=False, description="Also count the values of all of them by field.")


class SideParams(SearchParams):
    """A search by several methods."""

    methods: tuple[Choice, ...] = Field(default=(DEFAULT_MATCHER, "dp"), max_length=6)


class ExplainParams(SearchParams):
    """A search, and which melody of it is to be explained."""

    candidate: str = Field(max_length=500, min_length=1, description="A melody of the collection.")


def _is_choice(chosen: str, field: str, value: str) -> bool:
    """Whether FIELD=VALUE, in any spelling, asks for this value."""
    name, _, text = chosen.partition("=")
    return name == field and (folded_field(field, text) if field in FOLDED_FIELDS else text.strip()) == value


def where_to(asked: BaseModel, path: str, **changes: object) -> str:
    """The address that asks the same, with changes; what is left at its default is left out.

    >>> where_to(SearchParams(q="'4CDE", page=2), "/", page=3)
    '/?q=%274CDE&page=3'
    """
    values = {**asked.model_dump(), **changes}
    fields = type(asked).model_fields
    kept = {name: value for name, value in values.items() if name not in fields or value != fields[name].default}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path


_VARIANTS = {"dp": ("dp(place='inside')",)}  # offered beside the defaults


def query_of(asked: QueryParams, collection: Collection, settings: Settings) -> Melody:
    """The query. Its problems list reinterpreted parts, and `NotationError` is raised if nothing was read."""
    return readings_of(asked, collection, settings)[0]


def readings_of(asked: QueryParams, collection: Collection, settings: Settings) -> list[Melody]:
    """The same, and the other melody that the text may mean, if there is one."""
    notation = None if asked.notation == "auto" else asked.notation
    try:
        found = [collection[asked.id]] if asked.id else READERS.readings(asked.q, notation, asked.strict, settings)
    except NotationError as error:
        raise NotationError(replace(error.problem, record="")) from error
    if len(found[0]) > settings.query_notes:
        raise MelodyError(f"the query has {len(found[0])} notes; expected at most {settings.query_notes}")
    if not len(melodic_line(found[0])):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")
    return [DIRECTIONS[asked.direction](found[0])] if asked.direction else found


def offered() -> list[str]:
    """The matchers that the page offers: each with its defaults, and a few variants."""
    return [text for name in matchers() for text in (name, *_VARIANTS.get(name, ()))]


def chosen_matcher(text: str, settings: Settings) -> Matcher:
    """The matcher of this name. Parameters can make a search slow, so strangers get those that the page offers."""
    chosen = matcher(text)
    if settings.is_open and repr(chosen) not in offered():
        raise ArgumentError(f"this server offers the matchers {', '.join(offered())}; got {text!r}")
    return chosen


def filters_of(asked: NarrowParams, query: Melody | None) -> list[Filter]:
    """The chain of filters, cheap ones first; some compare with the query."""
    typed = {
        _FILTER_FIELDS[name]: [value.strip()] for name in _FILTER_FIELDS if (value := getattr(asked, name, "")).strip()
    }
    costs = parse_costs(getattr(asked, "edit_costs", ""))
    return all_asked(typed, query=query, costs=costs, label=lambda name: f"{name}_cost" if name in NEAR else name)
