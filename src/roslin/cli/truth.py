"""roslin truth: group, consistency, report, experts, power, strengths, votes, simulate, compare and convert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from roslin.cli.options import SeedOption, WayOption, command_group, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, print_tables, progress_bar, remark, write_file
from roslin.display.text import some_of

if TYPE_CHECKING:
    from roslin.melody import Melody
    from roslin.truth import Method, Rankings, Truth

app = command_group(
    "Build ground truths from rankings and votes.\n\nExample: roslin truth group rankings.csv -o truth.qrel"
)
_REPORTS = (".html", ".svg", ".tex", ".csv")

# -- options of several commands --------------------------------------------------------------------------------------

TruthOutput = Annotated[Path | None, Option("--output", "-o", help="Also write the truth: .qrel, .txt, .json or .csv.")]
ShufflesOption = Annotated[
    int, Option("--shuffles", min=0, help="Number of shuffled copies to compare with (0: none).")
]
QueryOption = Annotated[list[str] | None, Option("--query", metavar="ID", help="Only this query. Can be repeated.")]

# The options of a method: type, default, name and help. None leaves a choice to --as.
_METHOD: dict[str, tuple[Any, Any, str, str]] = {
    "rule": (str, "all", "--rule", "When a group begins: all, any or prev."),
    "tails": (int, 2, "--tails", "Number of tails of the test: 1 or 2."),
    "alpha": (float, 0.25, "--alpha", "The p-value below which candidates differ."),
    "scope": (str, "group", "--scope", "Compare a candidate with its group (group) or all earlier ones (list)."),
    "test": (str, "asymptotic", "--test", "Test: asymptotic, exact, permutation or paired."),
    "unranked": (
        *(str | None, None, "--unranked"),
        "Unranked candidates: last place (last) or no rank (drop). Default: last.",
    ),
    "min_votes": (
        *(float | None, None, "--min-votes"),
        "Participants, or share of them, who must rank a candidate. Default: 0.25.",
    ),
    "attention": (
        *(bool | None, None, "--attention/--no-attention"),
        "Omit participants who failed the attention check (default), or keep them.",
    ),
    "correction": (str | None, None, "--correction", "Correction for many tests: holm or bh."),
}


def _method_of(names: str, way: Any = WayOption, **others: tuple[Any, Any, str, str]) -> Callable[..., Method]:
    """A method made from these options, for `with_options`. `others` replace the option of that name."""

    def made(**given: Any) -> Method:
        from roslin.truth import method_named

        chosen = method_named(given.pop("way", "roslin"))
        return replace(chosen, **{name: value for name, value in given.items() if value is not None})

    options = [Parameter("way", Parameter.KEYWORD_ONLY, annotation=way, default="roslin")] if way else []
    for name in names.split():
        kind, default, flag, help = (_METHOD | others)[name]
        annotation = Annotated[kind, Option(flag, help=help)]  # type: ignore[valid-type]
        options.append(Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default))
    made.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return made


_grouping_method = _method_of("rule tails alpha scope test unranked min_votes attention correction")
_pair_method = _method_of("tails alpha test unranked min_votes attention")
_consistency_method = _method_of(
    "tails alpha test unranked attention correction",
    tails=(int, 1, "--tails", "Tails of the test: 1 (ADR-1) or 2 (ADR-2)."),
)
_strength_method = _method_of("rule tails alpha unranked", way=None)


@dataclass(frozen=True)
class RankingsFile:
    """A file with rankings, which queries of it are wanted, and which may occur in it."""

    path: Annotated[Path, Argument(metavar="rankings", help="Rankings: CSV with query,expert,document,rank, or JSON.")]
    ties: Annotated[bool, Option("--ties", help="Treat equal ranks of one participant as a tie.")] = False
    queries: QueryOption = None
    known_queries: Annotated[
        Path | None, Option(help="Text file with one query per line. Any other query is refused.")
    ] = None

    def read(self) -> Rankings:
        rankings = self.read_all()
        return rankings.only(self.queries) if self.queries else rankings

    def read_all(self) -> Rankings:
        from roslin.rows import read_text
        from roslin.truth import read_rankings

        known = None
        if self.known_queries is not None:
            known = [line.strip() for line in read_text(self.known_queries).splitlines() if line.strip()]
        return read_rankings(self.path, ties=self.ties, queries=known)


def _check_output(source: Path, output: Path | None) -> None:
    """Refuse to write a truth over what it is about to be made from, or to a file of another kind."""
    from roslin.truth.qrel import truth_writer

    if output is not None:
        truth_writer(output)
        _spare(source, output)


def _spare(source: Path, output: Path) -> None:
    """Refuse to write over what is about to be read."""
    if output.exists() and source.exists() and output.samefile(source):
        raise typer.BadParameter(f"--output {output} would replace what it is made from")


def _write_and_say(truth: Truth, output: Path | None) -> None:
    from roslin.truth import write_truth

    if output is not None:
        write_truth(truth, output)
    remark(*truth.notes)
    if output is not None:
        remark(f"written to {output}")


# -- groups from rankings ---------------------------------------------------------------------------------------------


@app.command("group")
@with_options(rankings=RankingsFile, method=_grouping_method)
def group_command(
    output: TruthOutput = None,
    shuffles: ShufflesOption = 1000,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
    *,
    rankings: RankingsFile,
    method: Method,
) -> None:
    """Group ranked candidates, and show how many groups noise would give and how certain each boundary is.

    Example: roslin truth group rankings.csv --rule any --tails 1 -o truth.qrel
    """
    from roslin.truth import study_rankings
    from roslin.truth.study import SHOWN

    _check_output(rankings.path, output)
    said = rankings.read()
    with progress_bar("grouping", len(said)) as progress:
        found = study_rankings(said, method, shuffles, seed, power=False, progress=progress)
    _write_and_say(found.truth, output)
    for name, each in found.queries.items():
        remark("; ".join(part for part in (f"query {name}: {each.sentence}", each.agreement) if part))
        remark(*(f"query {name}: {doubt}" for doubt in each.doubts))
    _remark_experts(said, found.left_out)
    print_table(found.lists().only(*SHOWN), format)


def _remark_experts(said: Rankings, left_out: Sequence[str]) -> None:
    """Whose judgements to look at before anything else, and whose did not count."""
    from roslin.truth.rankings import careless, experts

    outliers = [each.expert for each in experts(said) if each.outlier]
    failed = (
        "mostly did not put the query first, and are left out" if left_out else "mostly did not put the query first"
    )
    for names, what in ((outliers, "disagree with the others"), (careless(said), failed)):
        if names:
            remark(f"{what}: {some_of(names)} (roslin truth experts has the figures)")


@app.command("consistency")
@with_options(rankings=RankingsFile, method=_consistency_method)
def consistency_command(
    truth: Annotated[Path, Argument(help="The ground truth file.")],
    pairs: Annotated[bool, Option("--pairs", help="List the pairs and triples by name.")] = False,
    pivots: Annotated[bool, Option("--pivots", help="List every position of each list.")] = False,
    format: FormatOption = OutputFormat.table,
    *,
    rankings: RankingsFile,
    method: Method,
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
@with_options(rankings=RankingsFile, method=_grouping_method)
def report_command(
    output: Annotated[Path, Option("--output", "-o", help="The report: .html, .svg, .tex or .csv.")],
    melodies: Annotated[Path | None, Option(help="A collection or a file with the candidates, to draw them.")] = None,
    experience: Annotated[
        Path | None,
        Option(help="CSV with expert,years, or experts.csv of a study: adds a plot (not in .csv)."),
    ] = None,
    shuffles: ShufflesOption = 1000,
    seed: SeedOption = 2005,
    *,
    rankings: RankingsFile,
    method: Method,
) -> None:
    """Write the tables of a ground truth, with plots of all ranks.

    Example: roslin truth report rankings.csv -o report.html
    """
    from roslin.report.truth import rankings_provenance, truth_csv, truth_latex, truth_page, truth_svg
    from roslin.truth import study_rankings

    ending = output.suffix.lower()
    if ending not in _REPORTS:
        raise typer.BadParameter(f"--output must end with {', '.join(_REPORTS)}; got {output.name}")
    if experience is not None and ending == ".csv":
        raise typer.BadParameter("--experience is a plot, and a .csv file has none; write .html, .svg or .tex")
    _spare(rankings.path, output)
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
    write_file(output, text)


def _melodies(path: Path, said: Rankings) -> dict[str, Melody]:
    """The candidates and queries that are melodies of a collection or a file; prints their number."""
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
    from roslin.rows import number, refuse, table_rows

    years: dict[str, float] = {}
    for cells, line in table_rows(path, ("expert", "years")):
        if cells["years"] in ("", None):  # not answered
            continue
        expert, value = cells["expert"], number(cells["years"], "years", file=str(path), line=line)
        if not 0 <= value < float("inf"):
            raise refuse("bad years", expected="0 or more", found=cells["years"], file=str(path), line=line)
        if expert in years:
            raise refuse(f"participant {expert} again", expected="each participant once", file=str(path), line=line)
        years[expert] = value
    if not years:
        raise refuse("no experience", expected="at least one row with expert,years", found="none", file=str(path))
    return list(years.values())


@app.command("experts")
@with_options(rankings=RankingsFile)
def experts_command(format: FormatOption = OutputFormat.table, *, rankings: RankingsFile) -> None:
    """Show how well each participant agrees with the others, and which were careless.

    Example: roslin truth experts rankings.csv
    """
    from roslin.truth.tables import people

    print_table(people(rankings.read()), format)


@app.command("power")
@with_options(rankings=RankingsFile, method=_pair_method)
def power_command(
    power: Annotated[float, Option(help="Probability with which a difference should be found.")] = 0.8,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
    *,
    rankings: RankingsFile,
    method: Method,
) -> None:
    """Estimate how many more participants would separate neighbouring candidates.

    Example: roslin truth power rankings.csv --query q1
    """
    from roslin.truth.tables import MOST_EXPERTS, more_experts, neighbours

    said = rankings.read()
    found = {}
    with progress_bar("drawing participants", len(said)) as progress:
        for number, (name, each) in enumerate(method.considered(said).items()):
            progress(number, name)
            found[name] = more_experts(each, method, power, seed)
    if any(pair.needed is None for pairs in found.values() for pair in pairs):
        remark(
            f"needed is empty if {MOST_EXPERTS} participants like these would not be enough, or if too little is known"
        )
    print_table(neighbours(found), format)


# -- models beyond the papers -----------------------------------------------------------------------------------------


@app.command("strengths")
@with_options(rankings=RankingsFile, method=_strength_method)
def strengths_command(
    output: TruthOutput = None,
    resamples: Annotated[int, Option(help="Number of resampled panels of participants, for the intervals.")] = 200,
    shuffles: ShufflesOption = 100,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
    *,
    rankings: RankingsFile,
    method: Method,
) -> None:
    """Group candidates by their strength (Plackett-Luce).

    Example: roslin truth strengths rankings.csv -o truth.qrel
    """
    from roslin.truth.study import study_strengths

    _check_output(rankings.path, output)
    said = rankings.read()
    with progress_bar("fitting", len(said)) as progress:
        found = study_strengths(said, method, resamples, shuffles, seed, progress=progress)
    _write_and_say(found.truth, output)
    remark(*found.sentences)
    print_table(found.table, format)


@app.command("votes")
def votes_command(
    votes: Annotated[Path, Argument(help="CSV with query,first,second,answer: a, b or s (the same).")],
    output: TruthOutput = None,
    model: Annotated[str, Option(help="Method: segments or bradley-terry.")] = "segments",
    margin: Annotated[int, Option(help="segments: smallest lead in votes that counts.")] = 2,
    rule: Annotated[str, Option(help="bradley-terry: a group must differ from all, any or prev.")] = "all",
    tails: Annotated[int, Option(help="bradley-terry: tails of the test, 1 or 2.")] = 2,
    alpha: Annotated[float, Option(help="bradley-terry: p-value below which candidates differ.")] = 0.25,
    against: Annotated[Path | None, Option(help="Print a comparison with this truth.")] = None,
    shuffles: ShufflesOption = 200,
    seed: SeedOption = 2005,
    query: QueryOption = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Make a truth from preference votes.

    Example: roslin truth votes judgments.csv --against MTurk.qrel
    """
    from roslin.truth import Method, read_truth
    from roslin.truth.choice_models import read_votes
    from roslin.truth.study import study_votes
    from roslin.truth.tables import compare_truths, likenesses

    _check_output(votes, output)
    given = read_votes(votes, query)
    with progress_bar("shuffling", len({vote.query for vote in given})) as progress:
        found = study_votes(given, model, margin, Method(rule, tails, alpha), shuffles, seed, progress=progress)
    shown = found.table if against is None else likenesses(compare_truths(found.truth, read_truth(against)))
    _write_and_say(found.truth, output)
    remark(*found.sentences)
    print_table(shown, format)


@app.command("simulate")
def simulate_command(
    output: Annotated[Path, Option("--output", "-o", help="The rankings: .csv.")],
    model: Annotated[str, Option(help="Model of the rankings: mallows or plackett-luce.")] = "mallows",
    queries: Annotated[int | None, Option(min=1, help="Number of queries. Default: 11.")] = None,
    experts: Annotated[int, Option(min=1, help="Number of participants.")] = 30,
    candidates: Annotated[
        str | None, Option(help="Number of candidates, or the least and the most (4-24). Default: 20.")
    ] = None,
    noise: Annotated[float, Option(help="Noise from 0 (every participant is right) to 1 (random order).")] = 0.8,
    dropout: Annotated[float, Option(help="Share of candidates left unranked.")] = 0.0,
    carelessness: Annotated[float, Option(help="Share of participants who rank at random.")] = 0.0,
    truth: Annotated[
        Path | None, Option(help="Use the groups of this truth instead of --queries and --candidates.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Random seed. The same seed gives the same rankings.")] = 2005,
) -> None:
    """Draw rankings from a model of participants.

    Example: roslin truth simulate -o rankings.csv --candidates 4-24 --noise 0.7 --dropout 0.3
    """
    from roslin.truth import read_truth, simulate_rankings, write_rankings
    from roslin.truth.rankings import check_rankings_path

    check_rankings_path(output)
    if truth is not None and (queries is not None or candidates is not None):
        raise typer.BadParameter("--truth has its own queries and candidates; omit --queries and --candidates")
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
        raise typer.BadParameter(f"--candidates must be at least 1, with the smaller number first; got {text}")
    return [low + round((high - low) * k / max(queries - 1, 1)) for k in range(queries)]


# -- files of truths --------------------------------------------------------------------------------------------------


@app.command("compare")
def compare_command(
    truth: Annotated[Path, Argument(help="A truth.")],
    other: Annotated[Path, Argument(help="Another truth for the same queries.")],
    documents: Annotated[bool, Option("--documents", help="List the documents that differ, not the queries.")] = False,
    query: QueryOption = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Show how two truths differ: groups, order of pairs, rank correlation, and single documents.

    Example: roslin truth compare All-2.qrel Any-1.qrel
    """
    from roslin.errors import ArgumentError
    from roslin.truth import read_truth
    from roslin.truth.tables import compare_truths, likenesses, placed_otherwise, places

    first, second = read_truth(truth), read_truth(other)
    remark(*first.notes, *second.notes)
    if query:
        first, second = first.only(query), second.only(query)
    shared = [each for each in first if each in second]
    if not shared:
        raise ArgumentError(f"{truth} and {other} have no query in common")
    for path, one, another in ((truth, first, second), (other, second, first)):
        if alone := [each for each in one if each not in another]:
            remark(f"only in {path}: {some_of(alone)}")
    first, second = first.only(shared), second.only(shared)
    found = compare_truths(first, second)
    remark(
        f"{sum(each.identical for each in found)} of {len(found)} queries have the same groups; of "
        f"{sum(each.documents for each in found)} documents {sum(each.regrouped for each in found)} are grouped with "
        f"others, {sum(each.moved for each in found)} have been passed by others"
    )
    tables = [likenesses(found), places(placed_otherwise(first, second))]
    if format is OutputFormat.json:
        print_tables(tables, format)
    else:
        print_table(tables[int(documents)], format)


@app.command("convert")
def convert_command(
    truth: Annotated[Path, Argument(help="A truth.")],
    output: Annotated[Path, Argument(help="The file to write: .qrel, .txt, .json or .csv.")],
    read_as: Annotated[
        str | None, Option("--from", help="Format of the file: qrel, grouped, trec, json or csv. Default: recognised.")
    ] = None,
    write_as: Annotated[
        str | None, Option("--to", help="Format to write: grouped, trec, json or csv. Default: by the suffix.")
    ] = None,
) -> None:
    """Write a truth in another form, and list anything that is lost.

    Example: roslin truth convert qrels.txt truth.json
    """
    from roslin.truth import read_truth
    from roslin.truth.qrel import convert_truth, truth_writer

    truth_writer(output, write_as)
    _spare(truth, output)
    found = read_truth(truth, read_as)
    remark(*found.notes, *convert_truth(found, output, write_as))
    remark(f"written to {output}")
