from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import ShapeH, ShapeTime, Time


@pytest.mark.parametrize("k", [1, 3, 10, 500])
@pytest.mark.parametrize("options", [("hybrid", "shorter"), ("global", "longer")])
def test_the_best_of_shapeh_are_in_the_order_of_time_and_the_others_follow(k: int, options: tuple[str, str]) -> None:
    shapes, times = ShapeH(*options).distances(CASTLE, TUNES), Time(*options).distances(CASTLE, TUNES)
    found = ShapeTime(*options, k=k).distances(CASTLE, TUNES)
    limit = sorted(shapes)[min(k, len(TUNES)) - 1]
    expected = sorted(range(len(TUNES)), key=lambda n: (0, times[n]) if shapes[n] <= limit else (1, shapes[n]))
    assert np.argsort(found, kind="stable").tolist() == expected
    for number, distance in enumerate(found):
        if shapes[number] <= limit:
            assert distance == times[number] / (1 + times[number]) < 1
        else:
            assert distance == 1 + shapes[number] > 1


def test_ties_with_the_last_are_ranked_again() -> None:
    # Rhythm does not count for `shapeh`: all four are as near as the first.
    query = Melody.from_notes([0, 1, 2, 3], [1] * 4, [60, 62, 64, 65])
    same = [Melody.from_notes([0, 1, 2, 3], [1, 1, 1, last], [60, 62, 64, 65]) for last in (4, 3, 2, 1)]
    distances = ShapeTime(k=1).distances(query, same)
    assert distances.argsort().tolist() == [3, 2, 1, 0]
    assert distances.max() < 1


def test_nothing_to_rank() -> None:
    assert ShapeTime().distances(CASTLE, []).shape == (0,)


def test_bad_parameters() -> None:
    for k in (0, 2.5, True):
        with pytest.raises(ArgumentError, match="shapetime: k must be a whole number from 1 to 1000000; got"):
            matcher(f"shapetime(k={k!r})")
    with pytest.raises(ArgumentError, match="rhythm must be a number, at least 0; got -1"):
        matcher("shapetime(rhythm=-1)")
    with pytest.raises(UnknownNameError, match="unknown mismatch of shapetime 'x'"):
        matcher("shapetime(mismatch='x')")
