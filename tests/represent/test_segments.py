from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Melody
from roslin.represent.points import point_sets, segment_count, segments


def melody(onsets: list[int]) -> Melody:
    return Melody.from_notes(onsets, [1] * len(onsets), [60 + k % 7 for k in range(len(onsets))])


def literal(onsets: list[int], length: int, step: int) -> list[list[int]]:
    """The onsets of each segment, by going along the melody."""
    different = sorted(set(onsets))
    if not different:
        return []
    cut, start = [], 0
    while start + length < len(different):
        cut.append(different[start : start + length])
        start += step
    return [*cut, different[-length:]]


@pytest.mark.long
@given(st.lists(st.lists(st.integers(0, 12), max_size=20), max_size=5), st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=300)
def test_segments_of_many_melodies(tunes: list[list[int]], length: int, step: int) -> None:
    points = point_sets([melody(onsets) for onsets in tunes])
    cut = segments(points, length, step)
    assert len(cut.offsets) == len(tunes) + 1
    for k, onsets in enumerate(tunes):
        found = range(cut.offsets[k], cut.offsets[k + 1])
        times = [sorted(set(points.time[cut.first[s] : cut.end[s]].tolist())) for s in found]
        assert times == literal(onsets, length, step)
        assert cut.onsets[k] == len(set(onsets))
        assert segment_count(len(set(onsets)), length, step) == len(times)
        for s in found:  # all notes of an onset come along
            assert points.offsets[k] <= cut.first[s] < cut.end[s] <= points.offsets[k + 1]
            inside = np.isin(onsets, points.time[cut.first[s] : cut.end[s]])
            assert inside.sum() == cut.end[s] - cut.first[s]


def test_simultaneous_notes_are_not_counted() -> None:
    chords = point_sets([Melody.from_notes([0, 0, 0, 1, 2, 2, 3], [1] * 7, [60, 64, 67, 62, 60, 64, 65])])
    cut = segments(chords, length=2, step=1)
    assert list(zip(cut.first.tolist(), cut.end.tolist(), strict=True)) == [(0, 4), (3, 6), (4, 7)]


@pytest.mark.parametrize(("onsets", "starts"), [(5, [0]), (6, [0]), (7, [0, 1]), (9, [0, 3]), (11, [0, 3, 5])])
def test_the_last_segment_is_flush_with_the_end(onsets: int, starts: list[int]) -> None:
    cut = segments(point_sets([melody(list(range(onsets)))]), length=6, step=3)
    assert cut.first.tolist() == starts
    assert cut.end.tolist() == [min(start + 6, onsets) for start in starts]
