"""Where systems disagree: documents that some rank high and others low or not at all.

Ranks are compared by their logarithm: from 1 to 2 is as far as from 50 to 100. `spread` is the standard deviation of
log2(rank) over the systems, so it is in doublings, and largest where half of the systems find what the others miss. A
document that a list lacks counts as the rank after the longest list of the query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation

_FIRST = 10  # what stands lower in every list, and is not relevant, interests nobody


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One document of one query: its rank in each list (None: not in it), and how far these lie apart.

    `group` is that of the truth; None where the truth has the document in no group.
    """

    query: str
    document: str
    group: int | None
    ranks: Mapping[str, int | None]
    spread: float


def rank_spread(ranks: Iterable[int | None], missing: int) -> float:
    """How far the ranks of one document lie apart, in doublings; `missing` is the rank where a list lacks it.

    >>> rank_spread([1, 4], missing=9), rank_spread([8, None, 8], missing=8)
    (1.0, 0.0)
    """
    return float(np.std(np.log2([missing if rank is None else rank for rank in ranks])))


def disagreements(evaluation: Evaluation) -> list[Disagreement]:
    """Every document that is relevant or among the first ten of a list, the largest spread first.

    Of the same spread, documents of the truth come before others: there it is known who is right.
    """
    found = []
    for query in evaluation.queries:
        places = [
            {id: rank for rank, id in reversed(list(enumerate(run.ranking(query), start=1)))} for run in evaluation.runs
        ]
        groups = {id: number for number, group in enumerate(evaluation.truth[query], start=1) for id in group}
        documents = {id for place in places for id, rank in place.items() if rank <= _FIRST} | groups.keys()
        missing = 1 + max((len(place) for place in places), default=0)
        for document in sorted(documents - {query} if query not in groups else documents):
            ranks = [place.get(document) for place in places]
            by_system = dict(zip(evaluation.systems, ranks, strict=True))
            spread = rank_spread(ranks, missing)
            found.append(Disagreement(query, document, groups.get(document), by_system, spread))
    return sorted(found, key=lambda each: (-round(each.spread, 9), each.group is None, each.query, each.document))


# -- judged ------------------------------------------------------------------------------------------------------------
#
# judged@k: how much of what a system ranks first was looked at by anybody.
#
# The share of the first k documents of a list that the truth has judged: those in its groups, and those that it names
# as not relevant. A low value says that a measure is about what the judges happened to see; a system that was not
# pooled is then punished for finding something new.


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
