"""roslin show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import remark
from roslin.cli.reading import melody_from_file, refuse_options, with_reading_options

if TYPE_CHECKING:
    from roslin.melody import Melody
    from roslin.notation import Options


@with_reading_options
def show_command(
    source: Annotated[Path, typer.Argument(help="A file with music, or a collection, NAME.roslin.")],
    id: Annotated[str | None, typer.Option("--id", help="Which melody of the collection or of the file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Where to write the drawing; else to stdout.")] = None,
    midi: Annotated[Path | None, typer.Option("--midi", help="Also write the sound, as a MIDI file.")] = None,
    *,
    options: Options,
) -> None:
    """Draw a melody as notation, an SVG picture.

    Example: roslin show mine.roslin --id auld-lang-syne --output tune.svg
    """
    from roslin.playback import midi_bytes
    from roslin.report.player import drawing
    from roslin.rows import write_whole

    if source.is_dir():
        melody = _from_collection(source, id, number, options)
    else:
        melody = melody_from_file(source, id, number, options, strict=False)
    picture = drawing(melody)
    if not picture.drawn:
        remark(f"could not be drawn as notation, so it is a piano roll: {picture.reason}")
    if output is None:
        typer.echo(picture.svg)
    else:
        write_whole(output, picture.svg + "\n")
        remark(f"drawing written to {output}")
    if midi is not None:
        write_whole(midi, midi_bytes(melody))
        remark(f"sound written to {midi}")


def _from_collection(path: Path, id: str | None, number: int | None, options: Options) -> Melody:
    if id is None or number is not None:
        raise typer.BadParameter("choose a melody of the collection with --id")
    refuse_options(options)
    from roslin.api import Collection

    with Collection(path) as collection:
        return collection[id]
