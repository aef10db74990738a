"""roslin truth group, consistency, report, experts, power; those of `truth_models` and `truth_files` beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.options import with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.truth_files import compare_command, convert_command
from roslin.cli.truth_models import simulate_command, strengths_command, votes_command
from roslin.cli.truth_options import (
    RankingsFile,
    SeedOption,
    ShufflesOption,
    TruthOutput,
    check_output,
    consistency_method,
    grouping_method,
    pair_method,
    rankings_file,
    spare,
    write_and_say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roslin.melody import Melody
    from roslin.truth import Method, Rankings

app = typer.Typer(
    help="Ground truths from what people judged.\n\nExample: roslin truth group rankings.csv -o truth.qrel",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_REPORTS = (".html", ".svg", ".tex", ".csv")


@app.command("group")
@with_options(rankings=rankings_file, method=grouping_method)
def group_command(
    rankings: RankingsFile,
    method: Method,
    output: TruthOutput = None,
    shuffles: ShufflesOption = 1000,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Group ranked candidates, and say how many groups noise would give and how sure each line is.

    Example: roslin truth group rankings.csv --rule any --tails 1 -o truth.qrel
    """
    from roslin.truth import study_rankings
    from roslin.truth.study import SHOWN

    check_output(rankings.path, output)
    said = rankings.read()
    with progress_bar("grouping", len(said)) as progress:
        found = study_rankings(said, method, shuffles, seed, power=False, progress=progress)
    write_and_say(found.truth, output)
    for name, each in found.queries.items():
        remark("; ".join(part for part in (f"query {name}: {each.sentence}", each.agreement) if part))
        for doubt in each.doubts:
            remark(f"query {name}: {doubt}")
    _remark_experts(said, found.left_out)
    print_table(found.lists().only(*SHOWN), format)


def _remark_experts(said: Rankings, left_out: Sequence[str]) -> None:
    """Whose judgements to look at before anything else, and whose did not count."""
    from roslin.truth.agreement import careless, experts

    outliers = [each.expert for each in experts(said) if each.outlier]
    failed = (
        "mostly did not put the query first, and are left out" if left_out else "mostly did not put the query first"
    )
    for names, what in ((outliers, "disagree with the others"), (careless(said), failed)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            remark(f"{what}: {', '.join(names[:5])}{more} (roslin truth experts has the figures)")


@app.command("consistency")
@with_options(rankings=rankings_file, method=consistency_method)
def consistency_command(
    truth: Annotated[Path, typer.Argument(help="The truth.")],
    rankings: RankingsFile,
    method: Method,
    pairs: Annotated[bool, typer.Option("--pairs", help="List the pairs and triples by name.")] = False,
    pivots: Annotated[bool, typer.Option("--pivots", help="List every position of each list.")] = False,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Measure how consistent the lists of a truth are with the rankings that it was made from.

    Example: roslin truth consistency truth.qrel rankings.csv --pairs
    """
    from roslin.truth import list_consistency, read_truth
    from roslin.truth.tables import consistencies, inconsistencies, positions

    if pairs and pivots:
        raise typer.BadParameter("choose one of --pairs and --pivots")
    said = rankings.read_all()
    lists = read_truth(truth)
    if rankings.queries:
        lists = lists.only(rankings.queries)
    found = list_consistency(
        lists,
        method.considered(said),
        method.tails,
        method.alpha,
        test=method.test,
        unranked=method.unranked,
        correction=method.correction,
    )
    print_table(inconsistencies(found) if pairs else positions(found) if pivots else consistencies(found), format)


@app.command("report")
@with_options(rankings=rankings_file, method=grouping_method)
def report_command(
    rankings: RankingsFile,
    method: Method,
    output: Annotated[Path, typer.Option("--output", "-o", help="The report: .html, .svg, .tex or .csv.")],
    melodies: Annotated[
        Path | None, typer.Option("--melodies", help="A collection or a file with the candidates, to draw them.")
    ] = None,
    experience: Annotated[
        Path | None,
        typer.Option(
            "--experience", help="CSV with expert,years, or experts.csv of a study: adds a plot (not in .csv)."
        ),
    ] = None,
    shuffles: ShufflesOption = 1000,
    seed: SeedOption = 2005,
) -> None:
    """Write the tables of a ground truth, with plots of all ranks.

    Example: roslin truth report rankings.csv -o report.html
    """
    from roslin.report.truth import rankings_provenance, truth_csv, truth_page
    from roslin.report.truth_drawing import truth_svg
    from roslin.report.truth_latex import truth_latex
    from roslin.rows import write_whole
    from roslin.truth import study_rankings

    ending = output.suffix.lower()
    if ending not in _REPORTS:
        raise typer.BadParameter(f"--output must end with {', '.join(_REPORTS)}; got {output.name}")
    if experience is not None and ending == ".csv":
        raise typer.BadParameter("--experience is a plot, and a .csv file has none; write .html, .svg or .tex")
    spare(rankings.path, output)
    said = rankings.read()
    years = _years(experience) if experience else []
    known = _melodies(melodies, said) if melodies else {}
    with progress_bar("grouping", len(said)) as progress:
        found = study_rankings(said, method, shuffles, seed, power=ending == ".html", progress=progress)
    if ending == ".html":
        text = truth_page(found, known, years, rankings_provenance(rankings.path, seed))
    elif ending == ".svg":
        text = truth_svg(found, known, years)
    elif ending == ".tex":
        text = truth_latex(found, known, years)
    else:
        text = truth_csv(found, known)
    write_whole(output, text)
    remark(f"written to {output}")


def _melodies(path: Path, said: Rankings) -> dict[str, Melody]:
    """The candidates and queries that are melodies of a collection or a file; says how many were found."""
    from roslin.api import Collection
    from roslin.notation import load

    wanted = {id for query, each in said.items() for id in (query, *each.documents)}
    if path.suffix == ".roslin":
        with Collection(path) as collection:
            found = {id: collection[id] for id in wanted if id in collection}
    else:
        found = {melody.id: melody for melody in load(path) if melody.id in wanted}
    remark(f"{len(found)} of {len(wanted)} candidates and queries are melodies of {path}")
    return found


def _years(path: Path) -> list[float]:
    """Years of experience, one number an expert."""
    from roslin.rows import number, refuse, table_rows

    years: dict[str, float] = {}
    for cells, line in table_rows(path, ("expert", "years")):
        if cells["years"] in ("", None):  # not answered
            continue
        expert, value = cells["expert"], number(cells["years"], "years", file=str(path), line=line)
        if not 0 <= value < float("inf"):
            raise refuse("bad years", expected="0 or more", found=cells["years"], file=str(path), line=line)
        if expert in years:
            raise refuse(f"expert {expert} again", expected="each expert once", file=str(path), line=line)
        years[expert] = value
    if not years:
        raise refuse("no experience", expected="at least one row with expert,years", found="none", file=str(path))
    return list(years.values())


@app.command("experts")
@with_options(rankings=rankings_file)
def experts_command(rankings: RankingsFile, format: FormatOption = OutputFormat.table) -> None:
    """Say how far each expert agrees with the others, and who was careless.

    Example: roslin truth experts rankings.csv
    """
    from roslin.truth.tables import people

    print_table(people(rankings.read()), format)


@app.command("power")
@with_options(rankings=rankings_file, method=pair_method)
def power_command(
    rankings: RankingsFile,
    method: Method,
    power: Annotated[float, typer.Option("--power", help="How surely a difference should be found.")] = 0.8,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Estimate how many more experts would tell neighbours apart.

    Example: roslin truth power rankings.csv --query q1
    """
    from roslin.truth.tables import MOST_EXPERTS, more_experts, neighbours

    said = rankings.read()
    found = {}
    with progress_bar("drawing experts", len(said)) as progress:
        for number, (name, each) in enumerate(method.considered(said).items()):
            progress(number, name)
            found[name] = more_experts(each, method, power, seed)
    if any(pair.needed is None for pairs in found.values() for pair in pairs):
        remark(f"needed is empty where not even {MOST_EXPERTS} experts like these would do, or too little is known")
    print_table(neighbours(found), format)


app.command("strengths")(strengths_command)
app.command("votes")(votes_command)
app.command("simulate")(simulate_command)
app.command("compare")(compare_command)
app.command("convert")(convert_command)
