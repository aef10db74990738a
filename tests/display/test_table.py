"""The one table, in all its forms."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from html.parser import HTMLParser

import pytest

from roslin.display.table import Table, latex_text, tables_to_json
from roslin.errors import ArgumentError, UnknownNameError

NASTY = '<b>&"a"</b>\tone\ntwo'
TABLE = Table(
    ("system", "ADR", "rank", "group"),
    (
        {"system": "dp", "ADR": 0.123456, "rank": 1, "group": 2},
        {"system": NASTY, "ADR": math.nan, "rank": None, "group": None},
        {"system": "none", "ADR": math.inf, "rank": 10},
    ),
    "A title",
    "a note",
    key="mine",
    marks="group",
)


class Cells(HTMLParser):
    """The rows of a table: for each cell its text and what it sorts by; and which rows are marked."""

    def __init__(self, page: str):
        super().__init__()
        self.rows: list[list[tuple[str, str | None]]] = []
        self.marked: list[bool] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
            self.marked.append(dict(attrs).get("class") == "found")
        if tag in ("td", "th"):
            self.rows[-1].append(("", dict(attrs).get("data-value")))

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            text, key = self.rows[-1][-1]
            self.rows[-1][-1] = (text + data, key)


def test_html_rounds_escapes_marks_and_can_be_sorted() -> None:
    page = TABLE.to_html()
    assert "<caption>A title</caption>" in page
    assert "<caption>" not in TABLE.to_html(caption=False)
    found = Cells(TABLE.to_html(caption=False))
    head, *rows = found.rows
    assert [text for text, _ in head] == list(TABLE.columns)
    assert rows[0] == [("dp", None), ("0.1235", "0.123456"), ("1", "1"), ("2", "2")]
    assert rows[1] == [(NASTY, None), ("–", "-Infinity"), ("–", "-Infinity"), ("–", "-Infinity")]
    assert rows[2][1] == ("inf", "Infinity")
    assert found.marked == [False, True, False, False]
    assert Cells(TABLE.to_html(digits=2)).rows[1][1][0] == "0.12"
    assert re.findall(r'<th scope="col"( class="number")?>', page) == ["", *[' class="number"'] * 3]
    assert TABLE._repr_html_() == page


def test_tsv_has_a_line_for_each_row_and_nothing_for_nothing() -> None:
    lines = TABLE.to_tsv().splitlines()
    assert lines == [
        "system\tADR\trank\tgroup",
        "dp\t0.123456\t1\t2",
        '<b>&"a"</b> one two\t\t\t',
        "none\tinf\t10\t",
    ]
    odd = Table(("a\tb",), ({"a\tb": "c\rd\x85e\u2028f"},))
    assert odd.to_tsv() == "a b\nc d e f\n"
    assert "None" not in TABLE.to_tsv() + TABLE.to_csv()


def test_csv_is_read_back() -> None:
    head, *rows = csv.reader(io.StringIO(TABLE.to_csv(), newline=""))
    assert head == list(TABLE.columns)
    assert rows == [["dp", "0.123456", "1", "2"], [NASTY, "", "", ""], ["none", "inf", "10", ""]]


def test_json_has_null_for_what_json_cannot_write() -> None:
    rows = json.loads(TABLE.to_json(), parse_constant=pytest.fail)
    assert rows[0] == {"system": "dp", "ADR": 0.123456, "rank": 1, "group": 2}
    assert rows[1] == {"system": NASTY, "ADR": None, "rank": None, "group": None}
    assert rows[2]["ADR"] is None
    assert json.loads(tables_to_json([TABLE, TABLE.only("rank").first(1)])) == {"mine": [{"rank": 1}]}
    other = Table(("x",), ({"x": "é"},), key="other")
    assert tables_to_json([TABLE.first(0), other]) == '{\n "mine": [],\n "other": [\n  {\n   "x": "é"\n  }\n ]\n}\n'


def test_latex() -> None:
    table = Table(("a_b", "x"), ({"a_b": "50 % & more", "x": 0.5}, {"a_b": "\\", "x": None}), "Two\nlines")
    assert table.to_latex() == (
        "% Two lines\n\\begin{tabular}{lr}\n\\toprule\na\\_b & x \\\\\n\\midrule\n"
        "50 \\% \\& more & 0.5000 \\\\\n\\textbackslash{} & -- \\\\\n\\bottomrule\n\\end{tabular}\n"
    )
    assert [latex_text(value) for value in (math.nan, -math.inf, math.inf, 3)] == ["--", "$-\\infty$", "$\\infty$", "3"]


def test_text() -> None:
    assert str(TABLE.first(1)) == "system     ADR  rank  group\ndp      0.1235     1      2"
    said = Table(("p", "words"), ({"p": 0.5, "words": "This could be chance."},), words="words")
    assert str(said) == "     p\n0.5000\n\nThis could be chance."
    assert str(said.without("words")) == "     p\n0.5000"
    assert str(Table(("a", "b"), ())) == "a  b"


def test_columns_stay_in_line_after_decomposed_accents_and_wide_characters() -> None:
    titles = ("Dvo\u0159a\u0301k", "Dvo\u0159\u00e1k", "\u831c\u8389\u82b1", "Zdrowa\u0301s\u0301" * 12, "a\u200bb")
    rows = tuple({"title": title, "rank": rank} for rank, title in enumerate(titles, start=1))
    lines = str(Table(("title", "rank"), rows)).splitlines()
    for line in lines:
        signs = unicodedata.normalize("NFC", line).replace("\u200b", "")
        wide = sum(unicodedata.east_asian_width(sign) == "W" for sign in signs)
        assert len(signs) + wide == 50 + len("  rank"), line
    assert lines[4].split("…")[0].endswith("Zdrowa\u0301s\u0301")


def test_no_p_value_is_rounded_to_nothing() -> None:
    row = {"p": 4.9e-05, "largest_p": 1e-12, "p_max": 0.0, "ADR": 4.9e-05}
    table = Table(tuple(row), (row,))
    assert str(table).splitlines()[1].split() == ["4.9e-05", "1.0e-12", "0.0000", "0.0000"]
    assert [text for text, _ in Cells(table.to_html(digits=2)).rows[1]] == ["4.9e-05", "1.0e-12", "0.00", "0.00"]
    assert "4.9e-05 & 1.0e-12 & 0.0000 & 0.0000" in table.to_latex()


def test_frames() -> None:
    frame = TABLE.to_frame()
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["ADR"][0] == 0.123456
    assert TABLE.to_frame("polars").shape == (3, 4)
    with pytest.raises(UnknownNameError, match="unknown library of data frames 'excel'; known: pandas, polars"):
        TABLE.to_frame("excel")  # type: ignore[arg-type]


def test_a_frame_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ArgumentError, match="a data frame of polars needs that library; pip install polars"):
        TABLE.to_frame("polars")


def test_parts_of_a_table() -> None:
    assert TABLE.only("rank", "system").columns == ("rank", "system")
    assert TABLE.without("rank").columns == ("system", "ADR", "group")
    assert TABLE.first(2).rows == TABLE.rows[:2]
    assert TABLE.first(2).title == TABLE.title
