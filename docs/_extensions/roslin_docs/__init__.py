"""Sphinx extensions for the pages of Roslin.

marked pages   a line `<!-- generated: NAME -->` becomes Markdown made from the program (`generated.PARTS`);
               with an end mark, the page also keeps it for readers of a clone (`tools/renew_reference.py`)
docstrings     are written for people who read the source; `docstrings` turns them into what Sphinx reads
moved pages    an old address in `moved_pages` of conf.py leads to the page that has its content today (`moved`)
types          signatures call a type by its name in the source, such as `Ranking`, not by its definition
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roslin_docs.docstrings import as_rst
from roslin_docs.generated import MARK, generated
from roslin_docs.moved import write_moved_pages
from roslin_docs.names import type_aliases

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PYTHON = re.compile(r"^(```python\n(?:(?!```).*\n)*?(?!```).*\S)\n+```$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything."""
    app.connect("config-inited", _name_types)
    app.connect("builder-inited", _make_room)
    app.connect("source-read", _generate)
    app.connect("autodoc-process-docstring", _docstring)
    app.add_config_value("moved_pages", {}, "html")
    app.connect("build-finished", _lead_on)
    return {"parallel_read_safe": True}


def _name_types(_app: Sphinx, config: Any) -> None:
    config.autodoc_type_aliases = {name: name for name in type_aliases()}


def _make_room(app: Sphinx) -> None:
    """After a build that fails, the theme copies its logo there, and makes a file of a folder that does not exist."""
    Path(app.outdir, "_static").mkdir(parents=True, exist_ok=True)


def _generate(_app: Sphinx, _page: str, source: list[str]) -> None:
    # A doctest ends with an empty line, which nobody needs to see.
    source[0] = _PYTHON.sub(r"\1\n```", MARK.sub(generated, source[0]))


def _lead_on(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write_moved_pages(Path(app.outdir), app.config.moved_pages)


def _docstring(_app: Sphinx, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_rst("\n".join(lines)).splitlines()
