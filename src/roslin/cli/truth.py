"""roslin truth group, consistency, report, simulate, votes, strengths, power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import Format, FormatOption, print_rows, remark
from roslin.cli.truth_options import (
    AlphaOption,
    CorrectionOption,
    MinVotesOption,
    QueryOption,
    RankingsArgument,
    RuleOption,
    ScopeOption,
    ShufflesOption,
    TailsOption,
    TestOption,
    TiesOption,
    UnrankedOption,
    chosen_method,
    rankings_from,
)

if TYPE_CHECKING:
    from roslin.melody import Melody
    from roslin.report.evaluation_tables import Section
    from roslin.truth import Rankings, Truth
    from roslin.truth.preferences import Vote

__all__ = ["app"]

app = typer.Typer(
    help="Ground truths from what people judged.\n\nExample: roslin truth group rankings.csv -o truth.qrel",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_TruthOutput = Annotated[Path | None, typer.Option("--output", "-o", help="Also write the truth (.qrel, .json).")]


@app.command("group")
def group_command(
    rankings: RankingsArgument,
    output: _TruthOutput = None,
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    scope: ScopeOption = "group",
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = "drop",
    min_votes: MinVotesOption = 1,
    correction: CorrectionOption = None,
    shuffles: ShufflesOption = 1000,
    ties: TiesOption = False,
    query: QueryOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Group ranked candidates, and say how many groups noise would give.

    Example: roslin truth group rankings.csv --rule any --tails 1 -o truth.qrel
    """
    from roslin.report.evaluation_tables import plain
    from roslin.report.truth_tables import candidates, study
    from roslin.truth import group_rankings, write_truth

    method = chosen_method(rule, tails, alpha, scope, test, unranked, min_votes, correction)
    said = rankings_from(rankings, query, ties=ties)
    truth = group_rankings(said, **asdict(method))
    for note in truth.notes:
        remark(note)
    found = study(said, method, shuffles)
    for name, each in found.queries.items():
        remark(f"query {name}: {each.sentence}; Kendall's W {each.kendall_w:.2f}")
    section = candidates(found)
    print_rows(plain(section.rows), ("query", "group", "document", "median", "mean", "votes", "largest_p"), format)
    if output is not None:
        write_truth(truth, output)
        remark(f"written to {output}")


@app.command("consistency")
def consistency_command(
    truth: Annotated[Path, typer.Argument(help="The truth.")],
    rankings: Annotated[Path, typer.Argument(help="The rankings that it was made from.")],
    tails: Annotated[int, typer.Option("--tails", help="1 (ADR-1) or 2 (ADR-2).")] = 1,
    alpha: AlphaOption = 0.25,
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = "drop",
    pairs: Annotated[bool, typer.Option("--pairs", help="List the pairs and triples by name.")] = False,
    pivots: Annotated[bool, typer.Option("--pivots", help="List every position of each list.")] = False,
    ties: TiesOption = False,
    format: FormatOption = Format.table,
) -> None:
    """Measure how consistent the lists of a truth are with the rankings.

    Example: roslin truth consistency truth.qrel rankings.csv --pairs
    """
    from roslin.report.truth_tables import consistencies, inconsistencies, positions
    from roslin.truth import list_consistency, read_truth

    said = rankings_from(rankings, None, ties=ties)
    found = list_consistency(read_truth(truth), said, tails, alpha, test=test, unranked=unranked)
    if pairs and pivots:
        raise typer.BadParameter("choose one of --pairs and --pivots")
    _print(inconsistencies(found) if pairs else positions(found) if pivots else consistencies(found), format)


@app.command("report")
def report_command(
    rankings: RankingsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The report: .html, .svg, .tex or .csv.")],
    melodies: Annotated[
        Path | None, typer.Option("--melodies", help="A collection or a file with the candidates, to draw them.")
    ] = None,
    experience: Annotated[
        Path | None, typer.Option("--experience", help="CSV with expert,years: adds a plot of it (.html only).")
    ] = None,
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    scope: ScopeOption = "group",
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = "drop",
    min_votes: MinVotesOption = 1,
    correction: CorrectionOption = None,
    shuffles: ShufflesOption = 1000,
    ties: TiesOption = False,
    query: QueryOption = None,
) -> None:
    """Write the tables of a ground truth, with plots of all ranks.

    Example: roslin truth report rankings.csv -o report.html
    """
    from roslin.report.truth import truth_page
    from roslin.report.truth_export import WRITERS
    from roslin.report.truth_tables import rankings_provenance, study

    if output.suffix not in (".html", *WRITERS):
        raise typer.BadParameter(f"--output must end with .html, {', '.join(WRITERS)}; got {output.name}")
    method = chosen_method(rule, tails, alpha, scope, test, unranked, min_votes, correction)
    said = rankings_from(rankings, query, ties=ties)
    known = _melodies(melodies, said) if melodies else {}
    found = study(said, method, shuffles)
    if output.suffix == ".html":
        years = _years(experience) if experience else []
        text = truth_page(found, known, years, rankings_provenance(rankings))
    else:
        text = WRITERS[output.suffix](found, known)
    output.write_text(text, encoding="utf-8")
    remark(f"written to {output}")


def _melodies(path: Path, said: Rankings) -> dict[str, Melody]:
    """The candidates and queries that are melodies of a collection or a file."""
    from roslin.api import Collection
    from roslin.notation import load

    wanted = {id for query, each in said.items() for id in (query, *each.documents)}
    if path.suffix == ".roslin":
        with Collection(path) as collection:
            return {id: collection[id] for id in wanted if id in collection}
    return {melody.id: melody for melody in load(path) if melody.id in wanted}


def _years(path: Path) -> list[float]:
    from roslin.truth.tables import number, table_rows

    rows = table_rows(path, ("expert", "years"))
    return [number(cells["years"], "years", file=str(path), line=line) for cells, line in rows]


@app.command("simulate")
def simulate_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="The rankings, CSV.")],
    model: Annotated[str, typer.Option("--model", help="mallows or plackett-luce.")] = "mallows",
    queries: Annotated[int, typer.Option("--queries", min=1)] = 11,
    experts: Annotated[int, typer.Option("--experts", min=1)] = 30,
    candidates: Annotated[str, typer.Option("--candidates", help="A number, or the least and the most: 4-24.")] = "20",
    noise: Annotated[float, typer.Option("--noise", help="0: everybody is right; 1: any order.")] = 0.8,
    dropout: Annotated[float, typer.Option("--dropout", help="Share of candidates left unranked.")] = 0.0,
    carelessness: Annotated[float, typer.Option("--carelessness", help="Share of experts who rank at random.")] = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rankings.")] = 2005,
) -> None:
    """Draw rankings from a model of experts.

    Example: roslin truth simulate -o rankings.csv --candidates 4-24 --noise 0.7 --dropout 0.3
    """
    from roslin.truth import simulate_rankings, write_rankings

    least, _, most = candidates.partition("-")
    if not least.isdecimal() or not (most or "0").isdecimal():
        raise typer.BadParameter(f"--candidates must be a number, or two with a dash; got {candidates}")
    low, high = int(least), int(most or least)
    sizes = [low + round((high - low) * k / max(queries - 1, 1)) for k in range(queries)]
    said = simulate_rankings(
        sizes, experts, model=model, noise=noise, dropout=dropout, carelessness=carelessness, seed=seed
    )
    write_rankings(said, output)
    remark(f"written to {output}")


@app.command("votes")
def votes_command(
    votes: Annotated[Path, typer.Argument(help="CSV with query,first,second,answer: a, b or s (the same).")],
    output: _TruthOutput = None,
    model: Annotated[str, typer.Option("--model", help="segments or bradley-terry.")] = "segments",
    against: Annotated[Path | None, typer.Option("--against", help="Compare with this truth instead.")] = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a truth from preference votes.

    Example: roslin truth votes judgments.csv --against MTurk.qrel
    """
    from roslin.errors import UnknownNameError
    from roslin.truth import read_truth, write_truth
    from roslin.truth.bradley_terry import group_votes
    from roslin.truth.compare import Likeness, compare_truths
    from roslin.truth.preferences import read_votes, segment_votes

    models: dict[str, Callable[[list[Vote]], Truth]] = {"segments": segment_votes, "bradley-terry": group_votes}
    if model not in models:
        raise UnknownNameError("model", model, models)
    truth = models[model](read_votes(votes))
    if against is not None:
        compared = [asdict(each) for each in compare_truths(truth, read_truth(against))]
        print_rows(compared, [field.name for field in fields(Likeness)], format)
    else:
        rows = [
            {"query": query, "group": number, "document": id}
            for query, groups in truth.items()
            for number, group in enumerate(groups, start=1)
            for id in group
        ]
        print_rows(rows, ("query", "group", "document"), format)
    if output is not None:
        write_truth(truth, output)
        remark(f"written to {output}")


@app.command("strengths")
def strengths_command(
    rankings: RankingsArgument,
    output: _TruthOutput = None,
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    unranked: UnrankedOption = "last",
    resamples: Annotated[int, typer.Option("--resamples", help="Draws of the experts, for the intervals.")] = 200,
    ties: TiesOption = False,
    query: QueryOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Group candidates by their strength (Plackett-Luce), with 95 % intervals.

    Example: roslin truth strengths rankings.csv -o truth.qrel
    """
    from roslin.report.truth_tables import strengths
    from roslin.truth import write_truth

    said = rankings_from(rankings, query, ties=ties)
    truth, section = strengths(said, rule, tails, alpha, unranked, resamples)
    _print(section, format)
    if output is not None:
        write_truth(truth, output)
        remark(f"written to {output}")


@app.command("power")
def power_command(
    rankings: RankingsArgument,
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    ties: TiesOption = False,
    query: QueryOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Estimate how many more experts would tell neighbours apart.

    Example: roslin truth power rankings.csv --query q1
    """
    from roslin.report.truth_tables import neighbours, study
    from roslin.truth import Method

    said = rankings_from(rankings, query, ties=ties)
    _print(neighbours(study(said, Method(rule, tails, alpha), shuffles=0)), format)


def _print(section: Section, format: Format) -> None:
    from roslin.report.evaluation_tables import plain

    print_rows(plain(section.rows), section.columns, format)
