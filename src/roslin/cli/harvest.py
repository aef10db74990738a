"""roslin harvest oai, sru."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from roslin.cli.options import command_group
from roslin.cli.output import FormatOption, OutputFormat, print_rows, progress_bar, remark, resumable

if TYPE_CHECKING:
    from roslin.harvest import OaiList, SruSearch

app = command_group(
    "Download records of other catalogues into a folder that roslin collection build takes.\n\n"
    "Example: roslin harvest oai https://example.org/oai pages --from 2026-10-01"
)

AddressArgument = Annotated[str, Argument(metavar="URL", help="Address of the server.")]
FolderArgument = Annotated[Path, Argument(help="Folder for the pages. Created if it does not exist.")]
ContactOption = Annotated[
    str,
    Option("--contact", envvar="ROSLIN_CONTACT", help="Your e-mail address or site, sent in the user agent."),
]
PauseOption = Annotated[float, Option("--pause", min=0.0, help="Seconds between requests.")]
PagesOption = Annotated[int | None, Option("--pages", min=1, help="Number of pages to fetch now. Default: all.")]


@app.command("oai")
def oai_command(
    url: AddressArgument,
    folder: FolderArgument,
    prefix: Annotated[str, Option("--prefix", help="Name of MARCXML on the server (metadata prefix).")] = "marcxml",
    set: Annotated[str, Option("--set", help="Only the records of this set.")] = "",
    since: Annotated[str, Option("--from", metavar="DATE", help="Changed on or after this day, YYYY-MM-DD.")] = "",
    until: Annotated[str, Option("--until", metavar="DATE", help="Changed on or before this day.")] = "",
    contact: ContactOption = "",
    pause: PauseOption = 1.0,
    pages: PagesOption = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Download the records of an OAI-PMH server, with deletions. If interrupted, run it again to resume.

    Example: roslin harvest oai https://example.org/oai pages --set music --contact library@example.org
    """
    from roslin.harvest import OaiList

    _harvest(url, OaiList(prefix, set, since, until), folder, contact, pause, pages, format)


@app.command("sru")
def sru_command(
    url: AddressArgument,
    query: Annotated[str, Argument(help="The query in CQL.")],
    folder: FolderArgument,
    schema: Annotated[str, Option("--schema", help="Name of MARCXML on the server (record schema).")] = "marcxml",
    at_once: Annotated[int, Option("--at-once", min=1, max=1000, help="Records per request.")] = 100,
    contact: ContactOption = "",
    pause: PauseOption = 1.0,
    pages: PagesOption = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Download the records that an SRU server finds for a query. If interrupted, run it again to resume.

    Example: roslin harvest sru https://example.org/sru "dc.title=stabat" pages
    """
    from roslin.harvest import SruSearch

    _harvest(url, SruSearch(query, schema, at_once), folder, contact, pause, pages, format)


def _harvest(
    url: str,
    source: OaiList | SruSearch,
    folder: Path,
    contact: str,
    pause: float,
    pages: int | None,
    format: OutputFormat,
) -> None:
    from roslin.harvest import PoliteReader, harvest

    with progress_bar("Harvesting") as progress:
        reader = PoliteReader(contact, pause, tell=lambda text: progress(0, text))
        with resumable(folder, "the pages so far"):
            state = harvest(url, source, folder, reader, pages)
    shown = ("pages", "records", "deleted", "complete", "date")
    rows = [{name: getattr(state, name, state.is_complete) for name in shown}]
    print_rows(rows, shown, format)
    if not state.is_complete:
        remark("not complete yet: run the same command again")
    elif source.name == "oai" and state.date:
        remark(f"next time, fetch the changes: --from {state.date}, into another folder")
