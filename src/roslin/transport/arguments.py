"""Arrays and numbers that belong together, as the kernels of transport take them.

Frame of the query: times in units from its first note, pitches in the same unit; `Frame` brings a document there.
"""

from __future__ import annotations

from typing import NamedTuple

from roslin.types import Flags, Floats, Numbers

# The kernels' numbers for the ground distances (ground.py); one that is not among the named ones has a table.
EUCLIDEAN, CITYBLOCK, TABLE = 0, 1, 2
GROUNDS = {"euclidean": EUCLIDEAN, "cityblock": CITYBLOCK}


class Points(NamedTuple):
    """The n points of one melody in the query's frame, in order of time. All fields are (n,).

    x        time, in units
    y        pitch, in units
    weight   in whatever the weights are
    order    numbers of the points, in the order in which bounds look at them: of a query the heaviest first
    """

    x: Floats
    y: Floats
    weight: Floats
    order: Numbers


class Notes(NamedTuple):
    """The notes of one document, or of many end to end, as they are stored. All fields are (notes,).

    time     onset in quarters, rising in each document
    pitch    in the pitches of the setting
    weight   in whatever the weights are
    """

    time: Floats
    pitch: Floats
    weight: Floats


class Frame(NamedTuple):
    """What brings a document into the query's frame, at tempo 1.

    time_unit    units in a quarter
    pitch_unit   units in a pitch
    """

    time_unit: float
    pitch_unit: float


class Rules(NamedTuple):
    """How melodies are compared: `align.Setting` in the numbers of the kernels.

    tempos           (tempos,): a document is played so many times as fast
    scales_weights   whether weights are lengths of time, which shrink when the document is played faster
    missing          cost of a unit of query weight without a partner; below 0: see `charge_and_base`
    ground           EUCLIDEAN, CITYBLOCK or TABLE
    stop             (1,): set when the time is over (`roslin.deadline`); then a kernel returns at once, with anything
    """

    tempos: Floats
    scales_weights: bool
    missing: float
    ground: int
    stop: Flags


class Pair(NamedTuple):
    """A query in its frame, a document, and how they are compared.

    table   (128, notes): how far apart a pitch and each note of the document are, in the key around the note and in
            units; (0, 0) if the ground is no TABLE
    """

    query: Points
    document: Notes
    frame: Frame
    rules: Rules
    table: Floats


class Workspace(NamedTuple):
    """Room for transportation problems of up to so many rows (points of the lighter set) and columns (of the other).

    cost      (rows, columns): what a unit of weight costs from a row to a column; filled in by the caller
    flow      (rows, columns): the weight that goes from a row to a column; filled in by `partial_transport`
    lines     (6, the more of rows and columns), numbers
    indices   (4, the more of rows and columns), numbers of rows and columns
    stop      (1,): as in `Rules`
    """

    cost: Floats
    flow: Floats
    lines: Floats
    indices: Numbers
    stop: Flags
