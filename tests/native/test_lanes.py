"""The vector language: every operation gives what NumPy gives, on every instruction set that this processor has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from roslin.native import kernels

ALL_BYTES = np.arange(-128, 128)
EXTREMES = np.array([-32768, -32767, -256, -255, -1, 0, 1, 127, 128, 255, 256, 32766, 32767])


def test_bytes() -> None:
    """All pairs there are."""
    a, b = np.repeat(ALL_BYTES, 256), np.tile(ALL_BYTES, 256)
    table = np.random.default_rng(1).integers(-128, 128, 16).astype(np.int8)
    out = np.empty((6, len(a)), np.int8)
    kernels.lanes_of_bytes(a.astype(np.int8), b.astype(np.int8), table, out)
    expected = [np.clip(a + b, -128, 127), np.clip(a - b, -128, 127), np.maximum(a, b), np.minimum(a, b)]
    assert np.array_equal(out, [*expected, np.where(a == b, a, 7), table[a & 15]])


@pytest.mark.parametrize("number", [1, -1, -128, 64])
def test_whether_a_byte_is_not_zero(number: int) -> None:
    for place in range(64):
        a = np.zeros(128, np.int8)
        assert kernels.lanes_any(a) == 0
        a[place] = number
        assert kernels.lanes_any(a) == 1


def test_shorts() -> None:
    random = np.random.default_rng(2)
    a = np.concatenate([random.integers(-32768, 32768, 64 * 200 - 13 * 13), np.repeat(EXTREMES, 13)])
    b = np.concatenate([random.integers(-32768, 32768, 64 * 200 - 13 * 13), np.tile(EXTREMES, 13)])
    out = np.empty((4, len(a)), np.int16)
    kernels.lanes_of_shorts(a.astype(np.int16), b.astype(np.int16), out)
    sums, differences = np.clip(a + b, -32768, 32767), np.clip(a - b, -32768, 32767)
    assert np.array_equal(out, [sums, differences, np.maximum(a, b), np.minimum(a, b)])


@pytest.mark.parametrize("more", [0, 1, 255, 256, -1, -256, 32767, -32768])
def test_shorts_of_two_bytes(more: int) -> None:
    """All pairs of bytes, joined, raised, and taken apart: in order again."""
    lower, upper = np.repeat(ALL_BYTES, 256), np.tile(ALL_BYTES, 256)
    out = np.empty((2, len(lower)), np.int8)
    kernels.lanes_joined(lower.astype(np.int8), upper.astype(np.int8), more, out)
    total = np.clip(256 * upper + lower % 256 + more, -32768, 32767)
    assert np.array_equal(out[1], total >> 8)
    assert np.array_equal(out[0].view(np.uint8), total & 255)


def test_numbers_without_a_sign() -> None:
    random = np.random.default_rng(3)
    a, b = random.integers(0, 65536, (2, 64 * 200))
    a[:3], b[:3] = [65535, 0, 65535], [65535, 65535, 1]
    out = np.empty((3, len(a)), np.uint16)
    kernels.lanes_of_ushorts(a.astype(np.uint16), b.astype(np.uint16), out)
    assert np.array_equal(out, [np.minimum(a + b, 65535), np.maximum(a - b, 0), a * b % 65536])
    small, other = np.repeat(ALL_BYTES + 128, 256).astype(np.uint8), np.tile(ALL_BYTES + 128, 256).astype(np.uint8)
    least, widened = np.empty(len(small), np.uint8), np.empty(len(small), np.uint16)
    kernels.lanes_of_ubytes(small, other, least, widened)
    assert np.array_equal(least, np.minimum(small, other))
    assert np.array_equal(widened, small)


@pytest.mark.parametrize("limit", [0, 1, 100, 32767, 32768, 65534, 65535])
def test_lanes_within_a_limit(limit: int) -> None:
    random = np.random.default_rng(4)
    numbers = random.choice([0, 1, 2, 99, 100, 101, 32766, 32767, 32768, 65534, 65535], (300, 32)).astype(np.uint16)
    numbers[0], numbers[1] = 65535, 0
    bits, ends = np.empty(300, np.uint64), np.empty((300, 2), np.int64)
    kernels.lanes_not_above(numbers.ravel(), limit, bits, ends)
    for row in range(300):
        within = np.flatnonzero(numbers[row] <= limit).tolist()
        assert int(bits[row]) == sum(1 << k for k in within)
        assert ends[row].tolist() == ([within[0], within[-1]] if within else [-1, -1])


def test_a_register_is_as_wide_as_its_instruction_set() -> None:
    widths = {"plain": 16, "sse4": 16, "neon": 16, "avx2": 32, "avx512": 64}
    assert kernels.lanes_width() == widths[kernels.level()]


@pytest.mark.long
@pytest.mark.parametrize("level", kernels.available())
def test_all_instruction_sets(level: str) -> None:
    """The tests above, in a process that uses this one."""
    here = Path(__file__)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            "not all_instruction_sets",
            str(here),
        ],
        capture_output=True,
        text=True,
        cwd=here.parents[2],
        env={**os.environ, "ROSLIN_KERNELS": level},
    )
    assert done.returncode == 0, done.stdout
