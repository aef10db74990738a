"""Grams of letters, sorted, and those of them that are rare enough to make a bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["FIRST_LETTERS", "count_grams", "invert", "pack_grams", "rare_runs"]

Letters = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

FIRST_LETTERS = 8  # in one number of 64 bits; as many again fit into a second one
_MIX = np.uint64(0x9E3779B97F4A7C15)  # spreads what is added to a hash over all its bits


@kernel
def is_of_part(letters: Letters, at: int, end: int, shortest: int, part: int, parts: int) -> Any:
    """Whether a gram begins here, and belongs to this part: its first letters say to which."""
    if at + shortest > end:
        return False
    hashed = np.uint64(0)
    for k in range(shortest):
        if letters[at + k] == 0:
            return False
        hashed = (hashed + np.uint64(letters[at + k])) * _MIX
    return np.int64(hashed >> np.uint64(40)) % parts == part


@kernel
def count_grams(letters: Letters, offsets: Numbers, shortest: int, part: int, parts: int) -> int:
    """How many grams begin in this part."""
    count = 0
    for melody in range(len(offsets) - 1):
        for at in range(offsets[melody], offsets[melody + 1]):
            if is_of_part(letters, at, offsets[melody + 1], shortest, part, parts):
                count += 1
    return count


@kernel
def pack_grams(
    letters: Letters, offsets: Numbers, lengths: tuple[int, int], part: tuple[int, int], packed: tuple[Any, Any, Any]
) -> None:
    """Write the longest gram from every note on, in two numbers that sort as the letters do, and whose it is."""
    high, low, owners = packed
    count = 0
    for melody in range(len(offsets) - 1):
        end = offsets[melody + 1]
        for at in range(offsets[melody], end):
            if not is_of_part(letters, at, end, lengths[0], part[0], part[1]):
                continue
            first, second, is_open = np.uint64(0), np.uint64(0), True
            for k in range(2 * FIRST_LETTERS):
                is_open = is_open and k < lengths[1] and at + k < end and letters[at + k] > 0
                letter = np.uint64(letters[at + k]) if is_open else np.uint64(0)
                if k < FIRST_LETTERS:
                    first = (first << np.uint64(8)) | letter
                else:
                    second = (second << np.uint64(8)) | letter
            high[count], low[count], owners[count] = first, second, melody
            count += 1


@kernel
def letter_of(high: Keys, low: Keys, at: int, place: int) -> Any:
    """A letter of a packed gram; 0 behind its end."""
    if place < FIRST_LETTERS:
        return (high[at] >> np.uint64(8 * (FIRST_LETTERS - 1 - place))) & np.uint64(255)
    return (low[at] >> np.uint64(8 * (2 * FIRST_LETTERS - 1 - place))) & np.uint64(255)


@kernel
def sort_rest(low: Keys, owners: Longs, first: int, last: int) -> None:
    """Sort grams that have their first letters in common by the rest."""
    order = np.argsort(low[first:last])
    low[first:last] = low[first:last][order]
    owners[first:last] = owners[first:last][order]


@kernel
def rare_runs(
    high: Keys, low: Keys, owners: Longs, lengths: tuple[int, int], most: int, seen: Longs, sizes: Longs, members: Longs
) -> tuple[int, int]:
    """Write the size and the members of every bucket; (how many buckets, how many members).

    Grams are sorted by `high`. `seen` has an entry of -1 for each melody.
    """
    shortest, longest = lengths
    buckets, written, rounds = 0, 0, 0
    stack = [(0, 0, 0)]  # grams from, to, that have so many letters in common
    stack.clear()
    begin = 0
    mask = np.uint64(8 * (FIRST_LETTERS - shortest))
    for at in range(1, len(high) + 1):
        if at == len(high) or high[at] >> mask != high[begin] >> mask:
            stack.append((begin, at, shortest))
            begin = at
    while len(stack):
        first, last, length = stack.pop()
        count = 0
        for at in range(first, last):
            if seen[owners[at]] != rounds:
                seen[owners[at]] = rounds
                if count < most:
                    members[written + count] = owners[at]
                count += 1
                if count > most:
                    break
        rounds += 1
        if count <= most:
            if count > 1:
                sizes[buckets] = count
                buckets += 1
                written += count
            continue
        if length == longest:
            continue
        if length == FIRST_LETTERS:
            sort_rest(low, owners, first, last)
        begin = first
        for at in range(first + 1, last + 1):
            if at == last or letter_of(high, low, at, length) != letter_of(high, low, begin, length):
                if at - begin > 1 and letter_of(high, low, begin, length) > 0:
                    stack.append((begin, at, length + 1))
                begin = at
    return buckets, written


@kernel
def invert(starts: Numbers, members: Longs, first: int, last: int, ends: Numbers, buckets: Longs) -> None:
    """Write the buckets from one to another to their members; `ends` says where the next of each member goes."""
    for bucket in range(first, last):
        for at in range(starts[bucket], starts[bucket + 1]):
            buckets[ends[members[at]]] = bucket
            ends[members[at]] += 1
