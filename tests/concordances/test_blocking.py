"""Buckets of what is rare: the definition, spelled out slowly, gives the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.concordances._gather import Buckets
from roslin.concordances.blocking import candidates_by, rare_buckets


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


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), max_size=10), min_size=1, max_size=9), st.integers(2, 4))
def test_the_definition(melodies: list[list[int]], most: int) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in melodies])]).astype(np.int64)
    letters = np.array([letter for each in melodies for letter in each], dtype=np.int64)
    buckets, members = rare_buckets(letters, offsets, (2, 5), most)
    found = {tuple(sorted(members[buckets == bucket].tolist())) for bucket in np.unique(buckets)}
    assert found == slowly(melodies, (2, 5), most)


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


@pytest.mark.parametrize("letters", [[], [-1, -1]])
def test_nothing_to_share(letters: list[int]) -> None:
    offsets = np.array([0, len(letters)])
    buckets, members = rare_buckets(np.array(letters, dtype=np.int64), offsets, (3, 5), 10)
    assert len(buckets) == len(members) == 0
