"""Metre and phrase: numbers by hand, and a second route for inner metric weights."""

from __future__ import annotations

import numpy as np

from roslin.melody import TICKS_PER_QUARTER
from roslin.native import kernels

GRID_TICKS = TICKS_PER_QUARTER // 24


def weights_of(times: list[int]) -> list[int]:
    found = np.empty(len(times), np.int64)
    kernels.metric_weights(np.array(times), found)
    return found.tolist()


def test_chains_by_hand() -> None:
    """0 2 4 6 in three steps of 2; 0 3 6 in two of 3; 2 3 4 in two of 1."""
    assert weights_of([0, 2, 3, 4, 6]) == [9 + 4, 9 + 4, 4 + 4, 9 + 4, 9 + 4]
    assert weights_of([0, 1, 3]) == [0, 0, 0]
    assert weights_of([5]) == [0]


def test_a_second_route() -> None:
    """From the definition: every step, every onset, as far as it goes in both directions."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        times = np.cumsum(rng.integers(1, 4, 9)).tolist()
        expected = dict.fromkeys(times, 0)
        for step in range(1, times[-1]):
            for first in times:
                chain = [first]
                while chain[-1] + step in times:
                    chain.append(chain[-1] + step)
                if first - step not in times and len(chain) > 2:
                    for each in chain:
                        expected[each] += (len(chain) - 1) ** 2
        assert weights_of(times) == list(expected.values())


def test_phrase_ends() -> None:
    times = np.array([4, 4, 4, 8, 4, 4, 4, 4, 4, 8, 8, 4])
    ends = np.empty(len(times), dtype=bool)
    kernels.phrase_ends(times, times, ends)
    assert np.flatnonzero(ends).tolist() == [3, 10, 11]
    sounding = np.where(np.arange(12) == 6, 2, times)
    kernels.phrase_ends(np.full(12, 4), sounding, ends)
    assert np.flatnonzero(ends).tolist() == [11]  # a rest, but the next notes are as long


def test_labels() -> None:
    onsets = np.array([0, 2, 3, 4, 6]) * GRID_TICKS
    times = np.array([2, 1, 1, 2, 2]) * GRID_TICKS
    labels = np.zeros(6, np.int8)
    kernels.label_notes(np.array([0, 5, 6]), np.append(onsets, 0), np.append(times, 1), np.append(times, 1), labels)
    assert labels.tolist() == [3, 1, 1, 1, 2, 0]
