"""Groups from pairs: known small graphs, and the definition of a bridge as a second route."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.concordances.groups import bridges, connected, groups_of, grown


def test_three_in_a_row_hang_on_weak_links() -> None:
    first, second = np.array([0, 1, 5]), np.array([1, 2, 6])
    row, pair = groups_of(first, second, np.array([0.0001, 0.009, 0.0001]), 0.01)
    assert row.members.tolist() == [0, 1, 2]
    assert row.pairs.tolist() == [0, 1]
    assert row.doubt == 0.009
    assert row.stability == pytest.approx(1 / 3)  # of three pairs of members, one stays
    assert [(link.pair, sorted(link.sides)) for link in row.weak_links] == [(1, [1, 2])]
    assert pair.members.tolist() == [5, 6]
    assert (pair.stability, pair.weak_links) == (1.0, ())


def test_one_pair_does_not_make_two_tunes_one() -> None:
    first, second = np.array([0, 1, 0, 2, 3, 4, 3]), np.array([1, 2, 2, 3, 4, 5, 5])
    one, two = groups_of(first, second, np.full(7, 0.001), 0.01)
    assert (one.members.tolist(), two.members.tolist()) == ([0, 1, 2], [3, 4, 5])
    assert one.outside.tolist() == two.outside.tolist() == [3]
    assert one.pairs.tolist() == [0, 1, 2]


def test_who_is_like_one_of_three_stays_alone() -> None:
    (group,) = groups_of(np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3]), np.full(4, 0.001), 0.01)
    assert group.members.tolist() == [0, 1, 2]
    assert group.outside.tolist() == [3]


def test_half_of_the_pairs_make_two_parts_one() -> None:
    ends = np.array([(0, 1), (2, 3), (0, 2), (1, 3)])
    (group,) = groups_of(ends[:, 0], ends[:, 1], np.array([1e-5, 1e-5, 1e-3, 1e-3]), 0.01)
    assert group.members.tolist() == [0, 1, 2, 3]


def test_copies_count_once() -> None:
    first, second = np.array([0, 0, 0, 0, 4]), np.array([1, 2, 3, 4, 5])
    is_copy = np.array([True, True, True, False, False])
    (group,) = groups_of(first, second, np.full(5, 0.001), 0.01, is_copy=is_copy)
    assert group.members.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(groups_of(first, second, np.full(5, 0.001), 0.01)) == 2


@settings(max_examples=200)
@given(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]), min_size=1))
def test_no_two_groups_could_be_one(links: set[tuple[int, int]]) -> None:
    ends = np.array(sorted(links))
    melodies = np.unique(ends)
    expected = np.random.default_rng(len(links)).random(len(links))
    part = grown(melodies, ends[:, 0], ends[:, 1], expected)
    head = dict(zip(melodies.tolist(), part.tolist(), strict=True))
    for one, two in itertools.combinations(set(head.values()), 2):
        pair = [{each for each in head if head[each] == which} for which in (one, two)]
        between = sum((min(x, y), max(x, y)) in links for x in pair[0] for y in pair[1])
        assert between == 0 or 2 * between < len(pair[0]) * len(pair[1])


def test_a_sure_bridge_is_no_weak_link() -> None:
    (group,) = groups_of(np.array([1, 2]), np.array([2, 3]), np.array([1e-5, 1e-5]), 0.01)
    assert group.weak_links == ()
    assert group.stability == 1.0


def test_no_pairs() -> None:
    assert groups_of(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), 0.01) == []


LINKS = st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]), min_size=1)


@pytest.mark.long
@settings(max_examples=200)
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


def test_copies_of_a_weak_link_do_not_hide_it() -> None:
    """0, 1 and 2 are copies of each other, and so are 3 and 4: one resemblance holds the two kinds together."""
    ends = np.array([*itertools.combinations(range(5), 2)])
    is_copy = (ends[:, 0] < 3) == (ends[:, 1] < 3)
    doubts = np.where(is_copy, 1e-5, 0.009)
    (group,) = groups_of(ends[:, 0], ends[:, 1], doubts, 0.01, is_copy=is_copy)
    (link,) = group.weak_links
    assert sorted(link.sides) == [2, 3]
    assert sorted([link.pair, *link.copies]) == np.flatnonzero(~is_copy).tolist()
    assert group.stability == pytest.approx((3 + 1) / 10)


def test_copies_count_once_though_all_their_pairs_are_there() -> None:
    """Four copies are near to one of three melodies that are one tune: a third of the pairs, however many they are."""
    kinds = np.array([0, 0, 0, 0, 1, 2, 3])  # of the melodies 0 to 6
    found = ((0, 1), (1, 2), (2, 3), (1, 3))
    pairs = [pair for pair in itertools.combinations(range(7), 2) if len({*kinds[list(pair)]}) == 1]
    is_copy = [True] * len(pairs)
    for one, two in found:
        between = [(a, b) for a, b in itertools.combinations(range(7), 2) if (kinds[a], kinds[b]) == (one, two)]
        pairs += between
        is_copy += [False] * len(between)
    ends, doubts = np.array(pairs), np.where(is_copy, 0.0, 0.001)
    doubts[ends[:, 0] < 4] += 0.0005  # the link to the copies comes last
    many, few = groups_of(ends[:, 0], ends[:, 1], doubts, 0.01, is_copy=np.array(is_copy))
    assert (many.members.tolist(), few.members.tolist()) == ([0, 1, 2, 3], [4, 5, 6])
    assert len(many.outside) == len(few.outside) == 4
