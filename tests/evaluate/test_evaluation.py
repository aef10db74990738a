"""Whole runs and ties."""

from __future__ import annotations

import math
import random
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import (
    MEASURES,
    EmptyTruthWarning,
    evaluate,
    measure,
    tie_sensitivity,
)
from roslin.evaluate.significance import compare
from roslin.run import Run
from roslin.truth import Truth

TRUTH = {"q1": [["a", "b"], ["c"]], "q2": [["d"]]}
GOOD = {"q1": ["a", "b", "c"], "q2": ["d"]}
POOR = {"q1": ["x", "c"], "q9": ["d"]}


def test_values_means_and_what_was_odd() -> None:
    result = evaluate(TRUTH, {"good": GOOD, "poor": POOR}, ["ADR", "P@1"])
    assert result.systems == ("good", "poor")
    assert result.values.shape == (2, 2, 2)
    # poor: nothing at rank 1, x and c at rank 2, then c counts: (0 + 0 + 1/3) / 3.
    assert result.means.tolist() == pytest.approx(np.array([[1.0, 1.0], [1 / 18, 0.0]]))
    assert result.of("poor", "ADR") == pytest.approx({"q1": 1 / 9, "q2": 0.0})
    assert result.missing == {"poor": ("q2",)}
    assert result.unknown == {"poor": ("q9",)}
    assert result.empty == ()


def test_an_empty_truth_is_counted_and_left_out() -> None:
    with pytest.warns(EmptyTruthWarning, match="1 of 3 queries have no relevant document and are left out .*: q3"):
        result = evaluate(Truth({**TRUTH, "q3": []}), {"good": GOOD}, "ADR")
    assert result.empty == ("q3",)
    assert math.isnan(result.of("good", "ADR")["q3"])
    assert result.means.tolist() == [[1.0]]
    with pytest.warns(EmptyTruthWarning):
        assert math.isnan(evaluate(Truth({"q1": []}), {"good": GOOD}, "ADR").means[0, 0])


@pytest.mark.parametrize(
    "runs",
    [GOOD, {"good": GOOD}, [Run(GOOD, name="good")], Run(GOOD), [("q1", "a", 3.0), ("q1", "b", 2.0)]],
    ids=["rankings", "named", "list of runs", "run", "rows"],
)
def test_runs_in_every_form(runs: Any) -> None:
    assert evaluate(TRUTH, runs, "P@1").of(evaluate(TRUTH, runs, "P@1").systems[0], "P@1")["q1"] == 1.0


def test_lists_of_runs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text("q1 Q0 a 1 1 x\n")
    paths = [tmp_path / "one.run", str(tmp_path / "two.run")]
    assert evaluate(TRUTH, paths, "P@1").systems == ("one", "two")
    assert evaluate(TRUTH, {"mine": paths[0]}, "P@1").systems == ("mine",)
    assert evaluate(TRUTH, [paths[0], Run(GOOD, name="good")], "P@1").systems == ("one", "good")


def test_numbers_and_arrays_of_numpy() -> None:
    scored = {"q1": {"a": np.float32(0.5), "x": np.float32(0.75)}, "q2": {"d": np.int64(3)}}
    assert evaluate(TRUTH, scored, "RR").of("run", "RR") == {"q1": 0.5, "q2": 1.0}
    listed = {"q1": np.array(["x", "a"]), "q2": np.array(["d"])}
    assert evaluate(TRUTH, listed, "RR").of("run", "RR") == {"q1": 0.5, "q2": 1.0}
    numbered = evaluate({"q": [[1, 2]]}, {"q": [3, 2, 1]}, "RR")
    assert numbered.of("run", "RR") == {"q": 0.5}


def test_one_scored_run() -> None:
    assert evaluate(TRUTH, {"q1": {"a": 0.1, "x": 0.9}}, ["RR"]).of("run", "RR") == {"q1": 0.5, "q2": 0.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate({}, GOOD), "the truth has no queries"),
        (lambda: evaluate(TRUTH, GOOD, []), "at least one measure"),
        (lambda: evaluate(TRUTH, {}), "at least one run"),
        (lambda: evaluate(TRUTH, [Run(GOOD), Run(GOOD)]), "two runs are called 'run'"),
        (lambda: evaluate(TRUTH, [GOOD, GOOD]), "two runs are called 'run'"),
        (lambda: compare(evaluate(TRUTH, GOOD)), "at least two runs"),
        (lambda: tie_sensitivity(evaluate(TRUTH, GOOD, "RBO")), "not known for RBO"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_names_are_listed() -> None:
    result = evaluate(TRUTH, {"good": GOOD}, "ADR")
    with pytest.raises(UnknownNameError, match="unknown run 'bad'; known: good"):
        result.of("bad", "ADR")
    with pytest.raises(UnknownNameError, match="unknown measure of this evaluation 'AP'; known: ADR"):
        result.of("good", "AP")
    with pytest.raises(UnknownNameError, match="unknown measure 'MAPP'; known: Accuracy, ADR"):
        evaluate(TRUTH, GOOD, ["MAPP"])


# -- ties -------------------------------------------------------------------------------------------------------------

MONOTONE = [name for name, cls in MEASURES.items() if "size" not in cls.__dataclass_fields__ and cls().monotone]


def all_orders(scores: dict[str, float]) -> list[list[str]]:
    blocks = [[id for id in scores if scores[id] == s] for s in sorted(set(scores.values()), reverse=True)]
    return [[id for block in order for id in block] for order in product(*(permutations(block) for block in blocks))]


@pytest.mark.long
@pytest.mark.parametrize("name", [*MONOTONE, "P@3", "ADR@2", "nDCG@3", "AP@3", "nDCG(discount=jarvelin)", "ERR@2"])
def test_best_and_worst_order_of_ties(name: str) -> None:
    """By trying every order; this also shows that the measures called monotone are."""
    chance = random.Random(4)
    for _ in range(12):
        ids = list("abcdefghij")
        chance.shuffle(ids)
        groups = [ids[:1], ids[1:3], ids[3:5]]
        run = {id: float(chance.randint(0, 2)) for id in chance.sample(ids, 7)}
        truth = Truth({"q": groups}, nonrelevant={"q": ids[5:7]})
        evaluation = evaluate(truth, {"mine": {"q": run}}, name)
        (found,) = tie_sensitivity(evaluation)
        values = [measure(name)(groups, order, nonrelevant=ids[5:7]) for order in all_orders(run)]
        ends = sorted((found.worst, found.best))
        assert ends == pytest.approx([min(values), max(values)], abs=1e-12)
        assert ends[0] - 1e-12 <= found.value <= ends[1] + 1e-12


@pytest.mark.long
@pytest.mark.parametrize("name", ["ADR", "AP", "nDCG", "RR", "P@2", "bpref", "FP@2"])
def test_ties_in_a_run_that_repeats_ids(name: str) -> None:
    """A copy fills a place as an unjudged document, in the same tie too: by trying every order."""
    chance = random.Random(11)
    copies = 0
    for _ in range(60):
        rows = [("q", chance.choice("abcnx"), float(chance.randint(0, 2))) for _ in range(6)]
        truth = Truth({"q": [["a"], ["b", "c"]]}, nonrelevant={"q": ["n"]})
        evaluation = evaluate(truth, Run.from_rows(rows, name="mine"), name)
        blocks = [[id for _, id, score in rows if score == each] for each in (2.0, 1.0, 0.0)]
        named = [[id if id not in block[:k] else f"copy-{k}" for k, id in enumerate(block)] for block in blocks]
        copies += named != blocks
        orders = product(*(set(permutations(block)) for block in named))
        values = [measure(name)(truth["q"], [*a, *b, *c], nonrelevant=["n"]) for a, b, c in orders]
        (found,) = tie_sensitivity(evaluation)
        assert sorted((found.worst, found.best)) == pytest.approx([min(values), max(values)], abs=1e-12)
        assert found.value == pytest.approx(np.mean(values), abs=1e-12)
    assert 0 < copies < 60


def test_ties_where_no_query_counts() -> None:
    with pytest.warns(EmptyTruthWarning):
        evaluation = evaluate(Truth({"q": []}), {"mine": {"q": ["a"]}}, "ADR")
    (found,) = tie_sensitivity(evaluation)
    assert math.isnan(found.best)
    assert math.isnan(found.worst)


def test_without_ties_nothing_changes() -> None:
    (found,) = tie_sensitivity(evaluate(TRUTH, {"good": GOOD}, "ADR"))
    assert (found.system, found.measure, found.worst, found.value, found.best) == ("good", "ADR", 1.0, 1.0, 1.0)


# -- ir_measures ------------------------------------------------------------------------------------------------------


def test_the_bridge_to_ir_measures() -> None:
    import ir_measures

    from roslin.interop import ir_bridge

    qrels = {"q1": {"a": 2, "b": 2, "c": 1}, "q2": {"z": 0}, "q3": {"d": 1}}
    run = {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}}
    assert "ADR" in ir_bridge.NAMES
    assert "nDCG" not in ir_bridge.NAMES
    parse = ir_measures.parse_measure
    wanted = [parse("ADR"), parse("ADR@2"), parse("ADR(short='cut')"), parse("bpref_star"), ir_measures.P @ 1]
    means = {str(m): value for m, value in ir_measures.calc_aggregate(wanted, qrels, run).items()}
    # q2 has no relevant document and does not count; q3 is missing from the run and is 0.
    first = {"q1": [["a", "b"], ["c"]]}
    for name in ("ADR", "ADR@2", "ADR(short='cut')"):
        assert means[name] == pytest.approx(evaluate(first, run, name).means[0, 0] / 2)
    assert means["P@1"] == pytest.approx(1 / 3)
    by_query = {m.query_id: m.value for m in ir_measures.iter_calc([parse("ADR")], qrels, run)}
    assert by_query["q1"] == pytest.approx(13 / 18)
    assert math.isnan(by_query["q2"])
    assert by_query["q3"] == 0.0
