"""roslin evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.options import PluginOption, TieRule, TiesOption, with_options
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


@dataclass(frozen=True)
class Material:
    """The ground truths, or the rankings that one is made from, and the runs that are evaluated with them."""

    files: Annotated[
        list[str],
        Argument(
            help="The ground truth (omit it with --truth or --truth-from), then the run files (FILE or NAME=FILE)."
        ),
    ]
    truths: Annotated[
        list[Path] | None,
        Option("--truth", metavar="FILE", help="A ground truth. Can be repeated, to compare groupings."),
    ] = None
    truth_from: Annotated[
        Path | None,
        Option(
            "--truth-from",
            help="Rankings of participants, to be grouped. The intervals then also cover other participants.",
        ),
    ] = None
    grouping: Annotated[
        str, Option("--grouping", help="With --truth-from: All-2, Any-2, Prev-2, All-1, Any-1 or Prev-1.")
    ] = "All-2"
    way: WayOption = "roslin"

    @property
    def sources(self) -> list[Path]:
        """The files that the truths come from."""
        named = self.truths or ([self.truth_from] if self.truth_from is not None else [])
        return named or [Path(self.files[0])]

    @property
    def runs(self) -> list[str]:
        return self.files if self.truths or self.truth_from is not None else self.files[1:]


@dataclass(frozen=True)
class Analysis:
    """What is measured and compared, and how tied results count."""

    measures: Annotated[
        list[str] | None,
        Option("--measure", "-m", metavar="METRIC", help="A metric, such as ADR or nDCG@10. Can be repeated."),
    ] = None
    per_query: Annotated[bool, Option("--per-query", help="Also print the score of every query.")] = False
    compare: Annotated[bool, Option("--compare", help="Also compare every pair of runs, with significance tests.")] = (
        False
    )
    against: Annotated[
        str | None,
        Option(
            "--against", help="Compare only this run with every other one. Fewer comparisons find smaller differences."
        ),
    ] = None
    ties: TiesOption = TieRule.expected
    same_id: Annotated[
        SameId, Option("--same-id", help="A document with the id of its query: keep it, or drop it from the list.")
    ] = SameId.keep
    tie_sensitivity: Annotated[
        bool, Option("--tie-sensitivity", help="Also print the range of scores over all orders of tied results.")
    ] = False
    tie_break: Annotated[
        bool, Option("--tie-break", help="Also print, per query, the difference between lists with equal ADR.")
    ] = False
    judged: Annotated[
        int | None,
        Option("--judged", min=1, metavar="K", help="Also print the share of the first K results that was judged."),
    ] = None
    letters: Annotated[
        bool,
        Option("--letters", help="With --format latex: a small table whose letters name significantly worse runs."),
    ] = False
    steps: Annotated[str | None, Option("--steps", help="Print only the ADR of this query, rank by rank.")] = None
    level: Annotated[float, Option("--level", help="Confidence level of the intervals (0 to 1).")] = 0.95

    def evaluations(self, material: Material) -> list[Evaluation]:
        """All metrics under the first truth, and the first of them under the others; prints the remarks."""
        from roslin.evaluate import DEFAULT_MEASURES, measure
        from roslin.evaluate.tables import remarks
        from roslin.truth import read_truth

        if material.truth_from is not None:
            evaluations = [self._with_judges(material.truth_from, material)]
        else:
            wanted = [measure(name) for name in self.measures or DEFAULT_MEASURES]
            truths, runs = [read_truth(path) for path in material.sources], read_runs(material.runs, tells=False)
            evaluations = [
                self._evaluated(truth, runs, wanted[: None if place == 0 else 1]) for place, truth in enumerate(truths)
            ]
        remark(*remarks(evaluations))
        return evaluations

    def _with_judges(self, rankings: Path, material: Material) -> Evaluation:
        """All metrics under the truth that the participants give, with their intervals over other participants."""
        from roslin.evaluate import DEFAULT_MEASURES
        from roslin.evaluate.disagreement import with_judges
        from roslin.truth import grouped_truth, method_named, read_rankings
        from roslin.truth.grouping import function_named

        function, given = function_named(material.grouping), read_rankings(rankings)
        method = replace(method_named(material.way), rule=function.rule, tails=function.tails)
        runs = read_runs(material.runs, tells=False)
        plain = self._evaluated(grouped_truth(given, method), runs, self.measures or DEFAULT_MEASURES)
        with progress_bar("drawing panels", _PANELS) as progress:
            return with_judges(plain, given, method, _PANELS, progress=progress)

    def _evaluated(self, truth: Truth, runs: list[Run], measures: Sequence[str | Measure]) -> Evaluation:
        """An evaluation without warnings: they are among its remarks."""
        import warnings

        from roslin.evaluate import EmptyTruthWarning, evaluate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyTruthWarning)
            return evaluate(truth, runs, measures, ties=self.ties.value, same_id=self.same_id.value)

    def extra_tables(self, evaluation: Evaluation) -> list[Table]:
        """Tables that every format has only when they are asked for."""
        from roslin.evaluate import tables
        from roslin.evaluate.disagreement import judged_table

        extra = [judged_table(evaluation, self.judged)] if self.judged is not None else []
        extra += [tables.tie_ranges(evaluation)] if self.tie_sensitivity else []
        return [*extra, tables.tie_breaks(evaluation)] if self.tie_break else extra

    def tables(self, evaluations: list[Evaluation], extra: list[Table]) -> list[Table]:
        """The tables that are printed."""
        from roslin.evaluate import tables

        first = evaluations[0]
        if self.steps is not None:
            return tables.steps_of(first, self.steps)
        found = [tables.means(first, self.level)]
        if len(evaluations) > 1:
            found.append(tables.groupings(evaluations))
        if self.per_query:
            found.append(tables.per_query(first))
        if self.compare or self.against is not None:
            found += tables.comparisons(first, self.level, self.against)
        return found + extra


@with_options(material=Material, analysis=Analysis)
def evaluate_command(
    material: Material,
    analysis: Analysis,
    format: Annotated[
        EvaluationFormat, Option("--format", help="Format of the printed result.")
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
    _refuse(material, analysis, format)
    evaluations = analysis.evaluations(material)
    extra = analysis.extra_tables(evaluations[0])
    if analysis.letters:
        from roslin.evaluate.significance import lettered_latex

        text = lettered_latex(evaluations[0], analysis.level)
    elif format is EvaluationFormat.html:
        from roslin.report.evaluation import evaluation_page, provenance

        read = provenance(material.sources, [name_and_path(run)[1] for run in material.runs])
        text = evaluation_page(evaluations, extra, read, analysis.level, analysis.against)
    else:
        tables = analysis.tables(evaluations, extra)
        remark(*(table.note for table in tables if table.note))
        if format is EvaluationFormat.tsv or (format is EvaluationFormat.table and output is None):
            _show(tables, OutputFormat(format.value), output)
            return
        text = _text(evaluations[0], tables, analysis.level, format)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(output, text)


def _refuse(material: Material, analysis: Analysis, format: EvaluationFormat) -> None:
    """Options that do not go together."""
    if not 0 < analysis.level < 1:
        raise typer.BadParameter(f"--level must be between 0 and 1; got {analysis.level:g}")
    if material.truths and material.truth_from is not None:
        raise typer.BadParameter("choose one of --truth and --truth-from")
    if not material.runs:
        raise typer.BadParameter("give at least one run after the truth")
    if analysis.steps is not None and format is EvaluationFormat.html:
        raise typer.BadParameter("--steps goes with the other formats; the page has every query rank by rank")
    if analysis.letters and format is not EvaluationFormat.latex:
        raise typer.BadParameter("--letters goes with --format latex")


def _show(tables: list[Table], format: OutputFormat, output: Path | None) -> None:
    """Print tables, or write them as tab-separated values."""
    if output is not None:
        remark(f"written to {', '.join(map(str, write_tables(tables, output)))}")
        return
    if format is OutputFormat.tsv and len(tables) > 1:
        keys = ", ".join(table.key for table in tables)
        raise typer.BadParameter(f"--format tsv prints one table, these are {keys}: add --output FOLDER")
    print_tables(tables, format)


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


def _text(evaluation: Evaluation, tables: list[Table], level: float, format: EvaluationFormat) -> str:
    from roslin.display.table import tables_to_json
    from roslin.evaluate.tables import means_by_measure

    if format is EvaluationFormat.latex:
        shown = [means_by_measure(evaluation, level) if table.key == "means" else table for table in tables]
        return "\n".join(table.to_latex() for table in shown)
    if format is EvaluationFormat.json:
        return tables_to_json(tables)
    raise typer.BadParameter("--output goes with --format tsv, json, latex or html")
