"""What the commands of `roslin truth` share: the options that say how groups are made, and reading rankings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import Format, print_rows, remark

if TYPE_CHECKING:
    from roslin.report.evaluation_tables import Section
    from roslin.truth import Method, Rankings, Truth

__all__ = [
    "AlphaOption",
    "CorrectionOption",
    "KnownQueriesOption",
    "MinVotesOption",
    "QueryOption",
    "RankingsArgument",
    "RuleOption",
    "ScopeOption",
    "SeedOption",
    "ShufflesOption",
    "TailsOption",
    "TestOption",
    "TiesOption",
    "TruthOutput",
    "UnrankedOption",
    "chosen_method",
    "print_section",
    "rankings_from",
    "spare",
    "write_and_say",
]

RankingsArgument = Annotated[Path, typer.Argument(help="Rankings: CSV with query,expert,document,rank, or JSON.")]
TruthOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write the truth: .qrel, .txt, .json or .csv.")
]
RuleOption = Annotated[str, typer.Option("--rule", help="When a group begins: all, any or prev.")]
TailsOption = Annotated[int, typer.Option("--tails", help="Of the test: 1 or 2.")]
AlphaOption = Annotated[float, typer.Option("--alpha", help="A p-value below this is a difference.")]
ScopeOption = Annotated[str, typer.Option("--scope", help="What to compare with: the group, or the list.")]
TestOption = Annotated[str, typer.Option("--test", help="asymptotic, exact, permutation or paired.")]
UnrankedOption = Annotated[str, typer.Option("--unranked", help="drop unranked candidates, or count them last.")]
MinVotesOption = Annotated[int, typer.Option("--min-votes", help="Leave out candidates with fewer ranks.")]
CorrectionOption = Annotated[str | None, typer.Option("--correction", help="For many tests: holm or bh.")]
ShufflesOption = Annotated[int, typer.Option("--shuffles", min=0, help="Shuffled copies beside it; 0: none.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of what is drawn at random.")]
TiesOption = Annotated[bool, typer.Option("--ties", help="Take any rank that one expert gives twice for a tie.")]
QueryOption = Annotated[list[str] | None, typer.Option("--query", help="Only this query; several times.")]
KnownQueriesOption = Annotated[
    Path | None, typer.Option("--known-queries", help="Text file, a query a line; any other query is refused.")
]


def spare(source: Path, output: Path | None) -> None:
    """Refuse to write over what is about to be read."""
    if output is not None and output.exists() and source.exists() and output.samefile(source):
        raise typer.BadParameter(f"--output {output} would replace what it is made from")


def rankings_from(path: Path, only: list[str] | None, *, ties: bool, known: Path | None) -> Rankings:
    """The rankings of a file, of some queries where asked."""
    from roslin.rows import read_text
    from roslin.truth import read_rankings

    queries = None
    if known is not None:
        queries = [line.strip() for line in read_text(known).splitlines() if line.strip()]
    rankings = read_rankings(path, ties=ties, queries=queries)
    return rankings.only(only) if only else rankings


def chosen_method(
    rule: str, tails: int, alpha: float, scope: str, test: str, unranked: str, min_votes: int, correction: str | None
) -> Method:
    """The method that these options name."""
    from roslin.truth import Method

    return Method(rule, tails, alpha, scope, test, unranked, min_votes, correction)


def write_and_say(truth: Truth, output: Path | None) -> None:
    """Write a truth where asked, and say what was odd about it."""
    from roslin.truth import write_truth

    if output is not None:
        write_truth(truth, output)
    for note in truth.notes:
        remark(note)
    if output is not None:
        remark(f"written to {output}")


def print_section(section: Section, format: Format) -> None:
    """Print a table."""
    from roslin.report.evaluation_tables import plain

    print_rows(plain(section.rows), section.columns, format)
