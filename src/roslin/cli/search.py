"""roslin search, explain and matchers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.filter import Narrowing
from roslin.cli.options import (
    COMPARE,
    OUTPUT,
    CollectionArgument,
    DaskOption,
    PluginOption,
    ThreadsOption,
    in_panel,
    matcher_options,
    with_options,
    work_of,
)
from roslin.cli.output import FormatOption, OutputFormat, print_rows, print_table, progress_bar, remark, write_file
from roslin.cli.reading import QueryChoice, reading_options, tell
from roslin.display.table import Table

if TYPE_CHECKING:
    from roslin.cli.options import ChosenMatcher
    from roslin.cli.reading import Searched
    from roslin.matchers.explanation import Explanation
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.run import Run
    from roslin.run.run import Hit


class Direction(StrEnum):
    """A form of the query other than its own."""

    inverted = "inverted"
    retrograde = "retrograde"
    both = "both"


DirectionOption = Annotated[
    Direction | None,
    Option("--direction", help="Search for the query upside down, backwards, or both.", rich_help_panel=COMPARE),
]
SecondsOption = Annotated[
    float | None, Option("--seconds", help="Time limit in seconds. Results found by then are printed.")
]
_LEAST_SECONDS = 1e-3  # for another reading of the query, when the time is over


@in_panel(OUTPUT)
@dataclass(frozen=True)
class Presentation:
    """How a ranked list is printed, and to which files it is also written."""

    k: Annotated[int, Option("-k", min=1, help="Number of results.")] = 10
    html: Annotated[Path | None, Option("--html", help="Also write the results as an HTML page.")] = None
    run_file: Annotated[Path | None, Option("--run", help="Also write the results as a TREC run (or .csv, .json).")] = (
        None
    )
    format: FormatOption = OutputFormat.table

    def show(self, collection: Searched, query: Melody, run: Run) -> None:
        """Write the files, then print: the reader of the output may stop early, and the files must be complete."""
        from roslin.rows import form_of, write_text

        if self.html is not None:
            write_page(collection, query, run, self.html)
            remark(f"page written to {self.html}")
        if self.run_file is not None:
            if form_of(self.run_file) in (".csv", ".json", ".parquet"):
                run.write(self.run_file)
            else:
                write_text(self.run_file, run.to_trec())
        print_run(collection, run, self.format, query)


@with_options(
    shown=Presentation, asked=QueryChoice, wanted=matcher_options, options=reading_options, narrowing=Narrowing
)
def search_command(
    collection: Annotated[Path, Argument(help="The collection, NAME.roslin, or a folder of shards.")],
    shown: Presentation,
    sure: Annotated[bool, Option("--sure", help="Only results above chance.", rich_help_panel=COMPARE)] = False,
    radius: Annotated[
        float | None, Option("--radius", min=0, help="Largest distance to include.", rich_help_panel=COMPARE)
    ] = None,
    direction: DirectionOption = None,
    threads: ThreadsOption = 1,
    seconds: SecondsOption = None,
    dask: DaskOption = None,
    _plugins: PluginOption = None,
    *,
    asked: QueryChoice,
    wanted: ChosenMatcher,
    options: Options,
    narrowing: Narrowing,
) -> None:
    """Find the melodies most similar to a query in a collection, or in the part that filters leave.

    Example: roslin search mine.roslin "%G-2@3/4 '4CDE/2.F" -k 5 --where composer=gretry
    """
    from roslin.api import Collection
    from roslin.melody.variants import DIRECTIONS

    chosen, is_cut = wanted
    with _opened(collection, dask, is_whole=not (is_cut or narrowing.is_asked)) as opened:
        found = asked.readings(opened, options)
        if direction is not None:
            found = [DIRECTIONS[direction](found[0])]
        within = narrowing.selected(opened, found[0]) if isinstance(opened, Collection) else None
        began = time.monotonic()

        with progress_bar("Searching", total=1.0) as progress:

            def searched(query: Melody) -> Run:
                left = seconds
                if seconds is not None and query is not found[0]:
                    left = max(seconds - (time.monotonic() - began), _LEAST_SECONDS)
                if isinstance(opened, Collection):
                    return opened.search(
                        query, chosen, shown.k, place="start" if is_cut else None, within=within, exclude=asked.itself,
                        radius=radius, threads=threads, seconds=left, progress=progress,
                    )  # fmt: skip
                with work_of(dask, threads, left, progress) as work:
                    return opened.search(query, chosen, shown.k, exclude=asked.itself, radius=radius, work=work)

            if asked.itself or direction is not None:
                query, run = found[0], searched(found[0])
            else:
                from roslin.notation.query import surest

                query, run, _ = surest(found, searched, opened.__getitem__)
        if len(found) > 1:
            tell(query)
        shown.show(opened, query, run.matches if sure else run)


def _opened(path: Path, dask: str | None, *, is_whole: bool) -> Searched:
    """A collection, or shards if all melodies are searched as they are."""
    from roslin.api import Collection
    from roslin.collection.files import is_sharded
    from roslin.distributed.shards import Shards
    from roslin.errors import ArgumentError

    if is_sharded(path):
        if not is_whole:
            raise ArgumentError(
                "shards cannot be searched with filters, or with a matcher that does not support this --place"
            )
        return Shards(path)
    if dask:
        raise ArgumentError(f"{path}: a cluster searches shards; make some with: roslin collection shard")
    return Collection(path)


def print_run(collection: Searched, run: Run, format: OutputFormat, query: Melody | None = None) -> None:
    """Print a ranked list, with what the collection knows of each melody, and a line where chance begins."""
    from roslin.run.meaning import CHANCE_LINE, expected_words

    rows = [
        {
            "rank": hit.rank,
            "distance": hit.distance,
            "chance": "" if hit.expected is None else expected_words(hit.expected),
            "expected": hit.expected,
            "meaning": hit.meaning,
            "above_chance": hit.is_above_chance,
            "same_notes": hit.same,
            "coincides": hit.coincides,
            "id": hit.id,
            "title": melody.title,
            "composer": melody.composer,
            "key": melody.key,
            "metre": melody.metre,
            "unfinished": run.rankings[hit.query].unfinished,
        }
        for hit, melody in zip(run, collection.melodies(collection.numbers(run.ids)), strict=True)
    ]
    remark(*_heading(run, query))
    about = ("id", "title", "composer", "key", "metre")
    if format is not OutputFormat.table:
        unfinished = () if run.is_complete else ("unfinished",)
        coincides = ("coincides",) if any(hit.coincides for hit in run) else ()
        measured = ("rank", "distance", "expected", "meaning", "above_chance", "same_notes")
        columns = (*measured, *about, *unfinished, *coincides)
        print_table(Table(columns, tuple(rows)), format)
        return
    counted = ("chance", "meaning") if run.has_meaning else ()
    above = run.above_line
    columns = ("rank", "distance", *counted, *about)
    lines = str(Table(columns, tuple(rows))).splitlines() if rows else []
    if above < len(rows):
        lines.insert(len(lines) - len(rows) + above, CHANCE_LINE)
    if lines:
        typer.echo("\n".join(lines))


def _heading(run: Run, query: Melody | None) -> Iterator[str]:
    """The lines above a list of results."""
    from roslin.display.text import counted
    from roslin.run.meaning import FEW_NOTES

    yield from run.remarks
    if not run.has_meaning:
        return
    count = sum(ranking.agreeing for ranking in run.rankings.values())
    notes = max((hit.same for hit in run), default=0)
    exactly = f": {counted(count, 'melody has', 'melodies have')} exactly these {notes} notes" if count else ""
    yield f"{run.headline}{exactly}."
    size = 0 if query is None else len(query)
    if 0 < size < FEW_NOTES and run.above_line < len(run):
        yield f"{counted(size, 'note is', 'notes are')} few: add more, or search at the start (--place start)."


def write_page(collection: Searched, query: Melody, run: Run, target: Path) -> None:
    """Write a ranked list as one page that needs nothing else."""
    from importlib.metadata import version

    from roslin.display.text import counted
    from roslin.report.document import results_page
    from roslin.rows import write_whole

    melodies = list(collection.melodies(collection.numbers(run.ids)))
    searched = counted(len(collection), "melody", "melodies")
    note = f"Roslin {version('roslin')}; {collection.path.name}, {searched}."
    write_whole(target, results_page(query, run, melodies, note))


@with_options(asked=QueryChoice, wanted=matcher_options, options=reading_options)
def explain_command(
    collection: CollectionArgument,
    candidate: Annotated[str, Argument(help="The id of a melody of the collection.")],
    svg: Annotated[
        Path | None, Option("--svg", help="Also write a drawing of the matched notes.", rich_help_panel=OUTPUT)
    ] = None,
    html: Annotated[
        Path | None, Option("--html", help="Also write the explanation as an HTML page.", rich_help_panel=OUTPUT)
    ] = None,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    asked: QueryChoice,
    wanted: ChosenMatcher,
    options: Options,
) -> None:
    """Explain why a melody matches a query: which notes correspond, and the cost of each difference.

    Example: roslin explain mine.roslin auld-lang-syne "'4C/4.F8E4FA" --svg flow.svg
    """
    from roslin.api import Collection
    from roslin.notation.query import has_readings, surest
    from roslin.search.refine import beginnings, onsets_compared

    chosen, is_cut = wanted
    with Collection(collection) as opened:
        if candidate not in opened and asked.text is not None and asked.text in opened:  # typed in the other order
            candidate, asked = asked.text, replace(asked, text=candidate)
        found = asked.readings(opened, options)
        query, count = found[0], 1
        if not is_cut and chosen.estimates_chance and not asked.itself and has_readings(found):
            query, _, count = surest(found, lambda reading: opened.search(reading, chosen), opened.__getitem__)
        if len(found) > 1:
            tell(query)
        if is_cut:
            known, melody = int(opened.numbers([candidate])[0]), opened[candidate]
            among = beginnings(opened.packed(), onsets_compared(query))
            explanation = chosen.explain(query, among, known).about(query, melody)
        else:
            explanation = opened.explain(query, candidate, chosen)
        is_asked = not is_cut and format is OutputFormat.table
        hit = opened.found_as(query, candidate, chosen, readings=count) if is_asked else None
    if svg is not None:
        from roslin.report.flow import flow_svg

        write_file(svg, flow_svg(explanation) + "\n", "drawing")
    if html is not None:
        from importlib.metadata import version

        from roslin.report.document import explanation_page

        write_file(html, explanation_page(explanation, f"Roslin {version('roslin')}; {collection.name}."), "page")
    # Last: the reader of the output may stop early, and the files must be complete even then.
    _print_explanation(explanation, hit, format)


def _print_explanation(explanation: Explanation, hit: Hit | None, format: OutputFormat) -> None:
    from roslin.run.meaning import by_chance

    if format is OutputFormat.json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1))
    elif format is OutputFormat.tsv:
        print_table(explanation.table, format)
    else:
        typer.echo(str(explanation))
        if hit is not None and hit.expected is not None:
            typer.echo(f"{hit.meaning.capitalize()}: {by_chance(hit.expected)}")
            if hit.coincides:
                typer.echo("Found by the notes that coincide in time: --matcher p2 shows them.")


def matchers_command(format: FormatOption = OutputFormat.table, _plugins: PluginOption = None) -> None:
    """List the matchers.

    Example: roslin matchers --format json
    """
    from roslin.matchers.base import COMPOUND, MATCHERS

    named = {**MATCHERS, **{f"{name}(...)": kind for name, kind in COMPOUND.items()}}
    rows = [
        {
            "name": name,
            "summary": named[name].summary,
            "reference": named[name].reference,
            "from": MATCHERS.origin(named[name].name),
        }
        for name in sorted(named)
    ]
    print_rows(rows, ("name", "summary", "reference", "from"), format)
