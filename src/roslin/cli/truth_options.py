"""Options that the commands of `roslin truth` share: the rankings, the grouping, and the file of the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.truth import Method, Rankings, Truth

TruthOutput = Annotated[Path | None, Option("--output", "-o", help="Also write the truth: .qrel, .txt, .json or .csv.")]
RuleOption = Annotated[str, Option("--rule", help="When a group begins: all, any or prev.")]
TailsOption = Annotated[int, Option("--tails", help="Number of tails of the test: 1 or 2.")]
AlphaOption = Annotated[float, Option("--alpha", help="The p-value below which candidates differ.")]
ScopeOption = Annotated[
    str, Option("--scope", help="Compare a candidate with its group (group) or all earlier ones (list).")
]
TestOption = Annotated[str, Option("--test", help="Test: asymptotic, exact, permutation or paired.")]
WayOption = Annotated[
    str,
    Option(
        "--as",
        metavar="METHOD",
        help="Defaults of --unranked, --min-votes and --attention: roslin, or typke2005 (as in the papers).",
    ),
]
UnrankedOption = Annotated[
    str | None, Option("--unranked", help="Unranked candidates: last place (last) or no rank (drop). Default: last.")
]
MinVotesOption = Annotated[
    float | None,
    Option("--min-votes", help="Participants, or share of them, who must rank a candidate. Default: 0.25."),
]
AttentionOption = Annotated[
    bool | None,
    Option(
        "--attention/--no-attention",
        help="Omit participants who failed the attention check (default), or keep them.",
    ),
]
CorrectionOption = Annotated[str | None, Option("--correction", help="Correction for many tests: holm or bh.")]
ShufflesOption = Annotated[
    int, Option("--shuffles", min=0, help="Number of shuffled copies to compare with (0: none).")
]
QueryOption = Annotated[list[str] | None, Option("--query", metavar="ID", help="Only this query. Can be repeated.")]


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
    rankings: Annotated[Path, Argument(help="Rankings: CSV with query,expert,document,rank, or JSON.")],
    ties: Annotated[bool, Option("--ties", help="Treat equal ranks of one participant as a tie.")] = False,
    query: QueryOption = None,
    known_queries: Annotated[
        Path | None, Option("--known-queries", help="Text file with one query per line. Any other query is refused.")
    ] = None,
) -> RankingsFile:
    """The rankings that a command is about."""
    return RankingsFile(rankings, ties, query, known_queries)


def grouping_method(
    way: WayOption = "roslin",
    rule: RuleOption = "all",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    scope: ScopeOption = "group",
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = None,
    min_votes: MinVotesOption = None,
    attention: AttentionOption = None,
    correction: CorrectionOption = None,
) -> Method:
    """How groups are made from ranks."""
    chosen = _chosen(way, unranked, min_votes, attention)
    return replace(chosen, rule=rule, tails=tails, alpha=alpha, scope=scope, test=test, correction=correction)


def pair_method(
    way: WayOption = "roslin",
    tails: TailsOption = 2,
    alpha: AlphaOption = 0.25,
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = None,
    min_votes: MinVotesOption = None,
    attention: AttentionOption = None,
) -> Method:
    """The test for the difference of two candidates."""
    return replace(_chosen(way, unranked, min_votes, attention), tails=tails, alpha=alpha, test=test)


def consistency_method(
    way: WayOption = "roslin",
    tails: Annotated[int, Option("--tails", help="Tails of the test: 1 (ADR-1) or 2 (ADR-2).")] = 1,
    alpha: AlphaOption = 0.25,
    test: TestOption = "asymptotic",
    unranked: UnrankedOption = None,
    attention: AttentionOption = None,
    correction: CorrectionOption = None,
) -> Method:
    """How groups and tests are compared."""
    chosen = _chosen(way, unranked, None, attention)
    return replace(chosen, tails=tails, alpha=alpha, test=test, correction=correction)


def _chosen(way: str, unranked: str | None, min_votes: float | None, attention: bool | None) -> Method:
    """A method by its name, changed by the options that are given."""
    from roslin.truth import method_named

    given = {"unranked": unranked, "min_votes": min_votes, "attention": attention}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(method_named(way), **changes)


def strength_method(
    rule: RuleOption = "all", tails: TailsOption = 2, alpha: AlphaOption = 0.25, unranked: UnrankedOption = None
) -> Method:
    """How groups are made from strengths."""
    from roslin.truth import Method

    return Method(rule, tails, alpha, unranked=unranked or "last")


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
    """Write a truth if there is an output, and print its notes."""
    from roslin.truth import write_truth

    if output is not None:
        write_truth(truth, output)
    remark(*truth.notes)
    if output is not None:
        remark(f"written to {output}")
