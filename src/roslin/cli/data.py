"""roslin data list, get, path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from roslin.cli.options import command_group
from roslin.cli.output import FormatOption, OutputFormat, print_rows, remark

app = command_group("List and download public data sets.\n\nExample: roslin data list")

NameArgument = Annotated[str, Argument(help="Name of the data set (see roslin data list).")]


@app.command("list")
def list_command(format: FormatOption = OutputFormat.table) -> None:
    """List the data sets.

    Example: roslin data list --format json
    """
    from roslin.data import DATA_SETS

    rows = [
        {
            "name": each.name,
            "licence": each.licence,
            "title": each.title,
            "citation": each.citation,
            "files": [{"address": file.address, "sha256": file.sha256 or None} for file in each.files],
        }
        for each in DATA_SETS.values()
    ]
    columns = ("name", "licence", "title")
    print_rows(rows, (*columns, "citation", "files") if format is OutputFormat.json else columns, format)


@app.command("get")
def get_command(
    name: NameArgument,
    source: Annotated[
        Path | None, Option("--from", help="A folder, archive or file to copy instead of a download.")
    ] = None,
) -> None:
    """Download a data set and print its folder.

    Example: roslin data get mirex2005
    """
    from roslin.data import get

    _show_terms(name)
    typer.echo(get(name, source))


@app.command("path")
def path_command(name: NameArgument) -> None:
    """Print the folder of a data set that is already here.

    Example: roslin data path mirex2005
    """
    from roslin.data import path

    folder = path(name)
    _show_terms(name)
    typer.echo(folder)


def _show_terms(name: str) -> None:
    """Licence and citation, which must be known before the data are used."""
    from roslin.data import data_set

    chosen = data_set(name)
    remark(f"{chosen.title}\nLicence: {chosen.licence}\nPlease cite: {chosen.citation}")
    if not all(file.sha256 for file in chosen.files):
        remark("The publisher updates this data set, so Roslin stores the checksum of your copy next to it.")
