"""roslin matchers."""

from __future__ import annotations

from roslin.cli.output import FormatOption, OutputFormat, print_rows
from roslin.cli.plugins import PluginOption


def matchers_command(format: FormatOption = OutputFormat.table, _plugins: PluginOption = None) -> None:
    """List the ways to compare melodies.

    Example: roslin matchers --format json
    """
    from roslin.matchers.base import COMPOUND, MATCHERS

    named = {**MATCHERS, **{f"{name}(...)": kind for name, kind in COMPOUND.items()}}
    rows = [
        {
            "name": name,
            "summary": named[name].summary,
            "reference": named[name].reference,
            "from": MATCHERS.origin(named[name].name),
        }
        for name in sorted(named)
    ]
    print_rows(rows, ("name", "summary", "reference", "from"), format)
