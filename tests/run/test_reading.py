"""Runs from every form of input, and what broken ones say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from roslin.errors import ArgumentError, FormatError
from roslin.run import Ranking, Run, read_run

TREC = "q1 Q0 b 1 -0.5 dp\nq1 Q0 a 2 -1.0 dp\nq2 Q0 c 1 3 dp\n"
EXPECTED = {"q1": ("b", "a"), "q2": ("c",)}


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine.run", TREC),
        ("mine.txt", TREC.replace("\n", "\r\n")),
        ("mine.trec", "\n".join(reversed(TREC.splitlines()))),
        ("mine.json", json.dumps({"q1": {"a": -1.0, "b": -0.5}, "q2": {"c": 3}})),
        ("mine.csv", "query,document,score\nq1,a,-1\nq1,b,-0.5\nq2,c,3\n"),
        ("mine.tsv", "qid\tdocno\tdistance\nq1\ta\t1\nq1\tb\t0.5\nq2\tc\t0\n"),
        ("mine.csv", "query,document,rank\nq1,a,2\nq1,b,1\nq2,c,1\n"),
    ],
)
def test_every_form(tmp_path: Path, name: str, text: str) -> None:
    run = read_run(write(tmp_path, name, text))
    assert run.lists == EXPECTED
    assert run.name == "mine"
    assert repr(run) == "Run('mine', 2 queries, 3 hits)"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.run", TREC, "score"),
        ("x.csv", "query,document,score\nq,a,-1\n", "score"),
        ("x.csv", "query,document,distance\nq,a,1\n", "distance"),
        ("x.csv", "query,document,rank\nq,a,1\n", "rank"),
    ],
)
def test_what_the_scores_were_is_known(tmp_path: Path, name: str, text: str, kind: str) -> None:
    """A negative score is no distance: only the source can tell."""
    run = read_run(write(tmp_path, name, text))
    assert run.kind == run.named("other").kind == kind
    assert run.named("other").name == "other"
    assert run.name == "x"


def test_lists_have_no_scores(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, "mine.json", json.dumps({"q1": ["b", "a"], "q2": ["c"]})))
    assert run.lists == EXPECTED
    assert run.values("q1") is None
    assert run.kind == "order"
    assert read_run({"q1": {"b": 2.0, "a": 1.0}}).values("q1") == (2.0, 1.0)


def test_frames_rows_and_runs(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]}
    assert read_run(pd.DataFrame(columns)).lists == EXPECTED
    assert read_run(pa.table(columns)).lists == EXPECTED
    parquet.write_table(pa.table(columns), tmp_path / "mine.parquet")
    assert read_run(tmp_path / "mine.parquet").lists == EXPECTED
    assert read_run([("q1", "a", 1), ("q1", "b", 2), ("q2", "c", 3)]).lists == EXPECTED
    found = [
        Run({query: {id: 0.5 * rank for rank, id in enumerate(ids)}}, name="dp", kind="distance")
        for query, ids in EXPECTED.items()
    ]
    run = read_run(found)
    assert run.lists == EXPECTED
    assert run.name == "dp"
    assert run.kind == "distance"
    assert read_run([*found, Run([Ranking("q3", (), ())], name="dp", kind="distance")]).lists == {**EXPECTED, "q3": ()}
    assert read_run(found[0]).lists == {"q1": ("b", "a")}
    assert read_run(run) is run


def test_what_search_writes_is_read_again(tmp_path: Path) -> None:
    run = Run({"a query": {"50% off": 0.0, "b c": 2.5}}, name="dp(place='inside')", kind="distance")
    assert read_run(write(tmp_path, "x.run", run.to_trec())).lists == {"a query": ("50% off", "b c")}


def test_ties_keep_the_order_of_their_ranks_then_lines(tmp_path: Path) -> None:
    text = "q Q0 c 3 1 t\nq Q0 a 2 1 t\nq Q0 b 1 1 t\nq Q0 z 9 2 t\nq Q0 e 5 1 t\nq Q0 d 5 1 t\n"
    assert read_run(write(tmp_path, "x.run", text)).ranking("q") == ("z", "b", "a", "c", "e", "d")
    table = "query,document,score,rank\nq,c,1,3\nq,a,1,2\nq,z,2,9\n"
    assert read_run(write(tmp_path, "x.csv", table)).ranking("q") == ("z", "a", "c")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.run", TREC + "q2 Q0 c 1\n", r"x\.run:4: broken line; expected 6 columns .*; found 4 columns"),
        ("x.run", "q Q0 a 1 nan t\n", r"x\.run:1: bad score; expected a number; found 'nan'"),
        ("x.run", "q Q0 a 1 high t\n", r"x\.run:1: bad score; expected a number; found 'high'"),
        ("x.run", "q Q0 a first 1 t\n", r"x\.run:1: bad rank; expected a whole number; found 'first'"),
        ("x.json", '{"q": {"a": NaN}}', r"x\.json: query 'q': the score of 'a' is NaN; expected a number"),
        ("x.json", '{"q": "abc"}', r"x\.json: query 'q': a ranking must be a list of ids or"),
        ("x.json", "[]", r"x\.json: not a run; expected an object"),
        ("x.csv", "query,document\nq,a\n", r"x\.csv: no column score or distance or rank"),
        ("x.csv", "query,document,score\nq,a,\n", r"x\.csv:2: bad score; expected a number; found ''"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_run(write(tmp_path, name, text))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"q": {"a": math.nan}}, "the score of 'a' is NaN"),
        ({"q": {"a": "much"}}, "the score of 'a' must be a number; got 'much'"),
        ({"q": 3}, "a ranking must be a list of ids"),
        ([("q", "a")], "row 1 of the run must be"),
        (3, "a run must be a path, a mapping"),
    ],
)
def test_bad_values(source: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_run(source)


def test_a_copy_is_kept_as_a_wasted_rank(tmp_path: Path) -> None:
    assert read_run(write(tmp_path, "x.run", "q Q0 a 1 3 t\nq Q0 a 2 2 t\n")).ranking("q") == ("a", "a")
    assert Run.from_rows([("q", "a", 1.0), ("q", "a", 2.0)]).values("q") == (2.0, 1.0)
