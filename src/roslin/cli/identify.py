"""roslin identify."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.filter import Narrowing
from roslin.cli.options import CollectionArgument, PluginOption, SourceSecondsOption, ThreadsOption, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar
from roslin.cli.reading import reading_options, refuse_options, tell
from roslin.display.table import Table

if TYPE_CHECKING:
    from roslin.api import Collection
    from roslin.concordances.identify import Identification
    from roslin.melody import Melody
    from roslin.notation import Options

_SHOWN = ("rank", "attribution", "sources", "perhaps", "identical", "incipits", "chance", "meaning")
_SOURCE_SHOWN = (
    "attribution",
    "record",
    "chance",
    "meaning",
    "incipit",
    "notes",
    "title",
    "catalogue",
    "library",
    "shelfmark",
    "id",
)


@with_options(options=reading_options, narrowing=Narrowing)
def identify_command(
    collection: CollectionArgument,
    source: Annotated[
        str,
        Argument(
            help="The source: a file (MARCXML or any notation), an incipit as text, the number of a record in the "
            "collection, or - for standard input."
        ),
    ],
    threads: ThreadsOption = 1,
    seconds: SourceSecondsOption = None,
    strict: Annotated[bool, Option("--strict", help="Refuse a melody with mistakes in its notation.")] = False,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
    narrowing: Narrowing,
) -> None:
    """Suggest the composer of a source from other sources of the same tune, the most certain first.

    All incipits of a record are searched for together, and the record itself is left out. Each record of a file has its
    own answer.

    Example: roslin identify catalogue.roslin new-record.xml
    """
    from roslin.api import Collection

    with Collection(collection) as opened:
        sources = _sources(opened, source, options, strict=strict)
        within = narrowing.selected(opened, None)
        found: dict[str, Identification] = {}
        for name, melodies in sources.items():
            with progress_bar("Searching", total=1.0) as progress:
                found[name] = opened.identify(
                    melodies, within=within, threads=threads, seconds=seconds, progress=progress
                )
            if format is OutputFormat.table:
                _print_answer(name if len(sources) > 1 else "", found[name])
    if format is OutputFormat.json:
        answers = [{"source": name or None, **each.to_dict()} for name, each in found.items()]
        typer.echo(json.dumps(answers, ensure_ascii=False, indent=1))
    elif format is OutputFormat.tsv:
        print_table(_together(found), format)


def _sources(collection: Collection, source: str, options: Options, *, strict: bool) -> dict[str, list[Melody]]:
    """The sources that are meant: of a file, of the collection, or written down in the command itself."""
    from roslin.concordances.identify import by_source, source_named
    from roslin.notation import is_path
    from roslin.notation.query import read_source

    if source != "-" and is_path(source):
        return by_source(map(tell, read_source(Path(source), strict=strict, **options)))
    refuse_options(options)
    if source == "-":
        return by_source(map(tell, read_source(sys.stdin.buffer.read(), strict=strict)))
    return source_named(collection, source.strip(), lambda: map(tell, read_source(source, strict=strict)))


def _print_answer(name: str, found: Identification) -> None:
    """The answer in words, the attributions, and the sources behind each."""
    typer.echo(f"{name}: {found.sentence}" if name else found.sentence)
    for said in found.remarks:
        typer.echo(said)
    if found.attributions:
        sources = found.sources_table()
        empty = [
            column for column in ("catalogue", "library", "shelfmark") if not any(row[column] for row in sources.rows)
        ]
        typer.echo(f"\n{found.to_table().only(*_SHOWN)}\n\n{sources.only(*_SOURCE_SHOWN).without(*empty)}")
    if name:
        typer.echo()


def _together(found: dict[str, Identification]) -> Table:
    """The sources behind all attributions, with the source that was asked about before each."""
    tables = {name: each.sources_table() for name, each in found.items()}
    columns = ("source", *next(iter(tables.values())).columns)
    rows = tuple({"source": name, **row} for name, table in tables.items() for row in table.rows)
    return replace(next(iter(tables.values())), columns=columns, rows=rows)
