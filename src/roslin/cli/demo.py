"""roslin demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from roslin.cli.output import FormatOption, OutputFormat, program, progress_bar, remark
from roslin.display.text import counted

if TYPE_CHECKING:
    from roslin.api import Collection

_LISTS_OF = 10  # no tune of the starter collection has more variants


def demo(
    folder: Annotated[Path, Option("--output", help="Folder for the collection and the pages.")] = Path("demo"),
    format: FormatOption = OutputFormat.table,
) -> None:
    """Build the starter collection, search it for a disguised "Roslin Castle", and compare all matchers on it.

    Example: roslin demo --output demo
    """
    from roslin.api import Collection
    from roslin.cli.search import print_run, write_page
    from roslin.starter import demo_query, tunes_path

    folder.mkdir(parents=True, exist_ok=True)
    query = demo_query()
    remark("Building the starter collection ...")
    with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
        remark(f'Searching {counted(len(collection), "tune")} for "Roslin Castle", transposed, slower and ornamented:')
        remark(f"  {query.music}")
        remark("")
        run = collection.search(query, k=10)
        print_run(collection, run, format)
        write_page(collection, query, run, folder / "results.html")
        remark("")
        remark(f"The same as a page: {folder / 'results.html'}")
        remark("")
        _compare_systems(collection, folder / "campaign")
    remark("")
    remark(f"Next: {program()} search {folder / 'starter.roslin'} --id auld-lang-syne")


def _compare_systems(collection: Collection, folder: Path) -> None:
    """A campaign of all matchers over the tunes that have variants."""
    from roslin.campaign.campaign import run_campaign
    from roslin.matchers.base import matchers
    from roslin.report.campaign import standings, write_report
    from roslin.starter import truth_path

    remark("How well each matcher finds the variants of a tune:")
    with progress_bar("Campaign", total=1.0) as progress:
        campaign = run_campaign(collection, truth_path(), matchers(), folder, k=_LISTS_OF, progress=progress)
    page = write_report(campaign, collection, folder)
    remark(str(standings(campaign)))
    remark("")
    remark(f"Confidence intervals, every pair, every query, and where matchers disagree: {page}")
