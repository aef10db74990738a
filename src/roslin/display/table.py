"""`Table`: rows of named cells, as text, HTML, TSV, CSV, JSON, LaTeX or a data frame.

A cell is a text, a number, or None for nothing. A number that is not known is NaN. Numbers keep their full precision in
frames and files (TSV, CSV, JSON), and are rounded where people read them (text, HTML, LaTeX).
"""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import accumulate
from typing import Any, Literal, Self

from roslin.errors import ArgumentError, UnknownNameError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how the cells begin that a spreadsheet runs
FrameLibrary = Literal["pandas", "polars"]
_LIBRARIES = ("pandas", "polars")
_WIDEST = 50
_SPECIAL_IN_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
)


def tame(cell: Any) -> Any:
    """A cell that no spreadsheet runs as a formula: people type anything."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in order, the columns to show, and texts about them.

    `title` is for people and `key` for programs; `note` is what a reader must know. `marks` names a column: a page
    marks the rows that have something in it. `words` names a column of sentences: text has them below the table.
    Text shows the columns in `coarse` with one decimal: more would only look exact. `headings` has the words for
    columns that people read under another name than programs.

    >>> print(Table(("rank", "title"), ({"rank": 1, "title": "Roslin Castle"},)))
    rank  title
       1  Roslin Castle
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    title: str = ""
    note: str = ""
    key: str = ""
    marks: str = ""
    words: str = ""
    coarse: tuple[str, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: tuple[str, ...], rows: Iterable[Sequence[Any]], title: str = "", **about: Any) -> Self:
        return cls(columns, tuple(dict(zip(columns, row, strict=True)) for row in rows), title, **about)

    def __str__(self) -> str:
        said = ["", *(str(row[self.words]) for row in self.rows)] if self.words in self.columns else []
        return "\n".join([*self._lines(self.without(self.words).columns), *said])

    def _lines(self, columns: Sequence[str]) -> Iterator[str]:
        """A header and a line for each row, in columns. Numbers are rounded, long texts cut unless nothing follows."""
        cells = [
            [_cell(row.get(name), name, 1 if name in self.coarse else 4, name == columns[-1]) for name in columns]
            for row in self.rows
        ]
        header = list(map(self.heading, columns))
        widths = [max([_width(name), *(_width(row[k]) for row in cells)]) for k, name in enumerate(header)]
        numeric = [all(isinstance(row.get(name), (int, float)) for row in self.rows) for name in columns]
        for line in [header, *cells]:
            blanks = (" " * (width - _width(text)) for text, width in zip(line, widths, strict=True))
            places = zip(line, blanks, numeric, strict=True)
            yield "  ".join(blank + text if right else text + blank for text, blank, right in places).rstrip()

    def heading(self, name: str) -> str:
        """The words for a column where people read them."""
        return self.headings.get(name, name)

    @property
    def numeric(self) -> tuple[bool, ...]:
        return tuple(all(not isinstance(row.get(name), str) for row in self.rows) for name in self.columns)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows for JSON, which has neither NaN nor infinity: both become None."""

        def known(cell: Any) -> Any:
            return None if isinstance(cell, float) and not math.isfinite(cell) else cell

        return [{name: known(row.get(name)) for name in self.columns} for row in self.rows]

    def only(self, *columns: str) -> Table:
        return replace(self, columns=columns)

    def without(self, *columns: str) -> Table:
        return self.only(*(name for name in self.columns if name not in columns))

    def first(self, count: int) -> Table:
        return replace(self, rows=self.rows[:count])

    def to_html(self, *, caption: bool = True, digits: int = 4) -> str:
        """A table for a page or a notebook, under its title where a `caption` is wanted."""
        from roslin.display.templates import render

        def shown(cell: Any, name: str) -> str:
            if _is_missing(cell):
                return "–"
            return rounded(cell, digits, name) if isinstance(cell, float) else str(cell)

        return render("display/table.html", table=self, caption=caption, shown=shown, sort_key=_sort_key)

    def to_latex(self) -> str:
        """A table for a paper (it needs the package booktabs), under a comment with its title."""
        lines = [
            f"% {' '.join(self.title.split())}",
            f"\\begin{{tabular}}{{{''.join('r' if right else 'l' for right in self.numeric)}}}",
            "\\toprule",
            " & ".join(latex_text(self.heading(name)) for name in self.columns) + r" \\",
            "\\midrule",
            *(" & ".join(latex_text(row.get(name), name) for name in self.columns) + r" \\" for row in self.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def to_tsv(self) -> str:
        """Tab-separated values under a header. Unknown values are empty; white space in a cell becomes one space."""
        lines = [self.columns, *self._written()]
        return "".join("\t".join(" ".join(cell.split()) for cell in line) + "\n" for line in lines)

    def to_csv(self) -> str:
        """Comma-separated values under a header. Unknown values are empty cells."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self._written())
        return stream.getvalue()

    def to_json(self) -> str:
        return _json(self.records)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        return frame({name: [row.get(name) for row in self.rows] for name in self.columns}, library)

    def _written(self) -> Iterable[list[str]]:
        for row in self.rows:
            cells = (row.get(name) for name in self.columns)
            yield ["" if _is_missing(cell) else str(cell) for cell in cells]

    def _repr_html_(self) -> str:
        return self.to_html()


def _cell(value: Any, name: str, digits: int, is_last: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "–" if math.isnan(value) else rounded(value, digits, name)
    text = " ".join(str(value).split())
    return text if is_last or _width(text) <= _WIDEST else _cut(text, _WIDEST - 1) + "…"


def _width(text: str) -> int:
    """How many columns of a terminal a text takes: a decomposed accent takes none, a Chinese character two."""
    return len(text) if text.isascii() else sum(map(_width_of_sign, text))


def _width_of_sign(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _cut(text: str, width: int) -> str:
    """As much of a text as fits. An accent stays with its letter."""
    ends = accumulate(map(_width_of_sign, text))
    return "".join(sign for sign, end in zip(text, ends, strict=True) if end <= width)


def rounded(value: float, digits: int, name: str) -> str:
    """A number of a column as people read it. A p-value is never rounded to nothing.

    >>> rounded(0.0000499, 4, "p"), rounded(0.0499, 4, "largest_p"), rounded(0.0000499, 4, "distance")
    ('5.0e-05', '0.0499', '0.0000')
    """
    text = f"{value:.{digits}f}"
    is_p = name == "p" or name.startswith("p_") or name.endswith("_p")
    return f"{value:.1e}" if is_p and value > 0 and not float(text) else text


def latex_text(value: Any, name: str = "") -> str:
    """A value for LaTeX, of the column `name`: signs that mean something there are written out.

    >>> latex_text("50% of a_b"), latex_text(0.5), latex_text(None)
    ('50\\\\% of a\\\\_b', '0.5000', '--')
    """
    if _is_missing(value):
        return "--"
    if isinstance(value, float):
        return rounded(value, 4, name) if math.isfinite(value) else f"${'-' * (value < 0)}\\infty$"
    return str(value).translate(_SPECIAL_IN_LATEX)


def frame(columns: Mapping[str, Sequence[Any]], library: FrameLibrary = "pandas") -> Any:
    """A data frame with these columns. Neither library is a dependency: users of data frames have one."""
    if library not in _LIBRARIES:
        raise UnknownNameError("library of data frames", str(library), _LIBRARIES)
    try:
        made_by = import_module(library)
    except ImportError:
        raise ArgumentError(f"a data frame of {library} needs that library; pip install {library}") from None
    return made_by.DataFrame(dict(columns))


def tables_to_json(tables: Sequence[Table]) -> str:
    """One object, with the rows of each table under its key."""
    return _json({table.key: table.records for table in tables})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _sort_key(cell: Any) -> str | None:
    """The number by which a page sorts, as JavaScript reads it; None for a text."""
    if _is_missing(cell):
        return "-Infinity"
    if isinstance(cell, float) and math.isinf(cell):
        return "Infinity" if cell > 0 else "-Infinity"
    return repr(cell) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else None
