"""Two truths for the same queries, compared pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.model import Truth
from roslin.truth.tables import PlacedTwice, compare_truths, placed_otherwise


def test_truths_compared_by_pairs() -> None:
    truth = Truth({"q": [["a"], ["b", "c"], ["d"]]})
    (same,) = compare_truths(truth, Truth({"q": [["a"], ["c", "b"], ["d"]]}))
    assert same.identical
    assert (same.agree, same.looser, same.reversed) == (1, 0, 0)
    (other,) = compare_truths(truth, Truth({"q": [["b"], ["a"], ["c"], ["d"]]}))
    assert not other.identical
    assert other.agree == pytest.approx(4 / 6)
    assert other.looser == pytest.approx(1 / 6)  # b and c
    assert other.reversed == pytest.approx(1 / 6)  # a and b
    with pytest.raises(UnknownNameError, match="unknown query of the other truth 'q'; known: r"):
        compare_truths(truth, Truth({"r": [["a"]]}))
    with pytest.raises(ArgumentError, match="no document in common; are the ids the same"):
        compare_truths(truth, Truth({"q": [["x", "y"]]}))
    (one,) = compare_truths(truth, Truth({"q": [["x"], ["a"]]}))
    assert one.documents == 1
    assert np.isnan([one.agree, one.looser, one.reversed]).all()  # one document makes no pair


def test_numbers_of_one_query_by_hand() -> None:
    truth = Truth({"q": [["a"], ["b", "c"], ["d", "x"]]})
    other = Truth({"q": [["b"], ["a"], ["c"], ["d", "y", "z"]]})
    (each,) = compare_truths(truth, other)
    assert (each.documents, each.only, each.other_only) == (4, 1, 2)
    assert each.moved == 2  # a and b
    assert each.regrouped == 2  # b and c
    # Pairs ab, ac, ad, bc, bd, cd: -1 + 1 + 1 + 0 + 1 + 1 of five that the first tells apart, and six of the second.
    assert each.tau == pytest.approx(3 / np.sqrt(5 * 6))
    assert placed_otherwise(truth, other) == [
        PlacedTwice("q", "a", 1, 2, 0, 1),
        PlacedTwice("q", "b", 2, 1, 1, 1),
        PlacedTwice("q", "c", 2, 3, 1, 0),
        PlacedTwice("q", "x", 3, None, 0, 0),
        PlacedTwice("q", "y", None, 4, 0, 0),
        PlacedTwice("q", "z", None, 4, 0, 0),
    ]


def test_a_line_more_moves_nobody_below_it() -> None:
    truth, other = Truth({"q": [["a", "b"], ["c"]]}), Truth({"q": [["a"], ["b"], ["c"]]})
    assert [each.document for each in placed_otherwise(truth, other)] == ["a", "b"]
    (each,) = compare_truths(truth, other)
    assert (each.moved, each.regrouped) == (0, 2)


def test_judged_not_relevant_is_group_0() -> None:
    truth = Truth({"q": [["a"], ["b"]], "r": [["c"]]})
    other = Truth({"q": [["a"]]}, nonrelevant={"q": ["b"]})
    assert placed_otherwise(truth, other) == [PlacedTwice("q", "b", 2, 0, 0, 0)]


def test_tau_is_scipys() -> None:
    from scipy.stats import kendalltau

    chance = np.random.default_rng(1)
    ids = [f"d{k}" for k in range(15)]
    for _ in range(20):
        numbers = chance.integers(0, 4, size=(2, len(ids)))
        truths = [
            Truth({"q": [[id for id, n in zip(ids, row, strict=True) if n == k] for k in np.unique(row)]})
            for row in numbers
        ]
        (each,) = compare_truths(*truths)
        assert each.tau == pytest.approx(kendalltau(*numbers).statistic)
    (one,) = compare_truths(Truth({"q": [ids]}), truths[0])
    assert np.isnan(one.tau)
