"""Groups from pairs: known small graphs, and the definition of a bridge as a second route."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.concordances.groups import bridges, connected, groups_of


def test_a_triangle_and_one_that_hangs_on_a_weak_link() -> None:
    first, second = np.array([0, 1, 0, 2, 5]), np.array([1, 2, 2, 3, 6])
    expected = np.array([0.0001, 0.0001, 0.0001, 0.009, 0.0001])
    large, pair = groups_of(first, second, expected, 0.01)
    assert large.members.tolist() == [0, 1, 2, 3]
    assert large.pairs.tolist() == [0, 1, 2, 3]
    assert large.expected == 0.009
    assert large.stability == pytest.approx(3 / 6)  # of six pairs of members, the three of the triangle stay
    assert [(link.pair, sorted(link.sides)) for link in large.weak_links] == [(3, [1, 3])]
    assert pair.members.tolist() == [5, 6]
    assert (pair.stability, pair.weak_links) == (1.0, ())


def test_a_sure_bridge_is_no_weak_link() -> None:
    (group,) = groups_of(np.array([1, 2]), np.array([2, 3]), np.array([1e-5, 1e-5]), 0.01)
    assert group.weak_links == ()
    assert group.stability == 1.0


def test_no_pairs() -> None:
    assert groups_of(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), 0.01) == []


LINKS = st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]), min_size=1)


@settings(max_examples=200, deadline=None)
@given(LINKS)
def test_bridges_are_what_the_definition_says(links: set[tuple[int, int]]) -> None:
    ends = np.array(sorted(links))
    everybody = np.unique(ends)
    for group in groups_of(ends[:, 0], ends[:, 1], np.zeros(len(ends)), 1.0):
        first, second = ends[group.pairs, 0], ends[group.pairs, 1]
        found = dict(bridges(group.members, first, second))
        for link in range(len(group.pairs)):
            rest = np.arange(len(group.pairs)) != link
            parts = connected(group.members, first[rest], second[rest])
            sizes = sorted(np.unique(parts, return_counts=True)[1].tolist())
            assert (link in found) == (len(sizes) == 2)
            if link in found:
                assert sorted(found[link]) == sizes
        assert set(group.members.tolist()) <= set(everybody.tolist())


def test_a_long_chain_needs_no_recursion() -> None:
    count = 5000
    first, second = np.arange(count - 1), np.arange(1, count)
    assert sum(1 for _ in bridges(np.arange(count), first, second)) == count - 1
