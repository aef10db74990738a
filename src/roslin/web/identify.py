"""The composer of a source: the attributions in other sources of its tune, as a page that needs no script and as JSON.

The source is read in a reader process and identified in one of the slots for searches. The answer is saved for a while.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from roslin.api import Collection
from roslin.concordances.identify import Identification, SourceMatch, by_source, source_named
from roslin.deadline import Deadline
from roslin.errors import ArgumentError, TimeLimitError, UnknownNameError, UnknownRecordError
from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.melody import Melody
from roslin.notation.record import words_of
from roslin.report.flow import name_of
from roslin.report.player import melody_figure
from roslin.run.meaning import expected_words
from roslin.web.answers import DEVIATIONS, MatchAnswer, written
from roslin.web.errors import RESPONSES, or_refusal
from roslin.web.library import Library, Opened, Wait, while_waited_for
from roslin.web.readers import READERS, shortened_to
from roslin.web.rendering import rendered
from roslin.web.requests import ExplainParams, IdentifyParams, where_to
from roslin.web.search import SEARCH_SHARE, match_of, short_enough
from roslin.web.settings import MAX_QUERY, Settings


class AttributedAnswer(BaseModel):
    """A source of the tune: the melody in it that is nearest, and how sure that is."""

    id: str
    record: str
    library: str = Field(description="Of this and what follows, empty is what the catalogue does not say.")
    shelfmark: str
    composer: str
    title: str
    movement: str
    key: str
    scoring: str
    catalogue: str
    work: str
    text: str
    expected: float = Field(description="How many matches as good chance would bring, with all incipits tried.")
    meaning: str = Field(description="The same in a word: same tune, probably, perhaps, unlikely.")
    distance: float
    incipit: int = Field(description="The incipit that found it, from 1.")
    incipits: list[int] = Field(description="All incipits that did.")
    version: int = Field(description="Sources of one version have the same notes; those of 0 have the notes asked for.")
    link: str | None = Field(default=None, description="It at its source, where the operator gave a pattern.")


class AttributionAnswer(BaseModel):
    """A composer that sources of the tune name; anonymous sources are together."""

    name: str
    is_anonymous: bool
    expected: float
    meaning: str
    close: int = Field(description="Sources that chance hardly explains.")
    identical: int = Field(description="Sources with the notes asked for.")
    incipits: list[int] = Field(description="The incipits that found one of its sources, from 1.")
    sources: list[AttributedAnswer]


class IdentifyAnswer(BaseModel):
    """The composers that other sources of a tune name, the most certain attribution first."""

    record: str | None = Field(description="The record that was asked about, where it has a number.")
    records: list[str] = Field(description="All records that were given; only one is answered.")
    deviations: list[str] = DEVIATIONS
    sentence: str
    remarks: list[str]
    is_close: bool = Field(description="Whether anything was found that chance hardly explains.")
    is_disputed: bool = Field(description="Whether close sources name different composers.")
    claimed: str | None = Field(description="The composer that the record itself names.")
    incipits_tried: list[int] = Field(description="From 1; of those with the same notes only the first.")
    searched: int
    attributions: list[AttributionAnswer]


_MATCHES_SHOWN = 6  # attributions whose surest source is shown in notation


@dataclass(frozen=True, slots=True)
class BestMatch:
    """The surest source of an attribution: its melody, the incipit that found it, and the notes they share."""

    melody: Melody
    incipit: Melody
    match: MatchAnswer


@dataclass(frozen=True, slots=True)
class Identified:
    """The results for one source. `best` has a match for each of the first attributions, as far as time allowed."""

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
        known = self.found.to_dict()
        for each in known["attributions"]:
            for source in each["sources"]:
                source["link"] = self.links[source["id"]]
        return IdentifyAnswer(
            record=self.record or None, records=list(self.records), deviations=list(self.deviations), **known
        )


def identify_source(library: Library, asked: IdentifyParams, sent: bytes, wait: Wait) -> Identified:
    """The composer of a source: a file that was `sent`, or the text or record that was `asked` for."""
    collection = library.collection
    digest = hashlib.blake2b(sent, digest_size=16).hexdigest()
    return library.kept(
        (collection.about["token"], "identified", repr(asked), digest),
        lambda: _identify(library, collection, asked, sent, wait),
        lambda made: len(made.best) == len(made.found.attributions[:_MATCHES_SHOWN]),
    )


def _identify(library: Library, collection: Collection, asked: IdentifyParams, sent: bytes, wait: Wait) -> Identified:
    settings = library.settings
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
        wait.report(0.0)
        within = short_enough(collection, None, (), longest, chosen)[0] if settings.is_open else None
        found = collection.identify(incipits, within=within, seconds=SEARCH_SHARE * seconds, progress=wait.report)
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
        return READERS.source(sent or asked.q.encode(errors="replace"), settings)

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


router = APIRouter(responses=RESPONSES)

Number = Annotated[str, Form(max_length=500)]
Text = Annotated[str, Form()]
Sent = Annotated[UploadFile | None, File()]


@router.get("/api/identify")
async def identify(request: Request, library: Opened, asked: Annotated[IdentifyParams, Query()]) -> IdentifyAnswer:
    """The composers that other sources of a tune name."""
    return (await _identified(request, library, asked, b"")).answer()


@router.post("/api/identify")
async def identify_file(
    request: Request, library: Opened, file: Annotated[UploadFile, File()], record: Number = ""
) -> IdentifyAnswer:
    """The same for a file: a MARCXML record, or incipits in any notation."""
    return (await _identified(request, library, IdentifyParams(record=record), await file.read())).answer()


@router.get("/identify", include_in_schema=False)
async def page(request: Request, library: Opened, asked: Annotated[IdentifyParams, Query()]) -> Response:
    """The form; with a source, the answer too."""
    return await _page(request, library, asked, b"")


@router.post("/identify", include_in_schema=False)
async def page_of_file(
    request: Request, library: Opened, q: Text = "", record: Number = "", file: Sent = None
) -> Response:
    """The answer for what was pasted or sent: a record may be too long for an address."""
    sent = await file.read() if file is not None else b""
    given = sent or q.encode(errors="replace")
    known = "" if given.strip() else record.strip()  # a number alone is that of a record of the collection
    asked = IdentifyParams.model_construct(q="" if sent else q, id=known, record="" if known else record.strip())
    return await _page(request, library, asked, given if given.strip() else b"")


async def _identified(request: Request, library: Library, asked: IdentifyParams, sent: bytes) -> Identified:
    return await while_waited_for(request, lambda wait: identify_source(library, asked, sent, wait))


async def _page(request: Request, library: Library, asked: IdentifyParams, sent: bytes) -> Response:
    status = 200
    context: dict[str, Any] = {"expected_words": expected_words, "words_of": words_of, "asked": asked}
    context |= {"answer": None, "drawn": (), "refusal": None, "problems": []}

    async def answered() -> dict[str, Any]:
        if given := sent or asked.q.encode(errors="replace"):
            context["problems"] = await run_in_threadpool(READERS.check, given, library.settings)
        return await while_waited_for(request, lambda wait: _work(library, asked, sent, wait))

    if sent or not asked.is_empty:
        status, found = await or_refusal(answered())
        context |= found
    return HTMLResponse(rendered(library, "identify.html", **context), status)


def _work(library: Library, asked: IdentifyParams, sent: bytes, wait: Wait) -> dict[str, Any]:
    """The answer, and each match in notation: the incipit, and the source that has it."""
    answer = identify_source(library, asked, sent, wait)
    drawn = []
    for number, best in enumerate(answer.best, start=1):
        incipit = melody_figure(best.incipit, "the incipit", f"match-{number}-incipit-", best.match.query_notes)
        name, notes = name_of(best.melody, "the source"), best.match.candidate_notes
        drawn.append((incipit, melody_figure(best.melody, name, f"match-{number}-source-", notes)))
    return {"answer": answer, "drawn": drawn}
