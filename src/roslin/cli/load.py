"""roslin load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roslin.cli.output import FormatOption, OutputFormat, print_rows, remark
from roslin.cli.plugins import PluginOption
from roslin.cli.reading import with_reading_options
from roslin.display.text import counted

if TYPE_CHECKING:
    from roslin.notation import Options, Record


@with_reading_options
def load_command(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    notation: Annotated[str | None, typer.Option("--notation", help="Read it as this, whatever it looks like.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse every melody with a fault.")] = False,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
) -> None:
    """Show what is understood of a file: notation, melodies, notes, warnings. Exit code 1 when a melody is refused.

    Example: roslin load tunes.pae
    """
    from roslin.notation import records

    rows: list[dict[str, Any]] = []
    refused = 0
    for number, record in enumerate(records(file, notation, strict=strict, **options), start=1):
        melody = record.melody
        row = {"number": number, "notation": "", "title": "", "notes": 0, "warnings": 0, "remark": _remark(record)}
        if melody is None:
            row["id"] = record.problems[0].record
            refused += 1
        else:
            row |= {"notation": melody.notation, "id": melody.id, "title": melody.title}
            row |= {"notes": len(melody), "warnings": len(record.problems)}
        rows.append(row)
    print_rows(rows, ("number", "notation", "id", "title", "notes", "warnings", "remark"), format)
    notes, warnings = (sum(row[name] for row in rows) for name in ("notes", "warnings"))
    melodies = counted(len(rows) - refused, "melody", "melodies")
    remark(f"{melodies}, {counted(notes, 'note')}, {counted(warnings, 'warning')}; {refused} refused")
    raise typer.Exit(1 if refused else 0)


def _remark(record: Record) -> str:
    """The first problem, or else how far the notes were moved to a grid."""
    if record.problems:
        return str(record.problems[0])
    error = record.melody.extra.get("quantisation_error") if record.melody is not None else None
    return f"moved to the grid: {error}" if error else ""
