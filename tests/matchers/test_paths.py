from __future__ import annotations

import numpy as np

from roslin.matchers.paths import Way, edits, side_by_side


def test_the_cheapest_way_by_hand() -> None:
    """kitten to sitting: two changes and one added letter."""
    one, other = "kitten", "sitting"
    same = np.array([[a == b for b in other] for a in one])
    things = [[(row,) for row in range(len(word))] for word in (one, other)]
    found = edits(things[0], things[1], side_by_side(1.0 - same, np.ones(6), np.ones(7)), same)
    assert found.cost == 3
    assert [step.kind for step in found.steps] == ["other", "same", "same", "same", "other", "same", "added"]
    assert found.steps[-1].candidate_places == ((6,),)


def test_a_way_may_begin_and_end_inside() -> None:
    same = np.equal.outer([1, 2], [9, 1, 2, 9])
    mine, theirs = [(0,), (1,)], [(row,) for row in range(4)]
    ways = side_by_side(1.0 - same, np.ones(2), np.ones(4))
    found = edits(mine, theirs, ways, same, "top", "bottom")
    assert found.cost == 0
    assert [step.candidate_places for step in found.steps] == [((1,),), ((2,),)]
    assert edits(mine, theirs, ways, same).cost == 2


def test_gaps_may_know_where_they_come_from() -> None:
    """Opening a gap costs 3, going on 1: one gap of two is cheaper than two of one."""
    things = [(row,) for row in range(4)]
    same = np.equal.outer([1, 2, 3, 4], [1, 4])
    pair = np.where(same, 0.0, np.inf)
    ways = [Way(1, 1, pair, before, 0) for before in (0, 1)]
    ways += [Way(1, 0, np.full(4, 3.0), 0, 1), Way(1, 0, np.full(4, 1.0), 1, 1)]
    found = edits(things, things[:2], ways, same)
    assert found.cost == 4
    assert [step.kind for step in found.steps] == ["same", "missing", "missing", "same"]
