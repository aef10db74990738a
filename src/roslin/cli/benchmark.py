"""roslin benchmark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from roslin.cli.options import MatchersOption, PluginOption, ThreadsOption
from roslin.cli.output import FormatOption, OutputFormat, print_rows, print_tables, progress_bar, remark


def benchmark_command(
    tasks: Annotated[
        list[str] | None, Argument(metavar="[TASK]...", help="Names of tasks (see --list). Default: all.")
    ] = None,
    matchers: MatchersOption = None,
    quick: Annotated[
        bool, Option("--quick", help="Only 5 queries per column, and only the tasks that need no other data.")
    ] = False,
    queries: Annotated[int, Option(min=1, help="Largest number of queries per column.")] = 60,
    data: Annotated[Path | None, Option(help="Folder with the RISM sample. Default: the variable ROSLIN_DATA.")] = None,
    incipits: Annotated[Path | None, Option(help="Your melodies, for the tasks typed, sung and own.")] = None,
    truth: Annotated[Path | None, Option(help="Your ground truth of --incipits, for the task own.")] = None,
    others: Annotated[
        list[Path] | None, Option("--add", metavar="FILE", help="benchmark.json of another run. Can be repeated.")
    ] = None,
    threads: ThreadsOption = 1,
    output: Annotated[Path, Option("--output", "-o", help="The folder for the results. Reuses finished lists.")] = Path(
        "benchmark"
    ),
    show_tasks: Annotated[bool, Option("--list", help="List the tasks, and what each needs.")] = False,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
) -> None:
    """Measure matchers on tasks with known answers, and write a report. If interrupted, run it again to resume.

    Example: roslin benchmark --quick --matcher roslin --matcher dp
    """
    from roslin.benchmark import TASKS, Sources, run_benchmark
    from roslin.benchmark.results import QUICK_QUERIES, write_page
    from roslin.matchers import matchers as all_names

    folder = data or (Path(os.environ["ROSLIN_DATA"]) if os.environ.get("ROSLIN_DATA") else None)
    sources = Sources(None if quick and not tasks else folder, incipits, truth, QUICK_QUERIES if quick else queries)
    if show_tasks:
        rows = [
            {"task": name, "queries": task.title, "ready": task.missing(sources) or "yes"}
            for name, task in TASKS.items()
        ]
        print_rows(rows, ("task", "queries", "ready"), format)
        return
    chosen = tasks or (["starter", "typed", "sung"] if quick else list(TASKS))
    with progress_bar("Benchmark", total=1.0) as progress:
        found = run_benchmark(output, chosen, matchers or all_names(), sources, threads=threads, progress=progress)
    for path in others or ():
        found = found.with_results(path)
    for name, missing in found.left_out.items():
        remark(f"the task {name} was left out: it {missing}")
    remark(f"results written to {output / 'benchmark.json'}, report to {write_page(found, output)}")
    print_tables([found.by_task(), found.ahead()], format)
