"""An evaluation as tables: what `roslin evaluate` prints, and what its page shows.

A table is a `Section`: a key for programs, a title for people, columns, and rows as mappings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import (
    Comparison,
    Evaluation,
    bootstrap_intervals,
    compare,
    evaluate,
    kendall_tau,
    steps,
    tie_sensitivity,
)
from roslin.truth import Truth

__all__ = [
    "Section",
    "comparisons",
    "groupings",
    "latex",
    "latex_text",
    "means",
    "per_query",
    "plain",
    "remarks",
    "steps_of",
    "tie_ranges",
]


@dataclass(frozen=True)
class Section:
    """One table."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]


def means(evaluation: Evaluation, level: float = 0.95) -> Section:
    """The mean of each system and measure, with its confidence interval over queries."""
    counted = evaluation.counted
    intervals = bootstrap_intervals(counted, level)
    rows = [
        {
            "system": system,
            "measure": repr(measure),
            "mean": float(evaluation.means[s, m]),
            "low": float(intervals[s, m, 0]),
            "high": float(intervals[s, m, 1]),
            "queries": counted.shape[2],
        }
        for s, system in enumerate(evaluation.systems)
        for m, measure in enumerate(evaluation.measures)
    ]
    title = f"Means over queries, with {level:.0%} confidence intervals"
    return Section("means", title, ("system", "measure", "mean", "low", "high", "queries"), rows)


def per_query(evaluation: Evaluation) -> Section:
    """One row for each query and measure, one column for each system."""
    rows = [
        {
            "query": query,
            "measure": repr(measure),
            **{system: float(evaluation.values[s, m, q]) for s, system in enumerate(evaluation.systems)},
        }
        for q, query in enumerate(evaluation.queries)
        for m, measure in enumerate(evaluation.measures)
    ]
    return Section("per_query", "Query by query", ("query", "measure", *evaluation.systems), rows)


def comparisons(evaluation: Evaluation, level: float = 0.95) -> Section:
    """Every pair of systems on every measure."""
    columns = tuple(field.name for field in fields(Comparison) if field.name != "queries")
    found = [each for measure in evaluation.measures for each in compare(evaluation, measure, level)]
    rows = [{name: getattr(each, name) for name in columns} | {"sentence": each.sentence} for each in found]
    return Section("comparisons", "Pairs of systems (paired permutation test)", (*columns, "sentence"), rows)


def tie_ranges(evaluation: Evaluation) -> Section:
    """The best and worst mean that any order of tied scores could give; measures that cannot tell are left out."""
    able = [k for k, measure in enumerate(evaluation.measures) if measure.monotone]
    if not able:
        names = ", ".join(map(repr, evaluation.measures))
        raise ArgumentError(f"the best and worst order of ties is not known for {names}")
    kept = Evaluation(
        evaluation.truth,
        evaluation.runs,
        tuple(evaluation.measures[k] for k in able),
        evaluation.queries,
        evaluation.values[:, able],
    )
    columns = ("system", "measure", "worst", "value", "best")
    rows = [{name: getattr(each, name) for name in columns} for each in tie_sensitivity(kept)]
    return Section("ties", "What another order of tied scores could give", columns, rows)


def steps_of(evaluation: Evaluation, query: str) -> list[Section]:
    """The calculation of ADR row by row, for every system (paper 002, Table 3)."""
    if query not in evaluation.truth:
        raise UnknownNameError("query", query, evaluation.queries)
    return [_steps(evaluation, number, query) for number in range(len(evaluation.runs))]


def _steps(evaluation: Evaluation, number: int, query: str) -> Section:
    run = evaluation.runs[number]
    ranking, scores = run.get(query, ()), run.scores(query)
    found = steps(evaluation.truth[query], ranking, query=query)
    kept = [k for k, id in enumerate(ranking) if id != query or any(id in group for group in evaluation.truth[query])]
    # Roslin writes a distance as a score with its sign turned.
    is_distance = scores is not None and all(score <= 0 for score in scores)
    name = "distance" if is_distance else "score"
    rows = []
    for k, step in zip(kept, found, strict=True):
        shown = {} if scores is None else {name: 0.0 - scores[k] if is_distance else scores[k]}
        rows.append(
            {
                "rank": step.rank,
                **shown,
                "document": step.document,
                "group": step.group,
                "found": step.found,
                "recall": step.recall,
                "ADR": step.adr,
            }
        )
    columns = ("rank", *(() if scores is None else (name,)), "document", "group", "found", "recall", "ADR")
    return Section(f"steps of {run.name}", f"{run.name}: average dynamic recall of {query}", columns, rows)


def groupings(evaluation: Evaluation, others: Sequence[Truth]) -> Section:
    """Systems under several truths (paper 004, Table 4): means of the first measure, and Kendall's tau to the first."""
    measure = evaluation.measures[0]
    truths = [evaluation.truth, *others]
    names = [truth.name or f"truth {k}" for k, truth in enumerate(truths, start=1)]
    if len(set(names)) < len(names):
        raise ArgumentError(f"every truth needs a name of its own; got {', '.join(names)}")
    columns = []
    for truth in truths:
        means_of = evaluate(truth, list(evaluation.runs), measure).means[:, 0]
        columns.append(dict(zip(evaluation.systems, means_of.tolist(), strict=True)))
    rows: list[dict[str, Any]] = [
        {"system": system, **{name: column[system] for name, column in zip(names, columns, strict=True)}}
        for system in evaluation.systems
    ]
    if len(evaluation.systems) > 1:
        tau = {name: kendall_tau(columns[0], column) for name, column in zip(names, columns, strict=True)}
        rows.append({"system": "Kendall's tau", **tau})
    title = f"{measure!r} under {len(truths)} groupings, and Kendall's tau to {names[0]}"
    return Section("groupings", title, ("system", *names), rows)


def remarks(evaluation: Evaluation) -> list[str]:
    """What was odd about the input, a sentence each."""
    said = list(evaluation.truth.notes)
    for system, queries in evaluation.missing.items():
        said.append(f"{system} lacks {_list(queries)} of the truth: counted as an empty list")
    for system, queries in evaluation.unknown.items():
        said.append(f"{system} has {_list(queries)} that the truth does not know: ignored")
    for run in evaluation.runs:
        found = any(
            id in group for query, ids in run.items() for group in evaluation.truth.get(query, ()) for id in ids
        )
        if not found:
            said.append(f"{run.name} finds no document of the truth: are the ids the same?")
    if evaluation.empty:
        said.append(f"{_list(evaluation.empty)} without a relevant document: left out of the means")
    return said


def _list(queries: Sequence[str], most: int = 5) -> str:
    more = f" and {len(queries) - most} more" if len(queries) > most else ""
    plural = "query" if len(queries) == 1 else f"{len(queries)} queries"
    return f"{plural} ({', '.join(queries[:most])}{more})"


# -- LaTeX ------------------------------------------------------------------------------------------------------------

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def latex(section: Section) -> str:
    """A table for a paper (needs the package booktabs); means and intervals share a cell."""
    if section.key == "means":
        section = _wide(section)
    columns = section.columns
    numeric = [all(not isinstance(row.get(name), str) for row in section.rows) for name in columns]
    lines = [
        f"% {section.title}",
        f"\\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        "\\toprule",
        " & ".join(latex_text(name) for name in columns) + r" \\",
        "\\midrule",
        *(" & ".join(latex_text(row.get(name)) for name in columns) + r" \\" for row in section.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _wide(section: Section) -> Section:
    """One row a system, one column a measure."""
    measures = list(dict.fromkeys(row["measure"] for row in section.rows))
    by_system: dict[str, dict[str, Any]] = {}
    for row in section.rows:
        cell = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        by_system.setdefault(row["system"], {"system": row["system"]})[row["measure"]] = cell
    return Section(section.key, section.title, ("system", *measures), list(by_system.values()))


def latex_text(value: Any) -> str:
    """A value for LaTeX: signs that mean something there are written out."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "--"
    return f"{value:.4f}" if isinstance(value, float) else str(value).translate(_SPECIAL)


def plain(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON, which has neither NaN nor infinity."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in rows
    ]
