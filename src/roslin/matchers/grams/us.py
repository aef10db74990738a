"""`us`: how many of the query's short runs of intervals a melody holds, wherever they stand.

Reference: Uitdenbogerd and Suyoto's entry to MIREX 2005, the method `ngr5` of their program Fanimae, of which
all is known.

- The line (represent/line.py: no grace notes, the highest of simultaneous notes; the program takes a track of MIDI the
  same way) becomes a string of directed intervals modulo 12. With I the interval in semitones,

      code = sgn(I) * (1 + (|I| - 1) mod 12),    0 for I = 0

  so an octave stays 12 and a minor ninth up becomes 1: 25 symbols from -12 to 12.
- All overlapping runs of five codes (`n`) are taken, each once, of the query and of the melody.
- Coordinate matching: the more of the query's different runs a melody holds, the nearer it is.

With q different runs in the query, d in the melody and c in both, the distance is

    divide = "query"   1 - c / q; the order is that of the program, which counts c and divides by nothing
    divide = "both"    1 - 2 c / (q + d); ours: a long melody holds many runs by chance

Example. C D E F G F E has the codes 2 2 1 2 -2 -1 and the runs (2 2 1 2 -2), (2 1 2 -2 -1). G A B C D E has 2 2 1 2 2,
so the run (2 2 1 2 2), and is at 1; C D E F G F has the first of the two runs and is at 1/2, or 1/3 with "both".

A melody of five notes or fewer has no run of five, and is at 1 from everything, itself included, as in the program.
Only pitch counts: the distance does not change under transposition, tempo, or any other rhythm. Ties are many (c is a
small number) and are broken by id; the program's own order of ties is arbitrary.

All runs of all candidates are in an inverted index (represent/grams.py), made when the candidates are first searched
and kept with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Step
from roslin.matchers.paths import both_lines, runs
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.grams import GramIndex, gram_index
from roslin.represent.line import melodic_line, melodic_lines
from roslin.represent.packed import Packed
from roslin.represent.words import in_words
from roslin.types import Distances
from roslin.values.parameters import choice, whole

_SYMBOLS = 25
_LONGEST_RUN = 8
_LARGEST_INTERVAL = 127  # semitones


@register
@dataclass(frozen=True, repr=False)
class US(Matcher):
    """Runs of intervals in common."""

    name = "us"
    summary = N_("Counts the runs of five intervals that both melodies have, in any position; ignores key and rhythm.")
    reference = "Uitdenbogerd & Suyoto, MIREX 2005 entry US (Fanimae, ngr5)"

    kind = "grams"
    modes: ClassVar[Modes] = {
        "compare": {"melody": {}},
        "place": {"anywhere": {"divide": "query"}, "whole": {"divide": "both"}},
        "key": {"any": {}},
    }
    is_indexed = True

    n: int = whole(5, most=_LONGEST_RUN)
    divide: str = choice("query", "both", "query")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        index = candidates.keep((self.name, self.n), self._index)
        asked = self._grams(query)
        counts = index.counts if self.divide == "both" else np.empty(0, np.int32)
        shared, distances = np.empty(len(candidates), np.int32), np.empty(len(candidates))
        kernels.shared_gram_distances(*index.find(asked), index.melodies, counts, shared, distances)
        return distances

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = (
            runs(interval_codes(line.intervals()[:-1]).tolist(), line.rows.tolist(), self.n)
            for line in both_lines(query, candidates, number)
        )
        share = 2 / (len(asked) + len(stored)) if self.divide == "both" and stored else 1 / max(len(asked), 1)
        steps = (
            Step("shared", tuple(places), tuple(stored[gram]), -share, in_words(gram))
            for gram, places in asked.items()
            if gram in stored
        )
        return self._explanation(query, candidates, number, 1.0, steps)

    def _grams(self, query: Melody) -> npt.NDArray[np.int64]:
        """The different runs of the query, as the index writes them."""
        symbols = _SYMBOL_OF_INTERVAL[np.diff(melodic_line(query)["pitch_midi"].astype(np.int64)) + _LARGEST_INTERVAL]
        if len(symbols) < self.n:
            return np.empty(0, np.int64)
        grams: npt.NDArray[np.int64] = np.unique(
            sliding_window_view(symbols, self.n) @ _SYMBOLS ** np.arange(self.n - 1, -1, -1)
        )
        return grams

    def _index(self, packed: Packed) -> GramIndex:
        lines = melodic_lines(packed)
        return gram_index(lines, _SYMBOL_OF_INTERVAL[lines.intervals() + _LARGEST_INTERVAL], _SYMBOLS, self.n)


def interval_codes(intervals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Directed intervals modulo 12.

    >>> interval_codes(np.array([0, 2, 12, 13, -12, -25])).tolist()
    [0, 2, 12, 1, -12, -1]
    """
    codes: npt.NDArray[np.int64] = np.sign(intervals) * (1 + (np.abs(intervals) - 1) % 12)
    return codes


_SYMBOL_OF_INTERVAL = interval_codes(np.arange(-_LARGEST_INTERVAL, _LARGEST_INTERVAL + 1)) + _SYMBOLS // 2
