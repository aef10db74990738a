"""roslin show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.melody import Melody

__all__ = ["show_command"]


def show_command(
    source: Annotated[Path, typer.Argument(help="A file with music, or a collection, NAME.roslin.")],
    id: Annotated[str | None, typer.Option("--id", help="Which melody of the collection or of the file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Where to write the drawing; else to stdout.")] = None,
    midi: Annotated[Path | None, typer.Option("--midi", help="Also write the sound, as a MIDI file.")] = None,
) -> None:
    """Draw a melody as notation, an SVG picture.

    Example: roslin show mine.roslin --id auld-lang-syne --output tune.svg
    """
    from roslin.playback import midi_bytes
    from roslin.report.player import drawing

    melody = _from_collection(source, id, number) if source.is_dir() else _from_file(source, id, number)
    picture = drawing(melody)
    if not picture.drawn:
        remark(f"could not be drawn as notation, so it is a piano roll: {picture.reason}")
    if output is None:
        typer.echo(picture.svg)
    else:
        output.write_text(picture.svg + "\n", encoding="utf-8")
        remark(f"drawing written to {output}")
    if midi is not None:
        midi.write_bytes(midi_bytes(melody))
        remark(f"sound written to {midi}")


def _from_collection(path: Path, id: str | None, number: int | None) -> Melody:
    if id is None or number is not None:
        raise typer.BadParameter("choose a melody of the collection with --id")
    from roslin.api import Collection

    with Collection(path) as collection:
        return collection[id]


def _from_file(path: Path, id: str | None, number: int | None) -> Melody:
    """The melody with this id or number, or the only one; others in the file may be faulty."""
    from roslin.notation import records

    if id is not None and number is not None:
        raise typer.BadParameter("choose the melody with one of --id and --number")
    count = 0
    chosen = None
    for count, record in enumerate(records(path, strict=False), start=1):
        name = record.melody.id if record.melody is not None else None
        if count == (number or 1) if id is None else name == id:
            chosen = record
            if id is not None or number is not None:
                break
        elif chosen is not None:
            raise typer.BadParameter(f"{path} holds several melodies; choose one with --number or --id")
    if chosen is None:
        wanted = f"--id {id}" if id is not None else f"--number {number or 1}"
        raise typer.BadParameter(f"{path} holds {count} melodies; none is {wanted}")
    return chosen.melody_or_raise()
