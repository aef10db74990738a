"""roslin concordances; further commands of the group are in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.default_command import DefaultCommandGroup
from roslin.cli.output import FormatOption, OutputFormat, print_table, print_tables, progress_bar, remark

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from roslin.api import Collection

__all__ = ["app"]


class _Group(DefaultCommandGroup):
    """`roslin concordances X` is `roslin concordances find X`."""

    default = "find"


app = typer.Typer(
    cls=_Group,
    help="Which melodies of a collection are the same tune.\n\n"
    "Example: roslin concordances mine.roslin\n\n"
    "The word find may be left out; its options: roslin concordances find --help.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

CollectionPath = Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")]
FolderOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="The folder for what is found; NAME.concordances if none.")
]


@app.command("find")
def find_command(
    collection: CollectionPath,
    level: Annotated[
        str, typer.Option("--level", help="How sure: same, probably, perhaps, or a number of chance matches.")
    ] = "same",
    fast: Annotated[
        bool, typer.Option("--fast", help="Compare only melodies that share something rare; finds nearly all.")
    ] = False,
    only: Annotated[
        list[Path] | None, typer.Option("--only", help="Only pairs with a melody of this file; several times.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="How many threads work at once.")] = 2,
    output: FolderOption = None,
    most: Annotated[int, typer.Option("-k", min=1, help="How many groups to print.")] = 20,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Compare all melodies with each other, and group those that are the same tune. Stopped, it goes on where it was.

    Example: roslin concordances find mine.roslin --level probably -o mine.concordances
    """
    from roslin.api import Collection
    from roslin.concordances.find import concordances_folder, find_concordances, level_of
    from roslin.concordances.tables import groups_table, kinds_table
    from roslin.search.work import Work

    wanted, folder = level_of(level), output or concordances_folder(collection)
    with Collection(collection) as opened:
        new = _numbers(opened, only) if only else None
        try:
            with progress_bar("Concordances", total=1.0) as progress, Work(threads, progress=progress) as work:
                found = find_concordances(opened, wanted, work, folder, exact=not fast, new=new)
        except KeyboardInterrupt:
            remark(f"what is complete is kept in {folder}; the same command goes on from there")
            raise
        kinds, groups = kinds_table(found), groups_table(found, most)
        count, pairs = len(found.groups), len(found.pairs)
    remark(f"{pairs} pairs in {count} groups, at most {wanted:g} expected by chance for each; kept in {folder}")
    if fast:
        remark("fast: pairs that share nothing rare were not compared (leave out --fast to compare all)")
    if format is OutputFormat.table:
        print_tables([kinds, groups], format)
        if count > most:
            remark(f"the first {most} of {count} groups; -k shows more")
    else:
        print_table(groups, format)


def _numbers(opened: Collection, paths: list[Path]) -> npt.NDArray[np.int64]:
    """The melodies of the collection that files name."""
    from roslin.errors import ArgumentError
    from roslin.notation import load

    ids = [melody.id for path in paths for melody in load(path)]
    known = [id for id in ids if id and id in opened]
    if not known:
        raise ArgumentError(
            f"none of the {len(ids)} melodies of {', '.join(map(str, paths))} is in {opened.path}; "
            "add them first: roslin collection add"
        )
    if len(known) < len(ids):
        remark(f"{len(ids) - len(known)} of {len(ids)} melodies are not in the collection, and are left out")
    return opened.numbers(known)
