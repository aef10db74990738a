"""roslin filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.filtering import Narrowing, filter_options, needed
from roslin.cli.options import with_options
from roslin.cli.output import FormatOption, OutputFormat, print_table, progress_bar, remark
from roslin.cli.reading import PaeOption, QueryArgument, StrictOption, reading_options, text_of
from roslin.cli.search import chosen_query

if TYPE_CHECKING:
    from roslin.notation import Options


@with_options(options=reading_options, narrowing=filter_options)
def filter_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")],
    text: QueryArgument = None,
    also: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=TEXT", help="Then add what has these words, filtered out or not.")
    ] = None,
    also_search: Annotated[
        list[str] | None, typer.Option(metavar="MATCHER", help="Then add what is most similar to the query.")
    ] = None,
    first: Annotated[int, typer.Option("--first", min=1, help="How many of each --also-search.")] = 10,
    pae: PaeOption = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    strict: StrictOption = False,
    list_: Annotated[
        bool,
        typer.Option("--list", help="Print the melodies that are left, with costs, and by which way they came in."),
    ] = False,
    save: Annotated[Path | None, typer.Option(help="Write the ids that are left, one a line.")] = None,
    format: FormatOption = OutputFormat.table,
    *,
    options: Options,
    narrowing: Narrowing,
) -> None:
    """Narrow a collection down, step by step, and say what each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection
    from roslin.collection.asked import metadata_of
    from roslin.rows import write_whole

    with Collection(collection) as opened:
        query = None
        if (text, pae, file, id, number) != (None,) * 5:
            query = chosen_query(opened, text_of(text, pae), file, id, number, options, strict=strict)
        selection = narrowing.filtered(opened, query).also(*(metadata_of(text, "--also") for text in also or ()))
        for matcher in also_search or ():
            itself = () if id is None or file is not None else (id,)
            with progress_bar("Searching", total=1.0) as progress:
                found = opened.search(needed(query, "--also-search"), matcher, first, exclude=itself, progress=progress)
            selection = selection.also(found)
        selection = narrowing.without_duplicates(selection)
        print_table(selection.candidates if list_ else selection.to_table(), format)
        if save is not None:
            write_whole(save, "".join(f"{id}\n" for id in selection.ids))
            remark(f"{len(selection)} ids written to {save}")
