"""Numba kernels of `twv`: the cheapest legal chains of matches (paper 002, section 2.4.1).

Matches are rows of `_match_kernels`, in order of segments.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from roslin.matchers.transport._match_kernels import (
    COLUMNS,
    DISTANCE,
    END,
    SAME,
    SEGMENT,
    START,
    TEMPO,
    TRANSPOSITION,
    Array,
    Flags,
    Numbers,
    matches,
)

__all__ = ["chain_sums", "chains"]


@nb.njit(cache=True, nogil=True)
def _may_follow(
    before: Array, after: Array, starts: Array, ends: Array, unit: float, tolerance: float, apart: float, agree: bool
) -> bool:
    """Whether match `after` may come next after match `before` in a legal combination."""
    if after[SEGMENT] <= before[SEGMENT] or after[START] <= before[START] + SAME:
        return False
    if agree and (abs(after[TRANSPOSITION] - before[TRANSPOSITION]) > SAME or after[TEMPO] != before[TEMPO]):
        return False
    if after[SEGMENT] > before[SEGMENT] + 1:
        return True
    tempo = (before[TEMPO] + after[TEMPO]) / 2
    in_query = (ends[int(before[SEGMENT])] - starts[int(after[SEGMENT])]) * tempo
    in_document = before[END] - after[START]
    note = unit * tempo
    if in_query > -SAME and abs(in_document - in_query) > tolerance * note + SAME:
        return False
    return bool(-in_document <= max(-in_query, 0.0) + apart * note + SAME)


@nb.njit(cache=True, nogil=True)
def chains(
    found: Array,
    count: int,
    most: int,
    starts: Array,
    ends: Array,
    unit: float,
    tolerance: float,
    apart: float,
    agree: bool,
) -> tuple[Array, Numbers]:
    """The cheapest legal chains: (sums, previous), by their last match and the number of matches less one.

    `sums[a, c]` is the least sum of distances over chains of c + 1 matches that end with match a (infinite: none);
    `previous[a, c]` is the match before it. `starts` and `ends` are the onsets of the first and last notes of the
    segments in the query, in quarters; matches come in order of segments. Chains have at most `most` matches.
    """
    sums = np.full((count, most), np.inf)
    previous = np.full((count, most), -1, np.int64)
    for a in range(count):
        sums[a, 0] = found[a, DISTANCE]
        for b in range(a):
            if not _may_follow(found[b], found[a], starts, ends, unit, tolerance, apart, agree):
                continue
            for c in range(1, most):
                if sums[b, c - 1] == np.inf:
                    break
                total = sums[b, c - 1] + found[a, DISTANCE]
                if total < sums[a, c]:
                    sums[a, c] = total
                    previous[a, c] = b
    return sums, previous


@nb.njit(cache=True, nogil=True)
def chain_sums(
    query_time: Array,
    query_pitch: Array,
    query_weight: Array,
    query_offsets: Numbers,
    query_units: Array,
    first: Numbers,
    end: Numbers,
    segment_offsets: Numbers,
    time: Array,
    pitch: Array,
    weight: Array,
    offsets: Numbers,
    expected: Numbers,
    possible: Flags,
    semitone: float,
    tempos: Array,
    scales_weights: bool,
    missing: float,
    ground: int,
    tables: Array,
    keys: Numbers,
    radius: float,
    tolerance: float,
    apart: float,
    agree: bool,
) -> tuple[Array, float]:
    """(sums, largest): the cheapest legal chains for each pair of a query and a document.

    Pair k is query k with document k; where there is only one query, or only one document, it is that one always.
    `sums[k, c]` is the least sum of distances of a chain of c + 1 matches; `largest` is the largest distance of any
    match. `possible` is (segments, pairs), or (0, 0) for everywhere. Document d has the tonal table `tables[keys[d]]`.
    """
    pairs = len(expected)
    queries, documents = len(query_offsets) - 1, len(offsets) - 1
    most = 1
    for k in range(pairs):
        most = max(most, expected[k])
    sums = np.full((pairs, most), np.inf)
    largest = 0.0
    found = np.empty((64, COLUMNS))
    everywhere = np.ones(len(first), np.bool_)
    for k in range(pairs):
        q, d = k if queries > 1 else 0, k if documents > 1 else 0
        mine = slice(segment_offsets[q], segment_offsets[q + 1])
        points, rows = slice(query_offsets[q], query_offsets[q + 1]), slice(offsets[d], offsets[d + 1])
        if expected[k] == 0:
            continue
        firsts, lasts = first[mine] - query_offsets[q], end[mine] - query_offsets[q]
        wanted = everywhere[mine] if possible.shape[0] == 0 else possible[:, k].copy()
        query = query_time[points]
        found, count = matches(
            query, query_pitch[points], query_weight[points], firsts, lasts, wanted, query_units[q],
            time[rows], pitch[rows], weight[rows], semitone, tempos, scales_weights, missing, ground,
            tables[keys[d]], radius, found,
        )  # fmt: skip
        if count == 0:
            continue
        starts, ends = np.empty(len(firsts)), np.empty(len(firsts))
        for s in range(len(firsts)):
            starts[s], ends[s] = query[firsts[s]], query[lasts[s] - 1]
        ending, _ = chains(found, count, expected[k], starts, ends, query_units[q], tolerance, apart, agree)
        for a in range(count):
            largest = max(largest, found[a, DISTANCE])
            for c in range(expected[k]):
                sums[k, c] = min(sums[k, c], ending[a, c])
    return sums, largest
