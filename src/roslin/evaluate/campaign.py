"""Whole runs against a truth: one value for every system, measure and query.

A query of the truth that a run lacks scores what an empty list scores, and is reported. A query with an empty truth is
NaN, is reported, and is left out of the mean. A query of the run that the truth does not know is reported and ignored.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate.base import EmptyTruthWarning, Measure, measure
from roslin.evaluate.hits import Floats, Hits
from roslin.evaluate.rankings import hits_of, judge
from roslin.evaluate.runs import Results, read_run
from roslin.truth.qrel import Truth, read_truth

__all__ = ["DEFAULT_MEASURES", "Evaluation", "TieRange", "evaluate", "tie_sensitivity"]

# What the symbolic melodic similarity task of MIREX 2005 reported.
DEFAULT_MEASURES = ("ADR", "NRGB", "AP", "PND")


@dataclass(frozen=True)
class Evaluation:
    """Values of shape (systems, measures, queries), and what was odd about the input."""

    truth: Truth
    runs: tuple[Results, ...]
    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    values: Floats

    @property
    def systems(self) -> tuple[str, ...]:
        """Their names, in the order given."""
        return tuple(run.name for run in self.runs)

    @property
    def empty(self) -> tuple[str, ...]:
        """Queries without a relevant document: counted here, left out of every mean."""
        return tuple(query for query in self.queries if not self.truth[query])

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """Queries of the truth that a run lacks."""
        lacking = {run.name: tuple(query for query in self.queries if query not in run) for run in self.runs}
        return {name: queries for name, queries in lacking.items() if queries}

    @property
    def unknown(self) -> dict[str, tuple[str, ...]]:
        """Queries of a run that the truth does not know."""
        strange = {run.name: tuple(query for query in run if query not in self.truth) for run in self.runs}
        return {name: queries for name, queries in strange.items() if queries}

    @property
    def counted(self) -> Floats:
        """(systems, measures, n) The values that count: without queries whose truth is empty."""
        keep = [bool(self.truth[query]) for query in self.queries]
        return self.values[:, :, np.array(keep, dtype=bool)]

    @property
    def means(self) -> Floats:
        """(systems, measures) The mean over queries; NaN where no query counts."""
        counted = self.counted
        if not counted.shape[2]:
            return np.full(counted.shape[:2], np.nan)
        return np.asarray(counted.mean(axis=2), dtype=np.float64)

    def of(self, system: str, measure_name: str | Measure) -> dict[str, float]:
        """{query: value} for one system and measure."""
        names = [repr(each) for each in self.measures]
        wanted = repr(measure(measure_name))
        if system not in self.systems:
            raise UnknownNameError("system", system, self.systems)
        if wanted not in names:
            raise UnknownNameError("measure of this evaluation", wanted, names)
        row = self.values[self.systems.index(system), names.index(wanted)]
        return dict(zip(self.queries, row.tolist(), strict=True))


def evaluate(truth: Any, runs: Any, measures: Sequence[str | Measure] | str | Measure = DEFAULT_MEASURES) -> Evaluation:
    """Evaluate one run or several: {name: run}, a list of `Results`, or one run in any form that `read_run` takes.

    >>> result = evaluate({"q": [["a", "b"], ["c"]]}, {"mine": {"q": ["b", "x", "c"]}}, ["ADR", "P@2"])
    >>> result.means.round(4).tolist()
    [[0.7222, 0.5]]
    """
    known = read_truth(truth)
    if not known:
        raise ArgumentError("the truth has no queries")
    systems = _systems(runs)
    names = [run.name for run in systems]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"two runs are called {name!r}; every run needs a name of its own")
    chosen = tuple(measure(each) for each in ([measures] if isinstance(measures, (str, Measure)) else measures))
    if not chosen:
        raise ArgumentError("evaluation needs at least one measure")
    judged = judge(known)
    values = np.stack([_values(hits_of(judged, run), chosen) for run in systems])
    result = Evaluation(known, tuple(systems), chosen, tuple(known), values)
    if result.empty:
        note = f"{len(result.empty)} of {len(known)} queries have no relevant document and are left out of the means"
        warnings.warn(f"{note}: {', '.join(result.empty)}", EmptyTruthWarning, stacklevel=2)
    return result


def _systems(runs: Any) -> list[Results]:
    """A mapping of names to runs, or one run: the values of a mapping of rankings are lists of ids or of scores."""
    if isinstance(runs, Mapping) and not isinstance(runs, Results) and not _is_one_run(runs):
        found = [_renamed(read_run(run, name=name), name) for name, run in runs.items()]
    elif isinstance(runs, (list, tuple)) and runs and all(isinstance(run, Results) for run in runs):
        found = list(runs)
    else:
        found = [read_run(runs)]
    if not found:
        raise ArgumentError("evaluation needs at least one run")
    return found


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """{query: [id, ...]} or {query: {id: score}}, and not {name: run}."""
    first = next(iter(runs.values()), None)
    if isinstance(first, (list, tuple)):
        return not first or isinstance(first[0], str)
    if isinstance(first, Mapping) and not isinstance(first, Results):
        return all(isinstance(value, (int, float)) for value in first.values())
    return False


def _renamed(run: Results, name: str) -> Results:
    if run.name == name:
        return run
    copy = Results({}, name=name)
    copy._rankings, copy._scores = run._rankings, run._scores
    return copy


def _values(hits: Hits, measures: Sequence[Measure]) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyTruthWarning)  # said once for all measures, with the names of the queries
        return np.stack([each.values(hits) for each in measures])


# -- ties -------------------------------------------------------------------------------------------------------------


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

    Exact for measures that are `monotone`: within a tie, the more similar documents first is best, last is worst.
    Others are refused, since nothing short of trying every order would tell.
    """
    for each in evaluation.measures:
        if not each.monotone:
            raise ArgumentError(f"the best and worst order of ties is not known for {each!r}")
    judged = judge(evaluation.truth)
    keep = np.array([bool(evaluation.truth[query]) for query in evaluation.queries], dtype=bool)
    found = []
    for number, run in enumerate(evaluation.runs):
        both = []
        for sign in (1, -1):
            rankings = {query: _reordered(run, query, judged[query].group_of, sign) for query in judged if query in run}
            both.append(_values(hits_of(judged, rankings), evaluation.measures)[:, keep].mean(axis=1))
        for place, each in enumerate(evaluation.measures):
            mean = float(evaluation.means[number, place])
            found.append(TieRange(run.name, repr(each), mean, float(both[1][place]), float(both[0][place])))
    return found


def _reordered(run: Results, query: str, group_of: Mapping[Any, int], sign: int) -> list[str]:
    """The ranking with ties in the best order (sign 1) or the worst (-1): groups, then unjudged, then not relevant."""
    ranking, scores = run[query], run.scores(query)
    if scores is None:
        return list(ranking)
    last = len(group_of) + 1
    key = {id: group if group >= 0 else last + 1 for id, group in group_of.items()}
    order = sorted(range(len(ranking)), key=lambda k: (-scores[k], sign * key.get(ranking[k], last)))
    return [ranking[k] for k in order]
