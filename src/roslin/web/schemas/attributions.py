"""Whose music it is: what the other sources of a tune say."""

from __future__ import annotations

from pydantic import BaseModel, Field

from roslin.web.schemas.melodies import DEVIATIONS


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
    deviations: list[str] = DEVIATIONS
    sentence: str
    remarks: list[str]
    is_close: bool = Field(description="Whether anything was found that chance hardly explains.")
    is_disputed: bool = Field(description="Whether close sources name different composers.")
    claimed: str | None = Field(description="The composer that the record itself names.")
    incipits_tried: list[int] = Field(description="From 1; of those with the same notes only the first.")
    searched: int
    attributions: list[AttributionAnswer]
