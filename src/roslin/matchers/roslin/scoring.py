"""The scores of many melodies: those of `align_all`, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from roslin.matchers.roslin.rounding import UNKNOWN, Planner
from roslin.matchers.roslin.table import MelodyTable
from roslin.matchers.roslin.values import FARTHEST, Encoded, Tables
from roslin.native import kernels
from roslin.types import Numbers, Scores


def scorer(
    query: Encoded, table: MelodyTable, tables: Tables, planner: Planner | None = None
) -> Callable[[Numbers], Scores]:
    """A function from numbers of melodies to their scores. A planner of the same tables makes many of them faster."""
    planner = planner or Planner(tables)
    if not len(query.pitches):
        return lambda numbers: np.full(len(numbers), FARTHEST, np.int32)
    plan, blocks = planner.plan(query), table.blocks

    def score(numbers: Numbers) -> Scores:
        scores = np.full(len(numbers), FARTHEST, np.int32)
        if not len(numbers):
            return scores
        order = np.argsort(table.places[numbers], kind="stable")
        found = np.empty(len(numbers), np.int32)
        kernels.align_melodies(plan, blocks, table.places[numbers[order]].astype(np.int64), found)
        scores[order] = found
        unknown = np.flatnonzero(scores == UNKNOWN)
        if len(unknown):
            exact = np.empty(len(unknown), np.int32)
            kernels.align_all(query, table.take(numbers[unknown]), tables, np.arange(len(unknown)), exact)
            scores[unknown] = exact
        return scores

    return score
