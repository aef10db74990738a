"""Plain functions as measures, and what any measure must give."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from roslin import register_measure
from roslin.errors import ArgumentError, PluginError
from roslin.evaluate import MEASURES, EmptyTruthWarning, Measure, compare, evaluate, measure, measures

TRUTH = {"q1": [["a", "b"], ["c"]], "q2": [["d"]]}
RUNS = {"mine": {"q1": ["b", "x", "c"], "q2": ["d"]}, "theirs": {"q1": ["x", "a", "a", "b"], "q2": ["y", "d"]}}


def found(groups: list[list[int]], ranking: list[int]) -> float:
    """The share of relevant documents that were found.

    And nothing else.
    """
    return len({id for group in groups for id in group} & set(ranking)) / sum(map(len, groups))


def early(groups: list[list[int]], ranking: list[int]) -> float:
    """Average dynamic recall by the definition: the other route."""
    due = [group for group in groups for _ in group]
    shares = []
    for rank, group in enumerate(due, start=1):
        allowed = {id for each in groups[: groups.index(group) + 1] for id in each}
        shares.append(len(allowed & set(ranking[:rank])) / rank)
    return sum(shares) / len(shares)


def test_one_line_makes_a_measure_of_a_function() -> None:
    chosen = measure(found)
    assert repr(chosen) == "found"
    assert chosen.summary == "The share of relevant documents that were found."
    assert chosen.reference.startswith("the function found of ")
    assert chosen == measure(found)
    assert chosen != measure(found, name="others")
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    assert "found" not in measures()
    assert chosen(TRUTH["q1"], RUNS["theirs"]["q1"]) == 2 / 3
    assert repr(measure(lambda groups, ranking: 0.0)) == "lambda"


def test_a_function_gives_what_a_measure_of_ours_gives() -> None:
    result = evaluate(TRUTH, RUNS, [found, "R", early, "ADR"])
    assert [repr(each) for each in result.measures] == ["found", "R", "early", "ADR"]
    assert result.values[:, 0].tolist() == result.values[:, 1].tolist()
    assert result.values[:, 2] == pytest.approx(result.values[:, 3])
    assert result.of("mine", found) == result.of("mine", "R")
    assert evaluate(TRUTH, RUNS, found).means.tolist() == result.means[:, :1].tolist()
    assert compare(result, found)[0].measure == "found"


def test_tied_scores_are_worth_their_mean_for_a_function_too() -> None:
    runs = {"tied": {"q1": {"a": 1.0, "c": 1.0, "x": 1.0}, "q2": {"d": 1.0, "y": 1.0}}}
    result = evaluate(TRUTH, runs, [early, "ADR"])
    assert result.values[0, 0] == pytest.approx(result.values[0, 1], abs=0.05)
    assert result.sampled == (measure(early),)


def test_documents_are_numbers_and_the_id_of_the_query_can_be_taken_out() -> None:
    seen: list[Any] = []

    def look(groups: list[list[int]], ranking: list[int]) -> float:
        seen.append((groups, ranking))
        return 0.0

    measure(look)(TRUTH["q1"], ["c", "q1", "x", "b", "c", "a"], query="q1")
    ((groups, ranking),) = seen
    assert groups == [[0, 1], [2]]
    assert [number if number >= 0 else "other" for number in ranking] == [2, "other", 0, "other", 1]
    assert len(set(ranking)) == 5


def test_the_function_is_not_asked_about_an_empty_truth() -> None:
    with pytest.warns(EmptyTruthWarning):
        result = evaluate({**TRUTH, "q3": []}, RUNS, early)
    assert math.isnan(result.of("mine", early)["q3"])
    assert result.means[0, 0] == evaluate(TRUTH, RUNS, early).means[0, 0]


def test_a_function_can_be_registered() -> None:
    try:
        assert register_measure(found) is found
        assert measure("FOUND") == measure(found)
        register_measure(name="named", summary="A summary.", reference="an example")(early)
        assert (MEASURES["named"].summary, MEASURES["named"].reference) == ("A summary.", "an example")
        assert evaluate(TRUTH, RUNS, ["found", "named"]).means.shape == (2, 2)
    finally:
        for name in ("found", "named"):
            MEASURES._things.pop(name, None)
            MEASURES._names.pop(name, None)


def test_a_name_that_is_taken_and_other_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"two measures are called 'ADR': ADR of roslin\.\S+ and found of tests\."):
        measure(found, name="ADR")
    with pytest.raises(
        ArgumentError, match=r"must take the groups of a truth and a ranking to be a measure; got wrong"
    ):
        measure(wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="name, summary and reference can be given for a function"):
        register_measure(Broken, name="x")
    with pytest.raises(ArgumentError, match="a measure must be a name, such as 'ADR'; got 3"):
        measure(3)  # type: ignore[arg-type]


def wrong() -> float:
    return 0.0


@dataclass(frozen=True, repr=False)
class Broken(Measure):
    """Gives whatever it is told to."""

    name = "Broken"
    summary = "An example."
    reference = "an example"
    values_given = None

    def _values(self, hits: Any) -> Any:
        given = type(self).values_given
        return hits.no_such_thing if given is None else given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"the measure Broken fails: test_function\.py:\d+: AttributeError: .*no_such_thing"),
        ([1.0], r"the measure Broken must give 2 values, one for each query; got 1$"),
        (["a", "b"], r"the measure Broken must give 2 values, one for each query; got text, such as .*'a'"),
        ([0.5, math.nan], r"the measure Broken must give 2 values, one for each query; got NaN for number 2$"),
        ([-math.inf, 1.0], r"the measure Broken must give 2 values, .*; got minus infinity for number 1$"),
    ],
)
def test_errors_of_a_measure_from_elsewhere_are_named(given: Any, message: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(Broken, "values_given", given)
    with pytest.raises(PluginError, match=message):
        evaluate(TRUTH, RUNS, Broken())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda groups, ranking: 1 / 0, r"the measure lambda fails: test_function\.py:\d+: ZeroDivisionError: "),
        (lambda groups, ranking: math.nan, r"the measure lambda must give 2 values, .*; got NaN for number 1$"),
        (lambda groups, ranking: "much", r"the measure lambda must give a number for each query; got 'much'$"),
        (
            lambda groups, ranking: [1.0, 2.0],
            r"the measure lambda must give a number for each query; got \[1\.0, 2\.0\]$",
        ),
    ],
)
def test_errors_of_a_function_are_named(function: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        evaluate(TRUTH, RUNS, function)


def test_an_empty_truth_is_no_value_for_a_measure_from_elsewhere_either(monkeypatch: Any) -> None:
    monkeypatch.setattr(Broken, "values_given", np.array([1.0, math.nan]))
    with pytest.warns(EmptyTruthWarning):
        assert evaluate({"q1": [["a"]], "q2": []}, RUNS, Broken()).of("mine", Broken())["q1"] == 1
