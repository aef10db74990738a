"""`Table`: rows of named cells, the one form in which results are shown as a table.

A cell is a text, a number, or None for nothing. Numbers keep their full precision in frames and files, and are rounded
where people read them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roslin.display.frames import FrameLibrary, frame
from roslin.display.text import table_lines

__all__ = ["Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in order, the columns to show, and a title.

    >>> print(Table(("rank", "title"), ({"rank": 1, "title": "Roslin Castle"},)))
    rank  title
       1  Roslin Castle
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    title: str = ""

    def __str__(self) -> str:
        return "\n".join(table_lines(self.rows, self.columns))

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether it holds numbers."""
        return tuple(all(not isinstance(row.get(name), str) for row in self.rows) for name in self.columns)

    def to_html(self) -> str:
        """A table for a page or a notebook."""
        from roslin.display.templates import render

        return render("display/table.html", table=self, is_missing=_is_missing)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """A data frame of pandas or polars."""
        return frame({name: [row.get(name) for row in self.rows] for name in self.columns}, library)

    def _repr_html_(self) -> str:
        return self.to_html()


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
