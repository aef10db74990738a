"""Options that a command gets as one value."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, NamedTuple

import typer
from typer.testing import CliRunner

from roslin.cli import app as commands
from roslin.cli.filter import Narrowing
from roslin.cli.options import with_options


class Place(NamedTuple):
    """What the shared options make."""

    name: str
    number: int


def place(
    name: Annotated[str, typer.Argument(help="Its name.")], number: Annotated[int, typer.Option("--number")] = 1
) -> Place:
    return Place(name, number)


app = typer.Typer()


@app.command()
@with_options(where=place)
def show(where: Place, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
    """Show a place."""
    text = f"{where.name} {where.number}"
    typer.echo(text.upper() if loud else text)


def test_the_command_has_its_own_options_and_the_shared_ones() -> None:
    run = CliRunner().invoke
    assert run(app, ["here"]).output == "here 1\n"
    assert run(app, ["here", "--number", "3", "--loud"]).output == "HERE 3\n"
    assert run(app, []).exit_code == 2
    help = run(app, ["--help"]).output
    assert "Show a place." in help
    for option in ("--number", "--loud", "Its name."):
        assert option in help
    assert "where" not in help.lower().replace("--", "")


def test_the_help_of_a_search_has_groups_and_fits_two_screens() -> None:
    lines = CliRunner().invoke(commands, ["search", "--help"], terminal_width=100).output.splitlines()
    assert len(lines) <= 50
    groups = [line.removesuffix(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    described = "Narrow (described in: roslin filter --help)"
    reading = "Reading scores and MIDI (described in: roslin load --help)"
    assert groups == ["Arguments", "Query", "Compare", described, "Output", reading, "Options"]
    loaded = CliRunner().invoke(commands, ["load", "--help"]).output
    options = re.findall(r"--[a-z-]+", " ".join(lines[lines.index(f"{reading}:") + 1 : lines.index("Options:")]))
    assert len(options) > 5
    assert all(f"\n  {option} " in loaded for option in options)
    named = " ".join(lines[lines.index(f"{described}:") + 1 : lines.index("Output:")])
    filters = CliRunner().invoke(commands, ["filter", "--help"]).output
    for option in inspect.signature(Narrowing).parameters:
        name = f"--{option.replace('_', '-')}"
        assert name in named
        assert f"\n  {name} " in filters
