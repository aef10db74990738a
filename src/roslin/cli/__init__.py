"""The command line: one small file per noun. Each command parses, makes one call, and prints.

Results go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a check failed, 2 bad usage or bad input.
Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from roslin.cli import collection, demo, filter, matchers, search

__all__ = ["app", "main"]

app = typer.Typer(
    name="roslin",
    help="Find melodies that resemble each other. Start with: roslin demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(collection.app, name="collection")
app.command("filter")(filter.filter_command)
app.command("search")(search.search_command)
app.command("matchers")(matchers.matchers_command)


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"roslin {installed('roslin')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors of ours become one line."""
    from roslin.errors import RoslinError

    try:
        app()
    except RoslinError as error:
        typer.echo(f"roslin: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("roslin: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output left (head, less): nothing more to say. Keep the interpreter's own flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
