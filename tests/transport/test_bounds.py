"""What an alignment costs at least is never more than what it costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from roslin.native import kernels
from roslin.transport.emd import GROUNDS, emd_flow
from roslin.types import Floats, Numbers


class Points(NamedTuple):
    x: Floats
    y: Floats
    weight: Floats
    order: Numbers


def columns_bound(*given: Any) -> float:
    bound = np.empty(1)
    kernels.bound_of_columns(*given, bound)
    return float(bound[0])


def levels_of(y: Floats, weight: Floats) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    pitches, weights, numbers = np.empty(len(y)), np.empty(len(y)), np.empty(len(y), np.int64)
    count = kernels.pitch_levels(y, weight, pitches, weights, numbers)
    return pitches[:count], weights[:count], numbers


@pytest.mark.parametrize("ground", ["euclidean", "cityblock"])
@pytest.mark.parametrize("seed", range(60))
def test_no_flow_costs_less(seed: int, ground: str) -> None:
    rng = np.random.default_rng(seed)
    n, m = (int(size) for size in rng.integers(1, 9, 2))
    (query_x, query_y, query_w), (document_x, document_y, document_w) = (
        (
            np.sort(rng.integers(0, 12, size) / 2.0),
            rng.integers(0, 8, size).astype(np.float64),
            rng.integers(1, 5, size) / 2.0,
        )
        for size in (n, m)
    )
    query = Points(query_x, query_y, query_w, np.arange(n))
    document = Points(document_x, document_y, document_w, np.arange(m))
    is_light, lighter = document_w.sum() < query_w.sum(), min(document_w.sum(), query_w.sum())
    for i in range(n):
        for j in range(m):
            x, y = document_x[j] - query_x[i], document_y[j] - query_y[i]
            moved = np.column_stack([query_x + x, query_y + y])
            cost = (
                lighter
                * emd_flow(moved, query_w, np.column_stack([document_x, document_y]), document_w, ground).distance
            )
            bound = kernels.bound_of_rows(query, document, i, j, is_light, np.inf, GROUNDS[ground])
            back = columns_bound(query, document, i, j, is_light, lighter, GROUNDS[ground])
            rows, columns = levels_of(query_y, query_w)[:2], levels_of(document_y, document_w)[:2]
            sides = (*columns, *rows, -y) if is_light else (*rows, *columns, y)
            crossing = kernels.crossing_bound(*sides)
            assert max(bound, back, crossing) <= cost + 1e-9
            if is_light:
                lightest, heavier, heavier_w = (document_x, document_w), query_x, query_w
            else:
                lightest, heavier, heavier_w = (query_x, query_w), document_x, document_w
            middle, shifts = kernels.centre_of_weight(*lightest, lighter, False), np.empty(2)
            kernels.shifts_in_reach(middle, is_light, heavier, heavier_w, lighter, cost, shifts)
            first, last = shifts
            assert first - 1e-9 <= x <= last + 1e-9, "a shift that costs no more than the budget is within the range"


def test_both_sides_count() -> None:
    """Two notes, 1 apart, on two that are 9 apart: one bound sees a note near by, the other that both are taken."""
    query, far = (Points(np.array([0.0, last]), np.zeros(2), np.ones(2), np.arange(2)) for last in (1.0, 9.0))
    assert kernels.bound_of_rows(query, far, 0, 0, False, np.inf, 0) == pytest.approx(1.0)
    assert columns_bound(query, far, 0, 0, False, 2.0, 0) == pytest.approx(8.0)


@pytest.mark.parametrize("seed", range(40))
def test_the_cheapest_columns_are_those_of_looking_at_all(seed: int) -> None:
    """Columns far before or after the rows are left out: what comes out is the same."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(8, 30))
    rows, columns = (
        Points(
            np.sort(rng.random(size) * 3 * size),
            rng.integers(0, 9, size).astype(np.float64),
            rng.random(size),
            np.arange(size),
        )
        for size in (n, m)
    )
    amount = min(rows.weight.sum(), columns.weight.sum())
    i, j = int(rng.integers(n)), int(rng.integers(m))
    x, y = columns.x[j] - rows.x[i], columns.y[j] - rows.y[i]
    pieces = []
    for k in range(m):
        apart = np.hypot(rows.x + x - columns.x[k], rows.y + y - columns.y[k])
        first = int(np.argmin(apart))
        room = min(rows.weight[first], columns.weight[k]) if n > 1 else columns.weight[k]
        pieces += [(apart[first], room), (np.sort(apart)[min(1, n - 1)], columns.weight[k] - room)]
    expected, left = 0.0, amount
    for cost, weight in sorted(pieces):
        expected += cost * min(weight, left)
        left -= min(weight, left)
    found = columns_bound(rows, columns, i, j, False, amount, GROUNDS["euclidean"])
    assert found == pytest.approx(expected, abs=1e-12)


def test_weight_that_crosses_pitches() -> None:
    """Two units at 60 and one at 64, onto one at 60, one at 61 and one at 62: one goes up by 1, one down by 2."""
    rows, columns = (np.array([60.0, 64.0]), np.array([2.0, 1.0])), (np.array([60.0, 61.0, 62.0]), np.ones(3))
    assert kernels.crossing_bound(*rows, *columns, 0.0) == pytest.approx(3.0)
    assert kernels.crossing_bound(*rows, *columns, 100.0) == pytest.approx(3 * 100.0 + 184.0 - 183.0)


def test_levels() -> None:
    pitches, weights, numbers = levels_of(np.array([62.0, 60.0, 62.0]), np.array([1.0, 2.0, 0.5]))
    assert (pitches.tolist(), weights.tolist(), numbers.tolist()) == ([60.0, 62.0], [2.0, 1.5], [1, 0, 1])
