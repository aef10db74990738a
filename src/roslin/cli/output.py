"""How commands print: tables as text, tab-separated values or JSON, remarks, and a progress bar."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from roslin.display.table import Table, tables_to_json

_NOT_IN_A_FILE = re.compile(r"[^\w.-]+")
_BAR_AFTER_SECONDS = 1.0
_SPEED_SECONDS = 300.0  # over which the speed for the remaining time is measured


class OutputFormat(StrEnum):
    """How to print tables."""

    table = "table"
    tsv = "tsv"
    json = "json"


FormatOption = Annotated[
    OutputFormat, Option("--format", help="Format of the printed result.", rich_help_panel="Output")
]


def print_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], format: OutputFormat) -> None:
    """Print rows to stdout. Numbers keep their full precision except in a table."""
    print_table(Table(tuple(columns), tuple(rows)), format)


def print_table(table: Table, format: OutputFormat) -> None:
    """Print a table to stdout, without its title."""
    if format is OutputFormat.json:
        typer.echo(table.to_json(), nl=False)
    elif format is OutputFormat.tsv:
        typer.echo(table.to_tsv(), nl=False)
    else:
        typer.echo(str(table))


def print_tables(tables: Sequence[Table], format: OutputFormat) -> None:
    """Print tables one after the other, with titles where a person reads them; JSON is one object.

    Tab-separated values are for programs, which take what they read for one table: of several the first is printed, and
    the others are named.
    """
    if format is OutputFormat.json:
        typer.echo(tables_to_json(tables), nl=False)
        return
    if format is OutputFormat.tsv and len(tables) > 1:
        print_table(tables[0], format)
        left = ", ".join(table.key for table in tables[1:])
        remark(f"tab-separated values hold one table, {tables[0].key}; --format json has also {left}")
        return
    for number, table in enumerate(tables):
        if number:
            typer.echo()
        if len(tables) > 1 and format is OutputFormat.table:
            typer.echo(table.title)
        print_table(table, format)


def write_tables(tables: Sequence[Table], output: Path) -> list[Path]:
    """Write tab-separated values: one table to this file, several to a folder, each to a file with its key as name."""
    from roslin.rows import write_whole

    if len(tables) == 1 and output.suffix:
        paths = [output]
    else:
        output.mkdir(parents=True, exist_ok=True)
        paths = [output / f"{_NOT_IN_A_FILE.sub('_', table.key)}.tsv" for table in tables]
    for path, table in zip(paths, tables, strict=True):
        write_whole(path, table.to_tsv())
    return paths


def write_file(path: Path, content: str | bytes, what: str = "") -> None:
    """Write a whole file or nothing, and print a remark about it."""
    from roslin.rows import write_whole

    write_whole(path, content)
    remark(f"{what} written to {path}".lstrip())


def remark(*lines: str) -> None:
    """Print something for people, not for the next program."""
    for line in lines:
        typer.echo(line, err=True)


def program() -> str:
    """The name under which this program can be called again."""
    return "roslin" if shutil.which("roslin") else sys.argv[0]


@contextmanager
def resumable(folder: Path, what: str = "finished parts") -> Iterator[None]:
    """If interrupted, print where the parts that are done are stored."""
    try:
        yield
    except KeyboardInterrupt:
        remark(f"{what} are saved in {folder}; the same command continues from there")
        raise


@contextmanager
def progress_bar(what: str, total: float | None = None) -> Iterator[Callable[[float, str], None]]:
    """A function to call with (how far, what is being done). Shows a bar on a terminal, after a second.

    With a total, the bar also estimates the remaining time; without one, how far is a count.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    so_far = TextColumn("{task.completed}" if total is None else "{task.percentage:>3.0f}%")
    left = () if total is None else (TextColumn("left:"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), so_far, TimeElapsedColumn(), *left)
    bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=_SPEED_SECONDS)
    task = bar.add_task(what, total=total)
    # By a timer: a long step calls nothing.
    waiting = threading.Timer(_BAR_AFTER_SECONDS, bar.start)
    waiting.daemon = True
    waiting.start()

    def advance(done: float, label: str) -> None:
        bar.update(task, completed=done, description=f"{what}: {label}")

    try:
        yield advance
    finally:
        waiting.cancel()
        bar.stop()
