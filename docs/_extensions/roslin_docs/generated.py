"""Parts of pages made from the program: the registries, the commands, the public names."""

from __future__ import annotations

from collections.abc import Callable

from roslin_docs import commands, names, registries

PARTS: dict[str, Callable[..., str]] = {
    "matchers": registries.matchers,
    "measures": registries.measures,
    "formats": registries.formats,
    "rooms": registries.rooms,
    "study": registries.study,
    "commands": commands.commands,
    "names": names.names,
}
