"""Numba kernels of `twv`: the cheapest legal chains of matches (paper 002, section 2.4.1).

Matches are rows of `_match_kernels`, in order of segments.
"""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.matchers.transport._arguments import (
    CutQueries,
    Flags,
    KeyedDocuments,
    Legality,
    SegmentedQuery,
    SegmentSpans,
)
from roslin.matchers.transport._match_kernels import (
    COLUMNS,
    DISTANCE,
    END,
    SAME,
    SEGMENT,
    START,
    TEMPO,
    TRANSPOSITION,
    matches,
)
from roslin.transport._arguments import Array, Notes, Numbers, Rules

__all__ = ["chain_sums", "chains"]

# Matches of a pair that there is room for at first.
_FIRST_ROOM = 64


@kernel
def _may_follow(before: Array, after: Array, spans: SegmentSpans, legality: Legality) -> bool:
    """Whether match `after` may come next after match `before` in a legal combination."""
    if after[SEGMENT] <= before[SEGMENT] or after[START] <= before[START] + SAME:
        return False
    is_other_place = abs(after[TRANSPOSITION] - before[TRANSPOSITION]) > SAME or after[TEMPO] != before[TEMPO]
    if legality.agree and is_other_place:
        return False
    if after[SEGMENT] > before[SEGMENT] + 1:
        return True
    tempo = (before[TEMPO] + after[TEMPO]) / 2
    in_query = (spans.ends[int(before[SEGMENT])] - spans.starts[int(after[SEGMENT])]) * tempo
    in_document = before[END] - after[START]
    note = spans.unit * tempo
    if in_query > -SAME and abs(in_document - in_query) > legality.tolerance * note + SAME:
        return False
    return bool(-in_document <= max(-in_query, 0.0) + legality.apart * note + SAME)


@kernel
def chains(
    found: Array, count: int, most: int, spans: SegmentSpans, legality: Legality, stop: Flags
) -> tuple[Array, Numbers]:
    """The cheapest legal chains of the first `count` matches: (sums, previous).

    `sums[a, c]` is the least sum of distances over chains of c + 1 matches that end with match a (infinite: none);
    `previous[a, c]` is the match before it. Matches come in order of segments. Chains have at most `most` matches.
    """
    sums = np.full((count, most), np.inf)
    previous = np.full((count, most), -1, np.int64)
    begin = 0  # of the matches of the same segment: none of them follows another
    for a in range(count):
        sums[a, 0] = found[a, DISTANCE]
        if stop[0]:
            break
        if found[a, SEGMENT] != found[begin, SEGMENT]:
            begin = a
        for b in range(begin):
            if not _may_follow(found[b], found[a], spans, legality):
                continue
            for c in range(1, most):
                if sums[b, c - 1] == np.inf:
                    break
                total = sums[b, c - 1] + found[a, DISTANCE]
                if total < sums[a, c]:
                    sums[a, c] = total
                    previous[a, c] = b
    return sums, previous


@kernel
def _table(documents: KeyedDocuments, rows: slice) -> Array:
    """(128, notes): how far each pitch is from each of these notes; (0, 0) if the ground distance has no table."""
    if documents.tables.shape[0] == 0:
        return np.empty((0, 0))
    keys, pitches = documents.keys[rows], documents.notes.pitch[rows]
    table = np.empty((documents.tables.shape[1], len(keys)))
    for j in range(len(keys)):
        table[:, j] = documents.tables[keys[j], :, int(pitches[j])]
    return table


@kernel
def chain_sums(
    queries: CutQueries,
    documents: KeyedDocuments,
    expected: Numbers,
    possible: Flags,
    rules: Rules,
    radius: float,
    legality: Legality,
) -> tuple[Array, float]:
    """(sums, largest): the cheapest legal chains for each pair of a query and a document.

    Pair k is query k with document k; where there is only one query, or only one document, it is that one always.
    Of pair k, `expected[k]` segments would ideally match. `sums[k, c]` is the least sum of distances of a chain of
    c + 1 matches; `largest` is the largest distance of any match. `possible` is (segments, pairs), or (0, 0) for
    everywhere.
    """
    asked, stored, first, end = queries.notes, documents.notes, queries.first, queries.end
    pairs = len(expected)
    query_count, document_count = len(queries.offsets) - 1, len(documents.offsets) - 1
    most = 1
    for k in range(pairs):
        most = max(most, expected[k])
    sums = np.full((pairs, most), np.inf)
    largest = 0.0
    found = np.empty((_FIRST_ROOM, COLUMNS))
    everywhere = np.ones(len(first), np.bool_)
    for k in range(pairs):
        q, d = k if query_count > 1 else 0, k if document_count > 1 else 0
        begin = queries.offsets[q]
        mine = slice(queries.segment_offsets[q], queries.segment_offsets[q + 1])
        points = slice(begin, queries.offsets[q + 1])
        rows = slice(documents.offsets[d], documents.offsets[d + 1])
        if expected[k] == 0 or rules.stop[0]:
            continue
        firsts, lasts = first[mine] - begin, end[mine] - begin
        wanted = everywhere[mine] if possible.shape[0] == 0 else possible[:, k].copy()
        query = Notes(asked.time[points], asked.pitch[points], asked.weight[points])
        document = Notes(stored.time[rows], stored.pitch[rows], stored.weight[rows])
        found, count = matches(
            SegmentedQuery(query, firsts, lasts, wanted, queries.units[q], queries.pitch_unit),
            document,
            _table(documents, rows),
            rules,
            radius,
            found,
        )
        if count == 0:
            continue
        starts, ends = np.empty(len(firsts)), np.empty(len(firsts))
        for s in range(len(firsts)):
            starts[s], ends[s] = query.time[firsts[s]], query.time[lasts[s] - 1]
        ending, _ = chains(
            found, count, expected[k], SegmentSpans(starts, ends, queries.units[q]), legality, rules.stop
        )
        for a in range(count):
            largest = max(largest, found[a, DISTANCE])
            for c in range(expected[k]):
                sums[k, c] = min(sums[k, c], ending[a, c])
    return sums, largest
