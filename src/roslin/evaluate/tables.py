"""An evaluation as tables: what `roslin evaluate` prints, and what its page shows.

Several evaluations of the same runs differ in their truth; the first is the one that everything is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from roslin.display.table import Table
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.evaluate.correlation import kendall_tau
from roslin.evaluate.evaluation import Evaluation
from roslin.evaluate.intervals import mean_intervals
from roslin.evaluate.limits import Reach, reach
from roslin.evaluate.measures.adr import RecallStep, adr_tie_break, average_dynamic_recall, inversions, steps
from roslin.evaluate.significance import Comparison, compare
from roslin.evaluate.ties import tie_remarks, tie_sensitivity
from roslin.run import Run

__all__ = [
    "comparisons",
    "groupings",
    "means",
    "means_by_measure",
    "pairs_table",
    "per_query",
    "reaches",
    "remarks",
    "steps_of",
    "tie_breaks",
    "tie_ranges",
]

_SAME_ID = {
    "keep": "kept, as any other document; if queries are documents of the collection, drop it (same_id)",
    "drop": "taken out, as the query itself",
}


def means(evaluation: Evaluation, level: float = 0.95) -> Table:
    """The mean of each system and measure, with its confidence interval over queries, and over judges where known."""
    counted, judges = evaluation.counted, evaluation.judges
    upper = np.array([each.largest for each in evaluation.measures])
    intervals = mean_intervals(counted, level, upper)
    if judges is not None:
        intervals = judges.widened(evaluation.means, intervals, level, upper)
    rows = [
        {
            "system": system,
            "measure": repr(measure),
            "mean": float(evaluation.means[s, m]),
            "low": float(intervals[s, m, 0]),
            "high": float(intervals[s, m, 1]),
            "queries": counted.shape[2],
            **({} if judges is None else {"judges": float(judges.deviations[s, m])}),
        }
        for s, system in enumerate(evaluation.systems)
        for m, measure in enumerate(evaluation.measures)
    ]
    columns = ("system", "measure", "mean", "low", "high", "queries", *(() if judges is None else ("judges",)))
    title = f"Means over queries, with {100 * level:g} % confidence intervals"
    if judges is not None:
        title += " that cover queries and judges"
    return Table(columns, tuple(rows), title, key="means")


def means_by_measure(evaluation: Evaluation, level: float = 0.95) -> Table:
    """The means as a paper prints them: one row a system, one column a measure, the interval beside the mean."""
    found = means(evaluation, level)
    by_system: dict[str, dict[str, Any]] = {}
    for row in found.rows:
        interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
        cell = None if math.isnan(row["mean"]) else f"{row['mean']:.3f}{interval}"
        by_system.setdefault(row["system"], {"system": row["system"]})[row["measure"]] = cell
    columns = ("system", *dict.fromkeys(map(repr, evaluation.measures)))
    return replace(found, columns=columns, rows=tuple(by_system.values()))


def per_query(evaluation: Evaluation) -> Table:
    """One row for each query and measure, one column for each system."""
    columns = _columns(("query", "measure"), evaluation.systems, "run")
    rows = [
        {
            "query": query,
            "measure": repr(measure),
            **{system: float(evaluation.values[s, m, q]) for s, system in enumerate(evaluation.systems)},
        }
        for q, query in enumerate(evaluation.queries)
        for m, measure in enumerate(evaluation.measures)
    ]
    return Table(columns, tuple(rows), "Query by query", key="per_query")


def _columns(fixed: tuple[str, ...], names: Sequence[str], what: str) -> tuple[str, ...]:
    """Columns of which some are named by the user: one name cannot stand for two."""
    for name in names:
        if name in fixed:
            raise ArgumentError(f"a {what} cannot be called {name!r}, which is a column of the table; rename it")
        if names.count(name) > 1:
            raise ArgumentError(f"two {what}s are called {name!r}; every {what} needs a name of its own")
    return (*fixed, *names)


_NOT_SHOWN = ("queries", "level")  # the same in every row: said in the title, and in the table of what can be shown


def comparisons(evaluation: Evaluation, level: float = 0.95, against: str | None = None) -> list[Table]:
    """Every pair of systems on every measure, or those with one system; before them, what can be shown at all."""
    found = [compare(evaluation, measure, level, against=against) for measure in evaluation.measures]
    return [reaches(found), pairs_table([each for pairs in found for each in pairs])]


def pairs_table(found: Sequence[Comparison]) -> Table:
    """Comparisons as a table, with a sentence about each."""
    columns = tuple(field.name for field in fields(Comparison) if field.name not in _NOT_SHOWN)
    rows = [{name: getattr(each, name) for name in columns} | {"sentence": each.sentence} for each in found]
    note = (
        "low, high, p: of the pair alone; p_max, low_all, high_all: of all pairs of the measure together, as the "
        "sentences have it"
    )
    return Table((*columns, "sentence"), tuple(rows), "Pairs of systems", note, key="comparisons", words="sentence")


def reaches(found: Sequence[Sequence[Comparison]]) -> Table:
    """For each measure, what so many queries can show among so many pairs."""
    columns = tuple(field.name for field in fields(Reach))
    each_measure = [reach(pairs) for pairs in found]
    rows = [{name: getattr(each, name) for name in columns} | {"sentence": each.sentence} for each in each_measure]
    return Table((*columns, "sentence"), tuple(rows), "What can be shown", key="reach", words="sentence")


def tie_ranges(evaluation: Evaluation) -> Table:
    """The best and worst mean that any order of tied scores could give; measures that cannot tell are left out."""
    able = [k for k, measure in enumerate(evaluation.measures) if measure.monotone]
    unable = [repr(measure) for measure in evaluation.measures if not measure.monotone]
    left_out = f"the best and worst order of ties is not known for {', '.join(unable)}"
    if not able:
        raise ArgumentError(left_out)
    kept = replace(evaluation, measures=tuple(evaluation.measures[k] for k in able), values=evaluation.values[:, able])
    columns = ("system", "measure", "worst", "value", "best")
    rows = [{name: getattr(each, name) for name in columns} for each in tie_sensitivity(kept)]
    note = f"{left_out}: left out" if unable else ""
    return Table(columns, tuple(rows), "What another order of tied scores could give", note, key="ties")


def tie_breaks(evaluation: Evaluation) -> Table:
    """What decides between systems with equal ADR: inversions, and the rule of paper 000, section 4."""
    rows = []
    for query in evaluation.queries:
        groups, itself = evaluation.truth[query], evaluation.taken_out(query)
        for run in evaluation.runs if groups else ():
            ranking = run.ranking(query)
            rows.append(
                {
                    "query": query,
                    "system": run.name,
                    "ADR": average_dynamic_recall(groups, ranking, query=itself),
                    "inversions": inversions(groups, ranking, query=itself),
                    "published": adr_tie_break(groups, ranking, query=itself),
                }
            )
    columns = ("query", "system", "ADR", "inversions", "published")
    note = "of two lists with equal ADR, fewer inversions are better; the published rule prefers the smaller value"
    return Table(columns, tuple(rows), "Breaking ties of ADR", note, key="tie_break")


def steps_of(evaluation: Evaluation, query: str) -> list[Table]:
    """The calculation of ADR row by row, for every system (paper 002, Table 3)."""
    if query not in evaluation.truth:
        raise UnknownNameError("query", query, evaluation.queries)
    if not evaluation.truth[query]:
        raise ArgumentError(f"query {query!r} has no relevant document, so there is no ADR to calculate")
    return [_steps(evaluation, run, query) for run in evaluation.runs]


def _steps(evaluation: Evaluation, run: Run, query: str) -> Table:
    groups = evaluation.truth[query]
    values = run.values(query)
    shows_value = values is not None and run.kind != "rank"
    rows = []
    for step in steps(groups, run.ranking(query), query=evaluation.taken_out(query), scores=values):
        rows.append(
            {
                "rank": step.rank,
                **({str(run.kind): step.score} if shows_value else {}),
                "document": step.document,
                "group": step.group,
                "found": step.found,
                "recall": step.recall,
                "ADR": step.adr,
                "note": _note(step, sum(map(len, groups))),
            }
        )
    columns = (
        "rank",
        *((run.kind,) if shows_value else ()),
        "document",
        "group",
        "found",
        "recall",
        "ADR",
        "note",
    )
    title = f"{run.name}: average dynamic recall of {query}"
    return Table(columns, tuple(rows), title, key=f"steps of {run.name}", marks="group")


def _note(step: RecallStep, size: int) -> str:
    said = ["the list has ended"] if step.document is None else []
    if step.rank == size:
        said.append(f"the truth ends here (n = {size}): the ADR of the query")
    return "; ".join(said)


def groupings(evaluations: Sequence[Evaluation]) -> Table:
    """Systems under several truths (paper 004, Table 4): means of the first measure, and Kendall's tau to the first."""
    measure, systems = evaluations[0].measures[0], evaluations[0].systems
    names = _truth_names(evaluations)
    columns = _columns(("system",), names, "truth")
    by_truth = [dict(zip(systems, each.means[:, 0].tolist(), strict=True)) for each in evaluations]
    rows: list[dict[str, Any]] = [
        {"system": system, **{name: means[system] for name, means in zip(names, by_truth, strict=True)}}
        for system in systems
    ]
    if len(systems) > 1:
        tau = {name: _tau(by_truth[0], means) for name, means in zip(names, by_truth, strict=True)}
        rows.append({"system": "Kendall's tau", **tau})
    title = f"{measure!r} under {len(names)} groupings, and Kendall's tau to {names[0]}"
    return Table(columns, tuple(rows), title, key="groupings")


def _tau(means: Mapping[str, float], others: Mapping[str, float]) -> float:
    """NaN where a truth has no query that counts."""
    is_known = not any(map(math.isnan, [*means.values(), *others.values()]))
    return kendall_tau(means, others) if is_known else math.nan


def _truth_names(evaluations: Sequence[Evaluation]) -> list[str]:
    return [each.truth.name or f"truth {k}" for k, each in enumerate(evaluations, start=1)]


def remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """What was odd about the input, a sentence each; what does not hold under every truth says under which."""
    truths_of: dict[str, list[str]] = {}
    for name, evaluation in zip(_truth_names(evaluations), evaluations, strict=True):
        for sentence in _remarks(evaluation):
            truths_of.setdefault(sentence, []).append(name)
    notes = [note for evaluation in evaluations for note in evaluation.truth.notes]
    notes += [said for run in evaluations[0].runs for said in run.remarks]
    return notes + [
        sentence if len(truths) == len(evaluations) else f"{', '.join(truths)}: {sentence}"
        for sentence, truths in truths_of.items()
    ]


def _remarks(evaluation: Evaluation) -> list[str]:
    said = []
    silent = [repr(measure) for measure in evaluation.measures if measure.rewards_silence]
    for system, queries in evaluation.missing.items():
        best = f", for which {' and '.join(silent)} have their best value" if silent else ""
        said.append(f"{system} lacks {_list(queries)} of the truth: counted as an empty list{best}")
    for system, queries in evaluation.unknown.items():
        said.append(f"{system} has {_list(queries)} that the truth does not know: ignored")
    for run in evaluation.runs:
        found = any(
            id in group for query, ids in run.lists.items() for group in evaluation.truth.get(query, ()) for id in ids
        )
        if not found and len(evaluation.empty) < len(evaluation.queries):
            said.append(f"{run.name} finds no document of the truth: are the ids the same?")
    if evaluation.empty:
        said.append(f"{_list(evaluation.empty)} without a relevant document: left out of the means")
    for system, queries in evaluation.same_ids.items():
        rule = _SAME_ID[evaluation.same_id]
        said.append(f"{system} has a document with the id of its query in {_list(queries, 'list', 'lists')}: {rule}")
    if evaluation.judges is not None:
        said.append(evaluation.judges.note)
    return said + tie_remarks(evaluation)


def _list(queries: Sequence[str], one: str = "query", many: str = "queries", most: int = 5) -> str:
    more = f" and {len(queries) - most} more" if len(queries) > most else ""
    plural = one if len(queries) == 1 else f"{len(queries)} {many}"
    return f"{plural} ({', '.join(map(shortened, queries[:most]))}{more})"
