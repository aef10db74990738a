"""The shapes of JSON answers; the OpenAPI document is made from them."""

from __future__ import annotations

from pydantic import BaseModel, Field

__all__ = [
    "AboutAnswer",
    "AccountAnswer",
    "CollectionAnswer",
    "ExplainAnswer",
    "FilterAnswer",
    "HealthAnswer",
    "MatchAnswer",
    "MatcherAnswer",
    "MelodyAnswer",
    "MoveAnswer",
    "NoteAnswer",
    "PartAnswer",
    "ReadAnswer",
    "Refusal",
    "RefusalBody",
    "RefusedNotation",
    "ResultAnswer",
    "SearchAnswer",
    "StepAnswer",
    "UploadAnswer",
    "UploadChoice",
]


class RefusedNotation(BaseModel):
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


class NoteAnswer(BaseModel):
    """One note; times in quarter notes, 60 is middle C."""

    onset: float
    duration: float
    pitch: int
    name: str
    is_grace: bool
    voice: int


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
    link: str | None = Field(description="The melody at its source, where the operator gave a pattern.")


class MelodyAnswer(AboutAnswer):
    """A melody with all its notes."""

    notation: str | None
    music: str | None
    notes: list[NoteAnswer]


class MatcherAnswer(BaseModel):
    """A way to compare melodies."""

    name: str
    summary: str
    reference: str
    kind: str = Field(description="How it is explained: transport, alignment, grams, places, sum or likeness.")


class FilterAnswer(BaseModel):
    """One step of a chain of filters."""

    sentence: str
    removed: int
    left: int


class MatchAnswer(BaseModel):
    """Which notes belong together. Notes are rows of the note tables, from 0."""

    kind: str
    words: str
    transposition: str
    tempo: str
    query_notes: list[int]
    candidate_notes: list[int]


class ResultAnswer(AboutAnswer):
    """One line of a ranked list."""

    rank: int
    distance: float
    match: MatchAnswer


class SearchAnswer(BaseModel):
    """A page of a ranked list."""

    query_notes: int
    matcher: str
    place: str
    searched: int = Field(description="How many melodies were left by the filters.")
    filters: list[FilterAnswer]
    page: int
    has_more: bool
    seconds: float = Field(description="What the search itself took; less when the answer was kept.")
    results: list[ResultAnswer]


class ReadAnswer(BaseModel):
    """A query as it was understood."""

    notation: str | None
    notes: list[NoteAnswer]
    drawing: str = Field(description="SVG")
    playing: list[list[float]] = Field(description="Rows of row, start, duration (seconds) and MIDI pitch.")


class UploadChoice(BaseModel):
    """One melody of a file, as a query."""

    label: str
    notes: int
    notation: str = Field(description="How `q` is to be read: pae or jsonl.")
    q: str
    is_cut: bool = Field(description="Whether only its beginning was taken.")


class UploadAnswer(BaseModel):
    """What a file holds."""

    format: str
    choices: list[UploadChoice]
    refused: list[str] = Field(description="Why other melodies of the file could not be read.")
    has_more: bool


class MoveAnswer(BaseModel):
    """Weight that goes from a note of the query to one of the candidate (none: it finds no partner)."""

    query_note: int
    candidate_note: int | None
    weight: float
    distance: float
    cost: float


class PartAnswer(BaseModel):
    """The query, or one of its segments, laid onto the candidate."""

    segment: int | None
    words: str
    distance: float
    moves: list[MoveAnswer]


class StepAnswer(BaseModel):
    """What some notes of the two melodies add to a distance or, below 0, take off it."""

    deed: str = Field(description="same, other, missing, added, joined, split, shared, measure or limit.")
    query_places: list[list[int]] = Field(description="The notes of each place: runs may stand at several.")
    candidate_places: list[list[int]]
    cost: float
    words: str


class AccountAnswer(BaseModel):
    """A distance that adds up: where it starts, and the cost of each step."""

    matcher: str
    start: float
    steps: list[StepAnswer]


class ExplainAnswer(BaseModel):
    """Why a candidate is as near as it is: the parts of a flow of weight, or an account."""

    kind: str
    matcher: str
    candidate: str
    distance: float
    words: str
    parts: list[PartAnswer] = []
    account: AccountAnswer | None = None
    within: AccountAnswer | None = Field(default=None, description="Of a sum, the measure that weighs most.")


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
