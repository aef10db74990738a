"""roslin matchers."""

from __future__ import annotations

from roslin.cli.output import Format, FormatOption, print_rows

__all__ = ["matchers_command"]


def matchers_command(format: FormatOption = Format.table) -> None:
    """List the ways to compare melodies.

    Example: roslin matchers --format json
    """
    from roslin.matchers import MATCHERS

    rows = [
        {"name": name, "summary": MATCHERS[name].summary, "reference": MATCHERS[name].reference}
        for name in sorted(MATCHERS)
    ]
    print_rows(rows, ("name", "summary", "reference"), format)
