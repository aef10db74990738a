"""Lists of melodies: ranked by a search or browsed, with the filters before them and the facets beside them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from roslin.matchers.base import Modes
from roslin.web.schemas.explanations import MatchAnswer
from roslin.web.schemas.melodies import DEVIATIONS, AboutAnswer


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


class ResultAnswer(AboutAnswer):
    """One line of a ranked list."""

    rank: int
    distance: float
    costs: dict[str, float] = Field(description="What it costs in each filter by editing distance.")
    expected: float | None = Field(
        description="How many melodies would be as near by chance; None where that is unknown."
    )
    meaning: str = Field(
        description="How sure it is: same notes, same tune, probably, perhaps, unlikely, no more alike than chance."
    )
    above_chance: bool = Field(description="Whether it is better than chance, or has the same notes.")
    same_notes: int = Field(description="Notes on which both agree, if one of them has no others; otherwise 0.")
    coincides: bool = Field(description="Whether it was found by the notes that coincide in time, as p2 compares.")
    match: MatchAnswer | None = Field(
        description="None where the whole list is asked for, or the time limit was reached."
    )
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
    deviations: list[str] = DEVIATIONS
    matcher: str = Field(description="With the parameters that the modes gave it.")
    compare: str
    place: str
    key: str
    searched: int = Field(description="How many melodies were left by the filters.")
    filters: list[FilterAnswer]
    is_close: bool = Field(description="Whether anything was found that chance hardly explains.")
    headline: str = Field(description="What was found, in a few words; empty where chance matches are not counted.")
    agreeing: int = Field(description="How many melodies have every note of the query.")
    is_complete: bool = Field(description="Whether all were compared in the time that there is; if not, a remark.")
    remarks: list[str] = Field(description="What must be known about how the query was compared.")
    page: int
    has_more: bool
    counted: int | None = Field(
        description="How many melodies are in `facets`: those above the line where chance begins; where there are "
        "none, or no line, the first 1,000. None without facets."
    )
    is_counted_whole: bool = Field(description="Whether these are all; there may be more than 1,000.")
    left: int | None = Field(description="How many of these have what `only` asks for.")
    facets: list[FacetAnswer] | None
    seconds: float = Field(description="What the search itself took; less when the answer was kept.")
    results: list[ResultAnswer]
