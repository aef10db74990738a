"""roslin search."""

from __future__ import annotations

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
    StrictOption,
    melody_from_file,
    melody_from_text,
    reading_options,
    refuse_options,
)
from roslin.display.table import Table

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.distributed.shards import Shards
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.run import Run

    Searched = Collection | Shards

__all__ = ["chosen_query", "print_run", "search_command", "write_page"]


# So many are looked at for what is more than chance: melodies of a few notes are near to everything, and mean nothing.
_DEPTH = 50


@with_options(options=reading_options, narrowing=filter_options)
def search_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin, or a folder of shards.")],
    pae: Annotated[str | None, typer.Option("--pae", help="The query as text: Plaine & Easie, or ABC.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    matcher: Annotated[str | None, typer.Option("--matcher", help="How to compare; see: roslin matchers.")] = None,
    compare: CompareOption = None,
    place: PlaceOption = None,
    key: KeyOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what is no more alike than chance.")] = False,
    k: Annotated[int, typer.Option("-k", min=1, help="How many results.")] = 10,
    radius: Annotated[float | None, typer.Option("--radius", min=0, help="No result farther than this.")] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="How many threads work at once.")] = 1,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Stop after so long, with what is found by then.")
    ] = None,
    dask: DaskOption = None,
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

    Example: roslin search mine.roslin --pae "%G-2@3/4 '4CDE/2.F" -k 5 --where composer=gretry
    """
    from roslin.api import Collection
    from roslin.distributed.shards import Shards, is_sharded
    from roslin.errors import ArgumentError
    from roslin.matchers import DEFAULT_MATCHER
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.modes import Mode
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
        query = chosen_query(opened, pae, file, id, number, options, strict=strict)
        itself = () if id is None or file is not None else (id,)
        within = None if isinstance(opened, Shards) else _selected(opened, narrowing, query)
        most = k if everything else max(k, _DEPTH)
        with progress_bar("Searching", total=1.0) as progress:
            if isinstance(opened, Shards):
                with work_of(dask, threads, seconds, progress) as work:
                    run = opened.search(query, chosen, most, exclude=itself, radius=radius, work=work)
            else:
                find = opened.search_beginnings if is_cut else opened.search
                run = find(
                    query, chosen, most, within=within, exclude=itself, radius=radius,
                    threads=threads, seconds=seconds, progress=progress,
                )  # fmt: skip
        if html is not None:
            write_page(opened, query, run, html, k, everything=everything)
            remark(f"page written to {html}")
        if run_file is not None:
            shown = run if everything else run.matches[:k]
            if form_of(run_file) in (".csv", ".json", ".parquet"):
                shown.write(run_file)
            else:
                write_text(run_file, shown.to_trec())
        # Last: whoever reads may stop reading, and the files are to be there all the same.
        print_run(opened, run, format, k, everything=everything)


def _selected(collection: Collection, narrowing: Narrowing, query: Melody) -> Selection | None:
    """What the filters leave, said in a sentence; None without filters."""
    if not narrowing.is_asked:
        return None
    selection = narrowing.of(collection, query)
    remark(f"Searched {selection.summary}")
    return selection


def chosen_query(
    collection: Searched,
    pae: str | None,
    file: Path | None,
    id: str | None,
    number: int | None,
    options: Options,
    *,
    strict: bool,
) -> Melody:
    """The query that the options of a command name, exactly one."""
    if (pae is not None) + (file is not None or id is not None) != 1:
        raise typer.BadParameter("give the query with exactly one of --pae, --file and --id (--file may have an --id)")
    if file is not None:
        return melody_from_file(file, id, number, options, strict=strict)
    refuse_options(options)
    if number is not None:
        raise typer.BadParameter("--number is for a melody of a --file; there is none")
    return collection[id] if id is not None else melody_from_text(pae or "", strict=strict)


def print_run(
    collection: Searched, run: Run, format: OutputFormat, k: int | None = None, *, everything: bool = False
) -> None:
    """Print what chance does not explain of a ranked list, with what the collection says about each melody."""
    from roslin.run.meaning import expected_words

    shown = (run if everything else run.matches)[:k]
    melodies = collection.melodies(collection.numbers(shown.ids))
    rows = [
        {
            "rank": hit.rank,
            "distance": hit.distance,
            "chance": "" if hit.expected is None else expected_words(hit.expected),
            "expected": hit.expected,
            "meaning": hit.meaning,
            "id": hit.id,
            "title": melody.title,
            "composer": melody.composer,
            "key": melody.key,
            "metre": melody.metre,
            "unfinished": run.rankings[hit.query].unfinished,
        }
        for hit, melody in zip(shown, melodies, strict=True)
    ]
    for said in _said(run, shown):
        remark(said)
    unfinished = () if run.is_complete or format is OutputFormat.table else ("unfinished",)
    counted = ("chance",) if format is OutputFormat.table else ("expected",)
    table = Table(
        ("rank", "distance", *counted, "meaning", "id", "title", "composer", "key", "metre", *unfinished), tuple(rows)
    )
    if rows or format is not OutputFormat.table:
        print_table(table, format)


def _said(run: Run, shown: Run) -> Iterator[str]:
    """What a person must know about a list before reading it."""
    yield from run.remarks
    if not run.is_close:
        is_some = len(run.matches) > 0
        follows = "These may be chance:" if is_some else "These are no more alike than chance:"
        yield f"Nothing close was found.{f' {follows}' if len(shown) else ''}"
    if len(shown) == len(run.matches) < len(run):
        which = "the rest" if len(shown) else "what is nearest"
        hint = "" if run.is_close or len(shown) else "; or compare otherwise, with --compare, --place or --matcher"
        yield f"All others are no more alike than chance; --all shows {which}{hint}."


def write_page(
    collection: Searched, query: Melody, run: Run, target: Path, k: int | None = None, *, everything: bool = False
) -> None:
    """Write what chance does not explain of a ranked list as one page that needs nothing else."""
    from importlib.metadata import version

    from roslin.report.results import results_page
    from roslin.rows import write_whole

    shown = (run if everything else run.matches)[:k]
    melodies = list(collection.melodies(collection.numbers(shown.ids)))
    note = f"Roslin {version('roslin')}; {collection.path.name}, {len(collection)} melodies."
    write_whole(target, results_page(query, run, shown, melodies, note))
