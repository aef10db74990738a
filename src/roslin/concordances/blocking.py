"""Pairs worth comparing: melodies that share something rare. Fast, and not exact (dev/measurements/scale.md).

At every note of every melody the shortest gram is taken that at most `MOST` melodies have. All that have it are a
bucket. Common beginnings thus need a longer gram than rare ones, and no bucket is large. Two alphabets find what the
other misses: semitones (3 to 12 intervals, for other rhythms), and seven sizes of interval with three changes of note
value (3 to 14, for other notes).

A melody that has a gram also has its beginnings. Two melodies that share a gram need the same length for it, so both
are in its bucket. And grams with different first letters have nothing to do with each other: so they are divided into
parts by their first letters, and each part is a piece of work that needs little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from roslin.collection.arrays import ArrayFile, Arrays, divides
from roslin.matchers.roslin.scores import NO_INTERVAL, Encoded
from roslin.matchers.roslin.table import FIELDS, MelodyTable, Rows
from roslin.native import kernels
from roslin.types import Ints, Numbers, UBytes

# From a melody's place to the places of those worth comparing with it.
Candidates = Callable[[int], Numbers]

MOST = 200  # melodies in a bucket
NOTES_AT_ONCE = 2_000_000  # about this many are in one part
_MELODIES_AT_ONCE = 50_000
_LARGER, _LARGE = 4, 2  # semitones: beyond these an interval is of the next size
_CHANGE = 2  # steps of a note value that make it longer or shorter
_MIDDLE = 128  # the letter of a repeated note


class Buckets(NamedTuple):
    """Which melodies are in a bucket, and in which buckets a melody is. Both end to end."""

    starts: Numbers  # [buckets + 1]: where each bucket begins in `members`
    members: Ints
    of_starts: Numbers  # [melodies + 1]: where each melody begins in `buckets`
    buckets: Ints


class Alphabet(NamedTuple):
    """A way to read notes as letters from 1 on, 0 for none, and how short and how long grams of them are."""

    name: str
    letters: Callable[[Encoded], UBytes]
    lengths: tuple[int, int]


def _semitones(notes: Encoded) -> UBytes:
    intervals = notes.intervals.astype(np.int64)
    return np.where(intervals == NO_INTERVAL, 0, intervals + _MIDDLE).astype(np.uint8)


def _sizes(notes: Encoded) -> UBytes:
    intervals = notes.intervals.astype(np.int64)
    size = np.sign(intervals) * (1 + (np.abs(intervals) > _LARGE) + (np.abs(intervals) > _LARGER))
    change = np.diff(notes.values.astype(np.int64), prepend=0)
    rhythm = (change >= _CHANGE).astype(np.int64) - (change <= -_CHANGE)
    return np.where(intervals == NO_INTERVAL, 0, 3 * (size + 3) + rhythm + 2).astype(np.uint8)


ALPHABETS = (Alphabet("semitones", _semitones, (3, 12)), Alphabet("sizes", _sizes, (3, 14)))


def write_letters(table: MelodyTable, folder: Path) -> None:
    """Write the notes of all melodies one after the other, by place, and as letters of every alphabet."""
    offsets = _offsets(table)
    notes = int(offsets[-1])
    lengths = {"offsets": len(offsets), "rows": FIELDS * notes} | {alphabet.name: notes for alphabet in ALPHABETS}
    with _letters_file(folder).room(lengths) as room:
        room["offsets"][:] = offsets
        for start in range(0, len(table), _MELODIES_AT_ONCE):
            some = table.take(table.order[start : start + _MELODIES_AT_ONCE].astype(np.int64))
            begin, sizes = int(offsets[start]), np.diff(some.offsets)
            for alphabet in ALPHABETS:
                room[alphabet.name][begin : begin + len(some.pitches)] = alphabet.letters(some)
            # Before each note lie FIELDS bytes for each note of the melodies before it.
            base = FIELDS * (begin + np.repeat(some.offsets[:-1], sizes))
            inside, size = np.arange(len(some.pitches)) - np.repeat(some.offsets[:-1], sizes), np.repeat(sizes, sizes)
            for number, field in enumerate((some.pitches, some.values, some.kinds, some.labels, some.intervals)):
                room["rows"][base + number * size + inside] = field


def _offsets(table: MelodyTable) -> Numbers:
    return np.concatenate([[0], np.cumsum(table.lengths[: len(table)], dtype=np.int64)])


def read_letters(folder: Path) -> Arrays | None:
    """What `write_letters` wrote; None where it is missing or damaged."""
    return _letters_file(folder).read()


def read_buckets(folder: Path) -> Buckets | None:
    """What `write_buckets` wrote; None where it is missing or damaged."""
    arrays = _buckets_file(folder).read()
    return None if arrays is None else Buckets(**arrays)


def _letters_file(folder: Path) -> ArrayFile:
    dtypes = {"offsets": np.int64, "rows": np.int8} | {alphabet.name: np.uint8 for alphabet in ALPHABETS}
    return ArrayFile(folder / "letters.bin", "letters 1", dtypes)


def _buckets_file(folder: Path) -> ArrayFile:
    dtypes = {"starts": np.int64, "members": np.int32, "of_starts": np.int64, "buckets": np.int32}
    return ArrayFile(folder / "buckets.bin", "buckets 1", dtypes)


def rows_of(letters: Arrays) -> Rows:
    """The notes of all melodies, for kernels."""
    return Rows(letters["rows"], letters["offsets"])


def bucket_parts(table: MelodyTable) -> int:
    """How many parts the buckets of a table are made in: for each alphabet as many."""
    notes = int(table.sizes.sum(dtype=np.int64))
    return len(ALPHABETS) * max(-(-notes // NOTES_AT_ONCE), 1)


def part_of_buckets(letters: Arrays, number: int, parts: int) -> Arrays:
    """One part: the sizes and the members, by place, of its buckets."""
    alphabet, of_each = ALPHABETS[number % len(ALPHABETS)], parts // len(ALPHABETS)
    part = number // len(ALPHABETS), of_each
    sizes, members = rare_buckets(letters[alphabet.name], letters["offsets"], alphabet.lengths, MOST, part)
    return {"sizes": sizes, "members": members}


def rare_buckets(
    letters: UBytes, offsets: Numbers, lengths: tuple[int, int], most: int, part: tuple[int, int] = (0, 1)
) -> tuple[Ints, Ints]:
    """(sizes, members) of the buckets, which hold 2 to `most` melodies, of part k of n. Letter 0 is none."""
    grams = kernels.count_grams(letters, offsets, lengths[0], *part)
    high, low, owners = np.empty(grams, np.uint64), np.empty(grams, np.uint64), np.empty(grams, np.int32)
    kernels.pack_grams(letters, offsets, *lengths, *part, high, low, owners)
    order = np.argsort(high)
    high, low, owners = high[order], low[order], owners[order]
    seen = np.full(len(offsets) - 1, -1, np.int32)
    sizes, members = np.empty(grams // 2 + 1, np.int32), np.empty(grams + most, np.int32)
    written = np.empty(2, np.int64)
    kernels.rare_runs(high, low, owners, *lengths, most, seen, sizes, members, written)
    buckets, in_all = written.tolist()
    return sizes[:buckets].copy(), members[:in_all].copy()


def write_buckets(folder: Path, melodies: int, parts: Callable[[], Iterable[Arrays]]) -> None:
    """Put the parts together: who is in a bucket, and in which buckets a melody is."""
    total, counts = 0, np.zeros(melodies + 1, np.int64)
    for part in parts():
        total += len(part["sizes"])
        counts[1:] += np.bincount(part["members"], minlength=melodies)
    in_all = int(counts.sum())
    lengths = {"starts": total + 1, "members": in_all, "of_starts": melodies + 1, "buckets": in_all}
    with _buckets_file(folder).room(lengths) as room:
        starts, members = room["starts"], room["members"]
        np.cumsum(counts, out=room["of_starts"])
        starts[0], made, filled = 0, 0, 0
        for part in parts():
            sizes = part["sizes"]
            starts[made + 1 : made + 1 + len(sizes)] = filled + np.cumsum(sizes, dtype=np.int64)
            members[filled : filled + len(part["members"])] = part["members"]
            made, filled = made + len(sizes), filled + len(part["members"])
        kernels.invert(starts, members, room["of_starts"][:-1].copy(), room["buckets"])


def are_safe(buckets: Buckets, rows: Rows, table: MelodyTable) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays."""
    starts, members, of_starts, of = buckets
    return bool(
        np.array_equal(rows.offsets, _offsets(table))
        and len(rows.notes) == FIELDS * rows.offsets[-1]
        and len(of_starts) == len(table) + 1
        and len(members) == len(of)
        and divides(starts, len(members))
        and divides(of_starts, len(of))
        and members.min(initial=0) >= 0
        and members.max(initial=0) < len(table)
        and of.min(initial=0) >= 0
        and of.max(initial=0) < max(len(starts) - 1, 1)
    )


def candidates_by(index: Buckets) -> Candidates:
    """A function that gathers the candidates of a melody. One for each thread: it remembers whom it has seen."""
    melodies = len(index.of_starts) - 1
    seen, room, rounds = np.full(melodies, -1, np.int32), np.empty(melodies, np.int32), count()
    return lambda place: room[: kernels.gather(index, place, next(rounds), seen, room)].astype(np.int64)
