"""The base of all measures: a frozen value that turns hits into one number per query.

A measure is a named value (`roslin.values`) with the cutoff last: `ADR@10`, `AP(variant='serra')`. `measure()` reads
that text back, and makes a measure of a plain function of a truth and a ranking. Values are larger for better rankings
unless `larger_is_better` is false.

An empty truth has no value: NaN and a warning, and means leave it out. A ranking that finds nothing is worth what the
formula gives, which is 0 for nearly all. For those that count mistakes 0 is the best (`rewards_silence`).

Where hits are tied, the value is the expected one over all orders of the ties: by a formula in the module of its family
where the measure is `exact_in_ties`, else as the mean over `DRAWN_ORDERS` orders from a fixed state.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, TypeVar, dataclass_transform, overload

import numpy as np

from roslin.errors import ArgumentError, PluginError
from roslin.evaluate.rankings import Hits, RankedIds, collect, drawn, judged, places
from roslin.truth.model import check_groups
from roslin.types import Floats
from roslin.values.parameters import Named, shown
from roslin.values.plugins import OfFunction, guarded, is_own, one_number_each
from roslin.values.registry import NamedRegistry

Given = TypeVar("Given")
Kind = TypeVar("Kind", bound="Measure")
# A plain function as a measure: the groups of a truth, a ranking; one number.
Score = Callable[[list[list[int]], list[int]], Any]

DRAWN_ORDERS = 400
_STATE = 2006


class EmptyTruthWarning(UserWarning):
    """A query without relevant documents, for which no metric has a value."""


@dataclass(frozen=True, repr=False)
class Measure(Named, ABC):
    """A metric with its parameters. `k` is the cutoff, if it has one."""

    larger_is_better: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0
    """The largest value there can be; infinite where the number of documents decides."""
    cutoff: ClassVar[str] = "k"

    @property
    def rewards_silence(self) -> bool:
        """Whether the empty list has the best value. The value then means nothing alone."""
        return False

    @property
    def monotone(self) -> bool:
        """Whether moving a more similar document up never makes the value worse.

        The best and the worst order of tied scores then follow without trying them all.
        """
        return True

    @property
    def exact_in_ties(self) -> bool:
        """Whether `_values` gives the expected value for tied results. Otherwise random orders of the ties are used."""
        return False

    def values(self, hits: Hits) -> Floats:
        """(Q,) One value per query, the expected one for tied results, NaN if the truth is empty."""
        if hits.has_ties and not self.exact_in_ties:
            random = np.random.default_rng(_STATE)
            orders = [self._checked(drawn(hits, random)) for _ in range(DRAWN_ORDERS)]
            result = np.asarray(np.mean(orders, axis=0), dtype=np.float64)
        else:
            result = self._checked(hits).copy()
        empty = hits.relevant == 0
        if empty.any():
            warnings.warn(
                f"{int(empty.sum())} of {len(hits)} queries have no relevant document; their {self!r} is NaN",
                EmptyTruthWarning,
                stacklevel=2,
            )
            result[empty] = np.nan
        return result

    def _checked(self, hits: Hits) -> Floats:
        expected = f"the measure {self!r} must give {len(hits)} values, one for each query"
        found = guarded(self, "measure", lambda: self._values(hits))
        values = one_number_each(found, len(hits), expected, undefined=True)
        if not is_own(type(self)):
            one_number_each(np.where(hits.relevant > 0, values, 0), len(hits), expected)  # NaN is for empty truths
        return values

    def __call__(
        self,
        groups: Sequence[Sequence[Hashable]],
        ranking: RankedIds,
        *,
        query: Hashable | None = None,
        gains: Sequence[float] | None = None,
        nonrelevant: Iterable[Hashable] | None = None,
    ) -> float:
        """The value for one query. See `hits_of_one` for the arguments."""
        hits = hits_of_one(groups, ranking, query=query, gains=gains, nonrelevant=nonrelevant)
        return float(self.values(hits)[0])

    @abstractmethod
    def _values(self, hits: Hits) -> Floats: ...


def hits_of_one(
    groups: Sequence[Sequence[Hashable]],
    ranking: RankedIds,
    *,
    query: Hashable | None = None,
    gains: Sequence[float] | None = None,
    nonrelevant: Iterable[Hashable] | None = None,
) -> Hits:
    """The hits of one query.

    groups: ids, most similar group first; ranking: ids, best first, or {id: score}; query: its id, to be taken out of
    the ranking unless it is in a group; gains: what a document of each group is worth; nonrelevant: the documents
    judged not relevant (None: all that are in no group).
    """
    checked = check_groups(groups)  # type: ignore[arg-type]  # ids of one query may be any values that can be compared
    if gains is not None and len(gains) != len(checked):
        raise ArgumentError(f"{len(gains)} gains for {len(checked)} groups")
    if gains is not None and any(not isinstance(gain, Real) or not 0 < gain < math.inf for gain in gains):
        raise ArgumentError(f"every gain must be a number above 0; got {list(gains)}")
    if gains is not None and list(gains) != sorted(gains, reverse=True):
        raise ArgumentError(f"gains must not rise from group to group; got {list(gains)}")
    truth = judged(checked, gains, nonrelevant, query)
    return collect([truth], [places(truth, ranking, query)])


def count(value: float) -> float:
    """A count as a whole number; NaN, for an empty truth, remains NaN."""
    return int(value) if value == value else value


# -- plain functions ---------------------------------------------------------------------------------------------------
#
# The function gets the truth and the ranking of one query, and gives one number, larger for better rankings. Documents
# are whole numbers: those of the groups count from 0, the most similar group first, and any other document of the
# ranking has a number below 0. No ids: nothing but the places of relevant documents counts, as for every measure. A
# query with an empty truth has no value, and the function is not asked about it.


@dataclass(frozen=True, repr=False)
class FunctionMeasure(OfFunction, Measure):
    """A measure that calls a function."""

    takes = "the groups of a truth and a ranking to be a measure"
    largest: ClassVar[float] = np.inf
    monotone = False

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


def _truth_and_ranking(hits: Hits, query: int) -> tuple[list[list[int]], list[int]]:
    """The groups of a query and its ranking, documents as numbers. Documents of a group are interchangeable."""
    first, last = hits.group_offset[query : query + 2].tolist()
    ends = np.cumsum(hits.group_size[first:last]).tolist()
    groups = [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]
    left = [iter(group) for group in groups]
    ranking = [-place for place in range(1, int(hits.depth[query]) + 1)]
    of_query = hits.query == query
    for rank, group in zip(hits.rank[of_query].tolist(), hits.group[of_query].tolist(), strict=True):
        ranking[rank - 1] = next(left[group - first])
    return groups, ranking


# -- the registry ------------------------------------------------------------------------------------------------------


MEASURES: NamedRegistry[Measure] = NamedRegistry(
    "measure", Measure, "roslin.measures", example="ADR", of_functions=FunctionMeasure, ignore_case=True
)


@dataclass_transform(frozen_default=True)
def register(kind: type[Kind]) -> type[Kind]:
    """Register the class of a metric, which becomes a frozen dataclass."""
    return MEASURES.register(kind)


def measures() -> list[str]:
    """The names of all metrics."""
    return MEASURES.names()


def measure(text: str | Measure | Score, *, name: str = "") -> Measure:
    """A metric from its name, with any parameters and @k for a cutoff, or from a function.

    Capital letters do not matter, and some metrics have a second name, such as MAP for AP.

    >>> measure("nDCG(base=3)@10"), measure("map")
    (nDCG(base=3.0)@10, AP)

    A function gets the groups of a truth and a ranking, and returns one number. `name` is the name of the
    metric, by default that of the function.

    >>> def first(groups, ranking):
    ...     return float(ranking[0] in groups[0])
    >>> measure(first), measure(first)([["a", "b"], ["c"]], ["b", "c"])
    (first, 1.0)
    """
    return MEASURES.parse(text, name)


@overload
def register_measure(thing: Given, *, name: str = "", summary: str = "", reference: str = "") -> Given: ...


@overload
def register_measure(*, name: str = "", summary: str = "", reference: str = "") -> Callable[[Given], Given]: ...


def register_measure(thing: Any = None, *, name: str = "", summary: str = "", reference: str = "") -> Any:
    """Register a metric under its name: a subclass of `Measure`, or a function. Also works as a decorator.

    By default, a function keeps its Python name and is described by the first line of its docstring.
    """
    return MEASURES.register_described(thing, name=name, summary=summary, reference=reference)
