"""What the commands that read a file share: the options for its reader, and the choice of one melody in it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.options import with_options
from roslin.cli.output import remark
from roslin.display.text import counted
from roslin.errors import shortened

if TYPE_CHECKING:
    from roslin.melody import Melody
    from roslin.notation import Options

QueryArgument = Annotated[
    str | None, typer.Argument(metavar="[QUERY]", help="The query as text: note names, ABC, or Plaine & Easie.")
]
PaeOption = Annotated[str | None, typer.Option("--pae", help="The query as text, like QUERY.")]
NotationOption = Annotated[
    str | None, typer.Option("--notation", help="Notation of the query: names, abc, pae, ...; default: recognised.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Refuse what is not written as its notation demands.")]
_LINES_TOLD = 10


class VoicesChoice(StrEnum):
    """How the voices of a score are read."""

    apart = "apart"
    together = "together"


VoicesOption = Annotated[
    VoicesChoice | None,
    typer.Option("--voices", help="Scores, MIDI: a melody for each staff or track, or one of all together."),
]


def reading_options(
    part: Annotated[str | None, typer.Option("--part", help="Scores: one part, its name or its number from 1.")] = None,
    voice: Annotated[
        int | None, typer.Option("--voice", min=0, help="Scores: one voice of each staff, from 0.")
    ] = None,
    voices: VoicesOption = None,
    written_pitch: Annotated[
        bool, typer.Option("--written-pitch", help="Scores: transposing instruments as written, not as they sound.")
    ] = False,
    track: Annotated[int | None, typer.Option("--track", min=1, help="MIDI: one track, from 1.")] = None,
    channel: Annotated[
        int | None, typer.Option("--channel", min=1, max=16, help="MIDI: one channel, 10 is percussion.")
    ] = None,
    quantise: Annotated[
        str | None, typer.Option("--quantise", metavar="GRID", help="MIDI: move notes to 1/16, 1/8t, 1/16+1/8t, ...")
    ] = None,
    expand_repeats: Annotated[
        bool, typer.Option("--expand-repeats", help="ABC: play repeats and endings out.")
    ] = False,
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


# A command that is given the options of its reader together, as `options`.
with_reading_options = with_options(options=reading_options)


def refuse_options(options: Options) -> None:
    """Where no file is read, an option for its reader is a mistake."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise typer.BadParameter(f"--{name.replace('_', '-')} is for reading a file; there is none to read")


def tell(melody: Melody) -> Melody:
    """Say what was read otherwise than it was written; the same melody."""
    lines = melody.deviations
    for line in lines[:_LINES_TOLD]:
        remark(line)
    if len(lines) > _LINES_TOLD:
        remark(f"... and {len(lines) - _LINES_TOLD} more; --strict stops at the first")
    return melody


def text_of(text: str | None, pae: str | None) -> str | None:
    """The query as it was typed, as QUERY or with --pae."""
    from roslin.notation import is_path

    if text is not None and pae is not None:
        raise typer.BadParameter("give the query once: as QUERY or with --pae")
    if text is not None and is_path(text):
        raise typer.BadParameter(f"{shortened(text)} is the name of a file; use --file for it, or --pae for notation")
    return pae if text is None else text


def melody_from_file(
    path: Path, id: str | None, number: int | None, options: Options, notation: str | None = None, *, strict: bool
) -> Melody:
    """The melody with this id or number, else the first, saying so when there are more. Others may be faulty."""
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
