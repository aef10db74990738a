"""What is served, and whether it is ready."""

from __future__ import annotations

from pydantic import BaseModel, Field


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
