"""Vectors in registers are vectors in plain loops, and a broken Numba changes nothing but the time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from tests.matchers.roslin.made import LABELLED, made_melodies, tables, variants

from roslin.matchers.roslin import _plain_vectors
from roslin.matchers.roslin._vectors import is_right
from roslin.matchers.roslin.notes import one
from roslin.matchers.roslin.table import table_of
from roslin.search.roslin_nearest import closer_bounds, scores_of, upper_bounds
from roslin.search.work import Work

Array = np.ndarray[Any, Any]


def _tried(vectors: ModuleType) -> Any:
    """A kernel that writes the result of every operation on bytes and shorts."""
    load, store, spread = vectors.load, vectors.store, vectors.spread
    plus, minus, higher, lower = vectors.plus, vectors.minus, vectors.higher, vectors.lower
    where_equal, largest, look_up, narrow = vectors.where_equal, vectors.largest, vectors.look_up, vectors.narrow
    bytes64, shorts64, bytes32, shorts32 = vectors.bytes64, vectors.shorts64, vectors.bytes32, vectors.shorts32

    @numba.njit
    def run(small: Array, large: Array, at: Array, table: Array, wide_table: Array, out: Array, wide_out: Array) -> Any:
        octets, shorts, few, few_shorts = bytes64(), shorts64(), bytes32(), shorts32()
        a, b, indices = load(small, 3, octets), load(small, 70, octets), load(at, 1, octets)
        store(out, 0, plus(a, b))
        store(out, 64, minus(a, b))
        store(out, 128, higher(a, b))
        store(out, 192, lower(a, b))
        store(out, 256, where_equal(indices, spread(5, octets), a, b))
        store(out, 320, look_up(table, 2, indices, octets))
        c, d = load(large, 3, shorts), load(large, 70, shorts)
        store(out, 384, narrow(c, octets))
        store(wide_out, 0, plus(c, d))
        store(wide_out, 64, minus(c, d))
        store(wide_out, 128, look_up(wide_table, 1, indices, shorts))
        store(wide_out, 192, look_up(wide_table, 0, load(at, 9, few), few_shorts))
        store(wide_out, 224, narrow(load(large, 5, few_shorts), few_shorts))
        store(wide_out, 256, where_equal(indices, spread(5, octets), c, d))
        return largest(a), largest(c)

    return run


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    from roslin.matchers.roslin import _llvm_vectors

    return [_tried(_llvm_vectors), _tried(_plain_vectors)]


@pytest.mark.parametrize("seed", range(20))
def test_both_kinds_give_what_numpy_gives(seed: int, runs: list[Any]) -> None:
    random = np.random.default_rng(seed)
    small, large = random.integers(-128, 128, 140).astype(np.int8), random.integers(-32768, 32768, 140).astype(np.int16)
    at, table = random.integers(0, 16, 80).astype(np.int8), random.integers(-128, 128, 20).astype(np.int8)
    wide_table = random.integers(-32768, 32768, 20).astype(np.int16)
    a, b, c, d = (each[k : k + 64].astype(int) for each in (small, large) for k in (3, 70))
    indices = at[1:65]
    expected = [np.clip(a + b, -128, 127), np.clip(a - b, -128, 127), np.maximum(a, b), np.minimum(a, b)]
    expected += [np.where(indices == 5, a, b), table[2:][indices], c >> 8]
    wide = [np.clip(c + d, -32768, 32767), np.clip(c - d, -32768, 32767), wide_table[1:][indices]]
    wide += [wide_table[at[9:41]], large[5:37], np.where(indices == 5, c, d)]
    for run in runs:
        out, wide_out = np.zeros(448, np.int8), np.zeros(320, np.int16)
        assert run(small, large, at, table, wide_table, out, wide_out) == (a.max(), c.max())
        assert out.tolist() == np.concatenate(expected).tolist()
        assert wide_out.tolist() == np.concatenate(wide).tolist()


def test_wrong_numbers_are_seen() -> None:
    from roslin.matchers.roslin import _llvm_vectors

    assert is_right(_llvm_vectors.trial)
    assert not is_right(lambda *arrays: int(_llvm_vectors.trial(*arrays)) + 1)
    assert not is_right(lambda a, b, c, d, out: int(_llvm_vectors.trial(a, b, c, d, out.copy())))


SEARCH = """
import sys, warnings
from pathlib import Path
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
sys.modules["roslin.matchers.roslin._llvm_vectors"] = None
from roslin.matchers.roslin import _vectors
from tests.matchers.roslin.test_vectors import searched
assert _vectors._vectors.__name__.endswith("_plain_vectors")
print(searched())
"""


def searched() -> Any:
    """Scores and both kinds of bounds."""
    random, worth, numbers = np.random.default_rng(1), tables(LABELLED), np.arange(90)
    melodies = variants(random, made_melodies(random, random.integers(1, 12, size=90).tolist()), 0, 0.2)
    table, query = table_of(melodies, worth), one(melodies, 0)
    upper = upper_bounds(query, table, worth, Work())
    closer = closer_bounds(query, table, worth, numbers, upper, Work())
    return [each.tolist() for each in (scores_of(query, table, worth, numbers, Work()), upper, closer)]


def test_without_vector_registers_everything_stays_the_same(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    quickly_made = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(root)],
        capture_output=True,
        text=True,
        env={**os.environ, **quickly_made},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{searched()}\n"
