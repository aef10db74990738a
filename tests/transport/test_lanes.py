"""Thirty-two sums at once are the sums one by one."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import pytest

from roslin.transport._lanes import LANES, add_excess, add_missing, add_products, lower, no_lanes, within

Array = np.ndarray[Any, Any]


@nb.njit()
def _products(table: Array, places: Array, factors: Array, most: int) -> Any:
    sums = no_lanes()
    for k in range(len(places)):
        sums = add_products(sums, table, places[k], factors[k])
    return within(sums, most)


@nb.njit()
def _differences(numbers: Array, place: int, value: int, is_above: bool, most: int) -> Any:
    sums = no_lanes()
    for _ in range(2):
        sums = add_excess(sums, numbers, place, value) if is_above else add_missing(sums, numbers, place, value)
    return within(sums, most)


@nb.njit()
def _lowered(table: Array, place: int, others: Array, start: int) -> None:
    lower(table, place, others, start)


def _bits(flags: Array) -> int:
    return sum(1 << k for k, flag in enumerate(flags.tolist()) if flag)


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 256, 500).astype(np.uint8)
    places, factors = rng.integers(0, 500 - LANES, 4), rng.integers(0, 257, 4)
    sums = sum(
        f * table[p : p + LANES].astype(np.int64) for p, f in zip(places.tolist(), factors.tolist(), strict=True)
    )
    for most in (0, min(int(np.median(sums)), 65000), 65534):
        assert int(_products(table, places, factors, most)) == _bits(np.minimum(sums, 65535) <= most)


def test_sums_stop_at_the_largest_number() -> None:
    table = np.full(LANES, 255, np.uint8)
    assert int(_products(table, np.zeros(3, np.int64), np.full(3, 200), 65534)) == 0, "153000 is not 21928"


@pytest.mark.parametrize("is_above", [True, False])
def test_sums_of_differences(is_above: bool) -> None:
    numbers = np.random.default_rng(1).integers(0, 65536, 100).astype(np.uint16)
    part = numbers[7 : 7 + LANES].astype(np.int64)
    sums = 2 * np.maximum(part - 30000 if is_above else 30000 - part, 0)
    for most in (0, 9999, 65534):
        assert int(_differences(numbers, 7, 30000, is_above, most)) == _bits(np.minimum(sums, 65535) <= most)


def test_lower_changes_its_thirty_two_bytes_only() -> None:
    rng = np.random.default_rng(2)
    table, others = (rng.integers(0, 256, 200).astype(np.uint8) for _ in range(2))
    expected = table.copy()
    expected[11 : 11 + LANES] = np.minimum(table[11 : 11 + LANES], others[50 : 50 + LANES])
    _lowered(table, 11, others, 50)
    assert table.tolist() == expected.tolist()
