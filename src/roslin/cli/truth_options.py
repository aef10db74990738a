"""What the commands of `roslin truth` share: the options that say how groups are made, and reading rankings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from roslin.truth import Method, Rankings

__all__ = [
    "AlphaOption",
    "CorrectionOption",
    "MinVotesOption",
    "QueryOption",
    "RankingsArgument",
    "RuleOption",
    "ScopeOption",
    "ShufflesOption",
    "TailsOption",
    "TestOption",
    "TiesOption",
    "UnrankedOption",
    "chosen_method",
    "rankings_from",
]

RankingsArgument = Annotated[Path, typer.Argument(help="Rankings: CSV with query,expert,document,rank, or JSON.")]
RuleOption = Annotated[str, typer.Option("--rule", help="When a group begins: all, any or prev.")]
TailsOption = Annotated[int, typer.Option("--tails", help="Of the test: 1 or 2.")]
AlphaOption = Annotated[float, typer.Option("--alpha", help="A p-value below this is a difference.")]
ScopeOption = Annotated[str, typer.Option("--scope", help="Compare within the group, or the list.")]
TestOption = Annotated[str, typer.Option("--test", help="asymptotic, exact, permutation or paired.")]
UnrankedOption = Annotated[str, typer.Option("--unranked", help="drop unranked candidates, or count them last.")]
MinVotesOption = Annotated[int, typer.Option("--min-votes", help="Leave out candidates with fewer ranks.")]
CorrectionOption = Annotated[str | None, typer.Option("--correction", help="For many tests: holm or bh.")]
ShufflesOption = Annotated[int, typer.Option("--shuffles", min=0, help="Shuffled rankings beside it; 0: none.")]
TiesOption = Annotated[bool, typer.Option("--ties", help="One expert may give the same rank twice.")]
QueryOption = Annotated[list[str] | None, typer.Option("--query", help="Only this query; several times.")]


def rankings_from(path: Path, queries: list[str] | None, *, ties: bool) -> Rankings:
    """The rankings of a file, of some queries where asked."""
    from roslin.truth import read_rankings

    rankings = read_rankings(path, ties=ties)
    return rankings.only(queries) if queries else rankings


def chosen_method(
    rule: str, tails: int, alpha: float, scope: str, test: str, unranked: str, min_votes: int, correction: str | None
) -> Method:
    """The method that these options name."""
    from roslin.truth import Method

    return Method(rule, tails, alpha, scope, test, unranked, min_votes, correction)
