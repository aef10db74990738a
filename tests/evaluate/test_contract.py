"""One suite over every registered measure."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace
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


def test_functions_of_an_empty_truth_are_nan() -> None:
    for name, (_, arguments) in FUNCTIONS.items():
        with pytest.warns(EmptyTruthWarning, match="no relevant document"):
            assert math.isnan(getattr(roslin.evaluate, name)([], ["a"], **arguments)), name


def test_counts_are_whole_numbers() -> None:
    counts = ("true_positives", "false_positives", "false_negatives", "inversions")
    for value in (getattr(roslin.evaluate, name)(GROUPS, IDEAL) for name in counts):
        assert isinstance(value, int)


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
        with pytest.raises(ArgumentError, match=r"cannot read the measure|the parameters of AP need their names"):
            measure(text)
    assert repr(measure('AP(variant="serra")')) == "AP(variant='serra')"
    assert measure("AP(variant=serra)@5") == measure("AP(variant='serra', k=5)")
    assert repr(measure("nDCG(gain='exp')@10")) == "nDCG(gain='exp')@10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RBP(p=1)", "RBP: p must be a number between 0 and 1; got 1"),
        ("RBP(p=x)", "RBP: p must be a number between 0 and 1; got 'x'"),
        ("RBO(p=0)", "RBO: p must be a number between 0 and 1; got 0"),
        ("Compat(p=2)", "Compat: p must be a number between 0 and 1; got 2"),
        ("Compat(normalise=3)", "Compat: normalise must be True or False; got 3"),
        ("F(beta=0)", "F: beta must be a number above 0; got 0"),
        ("nDCG(base=1)", "nDCG: base must be a number above 1; got 1"),
        ("nDCG(base=abc)", "nDCG: base must be a number above 1; got 'abc'"),
        ("nDCG(base=None)", "nDCG: base must be a number above 1; got None"),
        ("DCG(base=1e999)", "DCG: base must be a number above 1; got inf"),
        ("ERR(top=-1)", "ERR: top must be a number above 0, or None; got -1"),
        ("P@0", "P: k must be a whole number from 1 to 1000000, or None; got 0"),
        ("P@1000001", "P: k must be a whole number from 1 to 1000000, or None; got 1000001"),
        ("bpref_star(length=-20)", "bpref_star: length must be a whole number from 1 to 1000000, or None; got -20"),
        ("TN(size=x)", "TN: size must be a whole number from 1 to 1000000000000; got 'x'"),
        ("TN(size=2.5)", "TN: size must be a whole number from 1 to 1000000000000; got 2.5"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        measure(text)


# No parameter of any measure may be one of these; `k` and `top` may be None.
@pytest.mark.parametrize("value", ["abc", -1, math.nan, math.inf, [1], {}, b"x"])
def test_no_parameter_takes_nonsense(any_measure: Measure, value: Any) -> None:
    for field in fields(any_measure):
        with pytest.raises((ArgumentError, UnknownNameError), match=f"{any_measure.name}"):
            replace(any_measure, **{field.name: value})


def test_parameters_of_numpy_have_the_same_name() -> None:
    assert repr(MEASURES["ADR"](k=np.int64(3))) == "ADR@3"  # type: ignore[call-arg]
    assert repr(MEASURES["RBP"](p=np.float32(0.5))) == "RBP(p=0.5)"  # type: ignore[call-arg]
    assert repr(measure("nDCG(base=3)")) == repr(measure("nDCG(base=3.0)")) == "nDCG(base=3.0)"


@pytest.mark.parametrize("text", ["bpref(variant=2004)", "bpref(variant='2004')", 'BPREF(variant="2004")'])
def test_a_variant_of_digits_is_a_name(text: str) -> None:
    assert repr(measure(text)) == "bpref(variant='2004')"
    with pytest.raises(UnknownNameError, match="unknown variant of bpref '2005'; known: trec, 2004, serra, old"):
        measure("bpref(variant=2005)")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MAP", "AP"),
        ("map@5", "AP@5"),
        ("MRR", "RR"),
        ("mrr@10", "RR@10"),
        ("success@5", "Success@5"),
        ("Rprec", "PND"),
        ("ndcg@10", "nDCG@10"),
        ("adr", "ADR"),
        ("bpref*", "bpref_star"),
        ("bpref-10", "bpref_10"),
    ],
)
def test_names_that_people_know(text: str, name: str) -> None:
    assert repr(measure(text)) == name


def test_what_is_no_name() -> None:
    with pytest.raises(ArgumentError, match="a measure must be a name, such as 'ADR'; got 3"):
        measure(3)  # type: ignore[arg-type]


def test_what_rewards_silence(any_measure: Measure) -> None:
    """Whether no list beats the empty one: found by trying, and said by the measure."""
    sign = 1 if any_measure.larger_is_better else -1
    empty = sign * any_measure(GROUPS, [])
    assert any_measure.rewards_silence == all(sign * any_measure(GROUPS, each) <= empty for each in RANKINGS)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([1.0], "1 gains for 3 groups"),
        ([1.0, 2.0, 3.0], "gains must not rise"),
        ([2.0, 1.0, 0.0], "every gain must be a number above 0"),
        ([2.0, math.nan, 1.0], "every gain must be a number above 0"),
        ([math.inf, 2.0, 1.0], "every gain must be a number above 0"),
        (["3", "2", "1"], "every gain must be a number above 0"),
    ],
)
def test_bad_gains(gains: list[float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        measure("nDCG")(GROUPS, IDEAL, gains=gains)


@pytest.mark.parametrize("text", ["nDCG(gain=exp)", "DCG(gain=exp)", "ERR"])
def test_gains_that_no_number_can_hold(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"a gain of 5000 is too large for 2\^gain; expected at most 1000"):
        measure(text)(GROUPS, IDEAL, gains=[5000, 2, 1])


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
