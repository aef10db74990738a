"""Renew the parts of pages that are made from the program and kept in the page, such as every key of study.toml.

    python tools/renew_reference.py

A test fails while a page is not as this would write it.
"""

from __future__ import annotations

import sys
from pathlib import Path

_DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """Write every page that has changed."""
    sys.path.insert(0, str(_DOCS / "_extensions"))
    from roslin_docs.generated import renewed

    for page in sorted(_DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if renewed(text) != text:
            page.write_text(renewed(text), encoding="utf-8", newline="\n")
            print(page.relative_to(_DOCS.parent))


if __name__ == "__main__":
    main()
