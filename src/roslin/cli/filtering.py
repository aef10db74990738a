"""The options that narrow a collection down, for every command that does so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from roslin.api import Collection, Selection
    from roslin.collection.filters import Filter
    from roslin.melody import Melody
    from roslin.represent.edits import EditCosts

    MakeNear = Callable[[str | Melody, float, EditCosts | None], Filter]

__all__ = ["Narrowing", "filter_options", "metadata_of", "needed"]

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


@dataclass(frozen=True)
class Narrowing:
    """The filters that were asked for, in their order, and whether near-duplicates go then.

    `near` are filters that compare contour or rhythm, with what was typed for each: they may need the query.
    """

    filters: tuple[Filter, ...]
    near: tuple[tuple[MakeNear, str], ...]
    costs: EditCosts | None
    words: tuple[Filter, ...]
    unique: bool
    unique_exactly: bool

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to narrow down."""
        return bool(self.filters or self.near or self.words) or self.unique or self.unique_exactly

    def of(self, collection: Collection, query: Melody | None) -> Selection:
        """What is left of a collection."""
        return self.without_duplicates(self.filtered(collection, query))

    def filtered(self, collection: Collection, query: Melody | None) -> Selection:
        """What the filters leave."""
        near = [make(*_near(text, query), self.costs) for make, text in self.near]
        return collection.filter(*self.filters, *near, *self.words)

    def without_duplicates(self, selection: Selection) -> Selection:
        """What is left then, if near-duplicates are to go."""
        if self.unique or self.unique_exactly:
            return selection.without_near_duplicates(exact_rhythm=self.unique_exactly)
        return selection


def filter_options(
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
    unique_exactly: Annotated[
        bool, typer.Option("--unique-exactly", help="The same, but keep what has another rhythm.")
    ] = False,
) -> Narrowing:
    """Filters from what was typed, cheap ones first."""
    from roslin.collection import filters as known
    from roslin.collection.filters import parse_range
    from roslin.represent.edits import parse_costs

    if costs is not None and contour is None and rhythm is None:
        raise typer.BadParameter("--costs is for --contour and --rhythm; there is neither")
    if times is not None and not motive:
        raise typer.BadParameter("--times says in how many places a --motive must be; there is none")
    if unique and unique_exactly:
        raise typer.BadParameter("choose one of --unique and --unique-exactly")
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
    near = tuple(
        (make_near, given)
        for make_near, given in ((known.contour_distance, contour), (known.rhythm_distance, rhythm))
        if given is not None
    )
    words = tuple(metadata_of(text, "--where") for text in where or ())
    changes = None if costs is None else parse_costs(costs)
    return Narrowing(tuple(chain), near, changes, words, unique, unique_exactly)


def metadata_of(text: str, option: str) -> Filter:
    """The filter that FIELD=TEXT asks for."""
    from roslin.collection.filters import metadata

    return metadata(*_pair(text, option, "FIELD=TEXT"))


def needed(query: Melody | None, option: str) -> Melody:
    """The query, which this option needs."""
    if query is None:
        raise typer.BadParameter(f"{option} needs a query: one of --pae, --file and --id")
    return query


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
    return letters or needed(query, "--contour and --rhythm without LETTERS="), cost
