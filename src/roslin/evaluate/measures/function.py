"""A plain function as a measure.

    def first(groups, ranking):
        return float(bool(ranking) and ranking[0] in groups[0])

    roslin.evaluate.evaluate(truth, runs, [first, "ADR"])
    roslin.register_measure(first)            # now `roslin evaluate --measure first` knows it, from a plug-in

The function gets the truth and the ranking of one query, and gives one number, larger for better rankings. Documents
are whole numbers: those of the groups count from 0, the most similar group first, and any other document of the ranking
has a number below 0. No ids: nothing but the places of relevant documents counts, as for every measure. A query with an
empty truth has no value, and the function is not asked about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from roslin.errors import PluginError
from roslin.evaluate.hits import Floats, Hits
from roslin.evaluate.measures.base import Measure, Score
from roslin.values.functions import class_of_function
from roslin.values.parameters import shown

__all__ = ["FunctionMeasure", "function_measure"]


@dataclass(frozen=True, repr=False)
class FunctionMeasure(Measure):
    """A measure that calls a function."""

    function: ClassVar[Score]
    largest: ClassVar[float] = np.inf

    @property
    def monotone(self) -> bool:
        """Nobody knows."""
        return False

    def _values(self, hits: Hits) -> Floats:
        found = [
            np.nan if not relevant else self._one(*_truth_and_ranking(hits, query))
            for query, relevant in enumerate(hits.relevant.tolist())
        ]
        return np.array(found, dtype=np.float64)

    def _one(self, groups: list[list[int]], ranking: list[int]) -> float:
        value = type(self).function(groups, ranking)
        if not isinstance(value, (Real, np.bool_)):
            raise PluginError(f"the measure {self!r} must give a number for each query; got {shown(value)}")
        return float(value)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _remade, (type(self).function, self.name, self.summary, self.reference)


def function_measure(function: Score, name: str = "", summary: str = "", reference: str = "") -> type[FunctionMeasure]:
    """The class whose values call this function; what is not said is taken from the function itself."""
    expected = "the groups of a truth and a ranking to be a measure"
    return class_of_function(FunctionMeasure, (function, name, summary, reference), expected)


def _remade(*described: Any) -> FunctionMeasure:
    return function_measure(*described)()


def _truth_and_ranking(hits: Hits, query: int) -> tuple[list[list[int]], list[int]]:
    """The groups of a query and its ranking, documents as numbers; inside a group any may stand for any other."""
    first, last = hits.group_offset[query : query + 2].tolist()
    ends = np.cumsum(hits.group_size[first:last]).tolist()
    groups = [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]
    left = [iter(group) for group in groups]
    ranking = [-place for place in range(1, int(hits.depth[query]) + 1)]
    of_query = hits.query == query
    for rank, group in zip(hits.rank[of_query].tolist(), hits.group[of_query].tolist(), strict=True):
        ranking[rank - 1] = next(left[group - first])
    return groups, ranking
