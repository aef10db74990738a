"""roslin filter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roslin.cli.filtering import Narrowing, filter_options
from roslin.cli.options import with_options
from roslin.cli.output import FormatOption, OutputFormat, print_rows, remark

__all__ = ["filter_command"]


@with_options(narrowing=filter_options)
def filter_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")],
    save: Annotated[Path | None, typer.Option(help="Write the ids that are left, one a line.")] = None,
    format: FormatOption = OutputFormat.table,
    *,
    narrowing: Narrowing,
) -> None:
    """Narrow a collection down, step by step, and say what each step leaves.

    Example: roslin filter mine.roslin --pitch-range 12..15 --max-interval 8..9 --duration-ratio ..0.51
    --contains "fifth up, third down, unison, sixth up" --contains "third up, unison, unison, sixth up"
    """
    from roslin.api import Collection

    with Collection(collection) as opened:
        selection = narrowing.of(opened)
        table = selection.to_table()
        print_rows(table.rows, table.columns, format)
        if save is not None:
            save.write_text("".join(f"{id}\n" for id in selection.ids), encoding="utf-8")
            remark(f"{len(selection)} ids written to {save}")
