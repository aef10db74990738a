"""Melodies cut into overlapping segments (paper 002, section 2.4 and Figure 3).

A segment is a number of consecutive onsets; notes that start together count as one onset and all come along. The next
segment starts `step` onsets later. Two things that the paper leaves open:

- the last segment lies flush with the end of the melody: it starts fewer than `step` onsets after the one before it
  where that is needed, so that every note is in a segment and all segments are equally long;
- a melody with fewer onsets than a segment is one segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.represent.points import PointSets
from roslin.types import Numbers


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of many point sets, end to end: those of set k are `offsets[k]` to `offsets[k + 1]`.

    A segment is the points `first` up to, not including, `end`. `onsets` counts the different onsets of each set.
    """

    first: Numbers
    end: Numbers
    offsets: Numbers
    onsets: Numbers


def segment_count(onsets: npt.ArrayLike, length: int, step: int) -> Numbers:
    """Into how many segments melodies with so many onsets are cut.

    >>> segment_count([0, 4, 6, 7, 9, 10], length=6, step=3).tolist()
    [0, 1, 1, 2, 2, 3]
    """
    count = np.asarray(onsets, dtype=np.int64)
    more = -(-np.maximum(count - length, 0) // step)
    return np.where(count > 0, 1 + more, 0).astype(np.int64)


def segments(points: PointSets, length: int, step: int) -> Segments:
    """The segments of all point sets, `length` onsets each, `step` onsets apart.

    >>> from roslin import load
    >>> from roslin.represent.points import point_sets
    >>> cut = segments(point_sets(load("'4CDEFGAB2''C")), length=6, step=3)
    >>> list(zip(cut.first.tolist(), cut.end.tolist()))
    [(0, 6), (2, 8)]
    """
    is_new = np.ones(len(points.time), dtype=np.bool_)
    is_new[1:] = points.time[1:] != points.time[:-1]
    is_new[points.offsets[:-1][np.diff(points.offsets) > 0]] = True
    rows = np.append(np.flatnonzero(is_new), len(points.time)).astype(np.int64)
    before = np.searchsorted(rows[:-1], points.offsets).astype(np.int64)
    onsets = np.diff(before)
    count = segment_count(onsets, length, step)
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
    flush = np.repeat(np.maximum(onsets - length, 0), count)
    start = np.repeat(before[:-1], count) + np.minimum(number * step, flush)
    end = np.minimum(start + length, np.repeat(before[1:], count))
    return Segments(rows[start], rows[end], offsets, onsets)
