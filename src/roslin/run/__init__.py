"""The one ranked list: what search returns, evaluation judges, campaigns keep and files hold.

A run knows what its numbers are (`kind`): distances (smaller is better), scores (larger is better), ranks, or nothing
but an order. Nothing else in Roslin turns the sign of a number.

    run = collection.search(query)          one query
    run.ids, run[0], run[:3], for hit in run: ...
    run = read_run("mine.run")              many
    run.queries, run["q1"].ids, run[:10]    the queries, the list of one, the first ten of each
"""

from __future__ import annotations

from roslin.run.reading import read_run
from roslin.run.run import Hit, Kind, Ranking, Run

__all__ = ["Hit", "Kind", "Ranking", "Run", "read_run"]
