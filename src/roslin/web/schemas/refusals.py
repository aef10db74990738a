"""Why a request is refused: the one shape of errors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


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
