"""roslin concordances review, export and marc: what people decided, for others."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.concordances import CollectionPath
from roslin.cli.output import FormatOption, OutputFormat, print_table, remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roslin.concordances.concordance import Concordances
    from roslin.concordances.review import Review

app = typer.Typer(
    help="What people decided about concordances.\n\nExample: roslin concordances review list mine.roslin",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FoundOption = Annotated[
    Path | None, typer.Option("--folder", help="What `roslin concordances` kept; NAME.concordances if none.")
]


@app.command("list")
def list_command(
    review: Annotated[Path, typer.Argument(help="A collection, or a review file.")],
    format: FormatOption = OutputFormat.table,
) -> None:
    """Print the state of every pair that somebody has decided about.

    Example: roslin concordances review list mine.roslin --format tsv
    """
    from roslin.concordances.review import existing_review, opened_review

    existing_review(review)
    with opened_review(review) as opened:
        table, notes = opened.to_table(), opened.notes
    for note in notes:
        remark(note)
    print_table(table, format)


@app.command("merge")
def merge_command(
    reviews: Annotated[list[Path], typer.Argument(help="Review files, or collections.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A file or a collection; what it holds is kept.")],
) -> None:
    """Put the decisions of several people into one file. Nothing is lost, and the order does not matter.

    Example: roslin concordances review merge anna.jsonl ben.jsonl -o mine.roslin
    """
    from roslin.concordances.review import merge_into
    from roslin.display.text import counted

    done = merge_into(reviews, output)
    for note in done.notes:
        remark(note)
    decisions, pairs = counted(done.decisions, "decision"), counted(done.pairs, "pair")
    remark(f"{done.path}: {decisions} about {pairs}, {done.added} of them new")
    for first, second in done.disputed:
        remark(f"disputed: {first} and {second}")


def export_command(
    what: Annotated[str, typer.Argument(help="pairs, groups (CSV), graphml or truth (for roslin evaluate).")],
    collection: CollectionPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    folder: FoundOption = None,
) -> None:
    """Write pairs, groups, a graph or a truth for other programs, with what people decided.

    Example: roslin concordances export pairs mine.roslin -o pairs.csv
    """
    from roslin.concordances.export import export

    with _reviewed(collection, folder) as (found, review):
        left_out = export(what, found, review, output)
    _tell(left_out)
    remark(f"written: {output}")


def marc_command(
    collection: CollectionPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for RECORD.xml, one for each record.")],
    source: Annotated[
        list[Path] | None,
        typer.Option("--source", help="MARCXML of the records: links that they have are not repeated; several times."),
    ] = None,
    folder: FoundOption = None,
) -> None:
    """Write a MARC field 787 for each accepted pair of records, as a patch file for each record.

    Example: roslin concordances marc mine.roslin --source export.xml.gz -o patches
    """
    from roslin.concordances.marc import existing_links, patches_of, write_patches
    from roslin.display.text import counted

    existing = existing_links(source) if source else None
    with _reviewed(collection, folder) as (found, review):
        patches = patches_of(found, review, existing)
    write_patches(patches, output)
    _tell(patches.left_out)
    if not patches.patches:
        remark(f"no accepted pair needs a new field (to decide about pairs: roslin serve {collection})")
    remark(f"{counted(patches.fields, 'field')} for {counted(len(patches.patches), 'record')} in {output}")


@contextmanager
def _reviewed(collection: Path, folder: Path | None) -> Iterator[tuple[Concordances, Review]]:
    from roslin.api import Collection
    from roslin.concordances.concordance import Concordances
    from roslin.concordances.find import concordances_folder
    from roslin.concordances.review import Review

    with Collection(collection) as opened:
        review = Review.of(opened)
        for note in review.notes:
            remark(note)
        yield Concordances.read(folder or concordances_folder(collection), opened), review


def _tell(left_out: dict[str, int]) -> None:
    for reason, number in sorted(left_out.items()):
        remark(f"left out: {number} ({reason})")
