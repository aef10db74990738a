"""One suite over every registered measure."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

import roslin.evaluate
from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import MEASURES, EmptyTruthWarning, Measure, measure, measures
from roslin.evaluate.rankings import hits_of, judge
from roslin.truth import Truth

GROUPS = [["a", "b"], ["c"], ["d", "e", "f"]]
IDEAL = ["b", "a", "c", "f", "d", "e"]
RANKINGS = [IDEAL, IDEAL[::-1], ["x", "c", "a"], ["x", "y"], [], ["a", "a", "b"], ["d", *"uvwxyz", "a", "b"]]
# What has no upper bound of 1, or is not best for the ideal list.
COUNTS = {"TP", "FP", "FN", "TN", "Inversions", "DCG"}


def text_of(name: str) -> str:
    return f"{name}(size=50)" if "size" in [field.name for field in fields(MEASURES[name])] else name


@pytest.fixture(params=measures())
def any_measure(request: pytest.FixtureRequest) -> Measure:
    return measure(text_of(request.param))


def test_it_is_a_value(any_measure: Measure) -> None:
    assert measure(repr(any_measure)) == any_measure
    assert pickle.loads(pickle.dumps(any_measure)) == any_measure
    assert hash(any_measure) == hash(measure(repr(any_measure)))
    for field in fields(any_measure):
        with pytest.raises(FrozenInstanceError):
            setattr(any_measure, field.name, None)


def test_it_says_what_it_is(any_measure: Measure) -> None:
    assert MEASURES[any_measure.name] is type(any_measure)
    assert any_measure.summary.endswith(".")
    assert any_measure.reference
    assert isinstance(any_measure.monotone, bool)


def test_a_cutoff_is_part_of_the_name(any_measure: Measure) -> None:
    text = text_of(any_measure.name) + "@3"
    if "k" in [field.name for field in fields(any_measure)]:
        cut = measure(text)
        assert repr(cut).endswith("@3")
        # What stands beyond the cutoff changes nothing, and it looks at no more than three ranks.
        assert cut(GROUPS, ["x", "a", "c", "b", "d"]) == cut(GROUPS, ["x", "a", "c", "u", "v"])
    else:
        with pytest.raises(UnknownNameError, match=f"unknown parameter of {any_measure.name} 'k'"):
            measure(text)


@pytest.mark.parametrize("ranking", RANKINGS, ids=str)
def test_one_finite_number(any_measure: Measure, ranking: list[str]) -> None:
    value = any_measure(GROUPS, ranking)
    assert isinstance(value, float)
    assert math.isfinite(value)
    if any_measure.name not in COUNTS:
        assert 0.0 <= value <= 1.0 + 1e-12


def test_an_ideal_list_is_never_beaten(any_measure: Measure) -> None:
    sign = 1 if any_measure.larger_is_better else -1
    best = any_measure(GROUPS, IDEAL)
    for ranking in RANKINGS:
        if len(ranking) == len(IDEAL):
            assert sign * any_measure(GROUPS, ranking) <= sign * best + 1e-12


def test_nothing_found_is_worth_nothing(any_measure: Measure) -> None:
    exceptions = {"FN", "FP", "TN", "Accuracy", "Specificity", "Fallout"}
    if any_measure.name not in exceptions:
        assert any_measure(GROUPS, ["x", "y", "z"]) == 0.0


def test_many_queries_at_once(any_measure: Measure) -> None:
    truth = Truth({f"q{k}": GROUPS[: 1 + k % 3] for k in range(len(RANKINGS))})
    run = {f"q{k}": ranking for k, ranking in enumerate(RANKINGS)}
    together = any_measure.values(hits_of(judge(truth), run))
    assert together.shape == (len(RANKINGS),)
    assert together.dtype == np.float64
    alone = [any_measure(truth[query], run[query]) for query in truth]
    assert together.tolist() == pytest.approx(alone, abs=1e-14)


def test_an_empty_truth_is_nan(any_measure: Measure) -> None:
    with pytest.warns(EmptyTruthWarning, match="no relevant document"):
        assert math.isnan(any_measure([], ["a"]))


def test_arguments_stay_as_they_are(any_measure: Measure) -> None:
    groups, ranking = [list(group) for group in GROUPS], list(IDEAL)
    any_measure(groups, ranking, query="b")
    assert (groups, ranking) == (GROUPS, IDEAL)


def test_names_and_parameters() -> None:
    known = ", ".join(measures())
    with pytest.raises(UnknownNameError) as caught:
        measure("MAPP")
    assert str(caught.value) == f"unknown measure 'MAPP'; known: {known}"
    with pytest.raises(UnknownNameError, match="unknown parameter of AP 'size'; known: k, variant"):
        measure("AP(size=3)")
    with pytest.raises(UnknownNameError, match="unknown variant of AP 'mine'; known: trec, serra"):
        measure("AP(variant='mine')")
    for text in ("AP(", "AP('x')", "AP(variant=__import__('os'))", "AP(1+1)", "AP@", "AP@x", "(", "AP(" + "(" * 300):
        with pytest.raises((UnknownNameError, ArgumentError), match=r"unknown measure|cannot read the parameters"):
            measure(text)
    assert repr(measure('AP(variant="serra")')) == "AP(variant='serra')"
    assert measure("AP(variant=serra)@5") == measure("AP(variant='serra', k=5)")
    assert repr(measure("nDCG(gain='exp')@10")) == "nDCG(gain='exp')@10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RBP(p=1)", "RBP: p must lie between 0 and 1; got 1"),
        ("RBO(p=0)", "RBO: p must lie between 0 and 1; got 0"),
        ("Compat(p=2)", "Compat: p must lie between 0 and 1; got 2"),
        ("F(beta=0)", "F: beta must be above 0; got 0"),
        ("nDCG(base=1)", "nDCG: base must be above 1; got 1"),
        ("P@0", "P: k must be a whole number, at least 1; got 0"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        measure(text)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([1.0], "1 gains for 3 groups"),
        ([1.0, 2.0, 3.0], "gains must not rise"),
        ([2.0, 1.0, 0.0], "every gain must be above 0"),
        ([2.0, math.nan, 1.0], "every gain must be above 0"),
    ],
)
def test_bad_gains(gains: list[float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        measure("nDCG")(GROUPS, IDEAL, gains=gains)


FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "accuracy": ("Accuracy(size=50)", {"size": 50}),
    "average_dynamic_recall": ("ADR", {}),
    "average_overlap": ("AO", {}),
    "average_precision": ("AP", {}),
    "bpref": ("bpref", {}),
    "bpref_10": ("bpref_10", {}),
    "bpref_star": ("bpref_star", {}),
    "break_even_point": ("BreakEven", {}),
    "compatibility": ("Compat", {}),
    "dcg": ("DCG", {}),
    "err": ("ERR", {}),
    "f_measure": ("F", {}),
    "fallout": ("Fallout(size=50)", {"size": 50}),
    "false_negatives": ("FN", {}),
    "false_positives": ("FP", {}),
    "inversions": ("Inversions", {}),
    "lift_area": ("LiftArea", {}),
    "ndcg": ("nDCG", {}),
    "normalised_recall_at_group_boundaries": ("NRGB", {}),
    "precision": ("P", {}),
    "precision_at_n": ("PND", {}),
    "rank_biased_overlap": ("RBO", {}),
    "rbp": ("RBP", {}),
    "recall": ("R", {}),
    "reciprocal_rank": ("RR", {}),
    "sensitivity": ("Sensitivity", {}),
    "specificity": ("Specificity(size=50)", {"size": 50}),
    "success": ("Success", {}),
    "true_negatives": ("TN(size=50)", {"size": 50}),
    "true_positives": ("TP", {}),
}


def test_every_measure_has_a_function() -> None:
    assert {measure(text).name for text, _ in FUNCTIONS.values()} == set(MEASURES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_measures(name: str) -> None:
    text, arguments = FUNCTIONS[name]
    for ranking in RANKINGS:
        assert getattr(roslin.evaluate, name)(GROUPS, ranking, **arguments) == measure(text)(GROUPS, ranking)
