"""roslin filter, and the filters of the other commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from roslin.cli.options import NARROW, OUTPUT, CollectionArgument, in_panel, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark, write_file
from roslin.cli.reading import QueryChoice, query_options, reading_options, tell

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.represent.edits import EditCosts

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


@dataclass(frozen=True)
class Narrowing:
    """The filters that were typed, by name, and whether near-duplicates are removed after them."""

    typed: dict[str, list[str]]
    times: int
    costs: EditCosts | None
    unique: bool
    exact_rhythm: bool

    @property
    def is_asked(self) -> bool:
        return bool(self.typed) or self.unique

    def selected(self, collection: Collection, query: Melody | None) -> Selection | None:
        """The melodies that are left, with a remark about them; None if nothing was typed."""
        if not self.is_asked:
            return None
        selection = self.without_duplicates(self.filtered(collection, query))
        remark(f"Searched {selection.summary}")
        return selection

    def filtered(self, collection: Collection, query: Melody | None) -> Selection:
        from roslin.collection.filters import all_asked

        def option(name: str) -> str:
            return f"--{name.replace('_', '-')}"

        return collection.filter(*all_asked(self.typed, times=self.times, query=query, costs=self.costs, label=option))

    def without_duplicates(self, selection: Selection) -> Selection:
        return selection.without_near_duplicates(exact_rhythm=self.exact_rhythm) if self.unique else selection


@in_panel(NARROW)
def filter_options(
    pitch_range: Annotated[str | None, Option(help=f"Lowest to highest note, {_SEMITONES}.")] = None,
    max_interval: Annotated[
        str | None, Option(help="Largest interval between consecutive notes, in the same form as --pitch-range.")
    ] = None,
    duration_ratio: Annotated[str | None, Option(help=f"Ratio of shortest to longest note, {_RANGE}.")] = None,
    note_count: Annotated[str | None, Option(help=f"Number of notes, {_RANGE}.")] = None,
    contains: Annotated[
        list[str] | None,
        Option(
            metavar="INTERVALS",
            help='Intervals, "fifth up, third down" or "+5 -3". Can be repeated: one of them is enough.',
        ),
    ] = None,
    contains_semitones: Annotated[
        list[str] | None, Option(metavar="INTERVALS", help='Intervals in semitones, "+7 -4" or "minor third up".')
    ] = None,
    share: Annotated[
        list[str] | None,
        Option(
            metavar="INTERVAL=RANGE",
            help="Share of an interval among all intervals, third=0.5.. (at least half thirds).",
        ),
    ] = None,
    motive: Annotated[
        list[str] | None, Option(metavar="INTERVALS", help='A repeated motive with these intervals, "unison, unison".')
    ] = None,
    times: Annotated[int | None, Option(help="Number of places with the --motive. Default: 2.")] = None,
    contour: Annotated[
        str | None,
        Option(metavar="[LETTERS=]COST", help="Gross contour close to that of the query, or to letters: 3, UUDR=1."),
    ] = None,
    rhythm: Annotated[
        str | None,
        Option(metavar="[LETTERS=]COST", help="Rhythm close to that of the query, or to letters (L, S, =): 3, LS===2."),
    ] = None,
    costs: Annotated[
        str | None,
        Option(
            metavar="NAME=COST ...",
            help='Costs for --contour and --rhythm, "insertion=0.5 deletion=1 UD=2". Default: 1.',
        ),
    ] = None,
    where: Annotated[
        list[str] | None, Option(metavar="FIELD=TEXT", help="Words in title, composer, key, metre, ...")
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(
            metavar="FIELD=VALUE",
            help="A whole field: key=g, library=CZ-Bu, century=18. Can be repeated: one is enough.",
        ),
    ] = None,
    unique: Annotated[
        bool, Option("--unique", help="Remove melodies that duplicate another one or are contained in it.")
    ] = False,
    unique_exactly: Annotated[
        bool, Option("--unique-exactly", help="Like --unique, but keep rhythmic variants.")
    ] = False,
) -> Narrowing:
    """Filters from what was typed, cheap ones first."""
    from roslin.represent.edits import parse_costs

    if costs is not None and contour is None and rhythm is None:
        raise typer.BadParameter("--costs goes with --contour or --rhythm: give one of them, or omit --costs")
    if times is not None and not motive:
        raise typer.BadParameter("--times goes with --motive: give a --motive, or omit --times")
    if unique and unique_exactly:
        raise typer.BadParameter("choose one of --unique and --unique-exactly")
    typed = {
        "pitch_range": pitch_range, "max_interval": max_interval, "duration_ratio": duration_ratio,
        "note_count": note_count, "contains": contains, "contains_semitones": contains_semitones, "share": share,
        "motive": motive, "contour": contour, "rhythm": rhythm, "where": where, "only": only,
    }  # fmt: skip
    texts = {
        name: [given] if isinstance(given, str) else given for name, given in typed.items() if given not in (None, [])
    }
    changes = None if costs is None else parse_costs(costs)
    return Narrowing(texts, times or 2, changes, unique or unique_exactly, unique_exactly)


@with_options(asked=query_options, options=reading_options, narrowing=filter_options)
def filter_command(
    collection: CollectionArgument,
    also: Annotated[
        list[str] | None,
        Option(
            metavar="FIELD=TEXT",
            help="Add melodies with these words, even if filtered out. Can be repeated.",
            rich_help_panel=NARROW,
        ),
    ] = None,
    also_search: Annotated[
        list[str] | None,
        Option(
            metavar="MATCHER",
            help="Add the melodies most similar to the query. Can be repeated.",
            rich_help_panel=NARROW,
        ),
    ] = None,
    first: Annotated[
        int, Option("--first", min=1, help="Number of melodies per --also-search.", rich_help_panel=NARROW)
    ] = 10,
    list_: Annotated[
        bool,
        Option(
            "--list",
            help="Print the remaining melodies, with costs and the step that added each.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    save: Annotated[
        Path | None, Option(help="Write the remaining ids to this file, one per line.", rich_help_panel=OUTPUT)
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
            write_file(save, "".join(f"{id}\n" for id in selection.ids), f"{len(selection)} ids")
