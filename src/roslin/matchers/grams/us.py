"""`us` and `rismonline`: runs of intervals that a melody has in common with the query.

`us`: how many of the query's short runs of intervals a melody contains, at any place.

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
The distance does not change under transposition, tempo, or any other rhythm. Ties are many (c is a small number) and
are broken by id; the program's own order of ties is arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation
from roslin.matchers.paths import both_lines, runs, shared_runs
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import GramIndex, Lines, gram_index, melodic_lines
from roslin.represent.packed import Packed, pack
from roslin.represent.words import in_words
from roslin.types import Distances, Numbers
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
        index, asked = candidates.keep((self.name, self.n), self._index), _runs(pack([query]), self.n).grams
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
        steps = shared_runs(asked, stored, lambda _: -share, in_words)
        return self._explanation(query, candidates, number, 1.0, steps)

    def _index(self, packed: Packed) -> GramIndex:
        return _runs(packed, self.n)


def _runs(packed: Packed, n: int) -> GramIndex:
    lines = melodic_lines(packed)
    return gram_index(lines, _SYMBOL_OF_INTERVAL[lines.intervals() + _LARGEST_INTERVAL], _SYMBOLS, n)


def interval_codes(intervals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Directed intervals modulo 12.

    >>> interval_codes(np.array([0, 2, 12, 13, -12, -25])).tolist()
    [0, 2, 12, 1, -12, -1]
    """
    return np.asarray(np.sign(intervals) * (1 + (np.abs(intervals) - 1) % 12))


_SYMBOL_OF_INTERVAL = interval_codes(np.arange(-_LARGEST_INTERVAL, _LARGEST_INTERVAL + 1)) + _SYMBOLS // 2


def _contour(lines: Lines) -> Numbers:
    steps = lines.intervals()
    return np.sign(steps) * np.where(np.abs(steps) > 2, 2, 1)


# How a string is written, and how many symbols fewer than notes it has.
_FIELDS: dict[str, tuple[Callable[[Lines], Numbers], int]] = {
    "intervals": (Lines.intervals, 1),
    "pitches": (lambda lines: lines.pitch_base40.astype(np.int64), 0),
    "contour": (_contour, 1),
}


@register
@dataclass(frozen=True, repr=False)
class RISMOnline(Matcher):
    """The query's intervals as a phrase inside the candidate; short candidates first.

    Reference: the incipit search of RISM Online, as its server and indexer (both public) have it. A melody is written
    as a string of one of three kinds (`field`), read from its top line (represent/line.py); rhythm is ignored:

        intervals   semitones from note to note (the default there and here)
        pitches     notes by name and octave: nothing is transposed
        contour     the same; up or down by a step (1 or 2 semitones); up or down by a leap

    A search engine, Solr, looks for the query's string as a phrase. Its score s is not used as it is, but as
    s / (d + q - s), where q and d are the lengths of the two strings.

        match = "phrase"    s is q where the candidate holds the query's string as a whole, and 0 elsewhere; so the
                            distance 1 - s / (d + q - s) is 1 - q / d, or 1
        match = "bigrams"   s is the number of pairs of neighbouring symbols that the two have in common, each as often
                            as in both, and q and d are the numbers of such pairs: 1 minus the Jaccard similarity

    What is certain: the strings, that it is a phrase query, and the formula. Solr's own score depends on the whole
    catalogue and on settings that are not public. Our choice is to put a plain count in its place (`match`), which
    keeps the purpose of the formula: of all that hold the phrase, the shortest first. The names of the fields there end
    in "bi", hence the second way, which also finds melodies that hold the phrase only in parts.

    Example. C D E has the intervals 2 2; C D E F G has 2 2 1 2 and holds the phrase: 1 - 2/4 = 1/2. With bigrams,
    (2 2) is in both, and (2 1), (1 2) only in the second: 1 - 1 / (3 + 1 - 1) = 2/3.

    A query of one note has no interval, and is at 1 from everything. The distance does not change under tempo or any
    other rhythm, nor, but for "pitches", under transposition.
    """

    name = "rismonline"
    summary = N_(
        "Finds the melodies that contain all intervals of the query in a row, the shortest first; ignores rhythm."
    )
    reference = "RISM Online, incipit search (muscatplus_server, muscatplus_indexer)"

    kind = "grams"
    modes: ClassVar[Modes] = {
        # Its contour distinguishes steps from leaps, not only up and down.
        "compare": {"melody": {}},
        "place": {"anywhere": {"match": "phrase"}, "whole": {"match": "bigrams"}},
        "key": {"any": {}, "written": {"field": "pitches"}},
    }

    field: str = choice("intervals", *sorted(_FIELDS))
    match: str = choice("phrase", "bigrams", "phrase")

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        asked, stored = melodic_lines([query]), melodic_lines(candidates)
        write, extra = _FIELDS[self.field]
        compare = kernels.phrase_distances if self.match == "phrase" else kernels.bigram_distances
        distances = np.empty(len(stored))
        compare(write(asked)[: len(asked.rows) - extra], write(stored), stored.offsets, extra, distances)
        return distances

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        write, extra = _FIELDS[self.field]
        both = both_lines(query, candidates, number)
        strings = [write(line)[: len(line.rows) - extra].tolist() for line in both]
        size = 2 if self.match == "bigrams" else max(len(strings[0]), 1)
        asked, stored = (runs(text, line.rows.tolist(), size) for text, line in zip(strings, both, strict=True))
        shared = {run: min(len(places), len(stored[run])) for run, places in asked.items() if run in stored}
        if self.match == "bigrams":
            by = sum(map(len, asked.values())) + sum(map(len, stored.values())) - sum(shared.values())
        else:  # the phrase as a whole, where it comes first
            by, shared = len(strings[1]), dict.fromkeys(shared, size)
            stored = {run: places[:1] for run, places in stored.items()}
        words = in_words if self.field == "intervals" else lambda _: ""
        steps = shared_runs(asked, stored, lambda run: -shared[run] / by, words)
        return self._explanation(query, candidates, number, 1.0, steps)
