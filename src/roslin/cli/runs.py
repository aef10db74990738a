"""roslin runs: combine run files, and pool their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from roslin.cli.options import command_group
from roslin.cli.output import FormatOption, OutputFormat, print_table, remark, write_file

if TYPE_CHECKING:
    from roslin.run import Run

app = command_group("Combine run files, or pool them for judging.\n\nExample: roslin runs fuse a.run b.run -o both.run")

RunsArgument = Annotated[list[str], Argument(metavar="RUNS", help="Run files. NAME=FILE gives one a name.")]


def read_runs(texts: Sequence[str], *, tells: bool = True) -> list[Run]:
    """The runs of files, FILE or NAME=FILE; with `tells`, remarks on oddities are printed."""
    from roslin.run import read_run

    runs = [read_run(path, name=name) for name, path in map(name_and_path, texts)]
    if tells:
        remark(*(said for run in runs for said in run.remarks))
    return runs


def name_and_path(text: str) -> tuple[str | None, Path]:
    """A file may have = in its name; where there is one of that name, it is meant."""
    name, sign, path = text.partition("=")
    if not sign or Path(text).exists():
        return None, Path(text)
    if not name or not path:
        raise typer.BadParameter(f"a run is FILE or NAME=FILE; got {text}")
    return name, Path(path)


@app.command("fuse")
def fuse_command(
    runs: RunsArgument,
    output: Annotated[Path, Option("--output", "-o", help="The file to write: .run, .csv, .json or .parquet.")],
    method: Annotated[
        Literal["sum", "mnz", "rrf"], Option(help="Fusion method: CombSUM, CombMNZ, or reciprocal ranks.")
    ] = "sum",
    scale: Annotated[
        Literal["zscore", "minmax", "rank", "none"],
        Option(help="How the scores of each list are made comparable (not for rrf)."),
    ] = "zscore",
    weights: Annotated[
        str, Option(metavar="W,W,...", help="Weight of each run, such as 1,2,0.5. Default: all equal.")
    ] = "",
) -> None:
    """Combine several runs into one. With one run, only its scores are scaled.

    Example: roslin runs fuse dp.run emd.run --method rrf -o both.run
    """
    from roslin.display.text import counted
    from roslin.run.fusion import fuse_runs

    given = read_runs(runs)
    fused = fuse_runs(given, method, scale, weights=_weights(weights), name=output.name.partition(".")[0])
    remark(*fused.remarks)
    fused.write(output)
    queries, hits = counted(len(fused.queries), "query", "queries"), counted(len(fused), "hit")
    remark(f"written to {output}: {queries}, {hits} of {counted(len(given), 'run')}")


def _weights(text: str) -> tuple[float, ...]:
    try:
        weights = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        weights = (math.nan,)
    if any(math.isnan(weight) for weight in weights):
        raise typer.BadParameter(f"--weights must be numbers with commas between them; got {text}")
    return weights


@app.command("pool")
def pool_command(
    runs: RunsArgument,
    depth: Annotated[int, Option(min=1, help="Number of documents from the top of each list.")] = 10,
    judged: Annotated[
        Path | None,
        Option(metavar="TRUTH", help="Omit documents that this ground truth has already judged."),
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write a .csv file instead of printing.")] = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Collect the top documents of several runs for judging, in the order of their ids.

    A study can use the file: candidates = "pool.csv" in study.toml.

    Example: roslin runs pool dp.run emd.run --depth 20 -o pool.csv
    """
    from roslin.run.fusion import pool_runs
    from roslin.truth import Truth, read_truth

    if output is not None and output.suffix.lower() != ".csv":
        raise typer.BadParameter(f"--output must end with .csv; got {output.name}")
    truth = read_truth(judged) if judged else Truth({})
    pool = pool_runs(read_runs(runs), depth, {query: truth.judged(query) for query in truth})
    table = pool.to_table()
    if pool.judged:
        remark(f"{pool.judged:,} judged already: left out")
    remark(table.title)
    if output is None:
        print_table(table, format)
        return
    # Without ranks: judges must not see them.
    write_file(output, table.only("query", "document").to_csv())
