"""An evaluation as a table, as a data frame and in a notebook."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

from roslin import Truth, UnknownNameError
from roslin.evaluate import EmptyTruthWarning, evaluate
from roslin.evaluate.evaluation import Evaluation

TRUTH = Truth({"q1": [["a", "b"], ["c"]], "q2": [["d"]]}, name="experts")
GOOD = {"q1": ["a", "b", "c"], "q2": ["d"]}
POOR = {"q1": ["x", "c"], "q2": ["x", "d"]}


@pytest.fixture
def result() -> Evaluation:
    return evaluate(TRUTH, {"good": GOOD, "poor": POOR}, ["RR", "P@2"])


def test_it_prints_as_a_table_of_means(result: Evaluation) -> None:
    assert str(result).splitlines() == [
        "run       RR     P@2",
        "good  1.0000  0.7500",
        "poor  0.5000  0.5000",
    ]
    assert repr(result) == "Evaluation(2 runs, 2 measures, 2 queries)"
    assert "<caption>experts: means over 2 queries</caption>" in result._repr_html_()


def test_a_row_for_every_value(result: Evaluation) -> None:
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["system", "measure", "query", "value"]
    assert len(frame) == 2 * 2 * 2
    assert frame.groupby(["system", "measure"])["value"].mean()["poor", "RR"] == 0.5
    for row in frame.itertuples():
        assert result.of(row.system, row.measure)[row.query] == row.value


def test_both_libraries_say_the_same(result: Evaluation) -> None:
    frame = result.to_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dicts() == result.to_frame("pandas").to_dict("records")
    means = result.to_table().to_frame("polars")
    assert means.rows() == [("good", 1.0, 0.75), ("poor", 0.5, 0.5)]
    with pytest.raises(UnknownNameError, match="unknown library of data frames 'excel'; known: pandas, polars"):
        result.to_frame("excel")  # type: ignore[arg-type]


def test_queries_without_a_truth_are_told_of() -> None:
    with pytest.warns(EmptyTruthWarning):
        result = evaluate(Truth({"q1": [["a"]], "q3": []}), {"good": GOOD}, "RR")
    assert result.to_table().title == "means over 1 query (1 more have an empty truth)"
    values = dict(zip(result.to_frame()["query"], result.to_frame()["value"], strict=True))
    assert values["q1"] == 1.0
    assert math.isnan(values["q3"])
