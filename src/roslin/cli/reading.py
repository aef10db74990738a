"""Reading melodies: the options for readers, the query of a command, and roslin load and show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from roslin.cli.options import QUERY, READING, NumberOption, PluginOption, in_panel, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_rows, remark, write_file
from roslin.display.text import counted
from roslin.errors import shortened

if TYPE_CHECKING:
    from roslin.api import Collection
    from roslin.distributed.shards import Shards
    from roslin.melody import Melody
    from roslin.notation import Options, Record

    Searched = Collection | Shards

_LINES_SHOWN = 10


# -- the options of readers -------------------------------------------------------------------------------------------


class VoicesChoice(StrEnum):
    """How the voices of a score are read."""

    apart = "apart"
    together = "together"


VoicesOption = Annotated[
    VoicesChoice | None,
    Option("--voices", help="Scores, MIDI: one melody per staff or track (apart), or one of all (together)."),
]


@in_panel(READING)
def reading_options(
    part: Annotated[str | None, Option("--part", help="Scores: one part, by name or by number from 1.")] = None,
    voice: Annotated[int | None, Option("--voice", min=0, help="Scores: one voice of each staff, from 0.")] = None,
    voices: VoicesOption = None,
    written_pitch: Annotated[
        bool, Option("--written-pitch", help="Scores: transposing instruments as written, not as they sound.")
    ] = False,
    track: Annotated[int | None, Option("--track", min=1, help="MIDI: one track, from 1.")] = None,
    channel: Annotated[
        int | None, Option("--channel", min=1, max=16, help="MIDI: one channel, 10 is percussion.")
    ] = None,
    quantise: Annotated[
        str | None, Option("--quantise", metavar="GRID", help="MIDI: move notes to a grid: 1/16, 1/8t, 1/16+1/8t, ...")
    ] = None,
    expand_repeats: Annotated[bool, Option("--expand-repeats", help="ABC: write out repeats and endings.")] = False,
) -> Options:
    """The options of a reader from what was typed."""
    return {
        "part": int(part) if part is not None and part.isdecimal() else part,
        "voice": voice,
        "voices": None if voices is None else voices.value,
        "written_pitch": written_pitch,
        "track": track,
        "channel": channel,
        "quantise": quantise,
        "expand_repeats": expand_repeats,
    }


def refuse_options(options: Options) -> None:
    """Where no file is read, an option for its reader is a mistake."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise typer.BadParameter(f"--{name.replace('_', '-')} is for reading a file; there is none to read")


def tell(melody: Melody) -> Melody:
    """Print the deviations of the reading from what was written, and return the melody."""
    lines = melody.deviations
    remark(*lines[:_LINES_SHOWN])
    if len(lines) > _LINES_SHOWN:
        remark(f"... and {len(lines) - _LINES_SHOWN} more; --strict stops at the first")
    return melody


# -- the query of a command -------------------------------------------------------------------------------------------


@in_panel(QUERY)
@dataclass(frozen=True)
class QueryChoice:
    """The query of a command as it was typed: text, a melody of a file, or a melody of the collection."""

    text: Annotated[
        str | None, Argument(metavar="[QUERY]", help="The query as text: note names, ABC, or Plaine & Easie.")
    ] = None
    pae: Annotated[str | None, Option("--pae", help="The query as text, the same as QUERY.")] = None
    file: Annotated[Path | None, Option("--file", help="A file with the query, in any notation.")] = None
    id: Annotated[str | None, Option("--id", help="Id of the query in the collection, or in the --file.")] = None
    number: NumberOption = None
    notation: Annotated[
        str | None, Option("--notation", help="Notation of the query: names, abc, pae, ... Default: recognised.")
    ] = None
    strict: Annotated[bool, Option("--strict", help="Refuse a query with mistakes in its notation.")] = False

    @property
    def is_given(self) -> bool:
        """Whether any of its options is there."""
        return (self.text, self.pae, self.file, self.id, self.number) != (None,) * 5

    @property
    def itself(self) -> tuple[str, ...]:
        """The id of the query if it is a melody of the collection; its search leaves it out."""
        return () if self.id is None or self.file is not None else (self.id,)

    def readings(self, collection: Searched, options: Options) -> list[Melody]:
        """The query in all its readings (`roslin.notation.query`); remarks on a single one are printed."""
        text = self._text()
        if (text is not None) + (self.file is not None or self.id is not None) != 1:
            named = "QUERY, --pae, --file and --id"
            raise typer.BadParameter(f"give the query with exactly one of {named} (--file may have an --id)")
        if self.file is not None:
            return [melody_from_file(self.file, self.id, self.number, options, self.notation, strict=self.strict)]
        refuse_options(options)
        if self.number is not None:
            raise typer.BadParameter("--number is for a melody of a --file; there is none")
        if text is None:
            return [collection[str(self.id)]]
        from roslin.notation.query import readings

        found = readings(text, self.notation, strict=self.strict)
        return [tell(found[0])] if len(found) == 1 else found

    def _text(self) -> str | None:
        from roslin.notation import is_path

        if self.text is not None and self.pae is not None:
            raise typer.BadParameter("give the query once: as QUERY or with --pae")
        if self.text is not None and is_path(self.text):
            name = shortened(self.text)
            raise typer.BadParameter(f"{name} is the name of a file; use --file for it, or --pae for notation")
        return self.pae if self.text is None else self.text


def melody_from_file(
    path: Path, id: str | None, number: int | None, options: Options, notation: str | None = None, *, strict: bool
) -> Melody:
    """The melody with this id or number, or the first one, with a remark if there are more. Others may be faulty."""
    from roslin.notation import records

    if id is not None and number is not None:
        raise typer.BadParameter("choose the melody with one of --id and --number")
    found = records(path, notation, strict=strict, **options)
    named = (id, f"{path.name.partition('.')[0]}-{id}")  # the number alone where the file only counts its melodies
    count = 0
    for count, record in enumerate(found, start=1):
        melody = record.melody
        if count != (number or 1) if id is None else melody is None or melody.id not in named:
            continue
        taken = tell(record.melody_or_raise())
        if id is None and number is None and next(found, None) is not None:
            about = ", ".join(f"{what} {name!r}" for what, name in (("id", taken.id), ("title", taken.title)) if name)
            remark(f"{path} holds several melodies; number 1 is taken{about and f' ({about})'}")
            remark(f"choose another with --number or --id; see: roslin load {path}")
        if "quantisation_error" in taken.extra:
            remark(f"moved to the grid: {taken.extra['quantisation_error']}")
        return taken
    wanted = f"--id {id}" if id is not None else f"--number {number or 1}"
    raise typer.BadParameter(f"{path} holds {counted(count, 'melody', 'melodies')}; none is {wanted}")


# -- the commands -----------------------------------------------------------------------------------------------------


@with_options(options=reading_options)
def load_command(
    file: Annotated[Path, Argument(help="The file to read.")],
    notation: Annotated[str | None, Option("--notation", help="Notation of the file. Default: recognised.")] = None,
    strict: Annotated[bool, Option("--strict", help="Refuse every melody with a problem.")] = False,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
) -> None:
    """Show how Roslin reads a file: notation, melodies, notes, warnings. The exit code is 1 when a melody is refused.

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


@with_options(options=reading_options)
def show_command(
    source: Annotated[Path, Argument(help="A file with music, or a collection, NAME.roslin.")],
    id: Annotated[str | None, Option("--id", help="Id of the melody in the collection or the file.")] = None,
    number: NumberOption = None,
    output: Annotated[Path | None, Option("--output", help="The file for the drawing. Default: stdout.")] = None,
    midi: Annotated[Path | None, Option("--midi", help="Also write the sound, as a MIDI file.")] = None,
    *,
    options: Options,
) -> None:
    """Draw a melody in notation, as an SVG file.

    Example: roslin show mine.roslin --id auld-lang-syne --output tune.svg
    """
    from roslin.playback import midi_bytes
    from roslin.report.player import drawing

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
        write_file(output, picture.svg + "\n", "drawing")
    if midi is not None:
        write_file(midi, midi_bytes(melody), "sound")


def _from_collection(path: Path, id: str | None, number: int | None, options: Options) -> Melody:
    if id is None or number is not None:
        raise typer.BadParameter("choose a melody of the collection with --id")
    refuse_options(options)
    from roslin.api import Collection

    with Collection(path) as collection:
        return collection[id]
