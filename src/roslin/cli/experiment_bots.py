"""roslin experiment bots: simulated experts go through a study."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from roslin.cli.experiment import needs_experiment
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark

_MODELS = "mallows, plackett-luce or context"


def _share(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, min=0.0, max=1.0, help=f"The share of experts who {what}.")
    return option


def bots_command(
    folder: Annotated[Path, typer.Argument(help="The folder of the study, NAME.study.")],
    number: Annotated[int, typer.Option("--n", "-n", min=1, max=100_000, help="How many simulated experts.")] = 37,
    address: Annotated[
        str, typer.Option("--address", help="Of a server that runs this study: the bots take part in the study itself.")
    ] = "",
    database: Annotated[str, typer.Option("--database", help="Where decisions are kept: postgresql://...")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep the copy in this folder, to export what was said.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="What experts more or less agree on; otherwise the plan's order.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help=f"How opinions differ: {_MODELS}.")] = "mallows",
    noise: Annotated[float, typer.Option("--noise", min=0.0, max=1.0, help="How much: 0 not at all, 1 fully.")] = 0.5,
    careless: Annotated[float, _share("--careless", "say anything")] = 0.05,
    quit: Annotated[float, _share("--quit", "leave at any point")] = 0.1,
    double: Annotated[float, _share("--double", "send everything twice")] = 0.1,
    tabs: Annotated[float, _share("--tabs", "work in two tabs")] = 0.1,
    offline: Annotated[float, _share("--offline", "send late, and again where an answer was lost")] = 0.1,
    think: Annotated[float, typer.Option("--think", min=0.0, help="Seconds before a decision, in the mean.")] = 0.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed, the same experts.")] = 2005,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Send simulated experts through a study, by the pages that people see, and count what happened.

    They go to a server of their own with a copy of the study in which nobody has said anything, unless --address names
    one. Fails if a decision that was acknowledged is not kept.

    Example: roslin experiment bots my.study -n 500 --quit 0.2
    """
    with needs_experiment("roslin experiment bots"):
        from roslin.experiment.visits import Habits, Population, visits_table
        from roslin.truth.qrel import read_truth
        from roslin.web.experiment.rehearsal import rehearse, served_copy
        from roslin.web.experiment.study import ExperimentSettings
    habits = Habits(careless, quit, double, tabs, offline, think_seconds=think)
    groups = None if truth is None else read_truth(truth)
    with ExitStack() as stack:
        if not address:
            address, folder = stack.enter_context(served_copy(folder, output, database))
        progress = stack.enter_context(progress_bar("Experts", total=1.0))
        visits, found, seconds = rehearse(
            ExperimentSettings(str(folder), database),
            address,
            number,
            lambda study: Population(study.plan, groups, model, noise, seed),
            habits,
            seed=seed,
            progress=progress,
        )
    print_table(visits_table(visits, found, seconds), format)
    for problem in sorted({visit.problem for visit in visits if visit.problem}):
        remark(problem)
    if output is not None:
        remark(f"What they said: roslin experiment export {folder}")
    if found.is_bad or any(visit.end == "failed" for visit in visits):
        raise typer.Exit(1)
