"""Numba kernels of the inverted index: one number for each gram of each melody, and the lists made of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["gram_words", "postings"]

Numbers = npt.NDArray[np.int64]

_MOST_TIMES = 2**16 - 1


@kernel
def gram_words(symbols: Numbers, offsets: Numbers, alphabet: int, n: int, count: int) -> Numbers:
    """gram * count + melody, for each gram of each of the lines that `offsets` bounds."""
    total = 0
    for k in range(len(offsets) - 1):
        total += max(offsets[k + 1] - offsets[k] - n, 0)
    words = np.empty(total, np.int64)
    at, highest = 0, alphabet ** (n - 1)
    for k in range(len(offsets) - 1):
        gram = 0
        for i in range(offsets[k], offsets[k + 1] - 1):
            # The oldest symbol falls out at the top, the new one comes in at the bottom.
            gram = gram % highest * alphabet + symbols[i]
            if i - offsets[k] >= n - 1:
                words[at] = gram * count + k
                at += 1
    return words


@kernel
def postings(
    words: Numbers, count: int
) -> tuple[Numbers, Numbers, npt.NDArray[np.int32], npt.NDArray[np.uint16], npt.NDArray[np.int32]]:
    """(grams, starts, melodies, times, counts) of `grams.GramIndex`, from the sorted words of so many melodies."""
    different, entries = 0, 0
    last_gram, last_word = -1, -1
    for word in words:
        if word != last_word:
            entries += 1
            if word // count != last_gram:
                different += 1
                last_gram = word // count
            last_word = word
    grams, starts = np.empty(different, np.int64), np.empty(different + 1, np.int64)
    melodies, times = np.empty(entries, np.int32), np.zeros(entries, np.uint16)
    counts = np.zeros(count, np.int32)
    different, entries = 0, 0
    last_gram, last_word = -1, -1
    for word in words:
        if word != last_word:
            gram = word // count
            if gram != last_gram:
                grams[different], starts[different] = gram, entries
                different += 1
                last_gram = gram
            melodies[entries] = word - gram * count
            counts[melodies[entries]] += 1
            entries += 1
            last_word = word
        if times[entries - 1] < _MOST_TIMES:
            times[entries - 1] += 1
    starts[different] = entries
    return grams, starts, melodies, times, counts
