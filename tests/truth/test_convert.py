"""A truth in another form, and what is said of what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth import Truth, read_truth, write_truth
from roslin.truth.qrel import convert_truth, losses

FULL = Truth(
    {"q1": [["a", "b"], ["c d"]], "q2": [["e"]], "q3": []},
    gains={"q1": [3, 0.5], "q2": [1]},
    nonrelevant={"q1": ["x"], "q2": []},
    name="experts",
)
NO_JUDGEMENT = "query q3 is lost: it has no judgement"


def test_json_keeps_everything(tmp_path: Path) -> None:
    assert convert_truth(FULL, tmp_path / "t.json") == []
    assert read_truth(tmp_path / "t.json") == FULL
    assert read_truth(tmp_path / "t.json").name == "experts"


def test_a_grouped_qrel_has_no_gains(tmp_path: Path) -> None:
    assert convert_truth(FULL, tmp_path / "t.qrel") == [
        NO_JUDGEMENT,
        "gains are lost for query q1: only the order of the groups is kept",
        "that nothing was judged not relevant is lost for query q2",
    ]
    assert read_truth(tmp_path / "t.qrel")["q1"] == FULL["q1"]


def test_csv_has_no_name_either(tmp_path: Path) -> None:
    said = convert_truth(FULL, tmp_path / "t.csv")
    assert said[-1] == "the name 'experts' is lost: it will be read as 't'"
    assert len(said) == 4


def test_trec_has_gains(tmp_path: Path) -> None:
    assert convert_truth(FULL, tmp_path / "t.qrel", "trec") == [
        NO_JUDGEMENT,
        "the name 'experts' is lost: it will be read as 't'",
    ]
    assert (tmp_path / "t.qrel").read_text().splitlines()[:4] == ["q1 0 a 3", "q1 0 b 3", "q1 0 c%20d 0.5", "q1 0 x 0"]
    assert read_truth(tmp_path / "t.qrel").gains("q1") == (3.0, 0.5)


def test_trec_says_that_all_judgements_are_known(tmp_path: Path) -> None:
    said = convert_truth(Truth({"q": [["a"]]}), tmp_path / "t.txt", "trec")
    assert said == ["query q will be read as if all judged documents were known: bpref counts only these"]


def test_many_queries_are_counted() -> None:
    truth = Truth({f"q{k}": [] for k in range(7)} | {"r": [["a"]]})
    assert losses(truth, Truth({"r": [["a"]]})) == [
        "7 queries (q0, q1, q2, q3, q4 and 2 more) are lost: they have no judgement"
    ]


def test_no_judgement_at_all(tmp_path: Path) -> None:
    empty = Truth({"q": []})
    assert convert_truth(empty, tmp_path / "t.qrel") == ["no query has a judgement: t.qrel is empty"]
    assert convert_truth(empty, tmp_path / "t.json") == []


def test_forms_that_would_not_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown format to write a truth in 'xml'; known: grouped, trec, json"):
        write_truth(FULL, tmp_path / "t.qrel", "xml")
    for name, form in (("t.csv", "trec"), ("t.qrel", "json"), ("t.json", "csv")):
        with pytest.raises(ArgumentError, match=f"a file called {name} would not be read as {form}; give it another"):
            write_truth(FULL, tmp_path / name, form)
    assert list(tmp_path.iterdir()) == []
