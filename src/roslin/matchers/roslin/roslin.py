"""`roslin`: our own measure, a trained alignment of notes.

Two melodies are laid on each other, note on note, in the best of twelve transpositions and of a few tempos, with gaps.
Every pair of notes is worth something, by its pitches, its note values, the intervals around it and its place in metre
and phrase; gaps and what is left out at the ends have a price (`scores`). The best total S is compared with what each
melody reaches with itself, its self-score s:

    distance = 1 - S / sqrt(lo * min(hi, 2 lo)),   lo and hi the smaller and the larger self-score

from 0, the same melody, to 1, nothing in common. Because `hi` counts at most twice, the first notes of a tune find it.
The distance belongs to the two melodies alone: no other candidate changes it. It is the same in both directions, as
long as rhythm counts for both (`compare`).

A rhythm alone is the same in any tempo: eighths and quarters cannot be distinguished by ear.

A list of a search is not in the order of this distance but of evidence (`evidence`, `roslin.search.chance`).

Parameters: what is compared (`compare`: both melody and rhythm, melody, rhythm, contour; `auto` is both, but melody
alone for a query in equal values, which contains no rhythm), where they may lie on each other (`place`) and
whether they may be transposed (`key`). Input: one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.display.words import N_, _
from roslin.matchers.base import Matcher, Modes, register
from roslin.matchers.explanation import Explanation, Step, bounded
from roslin.matchers.paths import both_lines
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES, Encoded, Planner, Tables, fitted, tables
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed
from roslin.types import Distances, Floats, Ints, Scores
from roslin.values.parameters import choice

_LEAST_EVEN = 3  # from this many notes of equal length on, the rhythm of a query is ignored
_CAP = 2.0  # the longer melody counts at most as twice the shorter
# What the distance counts beside the share of the query that a melody lacks. Chosen on the choosing share of RISM's
# same works and on known items, with short targets among them.
_OF_DISTANCE = 0.1


@register
@dataclass(frozen=True, repr=False)
class Roslin(Matcher):
    """Roslin's own matcher."""

    name = "roslin"
    summary = N_("Roslin's own matcher: aligns note with note in any key and tempo, as learnt from related melodies.")
    reference = "Roslin; a trained alignment"

    kind = "alignment"
    engine = "roslin"
    estimates_chance = True
    modes: ClassVar[Modes] = {
        "compare": {each: {"compare": each} for each in COMPARED},
        "place": {each: {"place": each} for each in PLACES},
        "key": {each: {"key": each} for each in KEYS},
    }
    pairs_at_once = 10_000_000

    compare: str = choice("auto", "auto", *COMPARED)
    place: str = choice("anywhere", *PLACES)
    key: str = choice("any", *KEYS)

    @property
    def things(self) -> str:
        """The properties that an alignment compares."""
        return N_("notes") if self.hears_pitch else N_("note values")

    @property
    def hears_pitch(self) -> bool:
        """Whether it distinguishes pitches."""
        return self.compare != "rhythm"

    def compared(self, query: Melody) -> str:
        """The aspects of this query that are compared, with `auto` resolved."""
        if self.compare != "auto":
            return self.compare
        return "melody" if _is_even(query) else "both"

    def remarks(self, query: Melody) -> tuple[str, ...]:
        """Remarks above the list."""
        if self.compare == "auto" and self.compared(query) == "melody":
            if _is_last_alike(query):
                return (_("All notes of the query are equally long, so the rhythm was ignored."),)
            return (_("All notes of the query but the last are equally long, so the rhythm was ignored."),)
        return ()

    def tables(self, query: Melody, longest: int) -> Tables:
        """The tables of the kernels for this query and melodies of at most `longest` notes."""
        compared = self.compared(query)
        return tables(fitted(compared), longest, compared=compared, place=self.place, key=self.key)

    def encoded(self, query: Melody, candidates: Packed | list[Melody]) -> Encoded:
        """Melodies as the kernels take them."""
        from roslin.matchers.roslin.table import contours, encoded

        found = encoded(candidates)
        return contours(found) if self.compared(query) == "contour" else found

    def distances_of(self, scores: Ints, own: int | Ints, others: Ints) -> Distances:
        """Distances from scores and self-scores, in units. They fall where the score rises."""
        return np.clip(1.0 - scores / self._scale(own, others), 0.0, 1.0)

    def _scale(self, own: int | Ints, others: Ints) -> Floats:
        """The score of each pair at which the distance is 0."""
        scales, own = np.empty(len(others)), np.full(len(others), own, np.int32)
        kernels.scores_at_zero(own, others, self._cap, scales)
        return scales

    @property
    def _cap(self) -> float:
        """How many times the shorter of two self-scores the longer counts at most."""
        return {"whole": np.inf, "anywhere": _CAP}.get(self.place, 1.0)

    def evidence(self, scores: Scores, own: int, size: int, others: Scores, sizes: Ints) -> Distances:
        """The evidence for melodies with these scores, self-scores and numbers of notes, in units.

        It is the score, less a little of the distance, so that of melodies that agree as well the one of much the same
        length comes first. Only the part in common counts: a melody that is shorter than the query is judged by itself.
        """
        found = np.empty(len(scores))
        parts_below = 0 if self.place == "whole" else size
        kernels.evidence(scores, others, sizes, own, parts_below, self._cap, _OF_DISTANCE, found)
        return found

    def own_score(self, query: Melody) -> int:
        """The score of the query with itself."""
        own = np.empty(1, dtype=np.int32)
        kernels.self_scores(self.encoded(query, [query]), self.tables(query, 1), own)
        return int(own[0])

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        from roslin.matchers.roslin.table import notes_table, scorer, self_scores_of

        compared, asked = self.compared(query), self.encoded(query, [query])
        table = notes_table(candidates, compared)
        worth = self.tables(query, int(max(table.sizes.max(initial=0), len(asked.pitches))))
        scores = scorer(asked, table, Planner(worth))(np.arange(len(table)))
        return self.distances_of(scores, self.own_score(query), self_scores_of(table, compared, worth, candidates))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        asked, stored = both_lines(query, candidates, number)
        own, other = self.encoded(query, [query]), self.encoded(query, candidates.part(number, number + 1))
        worth = self.tables(query, max(len(asked.rows), len(stored.rows)))
        path = np.empty((len(asked.rows) + len(stored.rows), 3), dtype=np.int64)
        found = np.empty(4, dtype=np.int64)
        kernels.best_path(own, other, 0, worth, path, found)
        score, tempo, lane, count = found.tolist()
        if score <= 0:
            return self._explanation(query, candidates, number, 1.0, ())
        selves = np.empty((2, 1), dtype=np.int32)
        kernels.self_scores(own, worth, selves[0])
        kernels.self_scores(other, worth, selves[1])
        scale = self._scale(int(selves[0, 0]), selves[1])[0]
        path, worths, ends = path[:count], np.empty(count, dtype=np.int32), np.empty(4, dtype=np.int64)
        kernels.step_worths(own, other, tempo, lane, worth, path, worths, ends)
        rows, others = asked.rows.tolist(), stored.rows.tolist()
        shift = kernels.tempo_shift(tempo, int(other.tempos[0]) - int(own.tempos[0]))
        steps = []
        for (kind, i, j), value in zip(path.tolist(), worths.tolist(), strict=True):
            if self.hears_pitch:
                is_same = (int(other.pitches[j]) - int(own.pitches[i]) - lane) % 12 == 0
            else:
                is_same = int(other.values[j]) - int(own.values[i]) == shift
            name = ("same" if is_same else "other", "added", "missing")[kind]
            mine, theirs = ((rows[i],),), ((others[j],),)
            steps.append(Step(name, () if kind == 1 else mine, () if kind == 2 else theirs, -value / scale))
        (first_i, first_j), (last_i, last_j) = path[0, 1:].tolist(), path[-1, 1:].tolist()
        outside = (
            ("missing", rows[:first_i], ()),
            ("added", (), others[:first_j]),
            ("missing", rows[last_i + 1 :], ()),
            ("added", (), others[last_j + 1 :]),
        )
        for (name, left, right), price in zip(outside, ends.tolist(), strict=True):
            if left or right:
                is_before = (left and left[0] < rows[first_i]) or (right and right[0] < others[first_j])
                words = _("left out before the part in common") if is_before else _("left out after the part in common")
                both = (tuple(left),) if left else (), (tuple(right),) if right else ()
                steps.append(Step(name, *both, price / scale, words))
        start = 1.0 + int(worth.tempo_prices[tempo]) / scale
        # Where pitches are equal, the written times may show the tempo better than the one of the comparison.
        slower = 2.0 ** (shift / 4) if tempo or not self.hears_pitch else None
        return self._explanation(query, candidates, number, start, bounded(start, steps), slower)


def _is_even(query: Melody) -> bool:
    """Whether all notes of the line but the last are equally long."""
    onsets = melodic_line(query)["onset_ticks"]
    return len(onsets) >= _LEAST_EVEN and bool((np.diff(onsets) == onsets[1] - onsets[0]).all())


def _is_last_alike(query: Melody) -> bool:
    """Whether the last note of an even query is as long as the others."""
    line = melodic_line(query)
    return bool(line["duration_ticks"][-1] == line["onset_ticks"][1] - line["onset_ticks"][0])
