"""roslin search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.filtering import Narrowing, filter_options
from roslin.cli.modes import CompareOption, KeyOption, PlaceOption
from roslin.cli.options import DaskOption, with_options, work_of
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.plugins import PluginOption
from roslin.cli.reading import (
    NotationOption,
    PaeOption,
    QueryArgument,
    StrictOption,
    melody_from_file,
    reading_options,
    refuse_options,
    tell,
    text_of,
)
from roslin.display.table import Table

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.distributed.shards import Shards
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.run import Run

    Searched = Collection | Shards


_LEAST_SECONDS = 1e-3  # for another reading of the query, when the time is over


@with_options(options=reading_options, narrowing=filter_options)
def search_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin, or a folder of shards.")],
    text: QueryArgument = None,
    pae: PaeOption = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    matcher: Annotated[str | None, typer.Option("--matcher", help="How to compare; see: roslin matchers.")] = None,
    compare: CompareOption = None,
    place: PlaceOption = None,
    key: KeyOption = None,
    sure: Annotated[bool, typer.Option("--sure", help="Only results above chance.")] = False,
    k: Annotated[int, typer.Option("-k", min=1, help="How many results.")] = 10,
    radius: Annotated[float | None, typer.Option("--radius", min=0, help="No result farther than this.")] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="How many threads work at once.")] = 1,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Stop after so long, with what is found by then.")
    ] = None,
    dask: DaskOption = None,
    notation: NotationOption = None,
    strict: StrictOption = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write the results as a page.")] = None,
    run_file: Annotated[
        Path | None, typer.Option("--run", help="Also write the results as a TREC run (or .csv, .json).")
    ] = None,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
    narrowing: Narrowing,
) -> None:
    """Find the melodies most similar to a query, among all or among those that the filters leave.

    Example: roslin search mine.roslin "%G-2@3/4 '4CDE/2.F" -k 5 --where composer=gretry
    """
    from roslin.api import Collection
    from roslin.distributed.shards import Shards, is_sharded
    from roslin.errors import ArgumentError
    from roslin.matchers import DEFAULT_MATCHER
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.modes import Mode
    from roslin.notation.query import surest
    from roslin.rows import form_of, write_text

    chosen, is_cut = Mode(compare, place, key).of(matcher_of(matcher or DEFAULT_MATCHER))
    shards = is_sharded(collection)
    if dask and not shards:
        raise ArgumentError(f"{collection}: a cluster searches shards; make some with: roslin collection shard")
    if shards and (is_cut or narrowing.is_asked):
        raise ArgumentError(
            "shards are searched whole: without filters, and with matchers that have the --place asked for"
        )
    with Shards(collection) if shards else Collection(collection) as opened:
        found = chosen_readings(opened, text_of(text, pae), file, id, number, options, notation, strict=strict)
        itself = () if id is None or file is not None else (id,)
        within = None if isinstance(opened, Shards) else _selected(opened, narrowing, found[0])
        began = time.monotonic()

        with progress_bar("Searching", total=1.0) as progress:

            def searched(query: Melody) -> Run:
                left = seconds
                if seconds is not None and query is not found[0]:
                    left = max(seconds - (time.monotonic() - began), _LEAST_SECONDS)
                if isinstance(opened, Shards):
                    with work_of(dask, threads, left, progress) as work:
                        return opened.search(query, chosen, k, exclude=itself, radius=radius, work=work)
                return opened.search(
                    query, chosen, k, place="start" if is_cut else None, within=within, exclude=itself, radius=radius,
                    threads=threads, seconds=left, progress=progress,
                )  # fmt: skip

            query, run = (found[0], searched(found[0])) if itself else surest(found, searched)[:2]
        if len(found) > 1:
            tell(query)
        run = run.matches if sure else run
        if html is not None:
            write_page(opened, query, run, html)
            remark(f"page written to {html}")
        if run_file is not None:
            if form_of(run_file) in (".csv", ".json", ".parquet"):
                run.write(run_file)
            else:
                write_text(run_file, run.to_trec())
        # Last: whoever reads may stop reading, and the files are to be there all the same.
        print_run(opened, run, format, query)


def _selected(collection: Collection, narrowing: Narrowing, query: Melody) -> Selection | None:
    """What the filters leave, said in a sentence; None without filters."""
    if not narrowing.is_asked:
        return None
    selection = narrowing.of(collection, query)
    remark(f"Searched {selection.summary}")
    return selection


def chosen_query(
    collection: Searched,
    text: str | None,
    file: Path | None,
    id: str | None,
    number: int | None,
    options: Options,
    notation: str | None = None,
    *,
    strict: bool,
) -> Melody:
    """The query that a command names, exactly one, in its first reading."""
    found = chosen_readings(collection, text, file, id, number, options, notation, strict=strict)
    return tell(found[0]) if len(found) > 1 else found[0]


def chosen_readings(
    collection: Searched,
    text: str | None,
    file: Path | None,
    id: str | None,
    number: int | None,
    options: Options,
    notation: str | None = None,
    *,
    strict: bool,
) -> list[Melody]:
    """The query in all its readings (`roslin.notation.query`); a single one has been told."""
    if (text is not None) + (file is not None or id is not None) != 1:
        named = "QUERY, --pae, --file and --id"
        raise typer.BadParameter(f"give the query with exactly one of {named} (--file may have an --id)")
    if file is not None:
        return [melody_from_file(file, id, number, options, notation, strict=strict)]
    refuse_options(options)
    if number is not None:
        raise typer.BadParameter("--number is for a melody of a --file; there is none")
    if text is None:
        return [collection[str(id)]]
    from roslin.notation.query import readings

    found = readings(text, notation, strict=strict)
    return [tell(found[0])] if len(found) == 1 else found


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
    for line in _heading(run, query):
        remark(line)
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
    """What a person must know about a list before reading it."""
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
    from roslin.report.results import results_page
    from roslin.rows import write_whole

    melodies = list(collection.melodies(collection.numbers(run.ids)))
    searched = counted(len(collection), "melody", "melodies")
    note = f"Roslin {version('roslin')}; {collection.path.name}, {searched}."
    write_whole(target, results_page(query, run, melodies, note))
