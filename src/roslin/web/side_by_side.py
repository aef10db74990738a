"""Several methods on the same query, side by side: what each finds first, and what others of them found too."""

from __future__ import annotations

from dataclasses import dataclass

from roslin.errors import ArgumentError, RoslinError
from roslin.matchers import Matcher, matcher
from roslin.web import service
from roslin.web.errors import refusal_of
from roslin.web.found import Found
from roslin.web.library import GoneError, Library
from roslin.web.progress import Wait
from roslin.web.schemas.refusals import RefusalBody
from roslin.web.schemas.requests import SearchParams, SideParams

_MOST = 3


@dataclass(frozen=True, slots=True)
class Column:
    """What one method found, or why it could not; `others` are, by id, the columns (from 1) that have it too."""

    name: str
    matcher: Matcher | None
    found: Found | None
    refusal: RefusalBody | None
    others: dict[str, list[int]]


def columns(library: Library, asked: SideParams, wait: Wait) -> list[Column]:
    """A column for each method, each named once."""
    names = list(dict.fromkeys(filter(None, asked.methods)))
    if not 1 <= len(names) <= _MOST:
        raise ArgumentError(f"side by side are at most {_MOST} methods; got {len(names)}")
    answers = [_answer(library, asked, name, wait) for name in names]
    listed = [{result.hit.id for result in found.results} if found else set() for _, found, _ in answers]
    return [
        Column(name, known, found, refusal, _shared(listed, place))
        for place, (name, (known, found, refusal)) in enumerate(zip(names, answers, strict=True))
    ]


def _answer(
    library: Library, asked: SideParams, name: str, wait: Wait
) -> tuple[Matcher | None, Found | None, RefusalBody | None]:
    known = None
    try:
        known = matcher(name)
        search = SearchParams(**{**asked.model_dump(include=set(SearchParams.model_fields)), "matcher": name})
        return known, service.find(library, search, wait), None
    except GoneError:
        raise
    except RoslinError as error:
        return known, None, refusal_of(error)[1].error


def _shared(listed: list[set[str]], place: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for other, ids in enumerate(listed):
        if other != place:
            for id in ids & listed[place]:
                found.setdefault(id, []).append(other + 1)
    return found
