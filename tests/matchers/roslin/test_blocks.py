"""Scores side by side are those of the definition; bounds are bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.matchers.roslin.made import (
    LABELLED,
    PLAIN,
    aligned,
    all_tables,
    made_melodies,
    plain_score,
    tables,
    variants,
)

from roslin.deadline import Work
from roslin.errors import ArgumentError
from roslin.matchers.roslin.scores import FARTHEST, UNKNOWN, Encoded, Planner, Tables, check, highest_pair, scale_for
from roslin.matchers.roslin.table import one, table_of
from roslin.native import kernels

MODES = dict(all_tables())
SIZES = [[1, 1, 2], [0, 3, 0], [5, 6, 7, 1, 12], [9] * 70, [*range(30)] * 3]


def brute_scores(query: Encoded, melodies: Encoded, worth: Tables) -> Any:
    scores = np.empty(len(melodies.tempos), np.int32)
    kernels.align_all(query, melodies, worth, np.arange(len(scores)), scores)
    return scores


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_scores_are_those_of_the_definition(mode: str) -> None:
    random = np.random.default_rng(1)
    melodies = variants(random, made_melodies(random, [6, 5, 1, 0, 7, 8, 6, 3, 2, 9]), 0, 0.5)
    table = table_of(melodies, MODES[mode])
    for number in range(len(table)):
        query = one(melodies, number)
        expected = [plain_score(query, one(melodies, other), MODES[mode]) for other in range(len(table))]
        assert aligned(query, table, MODES[mode]).scores(np.arange(len(table)), Work()).tolist() == expected


@pytest.mark.parametrize("mode", MODES)
def test_scores_and_bounds_of_many(mode: str) -> None:
    worth = MODES[mode]
    for seed, sizes in enumerate(SIZES * 6):
        random = np.random.default_rng(seed)
        pitches, values = int(random.choice([1, 3, 12])), int(random.choice([1, 5, 17]))
        melodies = variants(random, made_melodies(random, sizes, pitches, values), len(sizes) - 1, 0.3)
        table, numbers = table_of(melodies, worth), np.arange(len(sizes))
        query = one(melodies, len(sizes) - 1) if seed % 2 else made_melodies(random, [int(random.integers(1, 25))])
        expected = brute_scores(query, melodies, worth)
        assert np.array_equal(aligned(query, table, worth).scores(numbers, Work()), expected)
        upper = aligned(query, table, worth).upper_bounds(Work())
        assert (upper >= expected).all()
        assert (aligned(query, table, worth).closer_bounds(numbers, upper, Work()) >= expected).all()


@pytest.mark.parametrize("scale", [1, 3, 7, 20, 45, 200])
def test_bounds_hold_for_every_scale(scale: int) -> None:
    """Coarse bytes, and bytes so fine that most scores do not fit."""
    worth = tables(LABELLED, longest=400)
    scale = min(scale, scale_for(20, 1, worth) or 0)
    known = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        sizes = random.integers(0, 25, size=90).tolist()
        melodies = variants(random, made_melodies(random, [20, *sizes]), 0, 0.4)
        table, query = table_of(melodies, worth), one(melodies, 0)
        expected = brute_scores(query, melodies, worth)
        both = np.empty((2, 64), np.int32)
        kernels.bound_blocks(Planner(worth).plan(query, scale, combined=True), table, np.arange(2), both)
        bounds = both.ravel()
        assert (bounds[:91] >= expected[table.order]).all()
        apart = np.empty(91, np.int32)
        kernels.bound_melodies(Planner(worth).plan(query, scale), table, np.arange(91), apart)
        assert (apart >= expected[table.order]).all()
        known += int((bounds[:91] < UNKNOWN).sum())
    assert known > 0


def test_bounds_in_16_bits_are_closer() -> None:
    random, worth = np.random.default_rng(5), tables(PLAIN, longest=400)
    melodies = variants(random, made_melodies(random, [12] * 128), 0, 0.5)
    table, query = table_of(melodies, worth), one(melodies, 0)
    expected = brute_scores(query, melodies, worth)[table.order]
    short, long = np.empty((2, 64), np.int32), np.empty((2, 64), np.int32)
    kernels.bound_blocks(Planner(worth).plan(query, 20, combined=True), table, np.arange(2), short)
    kernels.align_blocks(Planner(worth).plan(query, combined=True), table, np.arange(2), long)
    assert (long.ravel() >= expected).all()
    assert (long <= short).all()


def test_one_tempo_without_gaps_is_bounded_to_one_byte_a_pair() -> None:
    """How far a bound is from a score: no more than the rounding of every pair and of the ends."""
    random = np.random.default_rng(6)
    worth = tables(PLAIN, longest=400)._replace(
        tempo_prices=np.zeros(1, np.int32), openings=np.full(3, 4000, np.int32), extension=4000
    )
    melodies = variants(random, made_melodies(random, [10] * 64), 0, 0.8)
    table, query = table_of(melodies, worth), one(melodies, 0)
    found = np.empty((1, 64), np.int32)
    kernels.bound_blocks(Planner(worth).plan(query, 16), table, np.arange(1), found)
    bounds = found[0]
    known = bounds < UNKNOWN
    assert known.sum() > 20
    assert (bounds - brute_scores(query, melodies, worth)[table.order])[known].max() <= (2 * 10 + 5) * 256 / 16


def test_long_melodies() -> None:
    """A few hundred notes each: more than bytes hold, and with fine units more than 16 bits."""
    random = np.random.default_rng(7)
    melodies = variants(random, made_melodies(random, [300, 400, 350, 5, 380]), 1, 0.9)
    for worth in (tables(LABELLED), tables(LABELLED)._replace(equal=tables(LABELLED).equal * 5)):
        table = table_of(melodies, worth)
        for number in (0, 1, 3):
            query = one(melodies, number)
            expected = brute_scores(query, melodies, worth)
            assert np.array_equal(aligned(query, table, worth).scores(np.arange(5), Work()), expected)
            assert (aligned(query, table, worth).upper_bounds(Work()) >= expected).all()
    found = np.empty(5, np.int32)
    kernels.align_melodies(Planner(worth).plan(one(melodies, 1)), table, np.arange(5), found)
    assert (found == UNKNOWN).any()
    assert expected.max() > 0


def test_nothing_to_compare() -> None:
    worth, random = tables(PLAIN), np.random.default_rng(8)
    melodies = made_melodies(random, [3, 0])
    table, nobody = table_of(melodies, worth), one(melodies, 1)
    assert aligned(nobody, table, worth).scores(np.arange(2), Work()).tolist() == [FARTHEST] * 2
    assert aligned(nobody, table, worth).upper_bounds(Work()).tolist() == [FARTHEST] * 2
    assert aligned(one(melodies, 0), table, worth).scores(np.arange(1, 2), Work()).tolist() == [FARTHEST]
    empty = table_of(made_melodies(random, []), worth)
    assert aligned(one(melodies, 0), empty, worth).upper_bounds(Work()).tolist() == []


def test_highest_pair() -> None:
    """4.24 + 0.86 + 0.46 nats, in units of 1/32, each half of a kind rounded by itself."""
    assert highest_pair(tables(PLAIN)) == 136 + 28 + 2 * 7


def test_tables_of_the_modes_are_accepted() -> None:
    for worth in MODES.values():
        check(worth)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"near": np.full(11, 400, np.int32)}, "equal pitches must be worth"),
        ({"openings": np.array([-1, 5, 5], np.int32)}, "costs must be 0 to 4000 units"),
        ({"tempo_prices": np.zeros(5, np.int32)}, "there must be one to four tempos; got 5"),
        ({"equal": np.full(11, 3000, np.int32)}, "nothing may be worth more than 2000 units"),
        ({"lanes": np.full(16, FARTHEST, np.int32)}, "lanes must be 0 or"),
        ({"pitch": np.arange(192, dtype=np.int32) % 7}, "must depend on its distance alone"),
    ],
)
def test_other_tables_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        check(tables(PLAIN)._replace(**changed))


def has_part(whole: list[int], part: list[int]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


@pytest.mark.parametrize("seed", range(30))
def test_same_intervals_are_those_of_the_definition(seed: int) -> None:
    """All intervals of the shorter of two side by side in the longer; lengths far apart and much the same."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 9 if seed % 2 else 40, size=150)
    melodies = made_melodies(random, sizes.tolist(), pitches=int(random.choice([1, 2, 3])))
    table = table_of(melodies, tables(PLAIN))
    query = made_melodies(random, [int(random.integers(1, 12))], pitches=2)
    agree = np.empty((len(table.starts) - 1, 64), np.int8)
    kernels.same_intervals(table, query.intervals, agree)
    wanted = query.intervals.tolist()[1:]
    intervals = [one(melodies, int(number)).intervals.tolist()[1:] for number in table.order]
    expected = [has_part(each, wanted) or has_part(wanted, each) for each in intervals]
    assert agree.ravel()[:150].tolist() == expected


def searched() -> Any:
    """Scores and both kinds of bounds."""
    random, worth, numbers = np.random.default_rng(1), tables(LABELLED), np.arange(90)
    melodies = variants(random, made_melodies(random, random.integers(1, 12, size=90).tolist()), 0, 0.2)
    table, query = table_of(melodies, worth), one(melodies, 0)
    upper = aligned(query, table, worth).upper_bounds(Work())
    closer = aligned(query, table, worth).closer_bounds(numbers, upper, Work())
    return [each.tolist() for each in (aligned(query, table, worth).scores(numbers, Work()), upper, closer)]


SEARCH = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.matchers.roslin.test_blocks import searched
print(searched())
"""


@pytest.mark.long
@pytest.mark.parametrize("level", [each for each in kernels.available() if each != kernels.level()])
def test_with_other_registers_everything_stays_the_same(level: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(Path(__file__).parents[3])],
        capture_output=True,
        text=True,
        env={**os.environ, "ROSLIN_KERNELS": level},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{searched()}\n"
