"""What the kernels of the matchers that edit take: arrays and numbers that belong together, under one name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LabelledStrings", "NoteColumns", "NoteScores", "StructureCosts"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class NoteColumns(NamedTuple):
    """What `alignment` compares of every note. All fields are (notes,).

    pitches   base-40, from the lowest that there is
    logs      log2 of the ticks to the next note
    weights   inner metric weight, 0 to 1
    """

    pitches: Numbers
    logs: Array
    weights: Array


class NoteScores(NamedTuple):
    """What `alignment` gives for two notes, and takes for one that is left out.

    likeness    (intervals,): how alike two notes are, 0 to 1, by the base-40 steps between them
    rhythm      how much of the likeness the length may take away, 0 to 1
    opening     what the first note of a gap costs
    extending   what each further note of a gap costs
    is_local    whether the alignment may begin and end anywhere
    """

    likeness: Array
    rhythm: float
    opening: float
    extending: float
    is_local: bool


class LabelledStrings(NamedTuple):
    """The structures that `gam` compares (represent/implication.py says more). All fields are (structures,)."""

    label: Numbers
    size: Numbers
    direction: Numbers
    overlap: Numbers


class StructureCosts(NamedTuple):
    """What the operations of `gam` cost.

    labels          (labels, labels): two labels in place of each other
    size            a note more or less
    direction       another direction, by the difference
    overlap         another overlap with the next structure, by the difference
    deletion        for each note of a structure
    insertion       for each note of a structure
    replacement     times what the two structures cost
    consolidation   times what several structures of the query cost in place of one
    fragmentation   times what one costs in place of several
    joined          how many structures are joined, or one is split into, at most
    """

    labels: Array
    size: float
    direction: float
    overlap: float
    deletion: float
    insertion: float
    replacement: float
    consolidation: float
    fragmentation: float
    joined: int
