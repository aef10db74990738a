"""judged@k: how much of what a system ranks first was looked at by anybody.

The share of the first k documents of a list that the truth has judged: those in its groups, and those that it names as
not relevant. A low value says that a measure is about what the judges happened to see; a system that was not pooled is
then punished for finding something new.
"""

from __future__ import annotations

from collections.abc import Collection
from statistics import fmean

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation

__all__ = ["judged_at", "judged_table"]


def judged_at(judged: Collection[str], ranking: Collection[str], k: int) -> float:
    """The share of the first k documents that are judged; of those there are, where the list is shorter.

    >>> judged_at({"a", "b"}, ["a", "x", "b", "y"], 3) * 3
    2.0
    """
    if k < 1:
        raise ArgumentError(f"k must be 1 or more; got {k}")
    first = list(ranking)[:k]
    return sum(id in judged for id in first) / len(first) if first else 0.0


def judged_table(evaluation: Evaluation, k: int) -> Table:
    """The mean of each system over queries, and the query for which it is least."""
    truth = evaluation.truth
    known = {
        query: {*(id for group in truth[query] for id in group), *(truth.nonrelevant(query) or ())}
        for query in evaluation.queries
    }
    name = f"judged@{k}"
    rows = []
    for run in evaluation.runs:
        shares = {query: judged_at(known[query], run.ranking(query), k) for query in evaluation.queries}
        worst = min(shares, key=lambda query: shares[query])
        rows.append({"system": run.name, name: fmean(shares.values()), "least": shares[worst], "query": worst})
    silent = sum(truth.nonrelevant(query) is None for query in evaluation.queries)
    asked = counted(silent, "query", "queries")
    note = f"for {asked} the truth does not say what was judged and found not relevant: only its groups count as judged"
    title = f"How much of the first {k} was judged"
    return Table(("system", name, "least", "query"), tuple(rows), title, note if silent else "", key="judged")
