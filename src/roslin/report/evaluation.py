"""An evaluation as one page: tables to sort, curves, every query, and where it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.evaluate import Evaluation, dynamic_recall, mean_lift_curve, normalised_lift_curve
from roslin.evaluate.tables import comparisons, groupings, means, per_query, remarks, steps_of
from roslin.report.document import document, said_of_file, versions
from roslin.report.plots import Curve, curve_plot

_MOST_ROWS = 5_000
_MOST_QUERIES = 200
_MOST_RANKS = 50


def provenance(truths: Iterable[Path], runs: Iterable[Path]) -> list[str]:
    """The provenance of the page: program, versions, and every file with its checksum."""
    return [
        versions("numpy", python=True),
        *(said_of_file("truth", Path(path)) for path in truths),
        *(said_of_file("run", Path(path)) for path in runs),
        "intervals of means: Wilson's, with the variance of the values; pairs: Student's t; all pairs together: the "
        "largest t under exchanges of runs, with a fixed seed",
    ]


def evaluation_page(
    evaluations: Sequence[Evaluation],
    extra: Sequence[Table] = (),
    sources: Sequence[str] = (),
    level: float = 0.95,
    against: str | None = None,
) -> str:
    """The whole page: about the first evaluation, with the means under the truths of the others.

    `extra`: tables that a page has only when they are asked for; `sources`: lines of `provenance`; `against`: the
    run that the others are compared with, instead of every pair.
    """
    evaluation = evaluations[0]
    number = len(evaluation.runs)
    judged = [query for query in evaluation.queries if evaluation.truth[query]]
    reach, pairs, sentences = None, None, []
    if number > 1:
        reach, pairs = comparisons(evaluation, level, against)
        first = repr(evaluation.measures[0])
        sentences = [row["sentence"] for row in pairs.rows if row["measure"] == first]
    queries = []
    for query in judged[:_MOST_QUERIES]:
        most = max(_MOST_RANKS, sum(map(len, evaluation.truth[query])))
        queries.append((query, [(table, min(most, len(table.rows))) for table in steps_of(evaluation, query)]))
    return document(
        "evaluation.html",
        heading=f"{counted(number, 'run')} against {evaluation.truth.name or 'the truth'}",
        counted=len(judged),
        remarks=remarks(evaluations),
        means=means(evaluation, level),
        reach=reach,
        pairs=pairs and pairs.without("sentence"),
        sentences=sentences,
        groupings=groupings(evaluations) if len(evaluations) > 1 else None,
        extra=extra,
        recall_plot=_recall_plot(evaluation, judged),
        lift_plot=_lift_plot(evaluation, judged),
        values=per_query(evaluation),
        most_rows=_MOST_ROWS,
        queries=queries,
        all_queries=len(judged),
        sources=[*sources, "measures: " + ", ".join(map(repr, evaluation.measures))],
    )


def _recall_plot(evaluation: Evaluation, queries: Sequence[str]) -> str:
    """Dynamic recall along the truth: x is the share i / n of the ranks that ADR looks at."""

    def curve(system: int, query: str) -> Curve:
        recall = dynamic_recall(
            evaluation.truth[query], evaluation.runs[system].ranking(query), query=evaluation.taken_out(query)
        )
        return np.arange(1, len(recall) + 1) / len(recall), recall

    curves = _mean_curves(evaluation, queries, curve)
    return curve_plot(curves, "rank / size of the truth", "dynamic recall", "Mean dynamic recall of each run")


def _lift_plot(evaluation: Evaluation, queries: Sequence[str]) -> str:
    """Normalised lift curves: share of the list against share of the relevant documents."""

    def curve(system: int, query: str) -> Curve:
        ranking = evaluation.runs[system].ranking(query)
        if not ranking:
            return np.array([0.0, 1.0]), np.zeros(2)
        return normalised_lift_curve(evaluation.truth[query], ranking, query=evaluation.taken_out(query))

    curves = _mean_curves(evaluation, queries, curve)
    return curve_plot(curves, "share of the list", "recall", "Mean normalised lift curve of each run")


def _mean_curves(
    evaluation: Evaluation, queries: Sequence[str], curve: Callable[[int, str], Curve]
) -> dict[str, Curve]:
    nothing = (np.zeros(0), np.zeros(0))
    return {
        name: mean_lift_curve([curve(system, query) for query in queries]) if queries else nothing
        for system, name in enumerate(evaluation.systems)
    }
