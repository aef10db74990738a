"""How commands print: rows as a table, as tab-separated values, or as JSON; and a bar for what takes long."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from roslin.display.text import table_lines

__all__ = ["Format", "FormatOption", "print_rows", "progress_bar", "remark"]

_WAIT_SECONDS = 1.0


class Format(StrEnum):
    """How to print rows."""

    table = "table"
    tsv = "tsv"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], format: Format) -> None:
    """Print rows to stdout. Numbers keep their full precision except in a table."""
    if format is Format.json:
        typer.echo(
            json.dumps([{name: row.get(name) for name in columns} for row in rows], ensure_ascii=False, indent=1)
        )
    elif format is Format.tsv:
        typer.echo("\t".join(columns))
        for row in rows:
            typer.echo("\t".join(" ".join(str(row.get(name, "")).split()) for name in columns))
    else:
        for line in table_lines(rows, columns):
            typer.echo(line)


def remark(text: str) -> None:
    """Something for the person, not for the next program."""
    typer.echo(text, err=True)


@contextmanager
def progress_bar(what: str, total: float | None = None) -> Iterator[Callable[[float, str], None]]:
    """A function to call with (how far, what is being done). Shows a bar on a terminal, after a second.

    Without a total, how far is a count.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    so_far = TextColumn("{task.completed}" if total is None else "{task.percentage:>3.0f} %")
    columns = (TextColumn("{task.description}"), BarColumn(), so_far, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    # By a clock of its own: a step that takes long calls nobody.
    waiting = threading.Timer(_WAIT_SECONDS, bar.start)
    waiting.daemon = True
    waiting.start()

    def advance(done: float, label: str) -> None:
        bar.update(task, completed=done, description=f"{what}: {label}")

    try:
        yield advance
    finally:
        waiting.cancel()
        bar.stop()
