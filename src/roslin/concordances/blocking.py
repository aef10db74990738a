"""Pairs worth comparing: melodies that share something rare. Fast, and not exact (docs/measurements/concordances.md).

At every note of every melody the shortest gram is taken that at most `MOST` melodies have; all that have it are a
bucket. Common beginnings thus need a longer gram than rare ones, and no bucket is large. Two alphabets find what the
other misses: semitones (3 to 12 intervals, for other rhythms), and seven sizes of interval with three changes of note
value (3 to 14, for other notes).

Whoever has a gram has the beginnings of it as well: two melodies that share a gram need the same length for it, so
both are in its bucket.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import numpy.typing as npt

from roslin.concordances._gather import Buckets
from roslin.matchers.roslin._alignment import NO_INTERVAL, Encoded
from roslin.matchers.roslin.table import MelodyTable

__all__ = ["MOST", "Candidates", "buckets_of", "candidates_by", "rare_buckets"]

Bytes = npt.NDArray[np.int64]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
# From a melody's number to the numbers of those worth comparing with it.
Candidates = Callable[[int], Numbers]

MOST = 200  # melodies in a bucket
SEMITONES = (3, 12)  # the shortest and the longest gram
SIZES = (3, 14)
_LARGER, _LARGE = 4, 2  # semitones: beyond these an interval is of the next size
_CHANGE = 2  # steps of a note value that make it longer or shorter
_LETTERS = 256
_MIX = np.uint64(0x9E3779B97F4A7C15)  # spreads what is added to a hash over all its bits


def buckets_of(table: MelodyTable, most: int = MOST) -> Buckets:
    """The buckets of all melodies of a table, by number."""
    notes = table.take(np.arange(len(table)))
    found = [
        rare_buckets(_semitones(notes), notes.offsets, SEMITONES, most),
        rare_buckets(_sizes(notes), notes.offsets, SIZES, most),
    ]
    shift = [0, int(found[0][0].max(initial=-1)) + 1]
    buckets = np.concatenate([each[0] + by for each, by in zip(found, shift, strict=True)])
    members = np.concatenate([each[1] for each in found])
    by_bucket, by_member = np.lexsort((members, buckets)), np.lexsort((buckets, members))
    return Buckets(
        _starts(buckets[by_bucket], int(buckets.max(initial=-1)) + 1),
        members[by_bucket].astype(np.int32),
        _starts(members[by_member], len(table)),
        buckets[by_member].astype(np.int32),
    )


def candidates_by(index: Buckets) -> Candidates:
    """A function that gathers the candidates of a melody. One for each thread: it remembers whom it has seen."""
    from roslin.concordances._gather import gather

    melodies = len(index.of_starts) - 1
    seen, room, rounds = np.full(melodies, -1, np.int32), np.empty(melodies, np.int32), count()
    return lambda number: room[: gather(index, number, next(rounds), seen, room)].astype(np.int64)


def rare_buckets(letters: Bytes, offsets: Numbers, lengths: tuple[int, int], most: int) -> tuple[Numbers, Numbers]:
    """(buckets, members): every melody in each of its buckets, which hold 2 to `most`. A letter below 0 is none."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ends = offsets[owner + 1]
    places = np.flatnonzero(letters >= 0)
    hashes = np.zeros(len(places), np.uint64)
    known, buckets, members = 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for length in range(1, lengths[1] + 1):
        inside = places + length - 1 < ends[places]
        places, hashes = places[inside], hashes[inside]
        letter = letters[places + length - 1].astype(np.uint64)
        hashes = (hashes ^ (letter + np.uint64(length * _LETTERS))) * _MIX
        hashes ^= hashes >> np.uint64(29)
        if length < lengths[0] or not len(places):
            continue
        grams, gram_of = np.unique(hashes, return_inverse=True)
        pairs = np.unique(gram_of * np.int64(len(offsets)) + owner[places])
        gram, member = pairs // len(offsets), pairs % len(offsets)
        size = np.bincount(gram, minlength=len(grams))
        is_bucket = (size > 1) & (size <= most)
        number = known + np.cumsum(is_bucket) - 1
        buckets.append(number[gram[is_bucket[gram]]])
        members.append(member[is_bucket[gram]])
        known += int(is_bucket.sum())
        is_common = size[gram_of] > most
        places, hashes = places[is_common], hashes[is_common]
    return np.concatenate(buckets), np.concatenate(members)


def _semitones(notes: Encoded) -> Bytes:
    intervals = notes.intervals.astype(np.int64)
    return np.where(intervals == NO_INTERVAL, -1, intervals + _LETTERS // 2)


def _sizes(notes: Encoded) -> Bytes:
    intervals = notes.intervals.astype(np.int64)
    size = np.sign(intervals) * (1 + (np.abs(intervals) > _LARGE) + (np.abs(intervals) > _LARGER))
    change = np.diff(notes.values.astype(np.int64), prepend=0)
    rhythm = (change >= _CHANGE).astype(np.int64) - (change <= -_CHANGE)
    return np.where(intervals == NO_INTERVAL, -1, 3 * (size + 3) + rhythm + 1)


def _starts(sorted_values: Numbers, count: int) -> Numbers:
    return np.searchsorted(sorted_values, np.arange(count + 1)).astype(np.int64)
