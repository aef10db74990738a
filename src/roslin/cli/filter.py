"""roslin filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.reading import with_reading_options
from roslin.cli.search import chosen_query

if TYPE_CHECKING:
    from roslin.collection.filters import Filter
    from roslin.melody import Melody
    from roslin.notation import Options

__all__ = ["filter_command"]

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


@with_reading_options
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
        str | None,
        typer.Option(
            metavar="[LETTERS=]COST", help="Gross contour near that of the query, or near letters: 3, UUDR=1."
        ),
    ] = None,
    rhythm: Annotated[
        str | None,
        typer.Option(metavar="[LETTERS=]COST", help="Rhythm near that of the query, or near L, S, =: 3, LS===2."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(metavar="NAME=COST ...", help='For both: "insertion=0.5 deletion=1 replacement=1 UD=2"; else 1.'),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=TEXT", help="Words in title, composer, key, metre, ...")
    ] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Then leave out what is identical with another or part of it.")
    ] = False,
    also: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=TEXT", help="Then add what has these words, filtered out or not.")
    ] = None,
    also_search: Annotated[
        list[str] | None, typer.Option(metavar="MATCHER", help="Then add what is most similar to the query.")
    ] = None,
    first: Annotated[int, typer.Option("--first", min=1, help="How many of each --also-search.")] = 10,
    pae: Annotated[str | None, typer.Option("--pae", help="The query in Plaine & Easie Code.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    list_: Annotated[
        bool,
        typer.Option("--list", help="Print the melodies that are left, with costs, and by which way they came in."),
    ] = False,
    save: Annotated[Path | None, typer.Option(help="Write the ids that are left, one a line.")] = None,
    format: FormatOption = OutputFormat.table,
    *,
    options: Options,
) -> None:
    """Narrow a collection down, step by step, and say what each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection
    from roslin.collection import filters as known
    from roslin.collection.filters import parse_range
    from roslin.represent.edits import parse_costs

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
    if costs is not None and contour is None and rhythm is None:
        raise typer.BadParameter("--costs is for --contour and --rhythm; there is neither")

    with Collection(collection) as opened:
        query = None
        if (pae, file, id, number) != (None, None, None, None):
            query = chosen_query(opened, pae, file, id, number, options, strict=True)
        for make_near, given in ((known.contour_distance, contour), (known.rhythm_distance, rhythm)):
            if given is not None:
                near, cost = _near(given, query)
                chain.append(make_near(near, cost, None if costs is None else parse_costs(costs)))
        chain += [known.metadata(*_pair(text, "--where", "FIELD=TEXT")) for text in where or ()]
        selection = opened.filter(*chain)
        selection = selection.also(*(known.metadata(*_pair(text, "--also", "FIELD=TEXT")) for text in also or ()))
        for matcher in also_search or ():
            itself = () if id is None or file is not None else (id,)
            with progress_bar("Searching", total=1.0) as progress:
                found = opened.search(
                    _needed(query, "--also-search"), matcher, first, exclude=itself, progress=progress
                )
            selection = selection.also(found)
        if unique:
            selection = selection.without_near_duplicates()
        print_table(selection.candidates if list_ else selection.to_table(), format)
        if save is not None:
            save.write_text("".join(f"{id}\n" for id in selection.ids), encoding="utf-8")
            remark(f"{len(selection)} ids written to {save}")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not (left and sign and right):
        raise typer.BadParameter(f"{option} must be {form}; got {text!r}")
    return left, right


def _near(text: str, query: Melody | None) -> tuple[str | Melody, float]:
    """What a contour or a rhythm is to be near to, letters or the query, and at which cost."""
    letters, _, number = text.rpartition("=")
    try:
        cost = float(number)
    except ValueError:
        raise typer.BadParameter(f"--contour and --rhythm must be COST or LETTERS=COST; got {text!r}") from None
    return letters or _needed(query, "--contour and --rhythm without LETTERS="), cost


def _needed(query: Melody | None, option: str) -> Melody:
    if query is None:
        raise typer.BadParameter(f"{option} needs a query: one of --pae, --file and --id")
    return query
