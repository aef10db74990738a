"""Rows as lines of text, as a terminal and a text file show them; numbers of things in words; text for XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["counted", "for_xml", "table_lines"]

_WIDEST = 50
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_COARSE = ("percent", "ms")  # columns in which more than one decimal would only look exact


def table_lines(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """A header and a line for each row, in columns; numbers are rounded, long texts cut unless nothing follows."""
    cells = [[_cell(row.get(name), name, name == columns[-1]) for name in columns] for row in rows]
    widths = [max([len(name), *(len(row[k]) for row in cells)]) for k, name in enumerate(columns)]
    numeric = [all(isinstance(row.get(name), (int, float)) for row in rows) and bool(rows) for name in columns]
    for line in [list(columns), *cells]:
        padded = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _cell(value: Any, name: str, is_last: bool) -> str:
    """A value in a table: numbers rounded, long texts cut unless nothing follows them."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.1f}" if name in _COARSE else f"{value:.4f}"
    text = " ".join(str(value).split())
    return text if is_last or len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, with the word for one or for many (by default with an s).

    >>> counted(1, "note"), counted(0, "note"), counted(1200, "melody", "melodies")
    ('1 note', '0 notes', '1,200 melodies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def for_xml(text: str) -> str:
    """A text without the signs that no XML document can hold, not even escaped.

    >>> for_xml("Salve\\x01 Regina")
    'Salve Regina'
    """
    return _NOT_IN_XML.sub("", text)
