"""Edit distance and longest common subsequence of two strings, 64 symbols of the first at a time.

The first string is given as masks: bit i of `masks[symbol, word]` says whether its symbol 64 * word + i is `symbol`.
Columns of the table of the textbook recurrence are then words of bits (Myers 1999; Hyyro 2003 and 2004), and the second
string costs a few operations a symbol. A symbol that the first string has nowhere has a row of zeros.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["Words", "edit_distance", "lcts_lengths", "masks_of"]

Numbers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_ONE, _TOP, _FULL = np.uint64(1), np.uint64(63), np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)


@kernel
def masks_of(symbols: Numbers, alphabet: int) -> Words:
    """The masks of a string of symbols from 0 to `alphabet` - 1, with one more row for a symbol that it never has."""
    masks = np.zeros((alphabet + 1, max((len(symbols) + 63) // 64, 1)), np.uint64)
    for i in range(len(symbols)):
        masks[symbols[i], i // 64] |= _ONE << np.uint64(i % 64)
    return masks


@kernel
def edit_distance(masks: Words, m: int, text: Numbers, n: int, up: Words, down: Words) -> int:
    """The number of symbols to insert, delete or replace between a string of m symbols and the first n of `text`.

    `up` and `down` are room for one word each per 64 symbols of the first string.
    """
    if m == 0:
        return n
    words = (m + 63) // 64
    last = np.uint64((m - 1) % 64)
    up[:words], down[:words] = _FULL, _NONE
    distance = m
    for j in range(n):
        row = masks[text[j]]
        # What the row above adds from one column to the next: the distance of nothing to j symbols grows by one.
        adds, takes = _ONE, _NONE
        for word in range(words):
            equal, rises, falls = row[word], up[word], down[word]
            vertical = equal | falls
            equal |= takes
            horizontal = (((equal & rises) + rises) ^ rises) | equal
            plus = falls | ~(horizontal | rises)
            minus = rises & horizontal
            if word == words - 1:
                distance += int((plus >> last) & _ONE) - int((minus >> last) & _ONE)
            next_adds, next_takes = plus >> _TOP, minus >> _TOP
            plus, minus = (plus << _ONE) | adds, (minus << _ONE) | takes
            up[word] = minus | ~(vertical | plus)
            down[word] = plus & vertical
            adds, takes = next_adds, next_takes
    return distance


@kernel
def _common_length(masks: Words, m: int, text: Numbers, n: int, free: Words) -> int:
    """The length of the longest common subsequence of a string of m symbols and the first n of `text`."""
    words = (m + 63) // 64
    free[:words] = _FULL
    for j in range(n):
        row = masks[text[j]]
        carry = _NONE
        for word in range(words):
            used = free[word] & row[word]
            total = free[word] + used
            overflow = total < used
            total += carry
            carry = _ONE if overflow or total < carry else _NONE
            free[word] = total | (free[word] & ~used)
    length = 0
    for i in range(m):
        length += int(_ONE & ~(free[i // 64] >> np.uint64(i % 64)))
    return length


@kernel
def lcts_lengths(query: npt.NDArray[np.int16], pitch: npt.NDArray[np.int16], offsets: Numbers) -> Numbers:
    """For every document, the longest subsequence of pitches that it shares with some transposition of the query."""
    m = len(query)
    lowest, span = int(query.min()), int(query.max() - query.min())
    masks = masks_of(query.astype(np.int64) - lowest, span + 1)
    longest = 0
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    text, free = np.empty(longest, np.int64), np.empty(masks.shape[1], np.uint64)
    lengths = np.zeros(len(offsets) - 1, np.int64)
    for k in range(len(offsets) - 1):
        notes = pitch[offsets[k] : offsets[k + 1]]
        n = len(notes)
        if n == 0:
            continue
        # The lowest note of the query, transposed, from where its top meets the bottom of the document to the reverse.
        for shift in range(int(notes.min()) - span, int(notes.max()) + 1):
            for j in range(n):
                step = notes[j] - shift
                text[j] = step if 0 <= step <= span else span + 1
            lengths[k] = max(lengths[k], _common_length(masks, m, text, n, free))
    return lengths
