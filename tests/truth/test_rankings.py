"""Rankings in: CSV, JSON, rows; every refusal says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from roslin.errors import ArgumentError, FormatError, RoslinError, UnknownNameError
from roslin.truth import read_rankings, write_rankings
from roslin.truth.rankings import as_rankings

HEAD = "query,expert,document,rank\n"


def file(folder: Path, text: str, name: str = "said.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_with_unranked_and_partial(tmp_path: Path) -> None:
    said = read_rankings(file(tmp_path, HEAD + "q,ann,a,1\r\nq,ann,b,\nq,bob,b,1\nr,ann,c,1\n"))
    assert list(said) == ["q", "r"]
    assert said["q"].documents == ("a", "b")
    np.testing.assert_array_equal(said["q"].ranks, [[1, np.nan], [np.nan, 1]])
    assert said.experts == ("ann", "bob")
    assert said["q"].column("a").tolist() == [1.0]
    assert repr(said) == "Rankings('said', 2 queries, 2 experts)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q,ann,a,1\nq,ann,b,1\n",
            r"said.csv:3: expert ann gives rank 1 twice for query q \(a in line 2\); expected another rank, or room .*"
            "; found b",
        ),
        ("q,ann,a,0\n", r"said.csv:2: bad rank; expected 1 \(the most similar\) or more, or nothing; found 0"),
        ("q,ann,a,-2\n", r"said.csv:2: bad rank; .*found -2"),
        ("q,ann,a,inf\n", r"said.csv:2: bad rank; .*found inf"),
        ("q,ann,a,best\n", r"said.csv:2: bad rank; expected a number; found 'best'"),
        ("q,ann,a,1\nnew,ann,a,1\n", r"said.csv:3: unknown query; expected one of q; found new"),
        ("q,ann,a,1\n\nq,ann,a,2\n", r"said.csv:4: expert ann judges a again for query q \(first in line 2\)"),
        ("q,,a,1\n", r"said.csv:2: no expert; expected a name; found nothing"),
        ("q,ann,a\n", r"said.csv:2: broken line; expected 4 columns; found 3"),
        ("", r"said.csv: no rankings; expected at least one row; found none"),
    ],
)
def test_refusals_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_rankings(file(tmp_path, HEAD + text), queries=["q"])


def test_a_column_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no column rank; expected a header with rank; found query, expert, document"):
        read_rankings(file(tmp_path, "query,expert,document\nq,ann,a\n"))


@pytest.mark.parametrize(
    ("ranks", "is_tie"),
    [
        ("1.5 1.5", True),  # the mean of the places of two,
        ("1 3 3 3 5", True),  # of three,
        ("2 2 2 4", True),
        ("1 2 3.5 3.5", True),  # and at the end
        ("1 2 2 4", True),  # the first place of two, with room for them,
        ("1 2 2 2 5 5 7", True),  # of three and of two
        ("9 4 4 1", True),  # in any order, and with more room than needed
        ("1 1", False),  # nothing says that this is a tie
        ("1 2 3 3", False),
        ("1 2 2 3", False),
        ("1 2 2 2 4", False),  # room for two, but there are three
        ("1 4 4 4 5", False),  # neither the mean of the places 2, 3, 4 nor their first
    ],
)
def test_ties_and_slips(tmp_path: Path, ranks: str, is_tie: bool) -> None:
    given = ranks.split()
    path = file(tmp_path, HEAD + "".join(f"q,ann,d{k},{rank}\n" for k, rank in enumerate(given)) + "q,ann,x,\n")
    assert read_rankings(path, ties=True)["q"].ranks[0, :-1].tolist() == list(map(float, given))
    if is_tie:
        assert read_rankings(path)["q"].ranks[0, :-1].tolist() == list(map(float, given))
    else:
        with pytest.raises(FormatError, match=r"said.csv:\d: expert ann gives rank \d twice"):
            read_rankings(path)


def test_a_tie_of_three_in_json(tmp_path: Path) -> None:
    said = read_rankings(file(tmp_path, '{"q": {"ann": ["a", ["b", "c", "d"], "e"]}}', "said.json"))
    assert said["q"].ranks.tolist() == [[1, 3, 3, 3, 5]]


@pytest.mark.parametrize(
    "value",
    [
        {"q": {"ann": {"a": 1, "b": 2.5, "c": 2.5, "d": None}}},
        {"q": {"ann": ["a", ["b", "c"]]}},
        [{"query": "q", "expert": "ann", "document": d, "rank": r} for d, r in (("a", 1), ("b", 2.5), ("c", 2.5))],
    ],
)
def test_json(tmp_path: Path, value: Any) -> None:
    said = read_rankings(file(tmp_path, json.dumps(value), "said.json"))["q"]
    assert said.ranks[0, :3].tolist() == [1, 2.5, 2.5]
    assert said.documents[:3] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "said.json: not rankings; expected a list of rows, or an object .*; found int"),
        ({"q": 3}, "said.json: query q; expected an object {expert: ranks}; found int"),
        ({"q": {"ann": 3}}, "said.json: query q, expert ann; expected an object .* or a list of documents; found int"),
        ([{"query": "q"}], "said.json, judgement 1: broken row; expected an object with query, expert, document, rank"),
        ({"q": {"ann": ["a", "b", "a"]}}, r"said.json, judgement 3: expert ann judges a again .*first in judgement 1"),
        ({"q": {"ann": {"a": 0}}}, "said.json, judgement 1: bad rank; expected 1 .*; found 0"),
    ],
)
def test_json_refusals(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_rankings(file(tmp_path, json.dumps(value), "said.json"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"q": {"ann": ["a", "b"], "ann": ["b", "a"]}}', "ann"),
        ('{"q": {"ann": {"a": 1}}, "q": {"bob": {"a": 1}}}', "q"),
        ('{"q": {"ann": {"a": 1, "b": 2, "a": 3}}}', "a"),
        ('[{"query": "q", "expert": "ann", "document": "a", "rank": 1, "rank": 2}]', "rank"),
    ],
)
def test_nothing_is_lost_where_json_has_a_name_twice(tmp_path: Path, text: str, name: str) -> None:
    expected = f"said.json: broken JSON; expected each name once in an object; found {name} twice"
    with pytest.raises(FormatError, match=expected):
        read_rankings(file(tmp_path, text, "said.json"))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    said = as_rankings([("q", "ann", "a", 1), ("q", "ann", "b", None), ("q", "bob, jr.", "b", 2.5)])
    write_rankings(said, tmp_path / "out.csv")
    again = read_rankings(tmp_path / "out.csv")
    assert list(again.rows()) == list(said.rows())
    large = as_rankings([("q", "ann", "a", 1234567.5)])
    write_rankings(large, tmp_path / "large.csv")
    assert list(read_rankings(tmp_path / "large.csv").rows()) == list(large.rows())
    with pytest.raises(ArgumentError, match=r"rankings are written to a file that ends with .csv; got out.json"):
        write_rankings(said, tmp_path / "out.json")


def test_rows_frames_and_choices() -> None:
    frame = pandas.DataFrame({"query": ["q"], "expert": ["ann"], "document": ["a"], "rank": [2]})
    assert list(as_rankings(frame).rows()) == [("q", "ann", "a", 2.0)]
    said = as_rankings([("q", "ann", "a", 1)])
    assert list(said.only(["q"])) == ["q"]
    with pytest.raises(UnknownNameError, match="unknown query 'x'; known: q"):
        said.only(["x"])
    with pytest.raises(UnknownNameError, match="unknown document of query 'q' 'z'; known: a"):
        said["q"].column("z")
    with pytest.raises(ArgumentError, match="for a file: read_rankings"):
        as_rankings("said.csv")
    with pytest.raises(RoslinError, match=r"^row 1: broken row; expected \(query, expert, document, rank\)"):
        as_rankings([("q", "ann", "a")])
