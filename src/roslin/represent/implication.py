"""Melodies as sequences of implication-realization structures: how each interval follows from the one before it.

Reference: Narmour's model, as Grachten, Arcos and López de Mántaras parse it for their entry to MIREX 2005. The labels
and the way in which structures overlap are from the literature; how their program decides in detail is not known, so
this is a parser after the model, not a copy of theirs.

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

"Clearly" is: not similar. A repeated note has a direction of its own, so that up and then repeated is another
direction. A label in brackets is retrospective: the second interval follows the first as the label says, but the first
has the other size: (P) two large intervals, (R) a small one and a clearly smaller one back. So every pair of intervals
has one label. A dyad is an interval, and a monad a note, that closure leaves alone.

Closure ends a structure. A note is a cue for it when

    a rest follows that takes at least `rest` of the time to the next note;
    it is at least `longer` times as long as the note before;
    its metrical stress (represent/points.py) is at least `accent`, and above that of both neighbours; a melody without
    bar lines has no such cues.

One cue is weak closure: the next structure begins with the same note (overlap 1). Two are strong closure: it begins
with the next note (overlap 0). Without closure, the next structure begins one note later, and the two share an interval
(overlap 2); there, P after P, (P) after (P) and D after D become one longer structure.

Example. C D E C in even notes without bar lines has the intervals 2, 2, -4: P (size 3, up, overlap 2), then IP (size 3,
down). C D E F G is one P of size 5. If its E is followed by a rest, it is P (size 3, overlap 1) and P (size 3).

What is from the literature: labels, cues, overlaps, chains. Our choice: `small` (6, the tritone, counts as small), VP
also where the second interval is not large, the chains of (P), and `rest`, `longer`, `accent`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Candidates, pack
from roslin.represent.points import metrical_stress
from roslin.types import Numbers

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
