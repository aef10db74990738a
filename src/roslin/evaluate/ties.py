"""What another order of tied scores could give: the best and the worst mean, without trying all orders.

In a tie, the more similar documents first is best and last is worst, for every measure that is `monotone`. Only the
first place of a document counts, so later copies of it fill ranks as unjudged documents do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation, values_of
from roslin.evaluate.hits import NONRELEVANT, Judged
from roslin.evaluate.rankings import hits_of, judge
from roslin.run import Run

__all__ = ["TieRange", "tie_sensitivity"]


@dataclass(frozen=True, slots=True)
class TieRange:
    """What the mean of a measure could be, if tied scores stood in another order."""

    system: str
    measure: str
    value: float
    worst: float
    best: float


def tie_sensitivity(evaluation: Evaluation) -> list[TieRange]:
    """The best and the worst mean that any order of tied scores could give, for every system and measure.

    Exact for measures that are `monotone`. Others are refused, since nothing short of trying every order would tell.
    """
    for each in evaluation.measures:
        if not each.monotone:
            raise ArgumentError(f"the best and worst order of ties is not known for {each!r}")
    truth = judge(evaluation.truth)
    found = []
    for number, run in enumerate(evaluation.runs):
        ends = []
        for is_best in (False, True):
            rankings = {query: _reordered(run, query, truth[query], is_best) for query in truth if query in run}
            values = values_of(hits_of(truth, rankings), evaluation.measures)
            ends.append(replace(evaluation, runs=(run,), values=values[None]).means[0].tolist())
        names = map(repr, evaluation.measures)
        for name, value, worst, best in zip(names, evaluation.means[number].tolist(), *ends, strict=True):
            found.append(TieRange(run.name, name, value, worst, best))
    return found


def _reordered(run: Run, query: str, truth: Judged, is_best: bool) -> list[str]:
    """The ranking with each tie in its best or worst order: groups, then what does not count, then not relevant."""
    ranking, values = run.ranking(query), run.values(query)
    if values is None:
        return list(ranking)
    other, not_relevant = len(truth.sizes), len(truth.sizes) + 1
    reordered: list[str] = []
    before: set[str] = set()
    for _, tie in groupby(zip(values, ranking, strict=True), key=itemgetter(0)):
        ids = [id for _, id in tie]
        places = []
        for id in ids:
            group = other if id in before else truth.group_of.get(id, other)
            places.append(not_relevant if group == NONRELEVANT else group)
            if is_best:  # of two copies in one tie the first counts, and stands as high as it can
                before.add(id)
        if not is_best:
            _refuse_copies([id for id, place in zip(ids, places, strict=True) if place < other], run.name, query)
            before.update(ids)
        sign = 1 if is_best else -1
        order = sorted(range(len(ids)), key=[sign * place for place in places].__getitem__)
        reordered += [ids[k] for k in order]
    return reordered


def _refuse_copies(relevant: list[str], run: str, query: str) -> None:
    """Copies in one tie push other documents down: which of them should be pushed depends on the measure."""
    if 1 < len(set(relevant)) < len(relevant):
        twice = next(id for id in relevant if relevant.count(id) > 1)
        raise ArgumentError(
            f"{run} has {twice!r} twice with the same score for query {query!r}, tied with other relevant documents: "
            "the worst order is not known; take the copy out"
        )
