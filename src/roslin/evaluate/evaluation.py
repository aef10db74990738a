"""Whole runs against a truth: one value for every run, measure and query.

A query of the truth that a run lacks scores what an empty list scores, and is reported. A query with an empty truth is
NaN, is reported, and is left out of the mean. A query of the run that the truth does not know is reported and ignored.
`roslin.evaluate.rankings` describes tied scores and documents with the id of their query.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Real
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from roslin.display.table import FrameLibrary, Table, frame
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.evaluate.measures.base import EmptyTruthWarning, Measure, Score, measure
from roslin.evaluate.rankings import SAME_ID, TIES, Hits, hits_of_run, in_trec_order, judge
from roslin.run import Run, read_run
from roslin.truth.grouping import Method, panel_truths
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth
from roslin.truth.rankings import Rankings
from roslin.types import Floats

# What the symbolic melodic similarity task of MIREX 2005 reported.
DEFAULT_MEASURES = ("ADR", "NRGB", "AP", "PND")
# Programs read the column `system`, as the attributes of an evaluation are called.
RUNS = {"system": "run"}


@dataclass(frozen=True)
class Evaluation:
    """Values of shape (systems, measures, queries), the rules of their computation, and remarks."""

    truth: Truth
    runs: tuple[Run, ...]
    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    values: Floats
    ties: str = "expected"
    same_id: str = "keep"
    judges: Judges | None = None  # what other experts would have done to the values, where that is known

    @property
    def systems(self) -> tuple[str, ...]:
        """Their names, in the order given."""
        return tuple(run.name for run in self.runs)

    @property
    def empty(self) -> tuple[str, ...]:
        """Queries without a relevant document. Means omit them."""
        return tuple(query for query in self.queries if not self.truth[query])

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """Queries of the truth that a run lacks."""
        return _by_run(self.runs, lambda run: [query for query in self.queries if query not in run])

    @property
    def unknown(self) -> dict[str, tuple[str, ...]]:
        """Queries of a run that are not in the truth."""
        return _by_run(self.runs, lambda run: [query for query in run.queries if query not in self.truth])

    @property
    def same_ids(self) -> dict[str, tuple[str, ...]]:
        """Queries in whose list a run has a document with the id of the query, in no group of the truth."""
        others = [query for query in self.queries if not any(query in group for group in self.truth[query])]
        return _by_run(self.runs, lambda run: [query for query in others if query in run.ranking(query)])

    def taken_out(self, query: str) -> str | None:
        """The id that is removed from the lists of a query, unless it is in a group of the truth."""
        return query if self.same_id == "drop" else None

    @property
    def sampled(self) -> tuple[Measure, ...]:
        """Metrics without a formula for tied scores. If there are ties, their value is a mean over random orders."""
        is_open = self.ties == "expected" and any(each.tied for run in self.runs for each in run.rankings.values())
        return tuple(each for each in self.measures if is_open and not each.exact_in_ties)

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

    def of(self, system: str, measure_name: str | Measure | Score) -> dict[str, float]:
        """{query: value} for one run and measure."""
        names = [repr(each) for each in self.measures]
        wanted = repr(measure(measure_name))
        if system not in self.systems:
            raise UnknownNameError("run", system, self.systems)
        if wanted not in names:
            raise UnknownNameError("measure of this evaluation", wanted, names)
        row = self.values[self.systems.index(system), names.index(wanted)]
        return dict(zip(self.queries, row.tolist(), strict=True))

    def to_table(self) -> Table:
        """The means: a row for each run, a column for each metric.

        >>> print(evaluate({"q": [["a", "b"], ["c"]]}, {"mine": {"q": ["b", "x", "c"]}}, ["ADR", "P@2"]).to_table())
        run      ADR     P@2
        mine  0.7222  0.5000
        """
        measures = [repr(each) for each in self.measures]
        rows = (
            {"system": system, **dict(zip(measures, means, strict=True))}
            for system, means in zip(self.systems, self.means.tolist(), strict=True)
        )
        left_out = f" ({len(self.empty)} more have an empty truth)" if self.empty else ""
        count = counted(len(self.queries) - len(self.empty), "query", "queries")
        named = f"{self.truth.name}: " if self.truth.name else ""
        return Table(("system", *measures), tuple(rows), f"{named}means over {count}{left_out}", headings=RUNS)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """Every value as a data frame: system, measure, query, value. `to_table().to_frame()` gives the means."""
        return frame(self.long_columns(), library)

    def long_columns(self) -> dict[str, list[Any]]:
        """The columns of `to_frame`, one entry for each value."""
        places = list(product(self.systems, map(repr, self.measures), self.queries))
        named = {name: [place[k] for place in places] for k, name in enumerate(("system", "measure", "query"))}
        return {**named, "value": self.values.ravel().tolist()}

    def __repr__(self) -> str:
        runs, measures = counted(len(self.runs), "run"), counted(len(self.measures), "measure")
        return f"Evaluation({runs}, {measures}, {counted(len(self.queries), 'query', 'queries')})"

    def __str__(self) -> str:
        return str(self.to_table())

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


def _by_run(runs: Sequence[Run], chosen: Callable[[Run], Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The queries that are chosen for each run, by its name, where there are any."""
    return {run.name: tuple(queries) for run in runs if (queries := chosen(run))}


def evaluate(
    truth: Any,
    runs: Any,
    measures: Sequence[str | Measure | Score] | str | Measure | Score = DEFAULT_MEASURES,
    *,
    ties: str = "expected",
    same_id: str = "keep",
) -> Evaluation:
    """Evaluate one run or several: {name: run}, a list of paths or `Run`s, or one run as `read_run` takes it.

    ties: rule for equal scores: `expected` is the mean over all their orders, `given` the order of the run, `trec` that
    of trec_eval. same_id: a document with the id of its query stays in the list (`keep`), or is treated as the query
    and removed, unless it is in a group of the truth (`drop`).

    >>> result = evaluate({"q": [["a", "b"], ["c"]]}, {"mine": {"q": ["b", "x", "c"]}}, ["ADR", "P@2"])
    >>> result.means.round(4).tolist()
    [[0.7222, 0.5]]
    """
    for what, rule, known_rules in (("ties", ties, TIES), ("documents with the id of their query", same_id, SAME_ID)):
        if rule not in known_rules:
            raise UnknownNameError(f"rule for {what}", str(rule), known_rules)
    known = read_truth(truth)
    if not known:
        raise ArgumentError("the truth has no queries")
    systems = _systems(runs)
    names = [run.name for run in systems]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"two runs are called {name!r}; give each run a different name (NAME=FILE)")
    for run in systems:
        if run.queries and not any(query in known for query in run.queries):
            theirs, ours = (shortened(next(iter(queries))) for queries in (run.queries, known))
            raise ArgumentError(f"{run.name} has no query of the truth: it has {theirs!r}, the truth has {ours!r}")
    wanted = tuple(
        measure(each) for each in ([measures] if isinstance(measures, str) or callable(measures) else measures)
    )
    if not wanted:
        raise ArgumentError("evaluation needs at least one measure")
    if ties == "trec":
        systems = [in_trec_order(run) for run in systems]
    judged = judge(known, same_id)
    is_open = ties == "expected"
    values = np.stack([values_of(hits_of_run(judged, run, expected=is_open), wanted) for run in systems])
    result = Evaluation(known, tuple(systems), wanted, tuple(known), values, ties, same_id)
    if result.empty:
        note = f"{len(result.empty)} of {len(known)} queries have no relevant document and are left out of the means"
        warnings.warn(f"{note}: {', '.join(result.empty)}", EmptyTruthWarning, stacklevel=2)
    return result


def quietly(truth: Truth, runs: Sequence[Run], measures: Sequence[str | Measure], **rules: str) -> Evaluation:
    """The same without a warning, for callers who tell of empty truths themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyTruthWarning)
        return evaluate(truth, list(runs), measures, **rules)


def _systems(runs: Any) -> list[Run]:
    """A mapping of names to runs, a list of runs, or one run."""
    if isinstance(runs, Mapping) and not _is_one_run(runs):
        found = [read_run(run, name=name).named(name) for name, run in runs.items()]
    elif isinstance(runs, (list, tuple)) and runs and all(map(_is_whole_run, runs)):
        found = _whole_systems([read_run(run) for run in runs])
    else:
        found = [read_run(runs)]
    if not found:
        raise ArgumentError("evaluation needs at least one run")
    return found


def _whole_systems(runs: list[Run]) -> list[Run]:
    """The lists of a system for different queries, as search gives them, are one run."""
    named: dict[str, list[Run]] = {}
    for run in runs:
        named.setdefault(run.name, []).append(run)
    for parts in named.values():
        queries = [query for part in parts for query in part.queries]
        if len(parts) > 1 and len(set(queries)) < len(queries):
            return runs
    return [Run.joined(parts) if len(parts) > 1 else parts[0] for parts in named.values()]


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """{query: [id, ...]} or {query: {id: score}}, and not {name: run}."""
    first = next(iter(runs.values()), None)
    if isinstance(first, (list, tuple, np.ndarray)):
        return not len(first) or isinstance(first[0], (str, Real))
    if isinstance(first, Mapping):
        return all(isinstance(value, Real) for value in first.values())
    return False


def _is_whole_run(item: Any) -> bool:
    """A path, a mapping or a frame, and not a row of a run."""
    return isinstance(item, (str, Path, Mapping, Run)) or hasattr(item, "columns") or hasattr(item, "column_names")


def values_of(hits: Hits, measures: Sequence[Measure]) -> Floats:
    """(measures, Q) The values of several measures, without a warning from each of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyTruthWarning)  # said once for all measures, with the names of the queries
        return np.stack([each.values(hits) for each in measures])


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
            "of runs only other queries"
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
    for number, truth in enumerate(panel_truths(rankings, method, panels, seed)):
        progress(number, f"panel {number + 1}")
        again = quietly(truth, evaluation.runs, evaluation.measures, ties=evaluation.ties, same_id=evaluation.same_id)
        places = [again.queries.index(query) for query in evaluation.queries if evaluation.truth[query]]
        found.append(again.values[:, :, places])
    return replace(evaluation, judges=Judges(np.stack(found), len(rankings.experts)))
