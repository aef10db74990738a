"""roslin experiment: the group, and the commands that set a study up."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from roslin.cli.options import PluginOption
from roslin.cli.output import progress_bar, remark
from roslin.display.text import counted

app = typer.Typer(
    help="Studies in which people put melodies in order.\n\nExample: roslin experiment example my-study",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@contextmanager
def needs_experiment(command: str) -> Iterator[None]:
    """Imports inside come from the extra `experiment`; whoever lacks it is told so."""
    from roslin.errors import MissingExtraError

    try:
        yield
    except ImportError as error:
        raise MissingExtraError(command, str(error.name), "experiment") from None


@app.command("example")
def example_command(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
) -> None:
    """Write a study to start from: study.toml, texts in English and German, and a small collection.

    Example: roslin experiment example my-study
    """
    with needs_experiment("roslin experiment example"):
        from roslin.experiment.folder import write_example
    for path in write_example(folder):
        typer.echo(str(path))
    remark(f"Next: {_program()} experiment try {folder / 'study.toml'}")


@app.command("create")
def create_command(
    study: Annotated[Path, typer.Argument(metavar="study.toml", help="What the study is.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to make; NAME.study beside the file.")
    ] = None,
    database: Annotated[
        str, typer.Option("--database", help="For a study that runs on PostgreSQL: its address, postgresql://...")
    ] = "",
    _plugins: PluginOption = None,
) -> None:
    """Make a study from study.toml, or bring one that is there up to date.

    Once somebody has begun, only what changes no judgement can change: texts, questions, quota.

    Example: roslin experiment create study.toml
    """
    with needs_experiment("roslin experiment create"):
        from roslin.experiment.folder import create_study
    with progress_bar("Creating", total=1.0) as progress:
        created = create_study(study, output, database=database, progress=progress)
    with created.folder as folder:
        path, plan = _relative(folder.path), folder.plan
    if not created.is_changed:
        typer.echo(f"{path}: nothing has changed")
        return
    for note in created.notes:
        typer.echo(note)
    done = "made" if created.is_new else "brought up to date"
    queries = counted(len(plan.tasks), "query", "queries")
    typer.echo(f"{path}: {done}; {queries}, {counted(plan.rules.quota, 'opinion')} wanted of each")
    if created.password:
        typer.echo(f"Password of the dashboard, shown only now: {created.password}")
        remark(f"Next: {_program()} experiment serve {path}")
        remark(f"      {_program()} experiment invite {path} --number {plan.experts_needed} -o links.csv")
    else:
        remark("A server that runs this study sees the change when it is started again.")


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _program() -> str:
    return "roslin" if shutil.which("roslin") else sys.argv[0]
