"""The parameters of a request, and the query and filters that they mean.

A query is text in a notation (`q`), or the id of a melody of the collection. Text is read as bytes: a string could be
taken for the name of a file, and nothing that a request holds may ever be one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from roslin.api import Collection
from roslin.collection import filters as known
from roslin.collection.filters import Filter, parse_range
from roslin.errors import ArgumentError, MelodyError, NotationError, Problem
from roslin.matchers import Matcher, matcher
from roslin.melody import Melody
from roslin.notation import records
from roslin.represent.line import melodic_line
from roslin.search.engine import DEFAULT_MATCHER
from roslin.web.matching import offered
from roslin.web.settings import Settings

__all__ = ["MAX_QUERY", "Asked", "AskedMelody", "chosen_matcher", "filters_of", "query_of", "where_to"]

MAX_QUERY = 8000
_MAX_ID = 500
_MAX_WORDS = 200
_KEY_LINE = re.compile(r"^\s*K:", re.MULTILINE)
_DEFAULT_KEY = "K:C\n"  # ABC without a header: a person typed only the music


class AskedMelody(BaseModel):
    """A query: text, or the id of a melody of the collection."""

    q: str = Field(default="", max_length=MAX_QUERY, description="The query as text.")
    notation: Literal["auto", "pae", "abc", "jsonl"] = Field(default="auto", description="How to read `q`.")
    id: str = Field(default="", max_length=_MAX_ID, description="A melody of the collection, in place of `q`.")


class Asked(AskedMelody):
    """A search. Ranges are LOW..HIGH, LOW.., ..HIGH or one value; names of intervals are understood."""

    matcher: str = Field(
        default=DEFAULT_MATCHER, max_length=_MAX_WORDS, description="How to compare: see /api/matchers."
    )
    place: Literal["anywhere", "start"] = Field(default="anywhere", description="Where in a melody the query may be.")
    words: str = Field(default="", max_length=_MAX_WORDS, description="Words in title, composer, text or source.")
    title: str = Field(default="", max_length=_MAX_WORDS)
    composer: str = Field(default="", max_length=_MAX_WORDS)
    pitch_range: str = Field(default="", max_length=60, description="Semitones from the lowest to the highest note.")
    max_interval: str = Field(default="", max_length=60, description="Semitones of the largest step.")
    note_count: str = Field(default="", max_length=60, description="Number of notes.")
    duration_ratio: str = Field(default="", max_length=60, description="Shortest note over longest note, 0 to 1.")
    intervals: str = Field(default="", max_length=_MAX_WORDS, description="It contains: fifth up, third down.")
    k: int = Field(default=10, ge=1, le=100, description="Results on a page.")
    page: int = Field(default=1, ge=1, le=100)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.q.strip() and not self.id

    @property
    def has_filters(self) -> bool:
        """Whether the collection is narrowed down."""
        return any(getattr(self, name) for name in _FILTER_FIELDS)


_RANGES = ("pitch_range", "max_interval", "note_count", "duration_ratio")
_FILTER_FIELDS = ("words", "title", "composer", *_RANGES, "intervals")


def where_to(asked: BaseModel, path: str, **changes: object) -> str:
    """The address that asks the same, with changes; what is left at its default is left out.

    >>> where_to(Asked(q="'4CDE", page=2), "/", page=3)
    '/?q=%274CDE&page=3'
    """
    values = {**asked.model_dump(), **changes}
    fields = type(asked).model_fields
    kept = {name: value for name, value in values.items() if name not in fields or value != fields[name].default}
    return f"{path}?{urlencode(kept)}" if kept else path


def query_of(asked: AskedMelody, collection: Collection, settings: Settings) -> Melody:
    """The melody that is asked for; `NotationError` says where text goes wrong."""
    melody = collection[asked.id] if asked.id else _read_query(asked.q, asked.notation)
    if len(melody) > settings.query_notes:
        raise MelodyError(f"the query has {len(melody)} notes; expected at most {settings.query_notes}")
    if not len(melodic_line(melody)):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")
    return melody


def _read_query(text: str, notation: str) -> Melody:
    """The one melody in a text. It is read strictly: whoever types wants to know where the mistake is."""
    before = _DEFAULT_KEY if notation == "abc" and not _KEY_LINE.search(text) else ""
    data = (before + text).encode(errors="replace") if text.strip() else b""
    # One more than needed, to see whether there are several.
    found = list(islice(records(data, None if notation == "auto" else notation), 2)) if data else []
    if len(found) != 1:
        raise NotationError(Problem("no query" if not found else "several melodies", "one melody", ""))
    melody = found[0].melody
    if melody is None:
        raise NotationError(_as_typed(found[0].problems[0], before))
    return melody.with_metadata(id=None)


def chosen_matcher(text: str, settings: Settings) -> Matcher:
    """The matcher of this name. Parameters can make a search slow, so strangers get those that the page offers."""
    chosen = matcher(text)
    if settings.is_open and repr(chosen) not in offered():
        raise ArgumentError(f"this server offers the matchers {', '.join(offered())}; got {text!r}")
    return chosen


def filters_of(asked: Asked) -> list[Filter]:
    """The chain of filters, cheap ones first."""
    chain = [
        known.FILTERS[name](*parse_range(getattr(asked, name))) for name in _RANGES if getattr(asked, name).strip()
    ]
    if asked.intervals.strip():
        chain.append(known.contains(asked.intervals))
    for field in ("title", "composer"):
        if value := getattr(asked, field).strip():
            chain.append(known.metadata(field, value))
    if asked.words.strip():
        chain += known.words(asked.words)
    return chain


def _as_typed(problem: Problem, before: str) -> Problem:
    """The problem at its place in what was typed, without the lines that were put before it."""
    added = before.count("\n")
    return replace(problem, line=max(problem.line - added, 0), record="", file="")
