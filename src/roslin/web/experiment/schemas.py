"""The shapes of requests in JSON, with strict limits: whatever is not in here is refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

MOST_DECISIONS = 200  # in one request; a page that was long without a connection sends several
_MOST_NUMBER = 10_000
_MOST_MS = 2**53

Key = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Number = Annotated[int, Field(ge=0, le=_MOST_NUMBER)]
Device = Annotated[str, Field(max_length=40, pattern=r"^[A-Za-z0-9 ,._-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Made(_Strict, ABC):
    key: Key
    made_ms: Annotated[int, Field(ge=0, le=_MOST_MS)] = 0

    @abstractmethod
    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept, with the documents of this order in place of their numbers."""


class SortedBody(_Made):
    """A candidate resembles the query, or perhaps, or not."""

    kind: Literal["sorted"]
    document: Number
    verdict: Literal["resembles", "perhaps", "no"]

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept."""
        return {"document": shown[self.document], "verdict": self.verdict}


class PlacedBody(_Made):
    """A candidate goes to a place in the list."""

    kind: Literal["placed"]
    document: Number
    after: Number | None = None
    tied: bool = False

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept."""
        after = None if self.after is None else shown[self.after]
        return {"document": shown[self.document], "after": after, "tied": self.tied}


class ChoseBody(_Made):
    """One of two or three is most similar; None: there is no difference."""

    kind: Literal["chose"]
    documents: Annotated[list[Number], Field(min_length=2, max_length=3)]
    best: Number | None = None

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept."""
        best = None if self.best is None else shown[self.best]
        return {"documents": [shown[number] for number in self.documents], "best": best}


class HeardBody(_Made):
    """A candidate, or the query (None), was played and has ended."""

    kind: Literal["heard"]
    document: Number | None
    duration_ms: Annotated[int, Field(ge=0)] | None = None

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept."""
        document = None if self.document is None else shown[self.document]
        return {"document": document} | ({} if self.duration_ms is None else {"duration_ms": self.duration_ms})


class ComparedBody(_Made):
    """The differences of two melodies were shown; None is the query."""

    kind: Literal["compared"]
    documents: Annotated[list[Number | None], Field(min_length=2, max_length=2)]

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """What is kept."""
        return {"documents": [None if number is None else shown[number] for number in self.documents]}


class UndoneBody(_Made):
    """A decision is taken back."""

    kind: Literal["undone"]
    undoes: Key

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:  # noqa: ARG002 - it names no document
        """What is kept."""
        return {"undoes": self.undoes}


AnyDecision = Annotated[
    SortedBody | PlacedBody | ChoseBody | HeardBody | ComparedBody | UndoneBody, Field(discriminator="kind")
]


class DecisionsBody(_Strict):
    """Decisions of one trial, in the order in which they were made."""

    decisions: Annotated[list[AnyDecision], Field(min_length=1, max_length=MOST_DECISIONS)]
    device: Device = ""


# Reads decisions from the bytes of a request.
DECISIONS_READER: TypeAdapter[DecisionsBody] = TypeAdapter(DecisionsBody)


class FinishBody(_Strict):
    """The end of a trial."""

    key: Key
    device: Device = ""
