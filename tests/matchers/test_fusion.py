"""`fuse`: worked by hand, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from roslin import Melody, load, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import fuse
from roslin.matchers.base import Matcher
from roslin.matchers.fusion import Fusion
from roslin.represent.packed import Packed
from roslin.run.fusion import scaled
from roslin.starter import tunes_path
from roslin.types import Distances

QUERY = Melody.from_notes([0], [1], [60])
CANDIDATES = [QUERY] * 4


@dataclass(frozen=True, repr=False)
class Fixed(Matcher):
    """A matcher that always gives the same distances."""

    name = "fixed"
    summary = "Gives fixed distances."
    reference = "none"

    values: tuple[float, ...] = ()

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return np.array(self.values)


A = Fixed((0.0, 1.0, 2.0, 3.0))
B = Fixed((10.0, 30.0, 20.0, 20.0))


def found(method: str, **parameters: object) -> list[float]:
    chosen = Fusion((A, B), method=method, **parameters)  # type: ignore[arg-type]
    return [float(distance) for distance in chosen.distances(QUERY, CANDIDATES)]


def test_sum_of_scores_between_0_and_1() -> None:
    # scores of A: 1, 2/3, 1/3, 0; of B: 1, 0, 1/2, 1/2
    assert found("sum", scale="minmax") == pytest.approx([0, 4 / 3, 7 / 6, 3 / 2])
    assert found("sum", scale="minmax", weights=(1, 3)) == pytest.approx([0, 10 / 3, 13 / 6, 5 / 2])


def test_sum_of_standard_scores() -> None:
    a, b = np.array(A.values), np.array(B.values)
    total = (1.5 - a) / a.std() + (20 - b) / b.std()
    assert found("sum") == pytest.approx((total.max() - total).tolist())


def test_sum_times_members() -> None:
    # First two of A: 0, 1; first two of B: 0, and both that share rank 2: 2, 3.
    results = np.array([2 * 2, 2 / 3 * 1, 5 / 6 * 1, 1 / 2 * 1])
    assert found("mnz", scale="minmax", depth=2) == pytest.approx((4 - results).tolist())


def test_reciprocal_ranks_with_equal_distances_sharing_the_first() -> None:
    results = np.array([1 / 61 + 1 / 61, 1 / 62 + 1 / 64, 1 / 63 + 1 / 62, 1 / 64 + 1 / 62])
    assert found("rrf") == pytest.approx((results[0] - results).tolist())


def test_what_a_member_cannot_compare_is_as_far_as_its_farthest() -> None:
    assert scaled(np.array([0.0, np.inf, 2.0]), "minmax").tolist() == [1, 0, 0]
    assert scaled(np.array([np.inf, np.inf])).tolist() == [0, 0]
    assert scaled(np.array([3.0, 3.0])).tolist() == [0, 0]


def test_a_member_without_weight_does_not_count() -> None:
    alone = Fusion((A,)).distances(QUERY, CANDIDATES)
    assert Fusion((A, B), weights=(1, 0)).distances(QUERY, CANDIDATES).tolist() == alone.tolist()


def test_it_is_written_and_read_as_text() -> None:
    text = "fuse(dp(place='inside'), fuse(emd, twv), method='rrf', weights=(2.0, 1.0))"
    assert repr(matcher(text)) == text
    assert matcher(text) == fuse("dp(place='inside')", fuse("emd", "twv"), method="rrf", weights=(2, 1))
    assert hash(matcher(text)) == hash(matcher(text))


@pytest.mark.long
def test_in_a_search_the_tunes_that_both_find_come_first() -> None:
    tunes = load(tunes_path())
    for method in ("sum", "mnz", "rrf"):
        distances = fuse("dp", "emd", method=method).distances(tunes[3], tunes)
        assert distances[3] == 0
        assert np.isfinite(distances).all()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("fuse", ArgumentError),
        ("fuse()", ArgumentError),
        ("fuse(nothing)", UnknownNameError),
        ("fuse(dp, method='best')", UnknownNameError),
        ("fuse(dp, scale='rank')", UnknownNameError),
        ("fuse(dp, emd, weights=(1,))", ArgumentError),
        ("fuse(dp, emd, weights=(0, 0))", ArgumentError),
        ("fuse(dp, emd, weights=(1, -1))", ArgumentError),
        ("fuse(dp, depth=0)", ArgumentError),
        ("dp('inside')", ArgumentError),
        ("dp(emd)", ArgumentError),
        ("fuse(dp", ArgumentError),
    ],
)
def test_what_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        matcher(text)
