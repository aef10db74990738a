"""Thirty-two sums at once are the sums one by one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import pytest

from roslin import Collection
from roslin.starter import tunes_path
from roslin.transport import _plain_lanes, _vector_lanes
from roslin.transport._lanes import (
    LANES,
    add_excess,
    add_missing,
    add_products,
    first_bit,
    is_right,
    last_bit,
    lower,
    no_lanes,
    within,
)

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


@nb.njit()
def _ends(word: Any) -> Any:
    return first_bit(word), last_bit(word)


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


# -- the twin in plain loops ------------------------------------------------------------------------------------------


@nb.njit()
def _plain(table: Array, others: Array, shorts: Array, places: Array, factors: Array, value: int, most: int) -> Any:
    sums = _plain_lanes.no_lanes()
    for k in range(len(places)):
        sums = _plain_lanes.add_products(sums, table, places[k], factors[k])
    first = _plain_lanes.within(sums, most)
    sums = _plain_lanes.add_missing(_plain_lanes.add_excess(sums, shorts, places[0], value), shorts, places[1], value)
    _plain_lanes.lower(table, places[0], others, places[1])
    return first, _plain_lanes.within(sums, most)


@nb.njit()
def _vector(table: Array, others: Array, shorts: Array, places: Array, factors: Array, value: int, most: int) -> Any:
    sums = no_lanes()
    for k in range(len(places)):
        sums = add_products(sums, table, places[k], factors[k])
    first = within(sums, most)
    sums = add_missing(add_excess(sums, shorts, places[0], value), shorts, places[1], value)
    lower(table, places[0], others, places[1])
    return first, within(sums, most)


@pytest.mark.parametrize("seed", range(30))
def test_the_twin_gives_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, others = (rng.integers(0, 256, 300).astype(np.uint8) for _ in range(2))
    shorts = rng.integers(0, 65536, 300).astype(np.uint16)
    places, factors = rng.integers(0, 300 - LANES, 3), rng.integers(0, 257, 3)
    value = int(rng.integers(0, 65536))
    for most in (0, 20000, 50000, 65534):
        ours, theirs = table.copy(), table.copy()
        plain = _plain(ours, others, shorts, places, factors, value, most)
        assert plain == _vector(theirs, others, shorts, places, factors, value, most)
        assert ours.tolist() == theirs.tolist()


def test_wrong_sums_are_seen() -> None:
    assert is_right(_vector_lanes.trial)
    assert not is_right(lambda *arrays: int(_vector_lanes.trial(*arrays)) ^ 1)
    assert not is_right(lambda numbers, shorts, high: _vector_lanes.trial(numbers, shorts, high.copy()))


SEARCH = """
import sys, warnings
if sys.argv[2] == "broken":
    import numba.extending
    def intrinsic(*_): raise AttributeError("no intrinsics in this Numba")
    numba.extending.intrinsic = intrinsic
from roslin import Collection
with Collection(sys.argv[1]) as collection, warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for query in collection[:120:17]:
        print([(hit.id, hit.distance) for hit in collection.search(query, "emd", 5)])
from roslin.transport import _lanes
print(_lanes._lanes.__name__, file=sys.stderr)
print([str(one.message) for one in said if one.category is RuntimeWarning], file=sys.stderr)
"""


def test_plain_loops_take_over_with_a_warning(tmp_path: Path) -> None:
    """A Numba without the parts that vectors need: a warning, and the same lists."""
    path = tmp_path / "starter.roslin"
    Collection.build(tunes_path(), path).close()
    lists = {}
    for kind in ("whole", "broken"):
        # What was compiled with vectors must not be found.
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if kind == "broken" else {}
        done = subprocess.run(
            [sys.executable, "-c", SEARCH, str(path), kind],
            capture_output=True, text=True, check=True, env={**os.environ, **cache},
        )  # fmt: skip
        lists[kind] = done.stdout
        is_broken = kind == "broken"
        assert ("_plain_lanes" if is_broken else "_vector_lanes") in done.stderr
        assert ("no intrinsics in this Numba); plain loops take their place" in done.stderr) == is_broken
    assert lists["whole"] == lists["broken"]
    assert len(lists["whole"].splitlines()) == 8


@pytest.mark.parametrize("word", [1, 1 << 63, 0b101000, (1 << 64) - 1, (1 << 40) + (1 << 7)])
def test_first_and_last_bit(word: int) -> None:
    expected = ((word & -word).bit_length() - 1, word.bit_length() - 1)
    assert _ends(np.uint64(word)) == expected
    assert (_plain_lanes.first_bit(np.uint64(word)), _plain_lanes.last_bit(np.uint64(word))) == expected
