"""Which melodies hold which n-grams: an inverted index, made in one go for all melodies of a packed table.

A line of notes becomes a line of symbols, one for each pair of notes that follow each other (whole numbers from 0 to
`alphabet` - 1). An n-gram is n consecutive symbols, so n + 1 notes, written as one number: its symbols are the digits.
A line of fewer than n + 1 notes holds none.

The index is made by sorting one number for each gram of each melody, gram first and melody second; so `alphabet` to
the power of n, times the number of melodies, must stay below 2**63.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.native import kernels
from roslin.represent.line import Lines
from roslin.types import Numbers


@dataclass(frozen=True, slots=True)
class GramIndex:
    """Gram `grams[k]` occurs in `melodies[starts[k] : starts[k + 1]]`, in each `times` times.

    `grams` rises, and so do the melodies of a gram. `counts` is the number of different grams of each melody.
    """

    grams: Numbers
    starts: Numbers
    melodies: npt.NDArray[np.int32]
    times: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.int32]

    def find(self, grams: Numbers) -> tuple[Numbers, Numbers]:
        """(starts, stops) of these grams in `melodies`: empty spans for grams that no melody holds."""
        if not len(self.grams):
            return np.zeros(len(grams), np.int64), np.zeros(len(grams), np.int64)
        places = np.minimum(np.searchsorted(self.grams, grams), len(self.grams) - 1)
        starts = self.starts[places]
        return starts, np.where(self.grams[places] == grams, self.starts[places + 1], starts)


def gram_index(lines: Lines, symbols: Numbers, alphabet: int, n: int) -> GramIndex:
    """The index of the n-grams of all lines.

    `symbols[i]` belongs to the notes i and i + 1 of the lines; what it is at the last note of a line does not matter.

    >>> from roslin import Melody
    >>> from roslin.represent.line import melodic_lines
    >>> melodies = [Melody.from_notes(range(4), [1] * 4, pitches) for pitches in ([0, 1, 3, 4], [9, 9, 10, 12])]
    >>> index = gram_index(melodic_lines(melodies), np.array([1, 2, 1, 0, 0, 1, 2, 0]), alphabet=3, n=2)
    >>> index.grams.tolist(), index.starts.tolist(), index.melodies.tolist()
    ([1, 5, 7], [0, 1, 3, 4], [1, 0, 1, 0])
    """
    count = max(len(lines), 1)
    if alphabet**n * count >= 2**63:
        raise ArgumentError(f"n-grams of {n} symbols out of {alphabet} are too many for {count} melodies")
    words = np.empty(int(np.maximum(np.diff(lines.offsets) - n, 0).sum()), np.int64)
    kernels.gram_words(symbols, lines.offsets, alphabet, n, words)
    words.sort()
    sizes = np.empty(2, np.int64)
    kernels.posting_sizes(words, count, sizes)
    different, entries = sizes.tolist()
    index = GramIndex(
        np.empty(different, np.int64),
        np.empty(different + 1, np.int64),
        np.empty(entries, np.int32),
        np.empty(entries, np.uint16),
        np.empty(len(lines), np.int32),
    )
    kernels.postings(words, index.grams, index.starts, index.melodies, index.times, index.counts)
    return index
