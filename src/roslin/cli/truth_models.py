"""roslin truth strengths, votes, simulate: models beyond the papers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import Format, FormatOption, progress_bar, remark
from roslin.cli.truth_options import (
    AlphaOption,
    KnownQueriesOption,
    QueryOption,
    RankingsArgument,
    RuleOption,
    SeedOption,
    ShufflesOption,
    TailsOption,
    TiesOption,
    TruthOutput,
    UnrankedOption,
    print_section,
    rankings_from,
    spare,
    write_and_say,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roslin.truth.model import Groups
    from roslin.truth.preferences import QueryVotes

__all__ = ["simulate_command", "strengths_command", "votes_command"]


def strengths_command(
    rankings: RankingsArgument,
    output: TruthOutput = None,
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    unranked: UnrankedOption = "last",
    resamples: Annotated[int, typer.Option("--resamples", help="Draws of the experts, for the intervals.")] = 200,
    shuffles: ShufflesOption = 100,
    seed: SeedOption = 2005,
    ties: TiesOption = False,
    query: QueryOption = None,
    known_queries: KnownQueriesOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Group candidates by their strength (Plackett-Luce).

    Example: roslin truth strengths rankings.csv -o truth.qrel
    """
    from roslin.report.truth_tables import strengths
    from roslin.truth import Method
    from roslin.truth.null import null_strengths
    from roslin.truth.plackett_luce import plackett_luce, truth_of_strengths
    from roslin.truth.qrel import truth_writer

    if output is not None:
        truth_writer(output)
    spare(rankings, output)
    method = Method(rule, tails, alpha, unranked=unranked)
    said = rankings_from(rankings, query, ties=ties, known=known_queries)
    fitted, nulls = {}, {}
    with progress_bar("fitting", len(said)) as progress:
        for number, (name, each) in enumerate(said.items()):
            progress(number, name)
            fitted[name] = plackett_luce(each, unranked, resamples, seed)
            if shuffles:
                nulls[name] = null_strengths(each, fitted[name], method, shuffles, seed)
    truth = truth_of_strengths(fitted, method)
    write_and_say(truth, output)
    for name, null in nulls.items():
        remark(f"query {name}: {null.sentence()}")
    print_section(strengths(fitted, truth), format)


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
    query: QueryOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a truth from preference votes.

    Example: roslin truth votes judgments.csv --against MTurk.qrel
    """
    from roslin.errors import UnknownNameError
    from roslin.report.truth_tables import groups, likenesses
    from roslin.truth import Method, read_truth
    from roslin.truth.bradley_terry import group_votes, vote_groups
    from roslin.truth.compare import compare_truths
    from roslin.truth.null import null_votes
    from roslin.truth.preferences import count_votes, read_votes, segment_votes, segments
    from roslin.truth.qrel import truth_writer

    if output is not None:
        truth_writer(output)
    spare(votes, output)
    models: dict[str, Callable[[QueryVotes], Groups]] = {
        "segments": partial(segments, margin=margin),
        "bradley-terry": partial(vote_groups, method=Method(rule, tails, alpha)),
    }
    if model not in models:
        raise UnknownNameError("model", model, models)
    given = read_votes(votes)
    if query:
        known = list(dict.fromkeys(vote.query for vote in given))
        for name in query:
            if name not in known:
                raise UnknownNameError("query", name, known)
        given = [vote for vote in given if vote.query in query]
    truth = segment_votes(given, margin) if model == "segments" else group_votes(given, rule, tails, alpha)
    compared = compare_truths(truth, read_truth(against)) if against is not None else None
    write_and_say(truth, output)
    counted, nulls = count_votes(given), {}
    with progress_bar("shuffling", len(counted)) as progress:
        for number, (name, each) in enumerate(counted.items() if shuffles else ()):
            progress(number, name)
            nulls[name] = null_votes(each, models[model], shuffles, seed)
    for name, null in nulls.items():
        remark(f"query {name}: {null.sentence('votes')}")
    print_section(groups(truth) if compared is None else likenesses(compared), format)


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
