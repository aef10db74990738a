"""Arrays and numbers that belong together, as the kernels of `twv` take them."""

from __future__ import annotations

from typing import NamedTuple

from roslin.transport.arguments import Notes
from roslin.types import Flags, Floats, Numbers

# The numbers of a match: its segment, its distance, where its first and its last onset are in the document (quarters),
# its transposition (pitches) and its tempo.
MATCH_COLUMNS = 6


class SegmentedQuery(NamedTuple):
    """A query and the segments that it is cut into.

    notes         the query's, (notes,) each
    first, end    (segments,): segment s is notes `first[s]` to `end[s]`, without the last
    possible      (segments,): whether it is looked for
    unit          the query's unit of time, in quarters
    pitch_unit    units in a pitch
    """

    notes: Notes
    first: Numbers
    end: Numbers
    possible: Flags
    unit: float
    pitch_unit: float


class Legality(NamedTuple):
    """Which matches may follow each other in a combination.

    tolerance   by how much the overlap of two successive segments may differ from that in the query, in units of time
    apart       how much wider the gap between them may be, in units of time
    agree       whether all must have one transposition and one tempo
    """

    tolerance: float
    apart: float
    agree: bool


class SegmentSpans(NamedTuple):
    """Where the segments of a query lie in it: (segments,) onsets of their first and last notes, in quarters.

    unit   the query's unit of time, in quarters
    """

    starts: Floats
    ends: Floats
    unit: float


class CutQueries(NamedTuple):
    """Queries, end to end, and the segments that they are cut into.

    notes             (notes,) each
    offsets           (queries + 1,): where the notes of each begin
    units             (queries,): the unit of time of each, in quarters
    first, end        (segments,): the notes of each segment, counted through all queries
    segment_offsets   (queries + 1,): where the segments of each query begin
    pitch_unit        units in a pitch
    """

    notes: Notes
    offsets: Numbers
    units: Floats
    first: Numbers
    end: Numbers
    segment_offsets: Numbers
    pitch_unit: float


class KeyedDocuments(NamedTuple):
    """Documents, end to end.

    notes     (notes,) each
    offsets   (documents + 1,): where the notes of each begin
    tables    (24, 128, 128): the tonal ground distance in each key, in units; (0, 0, 0) for another
    keys      (notes,): the key of the area around each note; (0,) for another
    """

    notes: Notes
    offsets: Numbers
    tables: Floats
    keys: Numbers
