"""roslin harvest oai, sru."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from roslin.cli.options import command_group, with_options
from roslin.cli.output import FormatOption, OutputFormat, print_rows, progress_bar, remark, resumable

if TYPE_CHECKING:
    from roslin.harvest import OaiList, SruSearch

app = command_group(
    "Download records of other catalogues into a folder that roslin collection build takes.\n\n"
    "Example: roslin harvest oai https://example.org/oai pages --from 2026-10-01"
)

AddressArgument = Annotated[str, Argument(metavar="URL", help="Address of the server.")]
FolderArgument = Annotated[Path, Argument(help="Folder for the pages. Created if it does not exist.")]


@dataclass(frozen=True)
class Fetching:
    """How pages are fetched."""

    contact: Annotated[
        str, Option(envvar="ROSLIN_CONTACT", help="Your e-mail address or site, sent in the user agent.")
    ] = ""
    pause: Annotated[float, Option(min=0.0, help="Seconds between requests.")] = 1.0
    pages: Annotated[int | None, Option(min=1, help="Number of pages to fetch now. Default: all.")] = None

    def harvest(self, url: str, source: OaiList | SruSearch, folder: Path, format: OutputFormat) -> None:
        """Fetch the pages of a source that are not in the folder yet, and print how far it is."""
        from roslin.harvest import PoliteReader, harvest

        with progress_bar("Harvesting") as progress:
            reader = PoliteReader(self.contact, self.pause, tell=lambda text: progress(0, text))
            with resumable(folder, "the pages so far"):
                state = harvest(url, source, folder, reader, self.pages)
        shown = ("pages", "records", "deleted", "complete", "date")
        rows = [{name: getattr(state, name, state.is_complete) for name in shown}]
        print_rows(rows, shown, format)
        if not state.is_complete:
            remark("not complete yet: run the same command again")
        elif source.name == "oai" and state.date:
            remark(f"next time, fetch the changes: --from {state.date}, into another folder")


@app.command("oai")
@with_options(fetching=Fetching)
def oai_command(
    url: AddressArgument,
    folder: FolderArgument,
    prefix: Annotated[str, Option(help="Name of MARCXML on the server (metadata prefix).")] = "marcxml",
    set: Annotated[str, Option(help="Only the records of this set.")] = "",
    since: Annotated[str, Option("--from", metavar="DATE", help="Changed on or after this day, YYYY-MM-DD.")] = "",
    until: Annotated[str, Option(metavar="DATE", help="Changed on or before this day.")] = "",
    *,
    fetching: Fetching,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Download the records of an OAI-PMH server, with deletions. If interrupted, run it again to resume.

    Example: roslin harvest oai https://example.org/oai pages --set music --contact library@example.org
    """
    from roslin.harvest import OaiList

    fetching.harvest(url, OaiList(prefix, set, since, until), folder, format)


@app.command("sru")
@with_options(fetching=Fetching)
def sru_command(
    url: AddressArgument,
    query: Annotated[str, Argument(help="The query in CQL.")],
    folder: FolderArgument,
    schema: Annotated[str, Option(help="Name of MARCXML on the server (record schema).")] = "marcxml",
    at_once: Annotated[int, Option(min=1, max=1000, help="Records per request.")] = 100,
    *,
    fetching: Fetching,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Download the records that an SRU server finds for a query. If interrupted, run it again to resume.

    Example: roslin harvest sru https://example.org/sru "dc.title=stabat" pages
    """
    from roslin.harvest import SruSearch

    fetching.harvest(url, SruSearch(query, schema, at_once), folder, format)
