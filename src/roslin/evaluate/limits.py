"""What a number of queries can show at all, among a number of pairs of systems.

A system that wins all n queries has p = 2 / 2^n, and none has a smaller one. With 11 queries that is 0.00098; corrected
after Holm for the 276 pairs of 24 systems it is 0.27: whatever the systems do, nothing can be claimed. The test of all
pairs together (`exchanges`) does not multiply by the number of pairs, and comparisons that were planned are fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.evaluate.exchanges import smallest_p
from roslin.evaluate.significance import Comparison

__all__ = ["Reach", "needed_queries", "reach"]

_PLANNED = "Fewer comparisons, planned before looking, show more: roslin evaluate --against NAME."


@dataclass(frozen=True, slots=True)
class Reach:
    """What a number of queries can show among a number of pairs, before any result is looked at.

    `smallest_p` is that of a pair in which one system wins every query; `smallest_holm` after the correction of Holm.
    `detectable` is the smallest difference that the median pair would show in four of five cases; infinite for none.
    """

    measure: str
    queries: int
    pairs: int
    smallest_p: float
    smallest_holm: float
    shown: int
    detectable: float
    level: float = 0.95

    @property
    def sentence(self) -> str:
        """What can be shown, and what to do where nothing can."""
        alpha = 1 - self.level
        queries, pairs = counted(self.queries, "query", "queries"), counted(self.pairs, "pair")
        at = f"{100 * alpha:.3g} %"
        enough = f"{counted(needed_queries(alpha), 'query', 'queries')} are the fewest that can show any difference"
        if self.smallest_p >= alpha:
            return f"No difference can be shown at {at} with {queries}, whatever the systems do: {enough}."
        if math.isinf(self.detectable):
            return f"No pair of these {pairs} can be shown to differ at {at} with {queries}. {_PLANNED}"
        differ = "differs" if self.pairs == 1 else "differ"
        said = f"{self.shown} of {pairs} {differ} in {self.measure} at {at}, all pairs counted (p_max)."
        if self.smallest_holm >= alpha:
            said += (
                f" After Holm no pair could: the smallest p of {queries} is {self.smallest_p:.2g}, and "
                f"{self.smallest_holm:.2g} after the correction. {_PLANNED}"
            )
        return said


def needed_queries(alpha: float) -> int:
    """The fewest queries with which any difference can be shown.

    >>> needed_queries(0.05)
    6
    """
    return math.floor(1 - math.log2(alpha)) + 1


def reach(comparisons: Sequence[Comparison]) -> Reach:
    """What could be shown by these comparisons, all pairs of one measure."""
    if not comparisons:
        raise ArgumentError("there are no comparisons to look at")
    first = comparisons[0]
    smallest = smallest_p(first.queries)
    return Reach(
        measure=first.measure,
        queries=first.queries,
        pairs=len(comparisons),
        smallest_p=smallest,
        smallest_holm=min(1.0, smallest * len(comparisons)),
        shown=sum(each.is_shown for each in comparisons),
        detectable=float(np.median([each.detectable for each in comparisons])),
        level=first.level,
    )
