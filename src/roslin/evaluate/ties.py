"""What another order of tied scores could give: the best and the worst mean, without trying all orders.

In a tie, the more similar documents first is best and last is worst, for every measure that is `monotone`. Only the
first place of a document counts, so later copies of it fill ranks as unjudged documents do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation, values_of
from roslin.evaluate.hits import in_extreme_order
from roslin.evaluate.measures.base import DRAWN_ORDERS
from roslin.evaluate.rankings import hits_of_run, judge
from roslin.run import Run

__all__ = ["TieRange", "tie_remarks", "tie_sensitivity"]

_MATTERS = 0.01  # how far the best order lies from the worst where ties are worth a remark
_MOST_NAMED = 5
_RULES = {
    "expected": "means over all orders of tied scores",
    "given": "for tied scores in the order of the run",
    "trec": "for tied scores in the order of trec_eval",
}


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
    truth = judge(evaluation.truth, evaluation.same_id)
    found = []
    for number, run in enumerate(evaluation.runs):
        hits = hits_of_run(truth, run, expected=True)
        ends = []
        for is_best in (False, True):
            values = values_of(in_extreme_order(hits, best=is_best), evaluation.measures)
            ends.append(replace(evaluation, runs=(run,), values=values[None]).means[0].tolist())
        names = map(repr, evaluation.measures)
        for name, value, worst, best in zip(names, evaluation.means[number].tolist(), *ends, strict=True):
            found.append(TieRange(run.name, name, value, worst, best))
    return found


def tie_remarks(evaluation: Evaluation) -> list[str]:
    """Which systems owe a hundredth or more of the first measure to the order of ties, and what is only sampled."""
    said = []
    if evaluation.sampled:
        names = ", ".join(map(repr, evaluation.sampled))
        said.append(
            f"{names} has no formula for tied scores: its values are means over {DRAWN_ORDERS} orders drawn from a "
            "fixed state"
        )
    first = next((k for k, each in enumerate(evaluation.measures) if each.monotone), None)
    tied = {run.name: _tied(evaluation, run) for run in evaluation.runs}
    if first is None or not any(tied.values()):
        return said
    alone = replace(evaluation, measures=evaluation.measures[first : first + 1], values=evaluation.values[:, [first]])
    ranges = sorted(tie_sensitivity(alone), key=lambda each: -abs(each.best - each.worst))
    matters = [each for each in ranges if abs(each.best - each.worst) >= _MATTERS]
    if matters:
        named = "; ".join(
            f"{each.system} {each.value:.3f}, worst {each.worst:.3f}, best {each.best:.3f} "
            f"({100 * tied[each.system]:.0f} % tied)"
            for each in matters[:_MOST_NAMED]
        )
        more = f"; and {len(matters) - _MOST_NAMED} more" if len(matters) > _MOST_NAMED else ""
        of = f"{len(matters)} of {len(evaluation.runs)} systems" if len(evaluation.runs) > 1 else matters[0].system
        said.append(
            f"ties matter for the {matters[0].measure} of {of}, values are {_RULES[evaluation.ties]}: {named}{more}"
        )
    return said


def _tied(evaluation: Evaluation, run: Run) -> float:
    """The share of the documents in the lists that have their score in common with another of their list."""
    lists = [run.rankings[query] for query in evaluation.queries if query in run]
    return sum(each.tied for each in lists) / max(sum(len(each.ids) for each in lists), 1)
