"""Scores that know how unsure their truth is: other panels of experts, other truths, other values.

A confidence interval over queries asks what other queries would give. The truth is a sample, too: other experts would
have drawn other lines. So panels are drawn (`truth.grouping`), every run is evaluated under the truth of each, and
the deviation of a mean over the panels is what judges do to it.

Where experts err independently in every query, their errors are among the differences between queries, and the interval
over queries has them already. What it cannot have is what all queries share: a panel of one school moves all values
together. Of the variance of a mean over the panels,

    Var(mean) = (sum of Var(query) + sum of Cov(query, other query)) / n²,

the second part is that, and is added to the interval, where it is above 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from roslin.evaluate.evaluation import Evaluation, evaluate
from roslin.evaluate.measures.base import EmptyTruthWarning
from roslin.truth.grouping import Method, panel_truths
from roslin.truth.rankings import Rankings
from roslin.types import Floats


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
        """(systems, measures) How far a mean moves from panel to panel: its standard deviation."""
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
        """What a reader of the intervals must know."""
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
    """The same evaluation, with what `panels` other panels of experts do to it; its truth is that of all experts."""
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
