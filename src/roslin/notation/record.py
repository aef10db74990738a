"""What every reader yields: one record for each melody that a source holds, read or refused.

A reader never stops at a bad record. Strict reading refuses a record with any problem; otherwise a record is refused
only when nothing useful can be read from it, and its problems are warnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roslin.errors import NotationError, Problem
from roslin.melody import Melody

__all__ = ["MAX_PROBLEMS", "METADATA_FIELDS", "VOICES", "Record", "Voices"]

# A melody for each voice of a score, or one melody of all of them.
Voices = Literal["apart", "together"]
VOICES: tuple[Voices, ...] = ("apart", "together")

# So many problems of one melody are kept: nobody reads more, and a file of nothing else must not fill the memory.
MAX_PROBLEMS = 100

# What a text field of the same name in a source becomes in a Melody; other fields go to `Melody.extra`.
METADATA_FIELDS = ("id", "title", "composer", "voice", "key", "text", "source")


@dataclass(frozen=True, slots=True)
class Record:
    """A melody with the problems met on the way, or (melody is None) the problem for which it was refused."""

    melody: Melody | None
    problems: tuple[Problem, ...] = ()

    def at(self, *, file: str = "", line: int = 0, record: str = "") -> Record:
        """The same record, with the place filled in on every problem."""
        if not self.problems:
            return self
        return Record(self.melody, tuple(p.at(file=file, line=line, record=record) for p in self.problems))

    def melody_or_raise(self) -> Melody:
        """The melody with its problems, or the problem for which it was refused as a `NotationError`."""
        if self.melody is None:
            raise NotationError(self.problems[0])
        return self.melody.with_metadata(problems=self.problems) if self.problems else self.melody
