"""Why two melodies are as far apart as they are."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from roslin.web.schemas.melodies import DEVIATIONS


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

    deviations: list[str] = DEVIATIONS


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
