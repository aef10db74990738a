"""The shapes of JSON answers. The OpenAPI document is made from them, and the pages show the same values.

Errors have one shape: {"error": {"code", "message", "problem"}}. `code` is a word for programs, `message` a sentence
for people. `problem` is for notation: reason, expected, found, line and column (from 1; 0: none).
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from roslin.collection.folding import FOLDED_FIELDS, said_of
from roslin.errors import NotationError, Problem
from roslin.matchers.base import Modes
from roslin.melody import TICKS_PER_QUARTER, Melody, note_name
from roslin.notation.pae import as_catalogued, write

DEVIATIONS: Any = Field(description="Everything that Roslin reinterpreted, one line for each kind.")
_BY_STATUS = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "refused",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


class _OfValue(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class RefusedNotation(_OfValue):
    """Where notation went wrong. Lines and columns count from 1; 0 means that there is none."""

    reason: str
    expected: str
    found: str
    line: int
    column: int


class RefusalBody(BaseModel):
    """Why a request was refused."""

    code: str
    message: str
    problem: RefusedNotation | None = None


class Refusal(BaseModel):
    """The one shape of errors."""

    error: RefusalBody


def refusal(status: int, message: str, code: str = "", problem: Problem | None = None) -> Refusal:
    """An error in the one shape."""
    where = None if problem is None else RefusedNotation.model_validate(problem)
    return Refusal(error=RefusalBody(code=code or _BY_STATUS.get(status, "error"), message=message, problem=where))


class NoteAnswer(BaseModel):
    """One note. Times in quarter notes, 60 is middle C."""

    onset: float
    duration: float
    pitch: int
    name: str
    is_grace: bool
    voice: int

    @classmethod
    def table(cls, melody: Melody) -> list[NoteAnswer]:
        return [
            cls(
                onset=row["onset_ticks"] / TICKS_PER_QUARTER,
                duration=row["duration_ticks"] / TICKS_PER_QUARTER,
                pitch=int(row["pitch_midi"]),
                name=note_name(int(row["pitch_base40"])),
                is_grace=bool(row["is_grace"]),
                voice=int(row["voice"]),
            )
            for row in melody.notes
        ]


class AboutAnswer(BaseModel):
    """The metadata of a melody."""

    id: str
    title: str | None
    composer: str | None
    voice: str | None
    key: str | None
    metre: str | None
    text: str | None
    source: str | None
    scoring: str | None
    library: str | None = Field(description="The siglum; the source if there is none.")
    shelfmark: str | None
    date: str | None = Field(description="As the catalogue writes it.")
    link: str | None = Field(description="The melody at its source, where the operator gave a pattern.")

    _melody: Melody = PrivateAttr()

    @property
    def melody(self) -> Melody:
        return self._melody

    @classmethod
    def of(cls, melody: Melody, link: str | None, **more: Any) -> Self:
        """The answer about a melody, with the other fields of its class."""
        known = {name: said_of(melody, name) for name in FOLDED_FIELDS}
        answer = cls(**{"id": melody.id, **known, "shelfmark": melody.extra.get("shelfmark"), "link": link, **more})
        answer._melody = melody
        return answer


class MelodyAnswer(AboutAnswer):
    """A melody with all its notes."""

    notation: str | None
    music: str | None
    written: str | None = Field(description="Complete with clef, metre and key: it can be a `q`.")
    notes: list[NoteAnswer]

    @classmethod
    def of(cls, melody: Melody, link: str | None, **more: Any) -> Self:
        text = written(melody)
        return super().of(
            melody,
            link,
            notation=melody.notation,
            music=melody.music,
            written=text[1] if text else None,
            notes=NoteAnswer.table(melody),
            **more,
        )


class ReadAnswer(BaseModel):
    """A query as it was understood."""

    notation: str | None
    pae: str | None = Field(description="The query as a line of Plaine & Easie; unchanged if it was typed as one.")
    columns: list[int] = Field(description="The column of each note in `pae`, from 1.")
    notes: list[NoteAnswer]
    deviations: list[str] = DEVIATIONS
    drawing: str = Field(description="SVG")
    playing: list[list[float]] = Field(description="Rows of row, start, duration (seconds) and MIDI pitch.")


class UploadChoice(BaseModel):
    """One melody of a file, as a query."""

    label: str
    notes: int
    notation: str = Field(description="The notation of `q`: pae or jsonl.")
    q: str
    is_cut: bool = Field(description="Whether `q` has only the beginning of the melody.")
    deviations: list[str] = DEVIATIONS


class UploadAnswer(BaseModel):
    """The melodies of a file."""

    format: str
    choices: list[UploadChoice]
    refused: list[str] = Field(description="Why other melodies of the file could not be read.")
    has_more: bool


class MatchAnswer(_OfValue):
    """The aligned notes, without the steps of an explanation. Notes are rows of the note tables, from 0."""

    kind: str = Field(description="transport, alignment, grams, places, sum, or likeness: an aid to the eye.")
    sentence: str
    transposition: float | None = Field(description="Semitones; of pitch='fifths', steps on the line of fifths.")
    tempo: float | None = Field(description="How many times slower the candidate is.")
    place: float | None = Field(description="Where in the candidate the query starts, in quarters.")
    query_notes: list[int]
    candidate_notes: list[int]


class ExplanationAnswer(MatchAnswer):
    """A distance taken apart: `start` and the costs of all steps add up to it."""

    query: str | None
    candidate: str | None
    matcher: str
    distance: float | None = Field(description="None for a melody that is infinitely far, and so in no list.")
    pairs: list[list[int]] = Field(description="Notes that belong together: row of the query, row of the candidate.")
    start: float | None
    steps: list[StepAnswer]


class ExplainAnswer(ExplanationAnswer):
    """An explanation, and how its query was read."""

    deviations: list[str] = DEVIATIONS


class StepAnswer(BaseModel):
    """The part of a distance that some notes of the two melodies add or, below 0, remove."""

    kind: str = Field(
        description="same, other, missing, added, joined, split, shared, moved, segment, back, unmatched, measure, "
        "whole or limit."
    )
    query_places: list[list[int]] = Field(description="The notes of each place; a run may occur at several places.")
    candidate_places: list[list[int]]
    cost: float
    words: str
    weight: float | None = Field(description="The weight that is moved.")
    apart: float | None = Field(description="The distance over which it is moved.")
    within: ExplanationAnswer | None = Field(description="The step taken apart itself.")


class MatcherAnswer(_OfValue):
    """A way to compare melodies."""

    name: str
    summary: str
    reference: str
    kind: str = Field(description="The kind of its explanations: transport, alignment, grams, places, sum or likeness.")
    modes: dict[str, list[str]] = Field(description="The values of `compare`, `place` and `key` that it supports.")

    @field_validator("modes", mode="before")
    @classmethod
    def _names(cls, modes: Modes) -> dict[str, list[str]]:
        return {mode: list(values) for mode, values in modes.items()}


class FilterAnswer(_OfValue):
    """One step of a chain of filters."""

    sentence: str
    removed: int
    left: int


class ResultAnswer(AboutAnswer):
    """One line of a ranked list."""

    rank: int
    distance: float
    costs: dict[str, float] = Field(description="Its cost in each filter by edit distance.")
    expected: float | None = Field(
        description="Expected chance matches (E): melodies that would be as similar by chance; None if unknown."
    )
    meaning: str = Field(
        description="Label: same notes, same tune, probably, perhaps, unlikely, no more alike than chance."
    )
    above_chance: bool = Field(description="Whether it is better than chance, or has the same notes.")
    same_notes: int = Field(
        description="The number of notes on which both agree, if one of them has no other notes; else 0."
    )
    coincides: bool = Field(description="Whether it was found by the notes that coincide in time, as p2 compares.")
    match: MatchAnswer | None = Field(description="None for a whole list, or if the time limit was reached.")
    copies: list[AboutAnswer] = Field(description="Identical melodies that share the line.")

    @property
    def copied_in(self) -> list[str]:
        """The libraries that have the copies, each once."""
        return list(dict.fromkeys(filter(None, (copy.melody.extra.get("siglum") for copy in self.copies))))


class FacetValueAnswer(_OfValue):
    """A value of a field."""

    value: str = Field(description="For `only`: FIELD=VALUE.")
    label: str = Field(description="As most melodies write it.")
    count: int
    is_chosen: bool


class FacetAnswer(_OfValue):
    """The values of a list in a field, counted among the melodies that pass the choices in the other fields."""

    field: str
    values: list[FacetValueAnswer] = Field(description="The most frequent first.")
    unknown: int = Field(description="How many of them have no value.")


class BrowseAnswer(BaseModel):
    """A page of melodies that were asked for without a query."""

    searched: int = Field(description="How many melodies the filters leave; these are counted in `facets`.")
    left: int = Field(description="How many of them pass `only`.")
    filters: list[FilterAnswer]
    page: int
    has_more: bool
    facets: list[FacetAnswer] | None
    melodies: list[AboutAnswer]


class SearchAnswer(BaseModel):
    """A page of a ranked list."""

    query_notes: int
    deviations: list[str] = DEVIATIONS
    matcher: str = Field(description="With the parameters that the modes gave it.")
    compare: str
    place: str
    key: str
    searched: int = Field(description="How many melodies the filters left.")
    filters: list[FilterAnswer]
    is_close: bool = Field(description="Whether any result is hardly explained by chance.")
    headline: str = Field(description="The result in a few words; empty where chance matches are not counted.")
    agreeing: int = Field(description="How many melodies have every note of the query.")
    is_complete: bool = Field(
        description="Whether all melodies were compared within the time limit; if not, there is a remark."
    )
    remarks: list[str] = Field(description="Remarks on how the query was compared.")
    page: int
    has_more: bool
    counted: int | None = Field(
        description="How many melodies are in `facets`: those above the line where chance begins; where there are "
        "none, or no line, the first 1,000. None without facets."
    )
    is_counted_whole: bool = Field(description="Whether these are all; there may be more than 1,000.")
    left: int | None = Field(description="How many of these pass `only`.")
    facets: list[FacetAnswer] | None
    seconds: float = Field(description="Duration of the search; less if the answer was saved.")
    results: list[ResultAnswer]


class CollectionAnswer(BaseModel):
    """The collection that is searched."""

    title: str
    melodies: int
    roslin: str


class HealthAnswer(BaseModel):
    """Whether searches can be answered."""

    status: str
    melodies: int
    searching: int


def written(melody: Melody) -> tuple[str, str] | None:
    """The name of the notation and the text; None for what neither can write (lengths as they were played, voices).

    Plaine & Easie and ABC are given as their source has them, everything else in Plaine & Easie.
    """
    if melody.notation == "pae" and melody.music:
        return "Plaine & Easie", as_catalogued(melody)
    if melody.notation == "abc" and melody.music:
        return "ABC", melody.music
    try:
        return "Plaine & Easie", write(melody)
    except NotationError:
        return None
