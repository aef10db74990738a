"""roslin demo."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from roslin.cli.output import Format, FormatOption, remark

__all__ = ["demo"]


def demo(
    folder: Annotated[Path, typer.Option("--output", help="Where to put the collection and the page.")] = Path("demo"),
    format: FormatOption = Format.table,
) -> None:
    """Build the starter collection and search it for a disguised "Roslin Castle".

    Example: roslin demo --output demo
    """
    from roslin.api import Collection
    from roslin.cli.search import print_run, write_page
    from roslin.starter import demo_query, tunes_path

    folder.mkdir(parents=True, exist_ok=True)
    query = demo_query()
    remark("Building the starter collection ...")
    with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
        remark(f'Searching {len(collection)} tunes for "Roslin Castle", transposed, slower and ornamented:')
        remark(f"  {query.music}")
        remark("")
        run = collection.search(query, "dp(place='inside')", k=10)
        print_run(collection, run, format)
        write_page(collection, query, run, folder / "results.html")
    remark("")
    remark(f"The same as a page: {folder / 'results.html'}")
    program = "roslin" if shutil.which("roslin") else sys.argv[0]
    remark(f"Next: {program} search {folder / 'starter.roslin'} --id auld-lang-syne")
