"""Who a source is by, for a request: what was sent is read, asked in one slot for searches, and kept for a while."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from roslin.api import Collection
from roslin.concordances.attribution import Identification, SourceMatch
from roslin.concordances.identify import by_source, source_named
from roslin.deadline import Deadline
from roslin.errors import ArgumentError, TimeLimitError, UnknownNameError, UnknownRecordError
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.melody import Melody
from roslin.web.explaining import match_of
from roslin.web.library import GoneError, Library
from roslin.web.progress import Wait
from roslin.web.readers import shared_readers
from roslin.web.schemas.attributions import IdentifyAnswer
from roslin.web.schemas.explanations import MatchAnswer
from roslin.web.schemas.requests import MAX_QUERY, ExplainParams, IdentifyParams, where_to
from roslin.web.service import SEARCH_SHARE, short_enough
from roslin.web.settings import Settings
from roslin.web.uploads import shortened_to
from roslin.web.written import written

_MATCHES_SHOWN = 6  # attributions whose surest source is shown in notation


@dataclass(frozen=True, slots=True)
class BestMatch:
    """The surest source of an attribution: its melody, the incipit that found it, and the notes they share."""

    melody: Melody
    incipit: Melody
    match: MatchAnswer


@dataclass(frozen=True, slots=True)
class Identified:
    """What was found for one source. `best` has a match for each of the first attributions, as far as time allowed."""

    record: str
    records: tuple[str, ...]
    incipits: tuple[Melody, ...]
    found: Identification
    best: tuple[BestMatch, ...]
    links: dict[str, str | None]  # of the melodies found, at their sources
    deviations: tuple[str, ...]

    def why(self, source: SourceMatch) -> str | None:
        """The address of the page that explains a match; None where the incipit does not fit into one."""
        asked = self.incipits[source.incipit - 1]
        text = written(asked)
        if text is None or len(text[1]) > MAX_QUERY:
            return None
        return where_to(ExplainParams(q=text[1], candidate=source.id), "/explain")

    def answer(self) -> IdentifyAnswer:
        """All of it as JSON."""
        known = self.found.to_dict()
        for each in known["attributions"]:
            for source in each["sources"]:
                source["link"] = self.links[source["id"]]
        return IdentifyAnswer(
            record=self.record or None, records=list(self.records), deviations=list(self.deviations), **known
        )


def identify_source(library: Library, asked: IdentifyParams, sent: bytes, wait: Wait) -> Identified:
    """Who a source is by: a file that was `sent`, otherwise the text or the record of the collection asked for."""
    collection = library.collection
    digest = hashlib.blake2b(sent, digest_size=16).hexdigest()
    return library.kept(
        (collection.about["token"], "identified", repr(asked), digest),
        lambda: _identify(library, collection, asked, sent, wait),
        lambda made: len(made.best) == len(made.found.attributions[:_MATCHES_SHOWN]),
    )


def _identify(library: Library, collection: Collection, asked: IdentifyParams, sent: bytes, wait: Wait) -> Identified:
    settings = library.settings

    def progress(done: float, _what: str) -> None:
        wait.done = done
        if wait.is_gone:
            raise GoneError("the search was given up: nobody waits for it")

    sources = _read(collection, asked, sent, settings)
    record = asked.record or next(iter(sources))
    if record not in sources:
        raise UnknownNameError("record of the source", record, list(sources))
    given = sources[record]
    if len(given) > settings.upload_melodies:
        raise ArgumentError(f"a source may have at most {settings.upload_melodies} incipits here; got {len(given)}")
    incipits = [shortened_to(settings.query_notes, melody) for melody in given]
    chosen, longest = matcher(DEFAULT_MATCHER), max(incipits, key=len)
    with library.slot() as seconds:
        end = time.monotonic() + seconds
        progress(0.0, "")
        within = short_enough(collection, None, (), longest, chosen)[0] if settings.is_open else None
        found = collection.identify(incipits, within=within, seconds=SEARCH_SHARE * seconds, progress=progress)
        with Deadline(end - time.monotonic()):
            best = tuple(_best(collection, found, incipits))
    numbers = collection.numbers([source.id for each in found.attributions for source in each.sources])
    return Identified(
        record,
        tuple(sources),
        tuple(incipits),
        found,
        best,
        {melody.id or "": settings.link_to(melody) for melody in collection.melodies(numbers)},
        tuple(_deviations(incipits)),
    )


def _read(collection: Collection, asked: IdentifyParams, sent: bytes, settings: Settings) -> dict[str, list[Melody]]:
    """The sources that are meant. Text is read as bytes: nothing that a request holds may be the name of a file."""
    if asked.id and not sent:
        known = source_named(collection, asked.id, list)
        if not known:
            raise UnknownRecordError("record", asked.id, ())
        return known

    def read() -> list[Melody]:
        return shared_readers().source(sent or asked.q.encode(errors="replace"), settings)

    return source_named(collection, asked.q.strip(), read) if asked.q.strip() else by_source(read())


def _deviations(incipits: list[Melody]) -> Iterator[str]:
    for place, melody in enumerate(incipits, start=1):
        before = f"Incipit {place}: " if len(incipits) > 1 else ""
        yield from (f"{before}{line}" for line in melody.deviations)


def _best(collection: Collection, found: Identification, incipits: list[Melody]) -> Iterator[BestMatch]:
    chosen = matcher(DEFAULT_MATCHER)
    for each in found.attributions[:_MATCHES_SHOWN]:
        source = each.sources[0]
        incipit, numbers = incipits[source.incipit - 1], collection.numbers([source.id])
        among = collection.packed().take(np.asarray(numbers))
        try:
            match = match_of(chosen, incipit, among, 0, source.distance)
        except TimeLimitError:
            return
        yield BestMatch(collection[source.id], incipit, match)
