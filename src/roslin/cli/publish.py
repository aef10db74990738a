"""roslin publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from roslin.cli.options import CollectionArgument, PageLinkOption, PageTitleOption, needs_extra
from roslin.cli.output import progress_bar, remark


def publish_command(
    collection: CollectionArgument,
    folder: Annotated[Path, Argument(help="Folder for the files.")],
    title: PageTitleOption = "",
    link: PageLinkOption = "",
    replace: Annotated[bool, Option("--replace", help="Replace a folder published before.")] = False,
) -> None:
    """Write a search page as static files that need no server program: visitors search in their browser.

    Example: roslin publish mine.roslin public_html --title "Our melodies"
    """
    from roslin.api import Collection

    with needs_extra("roslin publish", "web"):
        from roslin.publish import publish
    with Collection(collection) as opened, progress_bar("Publishing", total=1.0) as progress:
        size = publish(opened, folder, title=title, link=link, replace=replace, progress=progress)
    remark(f"{folder}: {size / 1e6:.1f} MB. To try it: python -m http.server --directory {folder}")
