"""How sure each line is: by hand, then on simulated experts with known groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from roslin.errors import ArgumentError
from roslin.truth import Method, Truth, simulate_rankings, study_rankings
from roslin.truth.consistency import Boundary, boundaries, confidence_of, spurious
from roslin.truth.grouping import groups_of
from roslin.truth.rankings import QueryRankings, as_rankings

TRUE = Truth({"q": [[f"a{k}" for k in range(5)], [f"b{k}" for k in range(7)], [f"c{k}" for k in range(8)]]})
ANY_1 = Method("any", 1)


def two(ranks: list[tuple[int, int]]) -> QueryRankings:
    return QueryRankings("q", tuple(f"e{k}" for k in range(len(ranks))), ("a", "b"), np.array(ranks, dtype=np.float64))


def test_two_documents_by_counting_all_shuffles() -> None:
    said = two([(1, 2)] * 7 + [(2, 1)])
    grouped = groups_of(said, Method())
    assert grouped.groups == (("a",), ("b",))
    # Each of eight experts has one of two orders. A line as strong needs seven or more of one order: 18 of 256.
    as_strong = [orders for orders in product((0, 1), repeat=8) if sum(orders) in (0, 1, 7, 8)]
    (line,) = boundaries(grouped, Method(), shuffles=20_000)
    assert (line.position, line.above, line.below) == (1, "a", "b")
    assert line.p == pytest.approx(len(as_strong) / 256, abs=0.006)


def test_confidence_and_expected_number_by_hand() -> None:
    lines = tuple(Boundary(k, "a", "b", p) for k, p in enumerate((0.125, 0.375, 0.0)))
    assert [line.confidence for line in lines] == [0.5, 0.25, 1.0]
    assert [line.is_doubtful for line in lines] == [False, True, False]
    assert spurious(lines) == pytest.approx(1.25)
    assert spurious(()) == 0


def test_any_1_names_its_own_spurious_lines() -> None:
    """Three true groups and 30 experts: Any-1 finds nine, and the two true lines are those it is sure of."""
    said = simulate_rankings(experts=30, model="plackett-luce", noise=0.02, truth=TRUE, seed=3)
    each = study_rankings(said, ANY_1, shuffles=300, power=False).queries["q"]
    assert each.null is not None
    assert each.spurious is not None
    assert len(each.grouped.starts) == 9
    assert each.null.p < 0.01  # the whole list is not noise, which says nothing about its lines
    sure = [line for line in each.boundaries if line.confidence > 0.9]
    assert [(line.above[0], line.below[0]) for line in sure] == [("a", "b"), ("b", "c")]
    others = [line for line in each.boundaries if line not in sure]
    assert all(line.above[0] == line.below[0] for line in others)
    assert sum(line.is_doubtful for line in others) >= len(others) - 1
    assert each.spurious == pytest.approx(len(others), abs=2)
    assert "may be spurious; more likely spurious than real: above " in each.doubts[0]


@pytest.mark.parametrize("method", [Method(), ANY_1, Method("prev", 2), Method("any", 2, scope="list")])
def test_noise_gets_little_confidence(method: Method) -> None:
    said = simulate_rankings(15, 20, 8, noise=1.0, dropout=0.3, seed=2)
    lines = [line for each in said.values() for line in boundaries(groups_of(each, method), method, 100)]
    assert all(0 < line.p <= 1 for line in lines)
    if len(lines) > 10:
        assert np.mean([line.confidence for line in lines]) < 0.45


def test_the_same_seed_gives_the_same_confidences() -> None:
    grouped = groups_of(simulate_rankings(12, 10, noise=0.9)["q1"], ANY_1)
    assert boundaries(grouped, ANY_1, 700, 1) == boundaries(grouped, ANY_1, 700, 1)
    assert boundaries(grouped, ANY_1, 700, 1) != boundaries(grouped, ANY_1, 700, 2)


def test_one_vote_at_the_head_makes_no_sure_line() -> None:
    rows = [("q", f"e{n}", id, rank) for n in range(1, 30) for rank, id in enumerate("abc", start=1)]
    rows += [("q", "e0", id, rank) for rank, id in enumerate(("odd", "a", "b", "c"), start=1)]
    for tails in (1, 2):
        method = Method("any", tails)
        grouped = groups_of(as_rankings(rows)["q"], method)
        assert grouped.arranged.documents[0] == "odd"
        assert [grouped.arranged.documents[k] for k in grouped.arranged.thin] == ["odd"]
        by_name = {line.below: line for line in boundaries(grouped, method, 300)}
        assert by_name["b"].confidence > 0.9
        assert "a" not in by_name or by_name["a"].is_doubtful


def test_thin_candidates_by_hand() -> None:
    nan = float("nan")
    ranks = np.array([[1, 2, 3, nan], [nan, 1, 2, nan], [nan, 1, 2, 3], [nan, nan, 1, nan], [nan, 3, 2, nan]])
    said = QueryRankings("q", tuple("vwxyz"), tuple("abcd"), ranks)
    arranged = groups_of(said, Method()).arranged
    assert (arranged.documents, arranged.votes.tolist()) == (("a", "b", "c", "d"), [1, 4, 5, 1])
    assert arranged.thin == (0,)  # d has one vote, too, and nothing below it
    assert groups_of(said, Method(unranked="last")).arranged.thin == ()
    assert groups_of(said, Method(min_votes=2)).arranged.thin == ()


def test_lists_without_a_line() -> None:
    assert boundaries(groups_of(two([(1, 2), (2, 1)]), Method()), Method()) == ()
    empty = QueryRankings("q", ("e",), (), np.zeros((1, 0)))
    assert boundaries(groups_of(empty, Method()), Method()) == ()


def test_shuffles_are_needed() -> None:
    grouped = groups_of(two([(1, 2)] * 5), Method())
    with pytest.raises(ArgumentError, match="shuffles must be at least 1; got 0"):
        boundaries(grouped, Method(), 0)


def test_a_confidence_of_nothing_found() -> None:
    assert confidence_of(1.0) == pytest.approx(1 / 9)
