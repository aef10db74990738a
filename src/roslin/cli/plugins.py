"""--plugin: somebody's own matchers, measures and formats from a file; one option for all commands that use them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from roslin.cli.output import remark


def load_plugins(paths: list[Path] | None) -> list[Path] | None:
    """Load the files, and leave their names to the processes that are started from here."""
    from roslin.values.plugins import VARIABLE, load_plugin

    for path in paths or ():
        load_plugin(path)
        named = [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
        if str(path.resolve()) not in named:
            os.environ[VARIABLE] = os.pathsep.join([*named, str(path.resolve())])
    return paths


PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="A Python file with matchers, measures or formats of your own; several times.",
        is_eager=True,  # whatever it adds must be known when the other options are read
        callback=load_plugins,
    ),
]


def show_plugin_warnings() -> None:
    """A plug-in that cannot be used is a remark of one line."""
    from roslin.values.plugins import PluginWarning

    show = warnings.showwarning

    def shown(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, PluginWarning):
            remark(f"roslin: {message}")
        else:
            show(message, category, *place, **more)

    warnings.showwarning = shown
