"""Buckets of what is rare: the definition, spelled out slowly, gives the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matchers.roslin.made import LABELLED, made_melodies, tables

from roslin.concordances.blocking import Buckets, candidates_by, rare_buckets, read_letters, rows_of, write_letters
from roslin.matchers.roslin.scores import UNKNOWN, Planner
from roslin.matchers.roslin.table import MELODIES, one, scorer, table_of
from roslin.native import kernels


def slowly(melodies: list[list[int]], lengths: tuple[int, int], most: int) -> set[tuple[int, ...]]:
    """The members of each bucket: at every place the shortest gram that is rare enough, if two or more have it."""
    found = set()
    for melody in melodies:
        for start in range(len(melody)):
            for length in range(lengths[0], min(lengths[1], len(melody) - start) + 1):
                gram = melody[start : start + length]
                having = tuple(
                    number
                    for number, other in enumerate(melodies)
                    if any(other[at : at + length] == gram for at in range(len(other) - length + 1))
                )
                if len(having) <= most:
                    if len(having) > 1:
                        found.add((tuple(gram), having))
                    break
    return {having for _, having in found}


@settings(max_examples=150)
@given(st.lists(st.lists(st.integers(0, 2), max_size=10), min_size=1, max_size=9), st.integers(2, 4))
def test_the_definition(melodies: list[list[int]], most: int) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in melodies])]).astype(np.int64)
    letters = np.array([1 + letter for each in melodies for letter in each], dtype=np.uint8)
    assert members_of(*rare_buckets(letters, offsets, (2, 5), most)) == slowly(melodies, (2, 5), most)
    parts = [rare_buckets(letters, offsets, (2, 5), most, (part, 3)) for part in range(3)]
    assert set().union(*(members_of(*each) for each in parts)) == slowly(melodies, (2, 5), most)


@pytest.mark.long
def test_grams_that_differ_far_from_their_beginning() -> None:
    """Their first eight letters and the rest are sorted one after the other."""
    random = np.random.default_rng(1)
    beginnings = [random.integers(0, 2, 9).tolist() for _ in range(3)]
    melodies = [beginnings[k % 3] + random.integers(0, 2, 6).tolist() for k in range(60)]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in melodies])]).astype(np.int64)
    letters = np.array([1 + letter for each in melodies for letter in each], dtype=np.uint8)
    expected = slowly(melodies, (3, 14), 4)
    assert len(expected) > 50
    assert members_of(*rare_buckets(letters, offsets, (3, 14), 4)) == expected


def members_of(sizes: npt.NDArray[np.int32], members: npt.NDArray[np.int32]) -> set[tuple[int, ...]]:
    ends = np.cumsum(sizes).tolist()
    assert len(members) == sum(sizes.tolist())
    return {tuple(sorted(members[end - size : end].tolist())) for size, end in zip(sizes.tolist(), ends, strict=True)}


def test_candidates_are_all_who_share_a_bucket_each_once() -> None:
    index = Buckets(
        np.array([0, 3, 5]), np.array([0, 1, 2, 0, 3], np.int32),
        np.array([0, 2, 3, 4, 5, 5]), np.array([0, 1, 0, 0, 1], np.int32),
    )  # fmt: skip
    candidates = candidates_by(index)
    assert sorted(candidates(0).tolist()) == [1, 2, 3]
    assert sorted(candidates(3).tolist()) == [0]
    assert sorted(candidates(0).tolist()) == [1, 2, 3]
    assert candidates(4).tolist() == []


@pytest.mark.parametrize("letters", [[], [0, 0]])
def test_nothing_to_share(letters: list[int]) -> None:
    offsets = np.array([0, len(letters)])
    sizes, members = rare_buckets(np.array(letters, dtype=np.uint8), offsets, (3, 5), 10)
    assert len(sizes) == len(members) == 0


def test_candidates_are_bounded_as_everybody_is(tmp_path: Path) -> None:
    """Read melody by melody: the same bounds where blocks are the same, and never below the score."""
    random = np.random.default_rng(5)
    melodies, worth = made_melodies(random, random.integers(1, 24, size=200).tolist()), tables(LABELLED)
    table, query = table_of(melodies, worth), one(melodies, 3)
    write_letters(table, tmp_path)
    rows, plan = rows_of(read_letters(tmp_path) or {}), Planner(worth).plan(query, 20, combined=True)
    everybody = np.empty((len(table.starts) - 1, MELODIES), np.int32)
    kernels.bound_blocks(plan, table, np.arange(len(everybody)), everybody)
    found = np.empty(len(table), np.int32)
    kernels.bound_rows(plan, rows, table.tempos[: len(table)], np.arange(len(table)), found)
    assert found.tolist() == everybody.ravel()[: len(table)].tolist()
    some = np.sort(random.permutation(len(table))[:77])
    bounds = np.empty(len(some), np.int32)
    kernels.bound_rows(plan, rows, table.tempos[: len(table)], some, bounds)
    scores = scorer(query, table, Planner(worth))(table.order[some].astype(np.int64))
    assert (bounds >= scores).all()
    assert (bounds < UNKNOWN).any()
