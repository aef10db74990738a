"""Runs put together: worked by hand, and beside ranx."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.run import Run
from roslin.run.fusion import METHODS, SCALES, fuse_runs

ONE = Run({"q": {"a": 3, "b": 2, "c": 1}}, name="one")
OTHER = Run({"q": {"c": 9, "a": 5}, "r": {"a": 1}}, name="other")


def fused(method: str, scale: str, runs: list[Run] | None = None, **options: Any) -> dict[str, float]:
    run = fuse_runs(runs or [ONE, OTHER], method, scale, **options)
    return dict(zip(run.ranking("q"), run.values("q") or (), strict=True))


def test_by_hand() -> None:
    assert fused("sum", "minmax") == pytest.approx({"a": 1, "c": 1, "b": 0.5})
    assert fused("mnz", "minmax") == pytest.approx({"a": 2, "c": 2, "b": 0.5})
    assert fused("sum", "none") == pytest.approx({"c": 10, "a": 8, "b": 2})
    assert fused("sum", "rank", weights=(1, 2)) == pytest.approx({"a": 2, "c": 2 + 1 / 3, "b": 2 / 3})
    reciprocal = {"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61, "b": 1 / 62}
    assert fused("rrf", "zscore") == pytest.approx(reciprocal)
    # Standard scores: the mean of two is in their middle, the lower of them one deviation below it; b is as low as a.
    spread = math.sqrt(2 / 3)
    assert fused("sum", "zscore") == pytest.approx({"a": 1 / spread - 1, "c": -1 / spread + 1, "b": -1})


def test_what_a_run_lacks_is_never_better_for_it() -> None:
    near = Run({"q": {"a": 0.1, "b": 0.4}}, name="near", kind="distance")
    for scale in SCALES:
        found = fused("sum", scale, [near, Run({"q": {"c": -5.0, "a": -9.0}})])
        assert found["b"] <= found["a"], scale


def test_distances_ranks_orders_and_infinities() -> None:
    near = Run({"q": {"a": 0.1, "b": 0.4, "c": math.inf}}, kind="distance")
    order = Run({"q": ["b", "a", "b"]})
    assert fused("sum", "minmax", [near, order]) == pytest.approx({"b": 1, "a": 1, "c": 0})
    assert fused("sum", "minmax", [Run({"q": {"a": math.inf, "b": 1, "c": 0}})]) == {"a": 1, "b": 1, "c": 0}
    assert fused("rrf", "none", [Run({"q": {"a": 1, "b": 2, "c": 2}}, kind="rank")])["c"] == 1 / 62


def test_a_query_that_a_run_lacks_is_said() -> None:
    run = fuse_runs([ONE, OTHER], name="both")
    assert run.name == "both"
    assert run.queries == ("q", "r")
    assert run.remarks == ("one lacks 1 query, put together from the other runs",)
    assert fuse_runs([ONE, OTHER], weights=(1, 0)).queries == ("q",)


@pytest.mark.parametrize(
    ("runs", "options", "error", "message"),
    [
        ([], {}, ArgumentError, "no run is given"),
        ([ONE], {"method": "best"}, UnknownNameError, "unknown method of fusion 'best'"),
        ([ONE], {"scale": "loud"}, UnknownNameError, "unknown scale of fusion 'loud'"),
        ([ONE], {"weights": (1, 2)}, ArgumentError, "weights must have one number for each of 1 run; got 2"),
        ([ONE], {"weights": (-1,)}, ArgumentError, "weights must be 0 or more"),
        ([ONE, OTHER], {"weights": (0, 0)}, ArgumentError, "one of them above 0"),
    ],
)
def test_what_is_refused(runs: list[Run], options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fuse_runs(runs, **options)


# Written by 24d3b3c:tools/ranx_fusion.py of commit 24d3b3c.
KEPT = json.loads((Path(__file__).parent / "ranx_fusion.json").read_text())


@pytest.mark.parametrize("case", KEPT["cases"], ids=lambda case: f"{case['scale']}-{case['method']}")
def test_as_ranx(case: dict[str, Any]) -> None:
    given = KEPT["runs"]["whole" if case["scale"] == "zscore" else "partial"]
    ours = fuse_runs([Run(each) for each in given], case["method"], case["scale"])
    assert set(ours.queries) == set(case["expected"])
    for query, expected in case["expected"].items():
        assert dict(zip(ours.ranking(query), ours.values(query) or (), strict=True)) == pytest.approx(expected)


def test_every_method_and_scale_is_compared_with_ranx() -> None:
    compared = {(case["method"], case["scale"]) for case in KEPT["cases"]}
    assert set(product(METHODS, SCALES)) - compared == {("mnz", "zscore")}
