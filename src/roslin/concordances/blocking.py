"""Pairs worth comparing: melodies that share something rare. Fast, and not exact (docs/measurements/scale.md).

At every note of every melody the shortest gram is taken that at most `MOST` melodies have; all that have it are a
bucket. Common beginnings thus need a longer gram than rare ones, and no bucket is large. Two alphabets find what the
other misses: semitones (3 to 12 intervals, for other rhythms), and seven sizes of interval with three changes of note
value (3 to 14, for other notes).

Whoever has a gram has the beginnings of it as well: two melodies that share a gram need the same length for it, so both
are in its bucket. And grams with different first letters have nothing to do with each other: so they are divided into
parts by their first letters, and each part is a piece of work that needs little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from roslin.concordances.journal import Arrays
from roslin.concordances.mapped import map_array, new_array, write_array
from roslin.matchers.roslin.table import FIELDS, MelodyTable, Rows
from roslin.matchers.roslin.values import NO_INTERVAL, Encoded
from roslin.native import kernels
from roslin.types import Bytes, Ints, Numbers, UBytes

# From a melody's place to the places of those worth comparing with it.
Candidates = Callable[[int], Numbers]

MOST = 200  # melodies in a bucket
NOTES_AT_ONCE = 2_000_000  # about so many are in one part
_MELODIES_AT_ONCE = 50_000
_LARGER, _LARGE = 4, 2  # semitones: beyond these an interval is of the next size
_CHANGE = 2  # steps of a note value that make it longer or shorter
_MIDDLE = 128  # the letter of a repeated note
_BUCKETS = {"starts": np.int64, "members": np.int32, "of_starts": np.int64, "buckets": np.int32}


class Buckets(NamedTuple):
    """Which melodies are in a bucket, and in which buckets a melody is; both end to end."""

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
    write_array(folder / "offsets.bin", offsets)

    def fill_rows(room: Bytes) -> None:
        for start, some in _by_place(table):
            fields = (some.pitches, some.values, some.kinds, some.labels, some.intervals)
            sizes = np.diff(some.offsets)
            # Before each note lie FIELDS bytes for each note of the melodies before it.
            base = FIELDS * (offsets[start] + np.repeat(some.offsets[:-1], sizes))
            inside, size = np.arange(len(some.pitches)) - np.repeat(some.offsets[:-1], sizes), np.repeat(sizes, sizes)
            for number, field in enumerate(fields):
                room[base + number * size + inside] = field

    new_array(folder / "rows.bin", np.int8, FIELDS * int(offsets[-1]), fill_rows)
    for alphabet in ALPHABETS:

        def fill(room: UBytes, alphabet: Alphabet = alphabet) -> None:
            for start, some in _by_place(table):
                room[offsets[start] : offsets[start] + len(some.pitches)] = alphabet.letters(some)

        new_array(folder / f"{alphabet.name}.bin", np.uint8, int(offsets[-1]), fill)


def _by_place(table: MelodyTable) -> Iterator[tuple[int, Encoded]]:
    """(first place, melodies) of all melodies, some at a time."""
    for start in range(0, len(table), _MELODIES_AT_ONCE):
        yield start, table.take(table.order[start : start + _MELODIES_AT_ONCE].astype(np.int64))


def _offsets(table: MelodyTable) -> Numbers:
    return np.concatenate([[0], np.cumsum(table.lengths[: len(table)], dtype=np.int64)])


def bucket_parts(table: MelodyTable) -> int:
    """How many parts the buckets of a table are made in: for each alphabet as many."""
    notes = int(table.sizes.sum(dtype=np.int64))
    return len(ALPHABETS) * max(-(-notes // NOTES_AT_ONCE), 1)


def part_of_buckets(folder: Path, number: int, parts: int) -> Arrays:
    """One part: the sizes and the members, by place, of its buckets."""
    alphabet, of_each = ALPHABETS[number % len(ALPHABETS)], parts // len(ALPHABETS)
    letters, offsets = map_array(folder / f"{alphabet.name}.bin", np.uint8), map_array(folder / "offsets.bin", np.int64)
    sizes, members = rare_buckets(letters, offsets, alphabet.lengths, MOST, (number // len(ALPHABETS), of_each))
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
    total, in_all, counts = 0, 0, np.zeros(melodies + 1, np.int64)
    for part in parts():
        total, in_all = total + len(part["sizes"]), in_all + len(part["members"])
        counts[1:] += np.bincount(part["members"], minlength=melodies)
    of_starts = np.cumsum(counts)
    write_array(folder / "of_starts.bin", of_starts)

    def fill_starts(room: Numbers) -> None:
        room[0], done = 0, 0
        for part in parts():
            following = slice(done + 1, done + 1 + len(part["sizes"]))
            room[following] = room[done] + np.cumsum(part["sizes"], dtype=np.int64)
            done += len(part["sizes"])

    def fill_members(room: Ints) -> None:
        done = 0
        for part in parts():
            room[done : done + len(part["members"])] = part["members"]
            done += len(part["members"])

    new_array(folder / "starts.bin", np.int64, total + 1, fill_starts)
    new_array(folder / "members.bin", np.int32, in_all, fill_members)
    starts, members = (map_array(folder / f"{name}.bin", _BUCKETS[name]) for name in ("starts", "members"))
    new_array(
        folder / "buckets.bin", np.int32, in_all, lambda room: kernels.invert(starts, members, of_starts[:-1], room)
    )


def map_rows(folder: Path) -> Rows:
    """The notes of all melodies that `write_letters` wrote."""
    return Rows(map_array(folder / "rows.bin", np.int8), map_array(folder / "offsets.bin", np.int64))


def map_buckets(folder: Path) -> Buckets:
    """What `write_buckets` wrote."""
    return Buckets(**{name: map_array(folder / f"{name}.bin", dtype) for name, dtype in _BUCKETS.items()})


def are_safe(buckets: Buckets, rows: Rows, table: MelodyTable) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays."""
    starts, members, of_starts, of = buckets
    melodies = len(table)
    return bool(
        np.array_equal(rows.offsets, _offsets(table))
        and len(rows.notes) == FIELDS * rows.offsets[-1]
        and len(of_starts) == melodies + 1
        and len(starts)
        and len(members) == len(of) == starts[-1] == of_starts[-1]
        and starts[0] == of_starts[0] == 0
        and (starts[1:] >= starts[:-1]).all()
        and (of_starts[1:] >= of_starts[:-1]).all()
        and members.min(initial=0) >= 0
        and members.max(initial=0) < melodies
        and of.min(initial=0) >= 0
        and of.max(initial=0) < max(len(starts) - 1, 1)
    )


def candidates_by(index: Buckets) -> Candidates:
    """A function that gathers the candidates of a melody. One for each thread: it remembers whom it has seen."""
    melodies = len(index.of_starts) - 1
    seen, room, rounds = np.full(melodies, -1, np.int32), np.empty(melodies, np.int32), count()
    return lambda place: room[: kernels.gather(index, place, next(rounds), seen, room)].astype(np.int64)
