"""What the commands of `roslin truth` share: where rankings are, how groups are made, and where a truth goes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.truth import Method, Rankings, Truth

__all__ = [
    "AlphaOption",
    "CorrectionOption",
    "RankingsFile",
    "RuleOption",
    "SeedOption",
    "ShufflesOption",
    "TailsOption",
    "TestOption",
    "TruthOutput",
    "UnrankedOption",
    "check_output",
    "grouping_method",
    "pair_method",
    "rankings_file",
    "spare",
    "strength_method",
    "write_and_say",
]

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


@dataclass(frozen=True)
class RankingsFile:
    """A file with rankings, which queries of it are wanted, and which may occur in it."""

    path: Path
    ties: bool
    queries: list[str] | None
    known_queries: Path | None

    def read(self) -> Rankings:
        """The rankings of the queries that are wanted."""
        rankings = self.read_all()
        return rankings.only(self.queries) if self.queries else rankings

    def read_all(self) -> Rankings:
        """The rankings of all queries."""
        from roslin.rows import read_text
        from roslin.truth import read_rankings

        known = None
        if self.known_queries is not None:
            known = [line.strip() for line in read_text(self.known_queries).splitlines() if line.strip()]
        return read_rankings(self.path, ties=self.ties, queries=known)


def rankings_file(
    rankings: Annotated[Path, typer.Argument(help="Rankings: CSV with query,expert,document,rank, or JSON.")],
    ties: Annotated[bool, typer.Option("--ties", help="Take any rank that one expert gives twice for a tie.")] = False,
    query: Annotated[list[str] | None, typer.Option("--query", help="Only this query; several times.")] = None,
    known_queries: Annotated[
        Path | None, typer.Option("--known-queries", help="Text file, a query a line; any other query is refused.")
    ] = None,
) -> RankingsFile:
    """The rankings that a command is about."""
    return RankingsFile(rankings, ties, query, known_queries)


def grouping_method(
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    scope: ScopeOption = "group",
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = "drop",
    min_votes: MinVotesOption = 1,
    correction: CorrectionOption = None,
) -> Method:
    """How groups are made from ranks."""
    from roslin.truth import Method

    return Method(rule, tails, alpha, scope, test, unranked, min_votes, correction)


def pair_method(
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = "drop",
    min_votes: MinVotesOption = 1,
) -> Method:
    """How two candidates are told apart."""
    from roslin.truth import Method

    return Method(tails=tails, alpha=alpha, test=test, unranked=unranked, min_votes=min_votes)


def strength_method(
    rule: RuleOption = "all", tails: TailsOption = 2, alpha: AlphaOption = 0.25, unranked: UnrankedOption = "last"
) -> Method:
    """How groups are made from strengths."""
    from roslin.truth import Method

    return Method(rule, tails, alpha, unranked=unranked)


def check_output(source: Path, output: Path | None) -> None:
    """Refuse to write a truth over what it is about to be made from, or to a file of another kind."""
    from roslin.truth.qrel import truth_writer

    if output is not None:
        truth_writer(output)
        spare(source, output)


def spare(source: Path, output: Path) -> None:
    """Refuse to write over what is about to be read."""
    if output.exists() and source.exists() and output.samefile(source):
        raise typer.BadParameter(f"--output {output} would replace what it is made from")


def write_and_say(truth: Truth, output: Path | None) -> None:
    """Write a truth where asked, and say what was odd about it."""
    from roslin.truth import write_truth

    if output is not None:
        write_truth(truth, output)
    for note in truth.notes:
        remark(note)
    if output is not None:
        remark(f"written to {output}")
