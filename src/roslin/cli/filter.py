"""Narrowing a collection: the filters of every command that has them, and roslin filter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.options import NARROW, OUTPUT, CollectionArgument, in_panel, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.reading import QueryChoice, query_options, reading_options, tell

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.collection.filters import Filter
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.represent.edits import EditCosts

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


@dataclass(frozen=True)
class Narrowing:
    """The filters that were asked for, in their order, and whether near-duplicates go then.

    `near` are those that compare contour or rhythm, by name, as they were typed: they may need the query.
    """

    filters: tuple[Filter, ...]
    near: tuple[tuple[str, str], ...]
    costs: EditCosts | None
    words: tuple[Filter, ...]
    unique: bool
    unique_exactly: bool

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to narrow down."""
        return bool(self.filters or self.near or self.words) or self.unique or self.unique_exactly

    def selected(self, collection: Collection, query: Melody | None) -> Selection | None:
        """What is left, with a remark about it; None without filters."""
        if not self.is_asked:
            return None
        selection = self.without_duplicates(self.filtered(collection, query))
        remark(f"Searched {selection.summary}")
        return selection

    def filtered(self, collection: Collection, query: Melody | None) -> Selection:
        """What the filters leave."""
        from roslin.collection.filters import asked_filters

        near = [
            made
            for name, text in self.near
            for made in asked_filters(name, [text], query=query, costs=self.costs, label=f"--{name}")
        ]
        return collection.filter(*self.filters, *near, *self.words)

    def without_duplicates(self, selection: Selection) -> Selection:
        """What is left then, if near-duplicates are to go."""
        if self.unique or self.unique_exactly:
            return selection.without_near_duplicates(exact_rhythm=self.unique_exactly)
        return selection


@in_panel(NARROW)
def filter_options(
    pitch_range: Annotated[str | None, typer.Option(help=f"Lowest to highest note, {_SEMITONES}.")] = None,
    max_interval: Annotated[
        str | None, typer.Option(help="Largest interval between consecutive notes, in the same form as --pitch-range.")
    ] = None,
    duration_ratio: Annotated[str | None, typer.Option(help=f"Ratio of shortest to longest note, {_RANGE}.")] = None,
    note_count: Annotated[str | None, typer.Option(help=f"Number of notes, {_RANGE}.")] = None,
    contains: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERVALS",
            help='Intervals, "fifth up, third down" or "+5 -3". Can be repeated: one of them is enough.',
        ),
    ] = None,
    contains_semitones: Annotated[
        list[str] | None, typer.Option(metavar="INTERVALS", help='Intervals in semitones, "+7 -4" or "minor third up".')
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERVAL=RANGE",
            help="Share of an interval among all intervals, third=0.5.. (at least half thirds).",
        ),
    ] = None,
    motive: Annotated[
        list[str] | None,
        typer.Option(metavar="INTERVALS", help='A repeated motive with these intervals, "unison, unison".'),
    ] = None,
    times: Annotated[int | None, typer.Option(help="Number of places with the --motive. Default: 2.")] = None,
    contour: Annotated[
        str | None,
        typer.Option(
            metavar="[LETTERS=]COST", help="Gross contour close to that of the query, or to letters: 3, UUDR=1."
        ),
    ] = None,
    rhythm: Annotated[
        str | None,
        typer.Option(
            metavar="[LETTERS=]COST", help="Rhythm close to that of the query, or to letters (L, S, =): 3, LS===2."
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=COST ...",
            help='Costs for --contour and --rhythm, "insertion=0.5 deletion=1 UD=2". Default: 1.',
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=TEXT", help="Words in title, composer, key, metre, ...")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="A whole field: key=g, library=CZ-Bu, century=18. Can be repeated: one is enough.",
        ),
    ] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Remove melodies that duplicate another one or are contained in it.")
    ] = False,
    unique_exactly: Annotated[
        bool, typer.Option("--unique-exactly", help="Like --unique, but keep rhythmic variants.")
    ] = False,
) -> Narrowing:
    """Filters from what was typed, cheap ones first."""
    from roslin.collection.filters import NEAR, asked_filters
    from roslin.represent.edits import parse_costs

    if costs is not None and contour is None and rhythm is None:
        raise typer.BadParameter("--costs goes with --contour or --rhythm: give one of them, or omit --costs")
    if times is not None and not motive:
        raise typer.BadParameter("--times goes with --motive: give a --motive, or omit --times")
    if unique and unique_exactly:
        raise typer.BadParameter("choose one of --unique and --unique-exactly")
    typed: dict[str, list[str]] = {
        "pitch_range": [pitch_range] if pitch_range is not None else [],
        "max_interval": [max_interval] if max_interval is not None else [],
        "duration_ratio": [duration_ratio] if duration_ratio is not None else [],
        "note_count": [note_count] if note_count is not None else [],
        "contains": contains or [],
        "contains_semitones": contains_semitones or [],
        "share": share or [],
        "motive": motive or [],
    }
    chain = [
        made
        for name, texts in typed.items()
        if texts
        for made in asked_filters(name, texts, times=times or 2, label=f"--{name.replace('_', '-')}")
    ]
    near = tuple((name, given) for name, given in zip(NEAR, (contour, rhythm), strict=True) if given is not None)
    words = (*asked_filters("where", where or (), label="--where"), *asked_filters("only", only or (), label="--only"))
    changes = None if costs is None else parse_costs(costs)
    return Narrowing(tuple(chain), near, changes, words, unique, unique_exactly)


@with_options(asked=query_options, options=reading_options, narrowing=filter_options)
def filter_command(
    collection: CollectionArgument,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=TEXT",
            help="Add melodies with these words, even if filtered out. Can be repeated.",
            rich_help_panel=NARROW,
        ),
    ] = None,
    also_search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MATCHER",
            help="Add the melodies most similar to the query. Can be repeated.",
            rich_help_panel=NARROW,
        ),
    ] = None,
    first: Annotated[
        int, typer.Option("--first", min=1, help="Number of melodies per --also-search.", rich_help_panel=NARROW)
    ] = 10,
    list_: Annotated[
        bool,
        typer.Option(
            "--list", help="Print the remaining melodies, with costs and the way each came in.", rich_help_panel=OUTPUT
        ),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the remaining ids to this file, one per line.", rich_help_panel=OUTPUT)
    ] = None,
    format: FormatOption = OutputFormat.table,
    *,
    asked: QueryChoice,
    options: Options,
    narrowing: Narrowing,
) -> None:
    """Narrow a collection down, step by step, and print how many melodies each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection
    from roslin.collection.filters import metadata_of
    from roslin.rows import write_whole

    with Collection(collection) as opened:
        query = None
        if asked.is_given:
            found = asked.readings(opened, options)
            query = tell(found[0]) if len(found) > 1 else found[0]
        selection = narrowing.filtered(opened, query).also(*(metadata_of(text, "--also") for text in also or ()))
        for matcher in also_search or ():
            if query is None:
                raise typer.BadParameter("--also-search needs a query: one of --pae, --file and --id")
            with progress_bar("Searching", total=1.0) as progress:
                run = opened.search(query, matcher, first, exclude=asked.itself, progress=progress)
            selection = selection.also(run)
        selection = narrowing.without_duplicates(selection)
        print_table(selection.candidates if list_ else selection.to_table(), format)
        if save is not None:
            write_whole(save, "".join(f"{id}\n" for id in selection.ids))
            remark(f"{len(selection)} ids written to {save}")
