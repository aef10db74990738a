"""The shapes of requests and of JSON answers; the OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, field_validator

from roslin.collection.folding import FOLDED_FIELDS, folded_field, said_of
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers.base import Modes
from roslin.matchers.modes import Mode
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.words import note_name
from roslin.web.written import written

__all__ = [
    "MAX_QUERY",
    "RANGES",
    "AboutAnswer",
    "AttributedAnswer",
    "AttributionAnswer",
    "BrowseAnswer",
    "BrowseParams",
    "CollectionAnswer",
    "ExplainAnswer",
    "ExplainParams",
    "ExplanationAnswer",
    "FacetAnswer",
    "FacetValueAnswer",
    "FilterAnswer",
    "HealthAnswer",
    "IdentifyAnswer",
    "IdentifyParams",
    "ListParams",
    "MatchAnswer",
    "MatcherAnswer",
    "MelodyAnswer",
    "NarrowParams",
    "NoteAnswer",
    "QueryParams",
    "ReadAnswer",
    "Refusal",
    "RefusalBody",
    "RefusedNotation",
    "ResultAnswer",
    "SearchAnswer",
    "SearchParams",
    "SideParams",
    "StepAnswer",
    "UploadAnswer",
    "UploadChoice",
    "where_to",
]

MAX_QUERY = 8000
_MAX_ID = 500
_MAX_WORDS = 200
_MAX_CHOICES = 40
Choice = Annotated[str, Field(max_length=1000)]
RANGES = ("pitch_range", "max_interval", "note_count", "duration_ratio")
_DEVIATIONS: Any = Field(description="What was read otherwise than it was written, a line for each.")
EDITED = ("contour_cost", "rhythm_cost")
_FILTER_FIELDS = ("words", "title", "composer", *RANGES, "intervals", *EDITED)


# -- requests ---------------------------------------------------------------------------------------------------------


class QueryParams(BaseModel):
    """A query: text, or the id of a melody of the collection."""

    q: str = Field(default="", max_length=MAX_QUERY, description="The query as text.")
    notation: Literal["auto", "names", "pae", "abc", "jsonl"] = Field(default="auto", description="How to read `q`.")
    id: str = Field(default="", max_length=_MAX_ID, description="A melody of the collection, in place of `q`.")
    strict: bool = Field(default=False, description="Refuse `q` where it is not written as its notation demands.")


class NarrowParams(BaseModel):
    """Which melodies, in which order.

    Ranges are LOW..HIGH, LOW.., ..HIGH or one value; names of intervals are understood.
    """

    words: str = Field(default="", max_length=_MAX_WORDS, description="Words in title, composer, text or source.")
    title: str = Field(default="", max_length=_MAX_WORDS)
    composer: str = Field(default="", max_length=_MAX_WORDS)
    pitch_range: str = Field(default="", max_length=60, description="Semitones from the lowest to the highest note.")
    max_interval: str = Field(default="", max_length=60, description="Semitones of the largest step.")
    note_count: str = Field(default="", max_length=60, description="Number of notes.")
    duration_ratio: str = Field(default="", max_length=60, description="Shortest note over longest note, 0 to 1.")
    intervals: str = Field(default="", max_length=_MAX_WORDS, description="It contains: fifth up, third down.")
    only: tuple[Choice, ...] = Field(
        default=(),
        max_length=_MAX_CHOICES,
        description="Of the list only these: FIELD=VALUE, as in `facets`; of several values of a field one is enough.",
    )
    order: Literal["", "composer", "date"] = Field(
        default="", description="Empty: the nearest first; without a query, as they are catalogued."
    )
    k: int = Field(default=10, ge=1, le=100, description="Results on a page.")
    page: int = Field(default=1, ge=1, le=100)

    @property
    def has_filters(self) -> bool:
        """Whether the collection is narrowed down."""
        return any(getattr(self, name, "") for name in _FILTER_FIELDS)

    def toggled(self, field: str, value: str) -> tuple[str, ...]:
        """What is chosen when this is chosen too, or no longer.

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
        default="", description="What counts; empty is what the matcher does anyway, here and below."
    )
    place: Literal["", "anywhere", "start", "whole"] = Field(
        default="", description="Where in a melody the query may be."
    )
    key: Literal["", "any", "written"] = Field(default="", description="Whether a transposed melody is the same.")
    all: bool = Field(default=False, description="Also what is no more alike than chance.")
    contour_cost: str = Field(default="", max_length=60, description="Gross contour at most so far from the query's.")
    rhythm_cost: str = Field(default="", max_length=60, description="Rhythm at most so far from the query's.")
    edit_costs: str = Field(default="", max_length=_MAX_WORDS, description="For both: insertion=0.5 UD=2; else all 1.")
    copies: Literal["", "together", "apart"] = Field(
        default="", description="Whether identical melodies share a line; empty: on the page they do, here not."
    )

    @property
    def mode(self) -> Mode:
        """What is compared, where and in which key."""
        return Mode(self.compare or None, self.place or None, self.key or None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.q.strip() and not self.id

    @property
    def is_browsing(self) -> bool:
        """Whether melodies are asked for by what is known about them, without a query."""
        return self.is_empty and (self.has_filters or bool(self.only))


class IdentifyParams(BaseModel):
    """A source whose composer is asked for: a text, or a record of the collection."""

    q: str = Field(default="", max_length=MAX_QUERY, description="A MARCXML record, or incipits in any notation.")
    id: str = Field(
        default="", max_length=_MAX_ID, description="A melody or a record of the collection, in place of it."
    )
    record: str = Field(default="", max_length=_MAX_ID, description="Which record, where there are several.")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.q.strip() and not self.id


class ListParams(SearchParams):
    """A search, and the form of its answer."""

    format: Literal["json", "csv", "trec", "citations"] = Field(default="json", description="The form of the answer.")
    facets: bool = Field(default=False, description="Also what the whole list has in common, counted.")
    whole: bool = Field(default=False, description="The whole list, up to 1,000, without the notes that match.")


class BrowseParams(NarrowParams):
    """Melodies without a query."""

    facets: bool = Field(default=False, description="Also what all of them have in common, counted.")


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


# -- refusals ---------------------------------------------------------------------------------------------------------


class RefusedNotation(BaseModel):
    """Where notation went wrong. Lines and columns count from 1; 0 means that there is none."""

    model_config = ConfigDict(from_attributes=True)

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


# -- melodies ---------------------------------------------------------------------------------------------------------


class NoteAnswer(BaseModel):
    """One note; times in quarter notes, 60 is middle C."""

    onset: float
    duration: float
    pitch: int
    name: str
    is_grace: bool
    voice: int

    @classmethod
    def table(cls, melody: Melody) -> list[NoteAnswer]:
        """The note table of a melody."""
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
    """What is known about a melody besides its notes."""

    id: str
    title: str | None
    composer: str | None
    voice: str | None
    key: str | None
    metre: str | None
    text: str | None
    source: str | None
    scoring: str | None
    library: str | None = Field(description="Its siglum; where there is none, the source.")
    shelfmark: str | None
    date: str | None = Field(description="As the catalogue writes it.")
    link: str | None = Field(description="The melody at its source, where the operator gave a pattern.")

    @staticmethod
    def known(melody: Melody, link: str | None) -> dict[str, Any]:
        """These fields of a melody."""
        said = {name: said_of(melody, name) for name in FOLDED_FIELDS}
        return {"id": melody.id, **said, "shelfmark": melody.extra.get("shelfmark"), "link": link}


class MelodyAnswer(AboutAnswer):
    """A melody with all its notes."""

    notation: str | None
    music: str | None
    written: str | None = Field(description="Complete with clef, metre and key: it can be a `q`.")
    notes: list[NoteAnswer]

    @classmethod
    def of(cls, melody: Melody, link: str | None) -> MelodyAnswer:
        """The answer about a melody."""
        known = cls.known(melody, link)
        text = written(melody)
        return cls(
            **known,
            notation=melody.notation,
            music=melody.music,
            written=text[1] if text else None,
            notes=NoteAnswer.table(melody),
        )


class ReadAnswer(BaseModel):
    """A query as it was understood."""

    notation: str | None
    pae: str | None = Field(description="The query in a line of Plaine & Easie, as it was typed where it is one.")
    columns: list[int] = Field(description="Where in `pae` each note stands, from 1.")
    notes: list[NoteAnswer]
    deviations: list[str] = _DEVIATIONS
    drawing: str = Field(description="SVG")
    playing: list[list[float]] = Field(description="Rows of row, start, duration (seconds) and MIDI pitch.")


class UploadChoice(BaseModel):
    """One melody of a file, as a query."""

    label: str
    notes: int
    notation: str = Field(description="How `q` is to be read: pae or jsonl.")
    q: str
    is_cut: bool = Field(description="Whether only its beginning was taken.")
    deviations: list[str] = _DEVIATIONS


class UploadAnswer(BaseModel):
    """What a file holds."""

    format: str
    choices: list[UploadChoice]
    refused: list[str] = Field(description="Why other melodies of the file could not be read.")
    has_more: bool


# -- searches and explanations ----------------------------------------------------------------------------------------


class MatcherAnswer(BaseModel):
    """A way to compare melodies."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    summary: str
    reference: str
    kind: str = Field(description="How it is explained: transport, alignment, grams, places, sum or likeness.")
    modes: dict[str, list[str]] = Field(description="What it can do of `compare`, `place` and `key`.")

    @field_validator("modes", mode="before")
    @classmethod
    def _names(cls, modes: Modes) -> dict[str, list[str]]:
        return {mode: list(values) for mode, values in modes.items()}


class FilterAnswer(BaseModel):
    """One step of a chain of filters."""

    model_config = ConfigDict(from_attributes=True)

    sentence: str
    removed: int
    left: int


class MatchAnswer(BaseModel):
    """What belongs together, without the steps that say why. Notes are rows of the note tables, from 0."""

    model_config = ConfigDict(from_attributes=True)

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
    distance: float | None = Field(description="None for a melody that is in no list, being infinitely far.")
    pairs: list[list[int]] = Field(description="Which notes belong together: of the query, of the candidate.")
    start: float | None
    steps: list[StepAnswer]


class ExplainAnswer(ExplanationAnswer):
    """An explanation, and how its query was read."""

    deviations: list[str] = _DEVIATIONS


class StepAnswer(BaseModel):
    """What some notes of the two melodies add to a distance or, below 0, take off it."""

    kind: str = Field(
        description="same, other, missing, added, joined, split, shared, moved, segment, back, unmatched, measure, "
        "whole or limit."
    )
    query_places: list[list[int]] = Field(description="The notes of each place: runs may stand at several.")
    candidate_places: list[list[int]]
    cost: float
    words: str
    weight: float | None = Field(description="How much weight is moved.")
    apart: float | None = Field(description="How far it is moved.")
    within: ExplanationAnswer | None = Field(description="The step taken apart itself.")


class ResultAnswer(AboutAnswer):
    """One line of a ranked list."""

    rank: int
    distance: float
    costs: dict[str, float] = Field(description="What it costs in each filter by editing distance.")
    expected: float | None = Field(description="How many melodies would be as near by chance.")
    meaning: str = Field(description="The same in a word: same tune, probably, perhaps, no more alike than chance.")
    match: MatchAnswer | None = Field(description="None where the whole list is asked for.")
    copies: list[AboutAnswer] = Field(description="Identical melodies that share the line.")


class FacetValueAnswer(BaseModel):
    """A value of a field."""

    model_config = ConfigDict(from_attributes=True)

    value: str = Field(description="For `only`: FIELD=VALUE.")
    label: str = Field(description="As most melodies write it.")
    count: int
    is_chosen: bool


class FacetAnswer(BaseModel):
    """What a list has in a field: counted among those that have what is chosen in the other fields."""

    model_config = ConfigDict(from_attributes=True)

    field: str
    values: list[FacetValueAnswer] = Field(description="The most frequent first.")
    unknown: int = Field(description="How many of them say nothing.")


class BrowseAnswer(BaseModel):
    """A page of melodies that were asked for without a query."""

    searched: int = Field(description="How many melodies the filters leave; these are counted in `facets`.")
    left: int = Field(description="How many of them have what `only` asks for.")
    filters: list[FilterAnswer]
    page: int
    has_more: bool
    facets: list[FacetAnswer] | None
    melodies: list[AboutAnswer]


class SearchAnswer(BaseModel):
    """A page of a ranked list."""

    query_notes: int
    deviations: list[str] = _DEVIATIONS
    matcher: str = Field(description="With the parameters that the modes gave it.")
    compare: str
    place: str
    key: str
    searched: int = Field(description="How many melodies were left by the filters.")
    filters: list[FilterAnswer]
    is_close: bool = Field(description="Whether anything was found that chance hardly explains.")
    is_complete: bool = Field(description="Whether all were compared in the time that there is; if not, a remark.")
    remarks: list[str] = Field(description="What must be known about how the query was compared.")
    ends_at_chance: bool = Field(description="Whether what is no more alike than chance was left out.")
    page: int
    has_more: bool
    counted: int | None = Field(description="How many melodies of the list are in `facets`; None without them.")
    is_counted_whole: bool = Field(description="Whether the list ends there; it may go on beyond 1,000.")
    left: int | None = Field(description="How many of these have what `only` asks for.")
    facets: list[FacetAnswer] | None
    seconds: float = Field(description="What the search itself took; less when the answer was kept.")
    results: list[ResultAnswer]


# -- whose music it is ------------------------------------------------------------------------------------------------


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
    meaning: str = Field(description="The same in a word: same tune, probably, perhaps.")
    distance: float
    incipit: int = Field(description="The incipit that found it, from 1.")
    incipits: list[int] = Field(description="All incipits that did.")
    version: int = Field(description="Sources of one version have the same notes; those of 0 have the notes asked for.")
    link: str | None = Field(default=None, description="It at its source, where the operator gave a pattern.")


class AttributionAnswer(BaseModel):
    """A composer that sources of the tune name; sources that name nobody are together."""

    name: str
    is_anonymous: bool
    expected: float
    meaning: str
    close: int = Field(description="Sources that chance hardly explains.")
    identical: int = Field(description="Sources with the notes asked for.")
    incipits: list[int] = Field(description="The incipits that found one of its sources, from 1.")
    sources: list[AttributedAnswer]


class IdentifyAnswer(BaseModel):
    """Who the other sources of a tune say that it is by, the surest attribution first."""

    record: str | None = Field(description="The record that was asked about, where it has a number.")
    records: list[str] = Field(description="All records that were given; only one is answered.")
    deviations: list[str] = _DEVIATIONS
    sentence: str
    remarks: list[str]
    is_close: bool = Field(description="Whether anything was found that chance hardly explains.")
    is_disputed: bool = Field(description="Whether close sources name different composers.")
    claimed: str | None = Field(description="The composer that the record itself names.")
    incipits_tried: list[int] = Field(description="From 1; of those with the same notes only the first.")
    searched: int
    attributions: list[AttributionAnswer]


# -- the server -------------------------------------------------------------------------------------------------------


class CollectionAnswer(BaseModel):
    """What is searched."""

    title: str
    melodies: int
    roslin: str


class HealthAnswer(BaseModel):
    """Whether searches can be answered."""

    status: str
    melodies: int
    searching: int
    is_ready: bool = Field(description="Whether the first searches, which take longer, are done.")
