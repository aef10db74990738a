"""A document: one page that needs nothing but itself, made from one template of this room.

Templates extend `base.html` (the frame), `melodies.html` (melodies to see and to hear) or `tables.html` (tables that
sort, plots). They can ask for what is beside them here: figures of melodies, and the scripts of the page.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from roslin.display.templates import render
from roslin.report.player import PLAYER_STYLE, melody_figure, player_script


def document(template: str, **values: Any) -> str:
    """The page that a template makes of these values; `heading` is one of them."""
    made = render(
        f"report/{template}",
        melody_figure=melody_figure,
        player_style=PLAYER_STYLE,
        player_script=player_script,
        sorting_script=_sorting_script,
        **values,
    )
    return made + "\n"


@cache
def _sorting_script() -> str:
    """What makes tables sort."""
    return files("roslin.report").joinpath("tables.js").read_text("utf-8")


def versions(*packages: str, python: bool = False) -> str:
    """The program and what it counts with, each with its version."""
    said = [f"Roslin {version('roslin')}"]
    if python:
        said.append(f"Python {platform.python_version()}")
    return ", ".join([*said, *(f"{package} {version(package)}" for package in packages)])


def said_of_file(kind: str, path: Path) -> str:
    """What a file was, where it lay, and its checksum."""
    return f"{kind} {path}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
