"""`gam`: an edit distance between melodies as sequences of implication-realization structures.

Reference: Grachten, Arcos and López de Mántaras, first of the MIREX 2005 task. Both lines (represent/line.py) are
parsed into structures (label, size, direction, overlap). The distance is the least cost of
turning the query's structures s into the candidate's u by five operations:

    delete         deletion * size(s)
    insert         insertion * size(u)
    replace        replacement * (label * L + size * |difference of sizes| + direction * |difference of directions|
                   + overlap * |difference of overlaps|), where L is 0 for the same label, `twin` for a label and its
                   retrospective twin, and 1 for others
    consolidate    several s (up to `joined`) become one u: consolidation * the same sum, in which each s adds its L and
                   its difference of directions, the sizes of all s add up, and the overlap is that of the last
    fragment       one s becomes several u: fragmentation * the sum the other way round

    divide = "both"   the cost divided by that of deleting all of the query and inserting all of the candidate
    divide = "none"   the cost itself

The form, the weights 0.587, 0.095, 0.343, 0.112 and `twin` 0.801 are published; the costs of deletion and insertion,
0.064 and 0.131, are quoted in later papers and less certain. Our choice: everything about consolidation and
fragmentation but that there are such operations (their cost is the best of 0.3, 0.5 and 1 on half of the queries of
RISM's list of same works), `joined`, `divide`, and what the parser leaves open. The authors fitted their weights with a
genetic algorithm to a ground truth that we do not have, so this is not their program.

Example. C D E C is P (size 3, up, overlap 2), IP (size 3, down, overlap 0); C D E F is one P (size 4, up, overlap 0).
To replace the first and delete the second costs 0.095 * 1 + 0.112 * 2 + 0.064 * 3 = 0.511. To consolidate the two costs
0.3 * (0.587 * (0 + 1) + 0.095 * |6 - 4| + 0.343 * (0 + 2) + 0.112 * 0) = 0.4389, which is the least. To delete and
insert everything costs 0.064 * 6 + 0.131 * 4 = 0.908, so the distance is 0.4389 / 0.908 = 0.483.

A candidate without notes is at 1 under "both", and at the cost of deleting the query under "none". The distance does
not change under transposition. Of rhythm only rests, longer notes and bar lines count, so it does not change under
tempo either. It is not symmetric.

Structures are those of Narmour's implication-realization model: how each interval follows from the one before. The
labels and the overlaps are from the literature. It is not known how the authors' program decides in detail, so this is
a parser after the model, not a copy of theirs.

A structure is made of two intervals that follow each other in the melodic line (represent/line.py). With X and Y for
their sizes in semitones; small is up to `small` semitones, large is more:

    label  first interval  second interval                        direction
    P      small           similar (differs by at most 3)         the same
    D      0               0
    ID     small           equal                                  another
    IP     small           similar (differs by at most 2)         another
    VP     small           clearly larger                         the same
    R      large           clearly smaller                        another
    IR     large           clearly smaller                        the same
    VR     large           clearly larger                         another

"Clearly" is: not similar. A repeated note is a direction of its kind, so that up and then repeated is a change of
direction. A label in brackets is retrospective: the second interval follows the first as in the label, but the first
has the other size: (P) two large intervals, (R) a small one and a clearly smaller one back. So every pair of intervals
has one label. A dyad is an interval, and a monad a note, that closure leaves alone.

Closure ends a structure. A note is a cue for it when

    a rest follows that takes at least `rest` of the time to the next note.
    It is at least `longer` times as long as the note before;
    its metrical stress (represent/points.py) is at least `accent`, and above that of both neighbours. A melody without
    bar lines has no such cues.

One cue is weak closure: the next structure begins with the same note (overlap 1). Two are strong closure: it begins
with the next note (overlap 0). Without closure, the next structure begins one note later, and the two share an interval
(overlap 2). There, P after P, (P) after (P) and D after D become one longer structure.

Example. C D E C in even notes without bar lines has the intervals 2, 2, -4: P (size 3, up, overlap 2), then IP (size 3,
down). C D E F G is one P of size 5. If its E is followed by a rest, it is P (size 3, overlap 1) and P (size 3).

From the literature: labels, cues, overlaps, chains. Our choice: `small` (6, the tritone, counts as small), VP also
where the second interval is not large, the chains of (P), and `rest`, `longer`, `accent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from roslin.display.words import N_
from roslin.matchers.base import Matcher, Modes, register, rounded
from roslin.matchers.explanation import Explanation, Rows, scaled
from roslin.matchers.paths import Way, both_lines, edits
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.line import Lines, melodic_lines
from roslin.represent.packed import Candidates, Packed, pack
from roslin.represent.points import metrical_stress
from roslin.types import Distances, Floats, Numbers
from roslin.values.parameters import choice, real, whole

_MOST_JOINED = 8
_LARGEST_INTERVAL = 127  # semitones
_NEVER = 1e9  # as the limit of a cue: none reaches it


# Label k and its retrospective twin, if it has one, follow each other.
LABELS = (
    "P", "(P)", "D", "ID", "(ID)", "IP", "(IP)", "VP", "(VP)", "R", "(R)", "IR", "(IR)", "VR", "(VR)", "dyad", "monad",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Structures:
    """The structures of many melodies, end to end: those of melody k are `offsets[k]` to `offsets[k + 1]`.

    `label` is a place in `LABELS`, `size` the number of notes, `direction` the sign of the last pitch minus the first,
    `overlap` the number of notes shared with the next structure (0 for the last one).
    """

    label: Numbers
    size: Numbers
    direction: Numbers
    overlap: Numbers
    offsets: Numbers

    def __len__(self) -> int:
        return len(self.offsets) - 1


def structures(
    candidates: Candidates, *, small: int = 6, rest: float = 0.25, longer: float = 1.5, accent: float = 1.0
) -> Structures:
    """The structures of many melodies.

    >>> from roslin import load
    >>> found = structures(load("'4CDEC"))
    >>> [LABELS[label] for label in found.label], found.size.tolist(), found.overlap.tolist()
    (['P', 'IP'], [3, 3], [2, 0])
    """
    packed = pack(candidates)
    lines = melodic_lines(packed)
    onset = lines.onset_ticks
    stress = metrical_stress(onset, lines.duration_ticks, lines.offsets, packed)
    has_bars = np.diff(packed.bar_offsets) > 0
    found, offsets = np.empty((4, len(onset)), np.int64), np.empty(len(lines) + 1, np.int64)
    count = kernels.implication_structures(
        onset, onset + lines.duration_ticks, lines.pitch_midi, stress, has_bars, lines.offsets,
        small, rest, longer, accent, *found, offsets,
    )  # fmt: skip
    label, size, direction, overlap = found[:, :count].copy()
    return Structures(label, size, direction, overlap, offsets)


@register
@dataclass(frozen=True, repr=False)
class GAM(Matcher):
    """Edit distance over implication-realization structures."""

    name = "gam"
    summary = N_("Compares how each interval follows from the one before it; ignores key and most of the rhythm.")
    reference = "Grachten, Arcos & López de Mántaras 2005, MIREX 2005 entry GAM"

    kind = "alignment"
    things = N_("structures")
    modes: ClassVar[Modes] = {
        "compare": {"both": {}, "melody": {"rest": _NEVER, "longer": _NEVER, "accent": _NEVER}},
        "place": {"whole": {}},
        "key": {"any": {}},
    }

    deletion: float = real(0.064, least=0)
    insertion: float = real(0.131, least=0)
    replacement: float = real(1.0, least=0)
    consolidation: float = real(0.3, least=0)
    fragmentation: float = real(0.3, least=0)
    joined: int = whole(3, most=_MOST_JOINED)
    label: float = real(0.587, least=0)
    size: float = real(0.095, least=0)
    direction: float = real(0.343, least=0)
    overlap: float = real(0.112, least=0)
    twin: float = real(0.801, least=0)
    divide: str = choice("both", "both", "none")
    small: int = whole(6, most=_LARGEST_INTERVAL)
    rest: float = real(0.25, least=0)
    longer: float = real(1.5, least=0)
    accent: float = real(1.0, least=0)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        s, u = self._structures([query]), self._structures(candidates)
        costs = np.empty(len(candidates))
        kernels.structure_distances(s, u, u.offsets, self, costs)
        if self.divide == "none":
            return rounded(costs)
        notes = np.concatenate([[0], np.cumsum(u.size)])[u.offsets]
        everything = self.deletion * s.size.sum() + self.insertion * np.diff(notes)
        return rounded(np.divide(costs, everything, out=np.ones(len(costs)), where=everything > 0))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        alone = candidates.part(number, number + 1)
        s, u = self._structures([query]), self._structures(alone)
        turned = np.abs(np.subtract.outer(s.direction, u.direction))
        pairs = self.labels[np.ix_(s.label, u.label)] + self.direction * turned
        closed = self.overlap * np.abs(np.subtract.outer(s.overlap, u.overlap))
        one_for_one = self.replacement * self._joined(pairs, closed, s.size, u.size, 1)
        ways = [
            Way(1, 0, self.deletion * s.size.astype(np.float64)),
            Way(0, 1, self.insertion * u.size.astype(np.float64)),
            Way(1, 1, one_for_one),
        ]
        for count in range(2, self.joined + 1):
            joined = self._joined(pairs, closed, s.size, u.size, count)
            split = self._joined(pairs.T, closed.T, u.size, s.size, count).T
            ways += [Way(count, 1, self.consolidation * joined), Way(1, count, self.fragmentation * split)]
        asked, stored = both_lines(query, candidates, number)
        everything = self.deletion * s.size.sum() + self.insertion * u.size.sum()
        if self.divide == "both" and not everything > 0:
            return self._explanation(query, candidates, number, 1.0, ())
        by = 1.0 if self.divide == "none" else float(everything)
        found = edits(_notes(asked, s), _notes(stored, u), ways, one_for_one == 0)
        return self._explanation(query, candidates, number, 0.0, scaled(found.steps, 1.0 / by))

    def _joined(self, pairs: Floats, closed: Floats, several: Numbers, one: Numbers, count: int) -> Floats:
        """The costs of label, size, direction and overlap when `count` structures become one, by the last of these."""
        costs = np.full(pairs.shape, np.inf)
        if count <= len(several):
            sizes = np.abs(np.subtract.outer(sliding_window_view(several, count).sum(axis=1), one))
            whole = sliding_window_view(pairs, count, axis=0).sum(axis=2)
            costs[count - 1 :] = whole + closed[count - 1 :] + self.size * sizes
        return costs

    def _structures(self, melodies: Candidates) -> Structures:
        return structures(melodies, small=self.small, rest=self.rest, longer=self.longer, accent=self.accent)

    @property
    def labels(self) -> Floats:
        """(labels, labels): the cost of one in place of another. The kernel reads all other costs as they are."""
        plain = np.array([name.strip("()") for name in LABELS])
        costs = np.where(plain[:, None] == plain, self.twin, 1.0)
        np.fill_diagonal(costs, 0.0)
        return np.asarray(self.label * costs)


def _notes(line: Lines, found: Structures) -> list[Rows]:
    """The notes of each structure: one begins where the one before it ends, less what the two share."""
    firsts = np.concatenate([[0], np.cumsum(found.size - found.overlap)])
    return [tuple(line.rows[first : first + size].tolist()) for first, size in zip(firsts, found.size, strict=False)]
