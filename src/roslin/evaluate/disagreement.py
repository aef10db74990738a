"""Where systems disagree: documents that some rank high and others low or not at all.

Ranks are compared by their logarithm: from 1 to 2 is as far as from 50 to 100. `spread` is the standard deviation of
log2(rank) over the systems, so it is in doublings, and largest where half of the systems find what the others miss. A
document that a list lacks counts as the rank after the longest list of the query.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

import numpy as np

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation, evaluate
from roslin.evaluate.measures.base import EmptyTruthWarning
from roslin.truth.grouping import Method, panel_truths
from roslin.truth.rankings import Rankings
from roslin.types import Floats

_FIRST = 10  # documents below this rank in every list that are not relevant are left out


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One document of one query: its rank in each list (None: not in it), and how far these lie apart.

    `group` is the number of its group in the truth, or None.
    """

    query: str
    document: str
    group: int | None
    ranks: Mapping[str, int | None]
    spread: float


def rank_spread(ranks: Iterable[int | None], missing: int) -> float:
    """The spread of the ranks of one document, in doublings. `missing` is its rank in a list that lacks it.

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


# -- judged@k ----------------------------------------------------------------------------------------------------------
#
# The share of the first k documents of a list that the truth has judged: those in its groups, and those that it names
# as not relevant. If it is low, new documents that a system finds count against it.


def judged_at(judged: Collection[str], ranking: Collection[str], k: int) -> float:
    """The share of the first k documents that are judged, or of all if the list is shorter.

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


# -- other judges ------------------------------------------------------------------------------------------------------
#
# A confidence interval over queries estimates other queries. The truth is also a sample: other experts would have drawn
# other boundaries. So panels are drawn (`truth.grouping`), every run is evaluated under the truth of each, and the
# deviation of a mean over the panels is the effect of the judges.
#
# The interval over queries already includes errors that experts make independently in every query, but not those that
# all queries share. These are the second part of the variance over panels, which is added if it is above 0:
#
#     Var(mean) = (sum of Var(query) + sum of Cov(query, other query)) / n²


@dataclass(frozen=True, eq=False)
class Judges:
    """Values of shape (panels, systems, measures, queries); NaN where a panel left a query without relevant documents.

    `experts` is how many there are in a panel.
    """

    values: Floats
    experts: int

    @property
    def means(self) -> Floats:
        """(panels, systems, measures) Means over the queries that have a value."""
        found: Floats = np.ma.filled(np.ma.masked_invalid(self.values).mean(axis=-1), np.nan)
        return found

    @property
    def deviations(self) -> Floats:
        """(systems, measures) The standard deviation of a mean over panels."""
        found: Floats = np.nanstd(self.means, axis=0, ddof=1)
        return found

    @property
    def shared(self) -> Floats:
        """(systems, measures) The part of this deviation that the queries share."""
        filled = np.ma.masked_invalid(self.values)
        alone = np.ma.filled((filled.var(axis=0, ddof=1) / self.values.shape[-1] ** 2).sum(axis=-1), 0.0)
        return np.sqrt(np.maximum(self.deviations**2 - alone, 0.0))

    @property
    def note(self) -> str:
        """Remarks for readers of the intervals."""
        return (
            f"judges: how far a mean moves with other experts (standard deviation over {len(self.values)} panels of "
            f"{self.experts}, drawn with replacement); low and high cover other queries and other experts, comparisons "
            "of systems only other queries"
        )

    def widened(self, means: Floats, intervals: Floats, level: float, upper: Floats) -> Floats:
        """Intervals of (systems, measures, 2) over queries, made to cover other judges; never beyond 0 and `upper`.

        Variances of independent sources add up, on either side of the mean.
        """
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.shared
        low, high = intervals[..., 0], intervals[..., 1]
        lower = low - (np.hypot(means - low, reach) - (means - low))
        higher = high + (np.hypot(high - means, reach) - (high - means))
        return np.stack([np.maximum(lower, np.minimum(low, 0)), np.minimum(higher, upper)], axis=-1)


def with_judges(
    evaluation: Evaluation,
    rankings: Rankings,
    method: Method,
    panels: int = 200,
    seed: int = 2005,
    *,
    progress: Callable[[float, str], None] = lambda _done, _panel: None,
) -> Evaluation:
    """The same evaluation, with its variation over `panels` other panels of participants. Its truth is that of all
    participants."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyTruthWarning)
        for number, truth in enumerate(panel_truths(rankings, method, panels, seed)):
            progress(number, f"panel {number + 1}")
            again = evaluate(
                truth, evaluation.runs, evaluation.measures, ties=evaluation.ties, same_id=evaluation.same_id
            )
            places = [again.queries.index(query) for query in evaluation.queries if evaluation.truth[query]]
            found.append(again.values[:, :, places])
    return replace(evaluation, judges=Judges(np.stack(found), len(rankings.experts)))
