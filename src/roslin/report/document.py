"""A document: one page that needs nothing but itself, made from one template of this room.

Templates extend `base.html` (the frame), `melodies.html` (melodies to see and to hear) or `tables.html` (tables that
sort, plots). They can ask for what is beside them here: figures of melodies, and the scripts of the page.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from roslin.display.templates import render
from roslin.matchers import Explanation
from roslin.melody import Melody
from roslin.report.flow import flow_svg, name_of
from roslin.report.player import melody_figure
from roslin.report.svg import own_file
from roslin.run import Run
from roslin.run.meaning import CHANCE_LINE, by_chance


def document(template: str, **values: Any) -> str:
    """The page that a template makes of these values; `heading` is one of them."""
    made = render(
        f"report/{template}",
        melody_figure=melody_figure,
        own_file=own_file,
        **values,
    )
    return made + "\n"


def versions(*packages: str, python: bool = False) -> str:
    """The program and what it counts with, each with its version."""
    said = [f"Roslin {version('roslin')}"]
    if python:
        said.append(f"Python {platform.python_version()}")
    return ", ".join([*said, *(f"{package} {version(package)}" for package in packages)])


def said_of_file(kind: str, path: Path) -> str:
    """The kind, path and checksum of a file."""
    return f"{kind} {path}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"


# -- the pages of a search --------------------------------------------------------------------------------------------


def results_page(query: Melody, run: Run, melodies: Sequence[Melody], note: str) -> str:
    """The whole page; `melodies` are those of the run, in its order, and `note` describes how it was made."""
    return document(
        "results.html",
        heading=f"Melodies like {query.title or query.id or 'the query'}",
        query=query,
        run=run,
        results=list(zip(run.hits, melodies, strict=True)),
        by_chance=by_chance,
        chance_line=CHANCE_LINE,
        note=note,
    )


def explanation_page(explanation: Explanation, note: str) -> str:
    """The whole page; `note` describes how it was made."""
    query, candidate = name_of(explanation.query, "the query"), name_of(explanation.candidate, "the candidate")
    return document(
        "explanation.html",
        heading=f"From {query} to {candidate}",
        explanation=explanation,
        names={"Query": name_of(explanation.query, ""), "Candidate": name_of(explanation.candidate, "")},
        drawing=flow_svg(explanation),
        note=note,
    )
