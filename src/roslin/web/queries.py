"""What a request means: its query, its matcher and its filters.

A query is text in a notation (`q`), or the id of a melody of the collection. Text is read in a reader process, and
as bytes: a string could be taken for the name of a file, and nothing that a request holds may ever be one.
"""

from __future__ import annotations

from dataclasses import replace

from roslin.api import Collection
from roslin.collection import filters as known
from roslin.collection.filters import Filter, parse_range
from roslin.errors import ArgumentError, MelodyError, NotationError
from roslin.matchers import Matcher, matcher, matchers
from roslin.melody import Melody
from roslin.represent.edits import parse_costs
from roslin.represent.line import melodic_line
from roslin.web.readers import shared_readers
from roslin.web.schemas.requests import EDITED, RANGES, NarrowParams, QueryParams
from roslin.web.settings import Settings

_VARIANTS = {"dp": ("dp(place='inside')",)}  # offered beside the defaults


def query_of(asked: QueryParams, collection: Collection, settings: Settings) -> Melody:
    """The melody that is asked for; its problems say what was read otherwise, `NotationError` why nothing was."""
    return readings_of(asked, collection, settings)[0]


def readings_of(asked: QueryParams, collection: Collection, settings: Settings) -> list[Melody]:
    """The same, and the other melody that the text may mean, if there is one."""
    found = [collection[asked.id]] if asked.id else _readings(asked, settings)
    if len(found[0]) > settings.query_notes:
        raise MelodyError(f"the query has {len(found[0])} notes; expected at most {settings.query_notes}")
    if not len(melodic_line(found[0])):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")
    return found


def _readings(asked: QueryParams, settings: Settings) -> list[Melody]:
    notation = None if asked.notation == "auto" else asked.notation
    try:
        return shared_readers().readings(asked.q, notation, asked.strict, settings)
    except NotationError as error:
        raise NotationError(replace(error.problem, record="")) from error


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
    chain = [known.FILTERS[name](*parse_range(getattr(asked, name))) for name in RANGES if getattr(asked, name).strip()]
    if asked.intervals.strip():
        chain.append(known.contains(asked.intervals))
    for field in ("title", "composer"):
        if value := getattr(asked, field).strip():
            chain.append(known.metadata(field, value))
    if asked.words.strip():
        chain += known.words(asked.words)
    for name, make in zip(EDITED, (known.contour_distance, known.rhythm_distance), strict=True):
        if value := getattr(asked, name, "").strip():
            if query is None:
                raise ArgumentError(f"{name} compares with a melody; none was entered")
            chain.append(make(query, _cost(name, value), parse_costs(getattr(asked, "edit_costs", ""))))
    return chain


def _cost(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{name} must be a number, at least 0; got {text!r}") from None
