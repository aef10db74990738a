"""A record of a catalogue and its fields, as they stand in the file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SORTING_MARKS = re.compile("[\x80-\x9f]")  # catalogues mark words that sorting skips with control characters


@dataclass(slots=True)
class MarcField:
    """A field with its subfields, in their order; `line` is where it stands in the XML."""

    line: int
    subfields: list[tuple[str, str]] = field(default_factory=list)

    def all(self, code: str) -> list[str]:
        """The texts of a subfield that are not empty, without line ends and sorting marks."""
        texts = (" ".join(_SORTING_MARKS.sub("", text).split()) for name, text in self.subfields if name == code)
        return [text for text in texts if text]

    def first(self, code: str) -> str:
        """The first of these texts, or none."""
        return next(iter(self.all(code)), "")


@dataclass(slots=True)
class CatalogueRecord:
    """A record of a catalogue, with the fields that are kept; `number` counts the records of the file from 1."""

    number: int
    control_number: str = ""
    fields: dict[str, list[MarcField]] = field(default_factory=dict)
    characters: int = 0

    def all(self, tag: str, code: str) -> list[str]:
        """The texts of a subfield in all fields of a tag."""
        return [text for entry in self.fields.get(tag, ()) for text in entry.all(code)]

    def first(self, tag: str, code: str) -> str:
        """The first of these texts, or none."""
        return next(iter(self.all(tag, code)), "")
