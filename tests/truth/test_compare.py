"""Two truths for the same queries, compared pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.compare import compare_truths
from roslin.truth.model import Truth


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
