"""The distance of Typke et al. (2007), section 2.1: exact, as defined, whatever the weights."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.transport.oracle import ground, highs, random_pair, random_set

from roslin import emd, emd_flow, emd_many, ptd, ptd_flow
from roslin.errors import ArgumentError, UnknownNameError
from roslin.native import kernels
from roslin.types import Floats

GROUNDS = ("euclidean", "cityblock")


@pytest.mark.long
@pytest.mark.parametrize("name", GROUNDS)
def test_it_is_the_optimum_of_the_linear_program(name: str) -> None:
    rng = np.random.default_rng(GROUNDS.index(name))
    for number in range(1100):
        a, b = random_pair(rng)
        assert emd(*a, *b, name) == pytest.approx(highs(a, b, name), abs=1e-9), number


def test_it_agrees_with_pot() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own syntax, when Python first compiles it
        import ot
    rng = np.random.default_rng(7)
    for number in range(300):
        a, b = random_pair(rng, 24)
        least = min(a[1].sum(), b[1].sum())
        # What the heavier set keeps goes to a point of the other that is at distance 0 from everything.
        spare = a[1].sum() - b[1].sum()
        weights_a, weights_b = np.append(a[1], max(-spare, 0.0)), np.append(b[1], max(spare, 0.0))
        expected = ot.emd2(weights_a, weights_b, np.pad(ground(a[0], b[0], "euclidean"), ((0, 1), (0, 1)))) / least
        assert emd(*a, *b) == pytest.approx(expected, abs=1e-12), number


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("find", [emd_flow, ptd_flow])
def test_flows_obey_the_constraints(find: Any, name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        a, b = random_pair(rng, 20)
        found = find(*a, *b, name)
        rows, columns = (a[1] / a[1].sum(), b[1] / b[1].sum()) if find is ptd_flow else (a[1], b[1])
        least = min(rows.sum(), columns.sum())
        assert (found.flow >= 0).all()
        assert (found.flow.sum(axis=1) <= rows + 1e-12).all()
        assert (found.flow.sum(axis=0) <= columns + 1e-12).all()
        assert found.flow.sum() == pytest.approx(least, abs=1e-12)
        assert found.ground == pytest.approx(ground(a[0], b[0], name), abs=1e-12)
        assert (found.flow * found.ground).sum() / least == pytest.approx(found.distance, abs=1e-12)


def test_the_fragment_that_the_paper_works_out() -> None:
    """Section 2.3: the B lies at 1 in one melody and at 17/16 in the other; weight 0.25 moves by 1/16."""
    same: list[list[float]] = [[0, 67], [1 / 2, 69]]
    found = emd_flow([*same, [1.0, 71]], [0.5, 0.5, 0.25], [*same, [17 / 16, 71]], [0.5, 0.5, 0.25])
    cost = found.flow * found.ground
    assert cost[2, 2] == 1 / 16 * 0.25 == 1 / 64
    assert cost.sum() == 1 / 64
    assert found.distance == pytest.approx(1 / 64 / 1.25, abs=1e-15)


def test_one_note_may_have_two_partners() -> None:
    """Section 2.3, figure 2: the last note of one melody is matched with two notes of the other."""
    found = emd_flow([[0, 60]], [2], [[0, 60], [1, 60]], [1, 1])
    assert found.flow.tolist() == [[1, 1]]
    assert found.distance == 0.5


def test_only_the_lighter_set_is_matched_completely() -> None:
    heavy = ([[0, 60], [1, 62], [2, 64]], [1, 1, 1])
    light = ([[1, 62], [2, 65]], [1, 1])
    assert emd(*light, *heavy) == emd(*heavy, *light) == 0.5
    assert emd_flow(*heavy, *light).flow.sum(axis=0).tolist() == [1, 1]
    assert emd_flow(*heavy, *light).flow[0].tolist() == [0, 0]


def test_the_proportional_distance_matches_everything() -> None:
    a, b = ([[0, 60]], [5]), ([[0, 60], [1, 60]], [1, 3])
    assert ptd(*a, *b) == 0.75
    assert emd(*a, *b) == 0.75
    assert emd(*b, *([[0, 60]], [1])) == 0.0
    assert ptd(*b, *([[0, 60]], [1])) == 0.75


weights = st.lists(st.floats(0, 3), min_size=1, max_size=5)


@pytest.mark.long
@given(weights, weights, weights, st.integers(0, 2**32 - 1), st.sampled_from(GROUNDS))
@settings(max_examples=300)
def test_the_proportional_distance_is_a_metric(
    a: list[float], b: list[float], c: list[float], seed: int, name: str
) -> None:
    assume(min(sum(a), sum(b), sum(c)) > 1e-3)
    rng = np.random.default_rng(seed)
    x, y, z = [(rng.integers(-3, 4, (len(heavy), 2)), heavy) for heavy in (a, b, c)]
    assert ptd(*x, *z, name) <= ptd(*x, *y, name) + ptd(*y, *z, name) + 1e-12
    assert ptd(*x, *y, name) == pytest.approx(ptd(*y, *x, name), abs=1e-12)
    assert ptd(*x, *x, name) == pytest.approx(0, abs=1e-12)


def test_the_triangle_inequality_fails_for_the_emd() -> None:
    """So the test above is about the proportional distance and not about any distance."""
    left, both, right = ([[0, 0]], [1]), ([[0, 0], [9, 0]], [1, 1]), ([[9, 0]], [1])
    assert emd(*left, *both) + emd(*both, *right) == 0 < emd(*left, *right)


@pytest.mark.parametrize("ground_name", [*GROUNDS, "tonal"])
def test_many_are_the_same_as_one_by_one(ground_name: str) -> None:
    rng = np.random.default_rng(5)
    pairs = [random_pair(rng) for _ in range(60)]
    if ground_name == "tonal":
        pairs = [((abs(a), v), (abs(b), w)) for (a, v), (b, w) in pairs]
    columns = ([a for (a, _), _ in pairs], [v for (_, v), _ in pairs], [b for _, (b, _) in pairs],
               [w for _, (_, w) in pairs])  # fmt: skip
    singles = [emd(*a, *b, ground_name) for a, b in pairs]
    assert emd_many(*columns, ground_name) == pytest.approx(singles, abs=1e-12)
    singles = [ptd(*a, *b, ground_name) for a, b in pairs]
    assert emd_many(*columns, ground_name, proportional=True) == pytest.approx(singles, abs=1e-12)
    assert emd_many([], [], [], [], ground_name).shape == (0,)


def test_degenerate_sets() -> None:
    assert emd([[0, 60]], [1], [[3, 64]], [7]) == 5
    assert emd([[0, 60]] * 3, [1, 1, 1], [[0, 60]] * 2, [1, 9]) == 0
    assert emd([[2, 60], [2, 64], [2, 67]], [1, 1, 1], [[2, 60], [2, 65], [2, 67]], [1, 1, 1]) == pytest.approx(1 / 3)
    assert emd([[0, 60], [1, 99]], [1, 0], [[0, 60], [5, 99]], [1, 0]) == 0
    assert emd([[0, 60], [1, 61]], [1e-300, 1e-300], [[0, 60], [2, 61]], [1e-300, 1e-300]) == 0.5


def test_equal_weights_are_an_assignment() -> None:
    rng = np.random.default_rng(11)
    for _ in range(50):
        a, b = rng.uniform(0, 9, (5, 2)), rng.uniform(0, 9, (5, 2))
        apart = ground(a, b, "euclidean")
        best = min(sum(apart[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(5)))
        assert emd(a, np.full(5, 0.1), b, np.full(5, 0.1)) == pytest.approx(best / 5, abs=1e-12)


def test_weights_that_differ_by_many_powers_of_ten() -> None:
    rng = np.random.default_rng(13)
    for _ in range(100):
        a, b = random_set(rng, 8), random_set(rng, 9)
        heavy_a, heavy_b = np.exp(rng.uniform(-12, 5, 8)), np.exp(rng.uniform(-12, 5, 9))
        expected = highs((a[0], heavy_a), (b[0], heavy_b), "euclidean")
        assert emd(a[0], heavy_a, b[0], heavy_b) == pytest.approx(expected, abs=1e-9)


def solve(cost: Floats, supply: Floats, capacity: Floats, limit: float) -> tuple[float, bool]:
    flow, found = np.empty(cost.shape), np.empty(2)
    never = np.zeros(1, np.bool_)
    kernels.partial_transport(np.ascontiguousarray(cost), supply, capacity, limit, never, flow, found)
    return float(found[0]), bool(found[1])


def test_a_limit_gives_up_only_what_lies_above_it() -> None:
    rng = np.random.default_rng(17)
    given_up = 0
    for _ in range(400):
        a, b = random_pair(rng)
        (points_a, supply), (points_b, capacity) = (a, b) if a[1].sum() <= b[1].sum() else (b, a)
        cost = ground(points_a, points_b, "euclidean")
        best, _ = solve(cost, supply, capacity, np.inf)
        assert solve(cost, supply, capacity, best) == (best, True)
        value, is_optimal = solve(cost, supply, capacity, best * 0.7)
        assert (value, is_optimal) == (best, True) or (best * 0.7 < value <= best + 1e-9 and not is_optimal)
        given_up += not is_optimal
    assert given_up > 200


TWO = [[0, 60], [1, 62]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TWO, [1, 1], TWO, [1, -1]), "weights of B must be at least 0"),
        ((TWO, [0, 0], TWO, [1, 1]), "weights of A must be at least 0, and not all 0"),
        ((TWO, [1], TWO, [1, 1]), "A must have one weight for each of its 2 points"),
        (([0, 1], [1, 1], TWO, [1, 1]), "points of A must be rows of two numbers"),
        (([], [], TWO, [1, 1]), "points of A must be rows of two numbers"),
        (([[0, float("nan")]], [1], TWO, [1, 1]), "must be finite"),
        (([["a", "b"]], [1], TWO, [1, 1]), "must be numbers"),
    ],
)
def test_what_is_no_point_set(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        emd(*arguments)


def test_other_wrong_arguments() -> None:
    with pytest.raises(UnknownNameError, match="unknown ground distance 'taxi'; known: cityblock, euclidean, tonal"):
        emd(TWO, [1, 1], TWO, [1, 1], "taxi")
    with pytest.raises(UnknownNameError, match="unknown ground distance 'taxi'"):
        emd_many([TWO], [[1, 1]], [TWO], [[1, 1]], "taxi")
    with pytest.raises(ArgumentError, match=r"as many sets .* on both sides; got \[1, 2\]"):
        emd_many([TWO, TWO], [[1, 1]], [TWO], [[1, 1]])
    with pytest.raises(ArgumentError, match="weights of B, number 1"):
        emd_many([TWO, TWO], [[1, 1], [1, 1]], [TWO, TWO], [[1, 1], [0, 0]])


def test_importing_roslin_loads_neither_kernels_nor_scipy() -> None:
    code = (
        "import sys, roslin; roslin.emd; roslin.align\n"
        "from roslin.native import kernels; sys.exit(kernels.is_loaded() or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
