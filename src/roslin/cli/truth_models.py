"""roslin truth strengths, votes, simulate: models beyond the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.options import with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.truth_options import (
    RankingsFile,
    SeedOption,
    ShufflesOption,
    TruthOutput,
    check_output,
    rankings_file,
    strength_method,
    write_and_say,
)

if TYPE_CHECKING:
    from roslin.truth import Method


@with_options(rankings=rankings_file, method=strength_method)
def strengths_command(
    rankings: RankingsFile,
    method: Method,
    output: TruthOutput = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Draws of the experts, for the intervals.")] = 200,
    shuffles: ShufflesOption = 100,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Group candidates by their strength (Plackett-Luce).

    Example: roslin truth strengths rankings.csv -o truth.qrel
    """
    from roslin.truth.study import study_strengths

    check_output(rankings.path, output)
    said = rankings.read()
    with progress_bar("fitting", len(said)) as progress:
        found = study_strengths(said, method, resamples, shuffles, seed, progress=progress)
    write_and_say(found.truth, output)
    for sentence in found.sentences:
        remark(sentence)
    print_table(found.table, format)


def votes_command(
    votes: Annotated[Path, typer.Argument(help="CSV with query,first,second,answer: a, b or s (the same).")],
    output: TruthOutput = None,
    model: Annotated[str, typer.Option("--model", help="segments or bradley-terry.")] = "segments",
    margin: Annotated[int, typer.Option("--margin", help="segments: the lead in votes that counts.")] = 2,
    rule: Annotated[str, typer.Option("--rule", help="bradley-terry: all, any or prev.")] = "all",
    tails: Annotated[int, typer.Option("--tails", help="bradley-terry: 1 or 2.")] = 2,
    alpha: Annotated[float, typer.Option("--alpha", help="bradley-terry: a p-value below is a difference.")] = 0.25,
    against: Annotated[Path | None, typer.Option("--against", help="Print a comparison with this truth.")] = None,
    shuffles: ShufflesOption = 200,
    seed: SeedOption = 2005,
    query: Annotated[list[str] | None, typer.Option("--query", help="Only this query; several times.")] = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Make a truth from preference votes.

    Example: roslin truth votes judgments.csv --against MTurk.qrel
    """
    from roslin.truth import Method, read_truth
    from roslin.truth.preferences import read_votes
    from roslin.truth.study import study_votes
    from roslin.truth.tables import compare_truths, likenesses

    check_output(votes, output)
    given = read_votes(votes, query)
    with progress_bar("shuffling", len({vote.query for vote in given})) as progress:
        found = study_votes(given, model, margin, Method(rule, tails, alpha), shuffles, seed, progress=progress)
    shown = found.table if against is None else likenesses(compare_truths(found.truth, read_truth(against)))
    write_and_say(found.truth, output)
    for sentence in found.sentences:
        remark(sentence)
    print_table(shown, format)


def simulate_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="The rankings: .csv.")],
    model: Annotated[str, typer.Option("--model", help="mallows or plackett-luce.")] = "mallows",
    queries: Annotated[int | None, typer.Option("--queries", min=1, help="How many: 11 unless told.")] = None,
    experts: Annotated[int, typer.Option("--experts", min=1)] = 30,
    candidates: Annotated[
        str | None, typer.Option("--candidates", help="A number, or the least and the most (4-24); 20 unless told.")
    ] = None,
    noise: Annotated[float, typer.Option("--noise", help="0: everybody is right; 1: any order.")] = 0.8,
    dropout: Annotated[float, typer.Option("--dropout", help="Share of candidates left unranked.")] = 0.0,
    carelessness: Annotated[float, typer.Option("--carelessness", help="Share of experts who rank at random.")] = 0.0,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Its groups hold, in place of --queries and --candidates.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same rankings.")] = 2005,
) -> None:
    """Draw rankings from a model of experts.

    Example: roslin truth simulate -o rankings.csv --candidates 4-24 --noise 0.7 --dropout 0.3
    """
    from roslin.truth import read_truth, simulate_rankings, write_rankings
    from roslin.truth.rankings import check_rankings_path

    check_rankings_path(output)
    if truth is not None and (queries is not None or candidates is not None):
        raise typer.BadParameter("--truth has its own queries and candidates; leave --queries and --candidates out")
    said = simulate_rankings(
        _sizes(candidates or "20", queries or 11),
        experts,
        model=model,
        noise=noise,
        dropout=dropout,
        carelessness=carelessness,
        truth=None if truth is None else read_truth(truth),
        seed=seed,
    )
    write_rankings(said, output)
    remark(f"written to {output}")


def _sizes(text: str, queries: int) -> list[int]:
    """Numbers of candidates, rising evenly from the least to the most."""
    least, dash, most = text.partition("-")
    if not least.isdecimal() or not (most if dash else least).isdecimal():
        raise typer.BadParameter(f"--candidates must be a number, or two with a dash; got {text}")
    low, high = int(least), int(most or least)
    if not 1 <= low <= high:
        raise typer.BadParameter(f"--candidates must be at least 1, and the least before the most; got {text}")
    return [low + round((high - low) * k / max(queries - 1, 1)) for k in range(queries)]
