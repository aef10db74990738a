"""Old addresses of the site: a small page at each one leads to the page that has its content today."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={target}">
<p>This page has moved <a href="{target}">to another address</a>.</p>
</html>
"""


def write_moved_pages(site: Path, moved: Mapping[str, str]) -> None:
    """Write a page for each old address, such as `howto/runs`, that leads to `howto/evaluate.html#run-files`.

    Links are relative, so that they hold wherever the site is.
    """
    for old, new in moved.items():
        page = site / f"{old}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        target = posixpath.relpath(new, posixpath.dirname(old) or ".")
        page.write_text(_PAGE.format(target=target), encoding="utf-8")
