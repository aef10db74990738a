"""Text for terminals and files: tables in lines, deviations of a reading, numbers of things, and text for XML."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from roslin.errors import Problem

_WIDEST = 50
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_PLACES_NAMED = 4


def table_lines(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], coarse: Sequence[str] = ()) -> Iterator[str]:
    """A header and a line for each row, in columns; numbers are rounded, long texts cut unless nothing follows.

    Numbers have four decimals, in `coarse` columns one.
    """
    cells = [
        [_cell(row.get(name), name, 1 if name in coarse else 4, name == columns[-1]) for name in columns]
        for row in rows
    ]
    widths = [max([_width(name), *(_width(row[k]) for row in cells)]) for k, name in enumerate(columns)]
    numeric = [all(isinstance(row.get(name), (int, float)) for row in rows) and bool(rows) for name in columns]
    for line in [list(columns), *cells]:
        blanks = (" " * (width - _width(text)) for text, width in zip(line, widths, strict=True))
        padded = (
            blank + text if right else text + blank for text, blank, right in zip(line, blanks, numeric, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _cell(value: Any, name: str, digits: int, is_last: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "–" if math.isnan(value) else rounded(value, digits, name)
    text = " ".join(str(value).split())
    return text if is_last or _width(text) <= _WIDEST else _cut(text, _WIDEST - 1) + "…"


def rounded(value: float, digits: int, name: str) -> str:
    """A number of a column as people read it. A p-value is never rounded to nothing.

    >>> rounded(0.0000499, 4, "p"), rounded(0.0499, 4, "largest_p"), rounded(0.0000499, 4, "distance")
    ('5.0e-05', '0.0499', '0.0000')
    """
    text = f"{value:.{digits}f}"
    is_p = name == "p" or name.startswith("p_") or name.endswith("_p")
    return f"{value:.1e}" if is_p and value > 0 and not float(text) else text


def _width(text: str) -> int:
    """How many columns of a terminal a text takes: a decomposed accent takes none, a Chinese character two."""
    return len(text) if text.isascii() else sum(map(_width_of_sign, text))


def _width_of_sign(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _cut(text: str, width: int) -> str:
    """As much of a text as fits; an accent stays with its letter."""
    ends = accumulate(map(_width_of_sign, text))
    return "".join(sign for sign, end in zip(text, ends, strict=True) if end <= width)


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


def deviations(problems: Iterable[Problem]) -> list[str]:
    """A line for each kind of deviation of a reading from what was written, in their order, with all places.

    >>> deviations([Problem("sharp", "", "'X'", 3, taken="x"), Problem("sharp", "", "'X'", 9, taken="x")])
    ["read 'X' as x at columns 3 and 9"]
    >>> deviations([Problem("mark of doubt", "", "'?'", 7, line=2, taken="nothing")])
    ["left out '?' at line 2, column 7"]
    """
    places: dict[tuple[str, int], list[int]] = {}
    for problem in problems:
        what = f"read {problem.found} as {problem.taken}" if problem.taken else problem.reason
        what = f"left out {problem.found}" if problem.taken == "nothing" else what
        places.setdefault((what, problem.line), []).append(problem.column)
    return [f"{what}{_where(line, columns)}" for (what, line), columns in places.items()]


def _where(line: int, columns: list[int]) -> str:
    named = [str(column) for column in dict.fromkeys(columns) if column]
    if not named:
        return f" at line {line}" if line else ""
    at = f" at line {line}, " if line else " at "
    if len(named) == 1:
        return f"{at}column {named[0]}"
    if len(named) > _PLACES_NAMED:
        named = [*named[: _PLACES_NAMED - 1], f"{len(named) - _PLACES_NAMED + 1} more"]
    return f"{at}columns {', '.join(named[:-1])} and {named[-1]}"
