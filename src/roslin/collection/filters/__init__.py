"""The filters: conditions in SQL with bound parameters, each with a sentence for a musicologist (paper 002, 3.1).

    ranges     by a number: pitch range, largest interval, number of notes, ratio of durations
    sequences  by the intervals that follow each other
    distances  by the editing distance from a query
    fields     by what is known about a melody besides its notes

Every function checks its arguments, refuses with `FilterError`, and gives a `Filter`; `apply_filters` (chain.py)
applies a chain of them and `remove_near_duplicates` (duplicates.py) thins out what is left. `FILTERS` lists them by
name. Units are those of schema.sql: semitones for pitch, shares and ratios from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable

from roslin.collection.chain import Addition, Filter, FilterReport, FilterStep, apply_filters
from roslin.collection.duplicates import NearDuplicate, remove_near_duplicates
from roslin.collection.filters.distances import contour_distance, rhythm_distance
from roslin.collection.filters.fields import CENTURY, FIELDS, metadata, one_of, words
from roslin.collection.filters.ranges import duration_ratio, max_interval, note_count, parse_range, pitch_range
from roslin.collection.filters.sequences import contains, repeats_motive, share_of_interval

__all__ = [
    "CENTURY",
    "FIELDS",
    "FILTERS",
    "Addition",
    "Filter",
    "FilterReport",
    "FilterStep",
    "NearDuplicate",
    "apply_filters",
    "contains",
    "contour_distance",
    "duration_ratio",
    "max_interval",
    "metadata",
    "note_count",
    "one_of",
    "parse_range",
    "pitch_range",
    "remove_near_duplicates",
    "repeats_motive",
    "rhythm_distance",
    "share_of_interval",
    "words",
]

FILTERS: dict[str, Callable[..., Filter]] = {
    maker.__name__: maker
    for maker in (
        pitch_range,
        max_interval,
        duration_ratio,
        note_count,
        contains,
        share_of_interval,
        contour_distance,
        rhythm_distance,
        repeats_motive,
        metadata,
        one_of,
    )
}
