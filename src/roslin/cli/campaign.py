"""roslin campaign, roslin campaign make-queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from roslin.cli.options import (
    CollectionArgument,
    DaskOption,
    DefaultCommandGroup,
    MatchersOption,
    PluginOption,
    ThreadsOption,
    TiesOption,
    command_group,
    work_of,
)
from roslin.cli.output import FormatOption, OutputFormat, print_tables, progress_bar, remark, resumable
from roslin.display.text import counted

app = command_group(
    "Run many matchers on the same queries, and compare them.\n\n"
    "Example: roslin campaign mine.roslin --truth truth.qrel --matcher twv --matcher dp\n\n"
    "You can omit the word run. For its options, see roslin campaign run --help.",
    DefaultCommandGroup,
)


TruthsOption = Annotated[
    list[Path],
    Option(
        "--truth", metavar="FILE", help="The ground truth. Can be repeated, to rank the matchers under each of them."
    ),
]


@app.command("run")
def run_command(
    collection: CollectionArgument,
    truths: TruthsOption,
    matchers: MatchersOption = None,
    queries: Annotated[
        Path | None, Option(help="A file with the queries, in any notation. Default: the collection.")
    ] = None,
    measures: Annotated[
        list[str] | None,
        Option("--measure", "-m", metavar="METRIC", help="A metric, such as ADR or R@10. Can be repeated."),
    ] = None,
    ties: TiesOption = "expected",
    k: Annotated[int, Option("-k", min=1, help="Number of results per list, plus any tied with the last.")] = 100,
    threads: ThreadsOption = 1,
    dask: DaskOption = None,
    output: Annotated[
        Path, Option("--output", "-o", help="The folder for runs and report. Reuses finished runs.")
    ] = Path("campaign"),
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
) -> None:
    """Search for every query with every matcher, evaluate, and write a report. If interrupted, run it again to resume.

    Example: roslin campaign run mine.roslin --truth truth.qrel --matcher twv --matcher "dp(place='inside')" -o campaign
    """
    from roslin.api import Collection
    from roslin.campaign.campaign import CAMPAIGN_MEASURES, run_campaign
    from roslin.matchers.base import matchers as all_names
    from roslin.report.campaign import all_remarks, main_tables, write_report

    with Collection(collection) as opened:
        with (
            resumable(output),
            progress_bar("Campaign", total=1.0) as progress,
            work_of(dask, threads, progress=progress, kept=output) as work,
        ):
            campaign = run_campaign(
                opened,
                truths,
                matchers or all_names(),
                output,
                queries=queries,
                k=k,
                measures=measures or CAMPAIGN_MEASURES,
                threads=threads,
                progress=progress,
                work=work if dask else None,
            )
        if ties != "expected":
            campaign = campaign.with_ties(ties)
        page = write_report(campaign, opened, output)
    remark(*all_remarks(campaign))
    remark(f"runs written to {output / 'runs'}, report to {page}")
    print_tables(main_tables(campaign), format)


@app.command("make-queries")
def make_queries_command(
    collection: CollectionArgument,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="The file for the queries (.jsonl). Their ground truth is written next to it (.qrel).",
        ),
    ],
    number: Annotated[int, Option("--number", "-n", min=1, help="Number of melodies to draw.")] = 6,
    seed: Annotated[int, Option(help="Random seed.")] = 2007,
) -> None:
    """Make queries in the style of MIREX 2007: unchanged melodies, and melodies with one small change.

    Example: roslin campaign make-queries mine.roslin -o queries.jsonl
    """
    from roslin.api import Collection
    from roslin.campaign.made_queries import make_queries, write_queries

    with Collection(collection) as opened:
        queries, truth = make_queries(opened, number, seed)
    path = write_queries(queries, truth, output)
    remark(f"{counted(len(queries), 'query', 'queries')} written to {output}, their truth to {path}")
    remark(f"Next: roslin campaign {collection} --queries {output} --truth {path}")
