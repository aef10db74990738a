"""A melody, its notes and what is known about it; a query as it was read; what an uploaded file holds."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from roslin.collection.folding import FOLDED_FIELDS, said_of
from roslin.melody import TICKS_PER_QUARTER, Melody, note_name
from roslin.web.written import written

DEVIATIONS: Any = Field(description="What was read otherwise than it was written, a line for each.")


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
    deviations: list[str] = DEVIATIONS
    drawing: str = Field(description="SVG")
    playing: list[list[float]] = Field(description="Rows of row, start, duration (seconds) and MIDI pitch.")


class UploadChoice(BaseModel):
    """One melody of a file, as a query."""

    label: str
    notes: int
    notation: str = Field(description="How `q` is to be read: pae or jsonl.")
    q: str
    is_cut: bool = Field(description="Whether only its beginning was taken.")
    deviations: list[str] = DEVIATIONS


class UploadAnswer(BaseModel):
    """What a file holds."""

    format: str
    choices: list[UploadChoice]
    refused: list[str] = Field(description="Why other melodies of the file could not be read.")
    has_more: bool
