"""The inverted index of n-grams."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from roslin import Melody
from roslin.errors import ArgumentError
from roslin.represent.line import GramIndex, gram_index, melodic_lines


def melodies(random: np.random.Generator, lengths: list[int]) -> list[Melody]:
    return [Melody.from_notes(range(n), [1] * n, random.integers(60, 64, n).tolist()) for n in lengths]


def literal(symbols: list[list[int]], alphabet: int, n: int) -> dict[int, dict[int, int]]:
    """Gram to {melody: times}."""
    found: dict[int, dict[int, int]] = {}
    for number, line in enumerate(symbols):
        grams = Counter(tuple(line[k : k + n]) for k in range(len(line) - n + 1))
        for gram, times in grams.items():
            word = sum(symbol * alphabet ** (n - 1 - place) for place, symbol in enumerate(gram))
            found.setdefault(word, {})[number] = times
    return found


@pytest.mark.parametrize("n", [1, 2, 5])
def test_it_is_what_counting_by_hand_gives(n: int) -> None:
    random = np.random.default_rng(n)
    lines = melodic_lines(melodies(random, [0, 1, 2, 5, 6, 30, 3, 0, 12]))
    symbols = random.integers(0, 3, len(lines.rows))
    index = gram_index(lines, symbols, 3, n)
    pairs = [
        symbols[start : max(stop - 1, start)].tolist()
        for start, stop in zip(lines.offsets[:-1], lines.offsets[1:], strict=True)
    ]
    expected = literal(pairs, 3, n)
    assert index.grams.tolist() == sorted(expected)
    for k, gram in enumerate(index.grams.tolist()):
        span = slice(index.starts[k], index.starts[k + 1])
        times = zip(index.melodies[span].tolist(), index.times[span].tolist(), strict=True)
        assert list(times) == sorted(expected[gram].items())
    assert index.counts.tolist() == [sum(k in found for found in expected.values()) for k in range(len(lines))]


def test_finding_grams_that_are_there_and_that_are_not() -> None:
    index = GramIndex(
        np.array([2, 5]),
        np.array([0, 1, 3]),
        np.array([7, 1, 2], np.int32),
        np.ones(3, np.uint16),
        np.zeros(8, np.int32),
    )
    starts, stops = index.find(np.array([0, 2, 3, 5, 9]))
    assert [index.melodies[a:b].tolist() for a, b in zip(starts, stops, strict=True)] == [[], [7], [], [1, 2], []]
    nothing = gram_index(melodic_lines([]), np.empty(0, np.int64), 3, 2)
    starts, stops = nothing.find(np.array([1]))
    assert (stops - starts).tolist() == [0]


def test_more_repetitions_than_fit_are_cut() -> None:
    lines = melodic_lines([Melody.from_notes(range(70_000), [1] * 70_000, [60] * 70_000)])
    assert gram_index(lines, np.zeros(70_000, np.int64), 2, 1).times.tolist() == [65_535]


def test_numbers_that_would_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="n-grams of 20 symbols out of 25 are too many for 1 melodies"):
        gram_index(melodic_lines([]), np.empty(0, np.int64), 25, 20)
