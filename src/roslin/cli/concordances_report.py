"""roslin concordances report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roslin.cli.concordances import CollectionPath
from roslin.cli.output import progress_bar, remark


def report_command(
    collection: CollectionPath,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="What `roslin concordances` kept; NAME.concordances if none.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A page (NAME.html) or a folder of pages; FOLDER/report if none."),
    ] = None,
    link: Annotated[str, typer.Option("--link", help="Address of a source, with {id} or {record}.")] = "",
) -> None:
    """Write pages that show every group: notation one under the other, differences marked, sources side by side.

    Example: roslin concordances report mine.roslin -o concordances.html
    """
    from roslin.api import Collection
    from roslin.concordances.concordance import Concordances
    from roslin.concordances.find import concordances_folder
    from roslin.report.concordances import source_link, write_report

    kept = folder or concordances_folder(collection)
    linked = source_link(link) if link else None
    with Collection(collection) as opened:
        found = Concordances.read(kept, opened)
        with progress_bar("Report", total=1.0) as progress:
            page = write_report(found, output or kept / "report", link=linked, progress=progress)
    remark(f"open {page}")
