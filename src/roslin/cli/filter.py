"""roslin filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import FormatOption, OutputFormat, print_rows, remark

if TYPE_CHECKING:
    from roslin.collection.filters import Filter

__all__ = ["filter_command"]

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


def filter_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")],
    pitch_range: Annotated[str | None, typer.Option(help=f"Lowest to highest note, {_SEMITONES}.")] = None,
    max_interval: Annotated[str | None, typer.Option(help="Largest step between two notes, likewise.")] = None,
    duration_ratio: Annotated[str | None, typer.Option(help=f"Shortest over longest note, {_RANGE}.")] = None,
    note_count: Annotated[str | None, typer.Option(help=f"Number of notes, {_RANGE}.")] = None,
    contains: Annotated[
        list[str] | None,
        typer.Option(help='Intervals, "fifth up, third down" or "+5 -3". Given again: one of them is enough.'),
    ] = None,
    contains_semitones: Annotated[
        list[str] | None, typer.Option(help='The same in semitones, "+7 -4" or "minor third up".')
    ] = None,
    share: Annotated[
        list[str] | None, typer.Option(metavar="INTERVAL=RANGE", help="Part of the intervals, third=0.5..")
    ] = None,
    motive: Annotated[
        list[str] | None, typer.Option(help='A repeated motive with these intervals, "unison, unison".')
    ] = None,
    times: Annotated[int | None, typer.Option(help="In how many places, for --motive; 2 if not said.")] = None,
    contour: Annotated[
        str | None, typer.Option(metavar="LETTERS=DISTANCE", help="Gross contour near UDR letters, UUDR=1.")
    ] = None,
    rhythm: Annotated[
        str | None, typer.Option(metavar="LETTERS=DISTANCE", help="Rhythm near L, S, = letters, LS===2.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=TEXT", help="Words in title, composer, key, metre, ...")
    ] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Then leave out what is identical with another or part of it.")
    ] = False,
    save: Annotated[Path | None, typer.Option(help="Write the ids that are left, one a line.")] = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Narrow a collection down, step by step, and say what each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection
    from roslin.collection import filters as known
    from roslin.collection.filters import parse_range

    if times is not None and not motive:
        raise typer.BadParameter("--times says in how many places a --motive must be; there is none")
    chain: list[Filter] = [
        make(*parse_range(given))
        for make, given in (
            (known.pitch_range, pitch_range),
            (known.max_interval, max_interval),
            (known.duration_ratio, duration_ratio),
            (known.note_count, note_count),
        )
        if given is not None
    ]
    if contains:
        chain.append(known.contains(*contains))
    if contains_semitones:
        chain.append(known.contains(*contains_semitones, kind="chromatic"))
    for text in share or ():
        interval, bounds = _pair(text, "--share", "INTERVAL=RANGE")
        chain.append(known.share_of_interval(interval, *parse_range(bounds)))
    chain += [known.repeats_motive(text, times or 2) for text in motive or ()]
    for make_near, given in ((known.contour_distance, contour), (known.rhythm_distance, rhythm)):
        if given is not None:
            letters, distance = _pair(given, "--contour and --rhythm", "LETTERS=DISTANCE")
            chain.append(make_near(letters, _number(distance)))
    chain += [known.metadata(*_pair(text, "--where", "FIELD=TEXT")) for text in where or ()]

    with Collection(collection) as opened:
        selection = opened.filter(*chain)
        if unique:
            selection = selection.without_near_duplicates()
        table = selection.to_table()
        print_rows(table.rows, table.columns, format)
        if save is not None:
            save.write_text("".join(f"{id}\n" for id in selection.ids), encoding="utf-8")
            remark(f"{len(selection)} ids written to {save}")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not (left and sign and right):
        raise typer.BadParameter(f"{option} must be {form}; got {text!r}")
    return left, right


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"the distance must be a number; got {text!r}") from None
