"""roslin evaluate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from roslin.cli.options import PluginOption, TiesOption, WayOption, with_options
from roslin.cli.output import OutputFormat, print_table, print_tables, progress_bar, remark, write_file, write_tables
from roslin.cli.runs import name_and_path, read_runs

if TYPE_CHECKING:
    from roslin.display.table import Table
    from roslin.evaluate import Evaluation

_PANELS = 200


EvaluationFormat = Literal["table", "tsv", "json", "latex", "html"]


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
            help="Rankings of participants, to be grouped. The intervals then also cover other participants.",
        ),
    ] = None
    grouping: Annotated[str, Option(help="With --truth-from: All-2, Any-2, Prev-2, All-1, Any-1 or Prev-1.")] = "All-2"
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
        Option(help="Compare only this run with every other one. Fewer comparisons find smaller differences."),
    ] = None
    ties: TiesOption = "expected"
    same_id: Annotated[
        Literal["keep", "drop"],
        Option(help="A document with the id of its query: keep it, or drop it from the list."),
    ] = "keep"
    tie_sensitivity: Annotated[
        bool, Option("--tie-sensitivity", help="Also print the range of scores over all orders of tied results.")
    ] = False
    tie_break: Annotated[
        bool, Option("--tie-break", help="Also print, per query, the difference between lists with equal ADR.")
    ] = False
    judged: Annotated[
        int | None,
        Option(min=1, metavar="K", help="Also print the share of the first K results that was judged."),
    ] = None
    letters: Annotated[
        bool,
        Option("--letters", help="With --format latex: a small table whose letters name significantly worse runs."),
    ] = False
    steps: Annotated[str | None, Option(help="Print only the ADR of this query, rank by rank.")] = None
    level: Annotated[float, Option(help="Confidence level of the intervals (0 to 1).")] = 0.95

    def evaluations(self, material: Material) -> list[Evaluation]:
        """All metrics under the first truth, and the first of them under the others; prints the remarks."""
        from roslin.evaluate import DEFAULT_MEASURES, measure
        from roslin.evaluate.evaluation import quietly
        from roslin.evaluate.tables import remarks
        from roslin.truth import read_truth

        if material.truth_from is not None:
            evaluations = [self._with_judges(material.truth_from, material)]
        else:
            wanted = [measure(name) for name in self.measures or DEFAULT_MEASURES]
            truths, runs = [read_truth(path) for path in material.sources], read_runs(material.runs, tells=False)
            evaluations = [
                quietly(truth, runs, wanted[: None if place == 0 else 1], ties=self.ties, same_id=self.same_id)
                for place, truth in enumerate(truths)
            ]
        remark(*remarks(evaluations))
        return evaluations

    def _with_judges(self, rankings: Path, material: Material) -> Evaluation:
        """All metrics under the truth that the participants give, with their intervals over other participants."""
        from roslin.evaluate import DEFAULT_MEASURES
        from roslin.evaluate.evaluation import quietly, with_judges
        from roslin.truth import grouped_truth, method_named, read_rankings
        from roslin.truth.grouping import function_named

        function, given = function_named(material.grouping), read_rankings(rankings)
        method = replace(method_named(material.way), rule=function.rule, tails=function.tails)
        runs = read_runs(material.runs, tells=False)
        measures = self.measures or DEFAULT_MEASURES
        plain = quietly(grouped_truth(given, method), runs, measures, ties=self.ties, same_id=self.same_id)
        with progress_bar("drawing panels", _PANELS) as progress:
            return with_judges(plain, given, method, _PANELS, progress=progress)

    def extra_tables(self, evaluation: Evaluation) -> list[Table]:
        from roslin.evaluate import tables

        extra = [tables.judged_table(evaluation, self.judged)] if self.judged is not None else []
        extra += [tables.tie_ranges(evaluation)] if self.tie_sensitivity else []
        return [*extra, tables.tie_breaks(evaluation)] if self.tie_break else extra

    def tables(self, evaluations: list[Evaluation], extra: list[Table]) -> list[Table]:
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
    format: Annotated[EvaluationFormat, Option(help="Format of the printed result.")] = "table",
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
    elif format == "html":
        from roslin.report.evaluation import evaluation_page, provenance

        read = provenance(material.sources, [name_and_path(run)[1] for run in material.runs])
        text = evaluation_page(evaluations, extra, read, analysis.level, analysis.against)
    else:
        tables = analysis.tables(evaluations, extra)
        remark(*(table.note for table in tables if table.note))
        if format == "tsv" or (format == "table" and output is None):
            _show(tables, OutputFormat(format), output)
            return
        text = _text(evaluations[0], tables, analysis.level, format)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(output, text)


def _refuse(material: Material, analysis: Analysis, format: EvaluationFormat) -> None:
    if not 0 < analysis.level < 1:
        raise typer.BadParameter(f"--level must be between 0 and 1; got {analysis.level:g}")
    if material.truths and material.truth_from is not None:
        raise typer.BadParameter("choose one of --truth and --truth-from")
    if not material.runs:
        raise typer.BadParameter("give at least one run after the truth")
    if analysis.steps is not None and format == "html":
        raise typer.BadParameter("--steps goes with the other formats; the page has every query rank by rank")
    if analysis.letters and format != "latex":
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
        from roslin.display.table import Table
        from roslin.evaluate import MEASURES
        from roslin.evaluate import measures as names

        columns = ("name", "also", "summary", "reference")
        found = [(name, MEASURES[name]) for name in names()]
        rows = [(name, ", ".join(kind.also), kind.summary, kind.reference) for name, kind in found]
        print_table(Table.of(columns, rows), OutputFormat.table)
        raise typer.Exit


def _text(evaluation: Evaluation, tables: list[Table], level: float, format: EvaluationFormat) -> str:
    from roslin.display.table import tables_to_json
    from roslin.evaluate.tables import means_by_measure

    if format == "latex":
        shown = [means_by_measure(evaluation, level) if table.key == "means" else table for table in tables]
        return "\n".join(table.to_latex() for table in shown)
    if format == "json":
        return tables_to_json(tables)
    raise typer.BadParameter("--output goes with --format tsv, json, latex or html")
