"""roslin evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.options import PluginOption, TieRule, TiesOption
from roslin.cli.output import OutputFormat, print_rows, print_tables, progress_bar, remark, write_file, write_tables
from roslin.cli.runs import name_and_path, read_runs
from roslin.cli.truth_options import WayOption

if TYPE_CHECKING:
    from roslin.display.table import Table
    from roslin.evaluate import Evaluation, Measure
    from roslin.run import Run
    from roslin.truth import Truth

_PANELS = 200


class SameId(StrEnum):
    """Rules for a document with the id of its query: `roslin.evaluate.rankings.SAME_ID`."""

    keep = "keep"
    drop = "drop"


class EvaluationFormat(StrEnum):
    """How to print an evaluation."""

    table = "table"
    tsv = "tsv"
    json = "json"
    latex = "latex"
    html = "html"


def evaluate_command(
    files: Annotated[
        list[str],
        Argument(
            help="The ground truth (omit it with --truth or --truth-from), then the run files (FILE or NAME=FILE)."
        ),
    ],
    truths: Annotated[
        list[Path] | None,
        Option("--truth", metavar="FILE", help="A ground truth. Can be repeated, to compare groupings."),
    ] = None,
    truth_from: Annotated[
        Path | None,
        Option(
            "--truth-from",
            help="Rankings of participants, to be grouped. The intervals then also cover other participants.",
        ),
    ] = None,
    grouping: Annotated[
        str, Option("--grouping", help="With --truth-from: All-2, Any-2, Prev-2, All-1, Any-1 or Prev-1.")
    ] = "All-2",
    way: WayOption = "roslin",
    measures: Annotated[
        list[str] | None,
        Option("--measure", "-m", metavar="METRIC", help="A metric, such as ADR or nDCG@10. Can be repeated."),
    ] = None,
    per_query: Annotated[bool, Option("--per-query", help="Also print the score of every query.")] = False,
    compare: Annotated[
        bool, Option("--compare", help="Also compare every pair of runs, with tests of significance.")
    ] = False,
    against: Annotated[
        str | None,
        Option(
            "--against", help="Compare only this run with every other one. Fewer comparisons find smaller differences."
        ),
    ] = None,
    ties: TiesOption = TieRule.expected,
    same_id: Annotated[
        SameId, Option("--same-id", help="A document with the id of its query: any other (keep) or the query (drop).")
    ] = SameId.keep,
    tie_sensitivity: Annotated[
        bool, Option("--tie-sensitivity", help="Also print the range of scores over all orders of tied results.")
    ] = False,
    tie_break: Annotated[
        bool, Option("--tie-break", help="Also print, per query, the difference between lists with equal ADR.")
    ] = False,
    judged: Annotated[
        int | None,
        Option("--judged", min=1, metavar="K", help="Also print the share of the first K results that was judged."),
    ] = None,
    letters: Annotated[
        bool,
        Option("--letters", help="With --format latex: a small table whose letters name significantly worse runs."),
    ] = False,
    steps: Annotated[str | None, Option("--steps", help="Print only the ADR of this query, rank by rank.")] = None,
    level: Annotated[float, Option("--level", help="Confidence level of the intervals (0 to 1).")] = 0.95,
    format: Annotated[
        EvaluationFormat, Option("--format", help="Form of the printed result.")
    ] = EvaluationFormat.table,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write to this file instead (several TSV tables: to a folder).")
    ] = None,
    _plugins: PluginOption = None,
    _: Annotated[
        bool, Option("--measures", help="List the metrics.", is_eager=True, callback=lambda on: _list(on))
    ] = False,
) -> None:
    """Measure how well runs agree with a ground truth.

    Example: roslin evaluate truth.qrel mine.run theirs.run -m ADR -m nDCG@10 --compare
    """
    if not 0 < level < 1:
        raise typer.BadParameter(f"--level must be between 0 and 1; got {level:g}")
    if truths and truth_from is not None:
        raise typer.BadParameter("choose one of --truth and --truth-from")
    options = truths or ([truth_from] if truth_from is not None else [])
    chosen, runs = (options, files) if options else ([Path(files[0])], files[1:])
    if not runs:
        raise typer.BadParameter("give at least one run after the truth")
    if steps is not None and format is EvaluationFormat.html:
        raise typer.BadParameter("--steps goes with the other formats; the page has every query rank by rank")
    if letters and format is not EvaluationFormat.latex:
        raise typer.BadParameter("--letters goes with --format latex")
    rules = {"ties": ties.value, "same_id": same_id.value}
    if truth_from is None:
        evaluations = _evaluate(chosen, runs, measures, rules)
    else:
        evaluations = [_evaluate_with_judges(truth_from, grouping, way, runs, measures, rules)]
    extra = _extra(evaluations[0], judged, ties=tie_sensitivity, tie_break=tie_break)
    if letters:
        from roslin.evaluate.significance import lettered_latex

        text = lettered_latex(evaluations[0], level)
    elif format is EvaluationFormat.html:
        text = _page(evaluations, extra, chosen, runs, level, against)
    else:
        tables = _tables(evaluations, extra, steps, level, against, per_query=per_query, compare=compare)
        for table in tables:
            if table.note:
                remark(table.note)
        if format is EvaluationFormat.tsv and len(tables) > 1 and output is None:
            keys = ", ".join(table.key for table in tables)
            raise typer.BadParameter(f"--format tsv prints one table, these are {keys}: add --output FOLDER")
        if format is EvaluationFormat.tsv and output is not None:
            remark(f"written to {', '.join(map(str, write_tables(tables, output)))}")
            return
        if output is None and format in (EvaluationFormat.table, EvaluationFormat.tsv):
            print_tables(tables, OutputFormat(format.value))
            return
        text = _text(evaluations[0], tables, level, format)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(output, text)


def _list(wanted: bool) -> None:
    if wanted:
        from roslin.evaluate import MEASURES
        from roslin.evaluate import measures as names

        rows = [
            {
                "name": name,
                "also": ", ".join(MEASURES[name].also),
                "summary": MEASURES[name].summary,
                "reference": MEASURES[name].reference,
            }
            for name in names()
        ]
        print_rows(rows, ("name", "also", "summary", "reference"), OutputFormat.table)
        raise typer.Exit


def _evaluate(
    truths: list[Path], runs: list[str], measures: list[str] | None, rules: dict[str, str]
) -> list[Evaluation]:
    """All metrics under the first truth, and the first of them under the others."""
    from roslin.evaluate import DEFAULT_MEASURES, measure
    from roslin.evaluate.tables import remarks
    from roslin.truth import read_truth

    wanted = [measure(name) for name in measures or DEFAULT_MEASURES]
    found, results = [read_truth(path) for path in truths], read_runs(runs, tells=False)
    evaluations = [
        _evaluated(truth, results, wanted[: None if place == 0 else 1], rules) for place, truth in enumerate(found)
    ]
    for said in remarks(evaluations):
        remark(said)
    return evaluations


def _evaluate_with_judges(
    rankings: Path, grouping: str, way: str, runs: list[str], measures: list[str] | None, rules: dict[str, str]
) -> Evaluation:
    """All metrics under the truth that the experts give, with their intervals over other experts."""
    from roslin.evaluate import DEFAULT_MEASURES
    from roslin.evaluate.disagreement import with_judges
    from roslin.evaluate.tables import remarks
    from roslin.truth import grouped_truth, method_named, read_rankings
    from roslin.truth.grouping import function_named

    function, given = function_named(grouping), read_rankings(rankings)
    method = replace(method_named(way), rule=function.rule, tails=function.tails)
    results = read_runs(runs, tells=False)
    plain = _evaluated(grouped_truth(given, method), results, measures or DEFAULT_MEASURES, rules)
    with progress_bar("drawing panels", _PANELS) as progress:
        evaluation = with_judges(plain, given, method, _PANELS, progress=progress)
    for each in remarks([evaluation]):
        remark(each)
    return evaluation


def _evaluated(truth: Truth, runs: list[Run], measures: Sequence[str | Measure], rules: dict[str, str]) -> Evaluation:
    """An evaluation without warnings: they are among its remarks."""
    import warnings

    from roslin.evaluate import EmptyTruthWarning, evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyTruthWarning)
        return evaluate(truth, runs, measures, **rules)


def _extra(evaluation: Evaluation, judged: int | None, *, ties: bool, tie_break: bool) -> list[Table]:
    """Tables that every format has only when they are asked for."""
    from roslin.evaluate import tables
    from roslin.evaluate.disagreement import judged_table

    extra = [judged_table(evaluation, judged)] if judged is not None else []
    extra += [tables.tie_ranges(evaluation)] if ties else []
    return [*extra, tables.tie_breaks(evaluation)] if tie_break else extra


def _tables(
    evaluations: list[Evaluation],
    extra: list[Table],
    query: str | None,
    level: float,
    against: str | None,
    *,
    per_query: bool,
    compare: bool,
) -> list[Table]:
    from roslin.evaluate import tables

    first = evaluations[0]
    if query is not None:
        return tables.steps_of(first, query)
    found = [tables.means(first, level)]
    if len(evaluations) > 1:
        found.append(tables.groupings(evaluations))
    if per_query:
        found.append(tables.per_query(first))
    if compare or against is not None:
        found += tables.comparisons(first, level, against)
    return found + extra


def _text(evaluation: Evaluation, tables: list[Table], level: float, format: EvaluationFormat) -> str:
    from roslin.display.table import tables_to_json
    from roslin.evaluate.tables import means_by_measure

    if format is EvaluationFormat.latex:
        shown = [means_by_measure(evaluation, level) if table.key == "means" else table for table in tables]
        return "\n".join(table.to_latex() for table in shown)
    if format is EvaluationFormat.json:
        return tables_to_json(tables)
    raise typer.BadParameter("--output goes with --format tsv, json, latex or html")


def _page(
    evaluations: list[Evaluation],
    extra: list[Table],
    truths: list[Path],
    runs: list[str],
    level: float,
    against: str | None,
) -> str:
    from roslin.report.evaluation import evaluation_page, provenance

    return evaluation_page(
        evaluations, extra, provenance(truths, [name_and_path(run)[1] for run in runs]), level, against
    )
