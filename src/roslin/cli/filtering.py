"""The options that narrow a collection down, for every command that does so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from roslin.api import Selection
    from roslin.collection.filters import Filter
    from roslin.melody import Melody

__all__ = ["Narrowing", "filter_options", "needed", "pair"]

_RANGE = "LOW..HIGH, LOW.. or ..HIGH"
_SEMITONES = f"semitones or names: {_RANGE}, such as octave..minor tenth"


@dataclass(frozen=True)
class Narrowing:
    """The filters that were asked for, in their order, and whether near-duplicates go then.

    `near` are the contour and the rhythm that a melody must be near to; some of them are those of the query.
    """

    cheap: list[Filter]
    near: list[tuple[Callable[..., Filter], str]]
    costs: str | None
    known: list[Filter]
    unique: bool
    unique_exactly: bool

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to narrow down."""
        return bool(self.cheap or self.near or self.known or self.unique or self.unique_exactly)

    def filters(self, query: Melody | None) -> list[Filter]:
        """All of them, cheap ones first."""
        from roslin.represent.edits import parse_costs

        costs = None if self.costs is None else parse_costs(self.costs)
        return [*self.cheap, *(make(*_near(given, query), costs) for make, given in self.near), *self.known]

    def thinned(self, selection: Selection) -> Selection:
        """The selection without near-duplicates, if that was asked for."""
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
        interval, bounds = pair(text, "--share", "INTERVAL=RANGE")
        chain.append(known.share_of_interval(interval, *parse_range(bounds)))
    chain += [known.repeats_motive(text, times or 2) for text in motive or ()]
    if costs is not None and contour is None and rhythm is None:
        raise typer.BadParameter("--costs is for --contour and --rhythm; there is neither")
    makers = ((known.contour_distance, contour), (known.rhythm_distance, rhythm))
    near = [(make, given) for make, given in makers if given is not None]
    words = [known.metadata(*pair(text, "--where", "FIELD=TEXT")) for text in where or ()]
    return Narrowing(chain, near, costs, words, unique, unique_exactly)


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    """What stands on both sides of the last = of an option."""
    left, sign, right = text.rpartition("=")
    if not (left and sign and right):
        raise typer.BadParameter(f"{option} must be {form}; got {text!r}")
    return left, right


def needed(query: Melody | None, option: str) -> Melody:
    """The query, which an option cannot do without."""
    if query is None:
        raise typer.BadParameter(f"{option} needs a query: one of --pae, --file and --id")
    return query


def _near(text: str, query: Melody | None) -> tuple[str | Melody, float]:
    """What a contour or a rhythm is to be near to, letters or the query, and at which cost."""
    letters, _, number = text.rpartition("=")
    try:
        cost = float(number)
    except ValueError:
        raise typer.BadParameter(f"--contour and --rhythm must be COST or LETTERS=COST; got {text!r}") from None
    return letters or needed(query, "--contour and --rhythm without LETTERS="), cost
