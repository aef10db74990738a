"""`rismonline`: the query as a phrase of intervals inside the candidate; short candidates first.

Reference: the incipit search of RISM Online, as its server and indexer (both public) have it. A melody is written as a
string of one of three kinds (`field`), read from its top line (represent/line.py); rhythm is ignored:

    intervals   semitones from note to note (the default there and here)
    pitches     notes by name and octave: nothing is transposed
    contour     the same; up or down by a step (1 or 2 semitones); up or down by a leap

A search engine, Solr, looks for the query's string as a phrase. Its score s is not used as it is, but as
s / (d + q - s), where q and d are the lengths of the two strings.

    match = "phrase"    s is q where the candidate holds the query's string as a whole, and 0 elsewhere; so the distance
                        1 - s / (d + q - s) is 1 - q / d, or 1
    match = "bigrams"   s is the number of pairs of neighbouring symbols that the two have in common, each as often as
                        in both, and q and d are the numbers of such pairs: 1 minus the Jaccard similarity

What is certain: the strings, that it is a phrase query, and the formula. Solr's own score depends on the whole
catalogue and on settings that are not public. Our choice is to put a plain count in its place (`match`), which keeps
what the formula is for: of all that hold the phrase, the shortest first. The names of the fields there end in "bi",
hence the second way, which also finds what holds the phrase only in parts.

Example. C D E has the intervals 2 2; C D E F G has 2 2 1 2 and holds the phrase: 1 - 2/4 = 1/2. With bigrams, (2 2) is
in both, and (2 1), (1 2) only in the second: 1 - 1 / (3 + 1 - 1) = 2/3.

A query of one note has no interval, and is at 1 from everything. The distance does not change under tempo or any other
rhythm, nor, but for "pitches", under transposition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Step
from roslin.matchers.paths import both_lines, runs
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Packed
from roslin.represent.words import in_words
from roslin.types import Distances, Numbers
from roslin.values.parameters import choice


def _contour(lines: Lines) -> Numbers:
    steps = lines.intervals()
    return np.sign(steps) * np.where(np.abs(steps) > 2, 2, 1)


def _names(lines: Lines) -> Numbers:
    return lines.pitch_base40.astype(np.int64)


# How a string is written, and how many symbols fewer than notes it has.
_FIELDS: dict[str, tuple[Callable[[Lines], Numbers], int]] = {
    "intervals": (Lines.intervals, 1),
    "pitches": (_names, 0),
    "contour": (_contour, 1),
}


@register
@dataclass(frozen=True, repr=False)
class RISMOnline(Matcher):
    """The query's intervals as a phrase."""

    name = "rismonline"
    summary = N_(
        "Finds the melodies that contain all intervals of the query in a row, the shortest first; ignores rhythm."
    )
    reference = "RISM Online, incipit search (muscatplus_server, muscatplus_indexer)"

    kind = "grams"
    modes: ClassVar[Modes] = {
        # Its contour tells steps from leaps: that is more than up and down.
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
        steps = (
            Step("shared", tuple(asked[run]), tuple(stored[run]), -times / by, words(run))
            for run, times in shared.items()
        )
        return self._explanation(query, candidates, number, 1.0, steps)
