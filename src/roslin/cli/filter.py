"""roslin filter, and the filters of the other commands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from roslin.cli.options import NARROW, OUTPUT, CollectionArgument, in_panel, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark, write_file
from roslin.cli.reading import QueryChoice, reading_options, tell

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.melody import Melody
    from roslin.notation import Options

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"
_NO_FILTERS = ("times", "costs", "unique", "unique_exactly")


@in_panel(NARROW)
@dataclass(frozen=True)
class Narrowing:
    """The filters as they were typed, and whether near-duplicates are removed after them."""

    pitch_range: Annotated[str | None, Option(help=f"Lowest to highest note, {_SEMITONES}.")] = None
    max_interval: Annotated[
        str | None, Option(help="Largest interval between consecutive notes, in the same form as --pitch-range.")
    ] = None
    duration_ratio: Annotated[str | None, Option(help=f"Ratio of shortest to longest note, {_RANGE}.")] = None
    note_count: Annotated[str | None, Option(help=f"Number of notes, {_RANGE}.")] = None
    contains: Annotated[
        list[str] | None,
        Option(
            metavar="INTERVALS",
            help='Intervals, "fifth up, third down" or "+5 -3". Can be repeated: one of them is enough.',
        ),
    ] = None
    contains_semitones: Annotated[
        list[str] | None, Option(metavar="INTERVALS", help='Intervals in semitones, "+7 -4" or "minor third up".')
    ] = None
    share: Annotated[
        list[str] | None,
        Option(
            metavar="INTERVAL=RANGE",
            help="Share of an interval among all intervals, third=0.5.. (at least half thirds).",
        ),
    ] = None
    motive: Annotated[
        list[str] | None, Option(metavar="INTERVALS", help='A repeated motive with these intervals, "unison, unison".')
    ] = None
    times: Annotated[int | None, Option(help="Number of places with the --motive. Default: 2.")] = None
    pattern: Annotated[
        list[str] | None,
        Option(
            metavar="PATTERN",
            help='Intervals with wildcards, choices, repeats and rhythm: "^ +5 .{1,3} (-2 | -3s) .:L". '
            "Can be repeated: all must match.",
        ),
    ] = None
    contour: Annotated[
        str | None,
        Option(metavar="[LETTERS=]COST", help="Contour close to that of the query, or to letters: 3, UUDR=1."),
    ] = None
    rhythm: Annotated[
        str | None,
        Option(metavar="[LETTERS=]COST", help="Rhythm close to that of the query, or to letters (L, S, =): 3, LS===2."),
    ] = None
    costs: Annotated[
        str | None,
        Option(
            metavar="NAME=COST ...",
            help='Costs for --contour and --rhythm, "insertion=0.5 deletion=1 UD=2". Default: 1.',
        ),
    ] = None
    where: Annotated[
        list[str] | None, Option(metavar="FIELD=TEXT", help="Words in title, composer, key, metre, ...")
    ] = None
    only: Annotated[
        list[str] | None,
        Option(
            metavar="FIELD=VALUE",
            help="A whole field: key=g, library=CZ-Bu, century=18. Can be repeated: one is enough.",
        ),
    ] = None
    unique: Annotated[
        bool, Option("--unique", help="Remove melodies that duplicate another one or are contained in it.")
    ] = False
    unique_exactly: Annotated[bool, Option("--unique-exactly", help="Like --unique, but keep rhythmic variants.")] = (
        False
    )

    def __post_init__(self) -> None:
        if self.costs is not None and self.contour is None and self.rhythm is None:
            raise typer.BadParameter("--costs goes with --contour or --rhythm: give one of them, or omit --costs")
        if self.times is not None and not self.motive:
            raise typer.BadParameter("--times goes with --motive: give a --motive, or omit --times")
        if self.unique and self.unique_exactly:
            raise typer.BadParameter("choose one of --unique and --unique-exactly")

    @property
    def typed(self) -> dict[str, list[str]]:
        """The texts of each filter that is wanted, by its name."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NO_FILTERS}
        return {
            name: [text] if isinstance(text, str) else text for name, text in given.items() if text not in (None, [])
        }

    @property
    def is_asked(self) -> bool:
        return bool(self.typed) or self.unique or self.unique_exactly

    def selected(self, collection: Collection, query: Melody | None) -> Selection | None:
        """The melodies that are left, with a remark about them; None if nothing was typed."""
        if not self.is_asked:
            return None
        selection = self.without_duplicates(self.filtered(collection, query))
        remark(f"Searched {selection.summary}")
        return selection

    def filtered(self, collection: Collection, query: Melody | None) -> Selection:
        from roslin.collection.filters import all_asked
        from roslin.represent.edits import parse_costs

        def option(name: str) -> str:
            return f"--{name.replace('_', '-')}"

        costs = None if self.costs is None else parse_costs(self.costs)
        return collection.filter(*all_asked(self.typed, times=self.times or 2, query=query, costs=costs, label=option))

    def without_duplicates(self, selection: Selection) -> Selection:
        if not (self.unique or self.unique_exactly):
            return selection
        return selection.without_near_duplicates(exact_rhythm=self.unique_exactly)


@in_panel(NARROW)
@dataclass(frozen=True)
class Additions:
    """Melodies that stay even if they are filtered out."""

    also: Annotated[
        list[str] | None,
        Option(metavar="FIELD=TEXT", help="Add melodies with these words, even if filtered out. Can be repeated."),
    ] = None
    also_search: Annotated[
        list[str] | None,
        Option(metavar="MATCHER", help="Add the melodies most similar to the query. Can be repeated."),
    ] = None
    first: Annotated[int, Option(min=1, help="Number of melodies per --also-search.")] = 10

    def to(self, selection: Selection, opened: Collection, query: Melody | None, exclude: tuple[str, ...]) -> Selection:
        from roslin.collection.filters import metadata_of

        selection = selection.also(*(metadata_of(text, "--also") for text in self.also or ()))
        for matcher in self.also_search or ():
            if query is None:
                raise typer.BadParameter("--also-search needs a query: one of --pae, --file and --id")
            with progress_bar("Searching", total=1.0) as progress:
                run = opened.search(query, matcher, self.first, exclude=exclude, progress=progress)
            selection = selection.also(run)
        return selection


@with_options(added=Additions, asked=QueryChoice, options=reading_options, narrowing=Narrowing)
def filter_command(
    collection: CollectionArgument,
    added: Additions,
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
    """Filter a collection step by step, and print how many melodies each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection

    with Collection(collection) as opened:
        query = _query(asked, opened, options)
        selection = added.to(narrowing.filtered(opened, query), opened, query, asked.itself)
        selection = narrowing.without_duplicates(selection)
        print_table(selection.candidates if list_ else selection.to_table(), format)
        if save is not None:
            write_file(save, "".join(f"{id}\n" for id in selection.ids), f"{len(selection)} ids")


def _query(asked: QueryChoice, opened: Collection, options: Options) -> Melody | None:
    if not asked.is_given:
        return None
    found = asked.readings(opened, options)
    return tell(found[0]) if len(found) > 1 else found[0]
