"""Real incipits pasted into the command line and the page, in four forms in turn.

The forms are the music alone, one line with clef, metre and key before it, fields on one line, and MARC subfields. The
fields are those of the catalogue, uncorrected.
"""

from __future__ import annotations

import gzip
import html
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from roslin import Collection, NotationError
from roslin.cli.search import search_command
from roslin.notation.query import read_query
from roslin.web.app import create_app
from roslin.web.settings import Settings

RANDOM_STATE = 15
LEAST_SEARCHED = 0.995
_LINES_IN_TERMINAL = 10
_TUNES = "%G-2@3/4 '4CDE/2.F/\n%G-2@4/4 '4GECE/2DG/\n%G-2@2/4 ''4CC/'GG/AA/2G/"

_SEARCH = typer.Typer()  # of all commands only this one: making the others takes longer than to search
_SEARCH.command()(search_command)


@dataclass(frozen=True)
class Pasted:
    """What came of one text: whether each way searched, and what was read otherwise without a word about it."""

    text: str
    refusal: str
    kinds: tuple[str, ...]
    in_terminal: bool
    on_page: bool
    unsaid: tuple[str, ...]


def texts(path: Path, count: int, state: int = RANDOM_STATE) -> list[str]:
    """A random sample of incipits, as somebody would paste them."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    sample = random.Random(state).sample(rows, count)
    return [_FORMS[number % len(_FORMS)](row) for number, row in enumerate(sample)]


def _alone(row: dict[str, Any]) -> str:
    return str(row["pae"])


def _line(row: dict[str, Any]) -> str:
    signs = (("%", "clef"), ("@", "timesig"), ("$", "keysig"))
    return "".join(sign + row[name] for sign, name in signs if row[name]) + " " + str(row["pae"])


def _fields(row: dict[str, Any]) -> str:
    return " ".join(f"@{name}:{row[name] or ''}" for name in ("clef", "keysig", "timesig")) + f" @data:{row['pae']}"


def _marc(row: dict[str, Any]) -> str:
    named = (("g", "clef"), ("n", "keysig"), ("o", "timesig"), ("p", "pae"))
    return " ".join(f"${code} {row[name]}" for code, name in named if row[name])


_FORMS: tuple[Callable[[dict[str, Any]], str], ...] = (_alone, _line, _fields, _marc)


def paste(pasted: list[str], folder: Path) -> Iterator[Pasted]:
    """Search for each text in a tiny collection, in both ways."""
    (folder / "tunes.pae").write_text(_TUNES, encoding="utf-8")
    collection = folder / "tiny.roslin"
    Collection.build(folder / "tunes.pae", collection).close()
    settings = Settings(str(collection), log_requests=False)
    with TestClient(create_app(settings)) as client:
        for text in pasted:
            yield _pasted(text, collection, client)


def _pasted(text: str, collection: Path, client: TestClient) -> Pasted:
    try:
        melody = read_query(text)
        refusal, expected, problems = "", melody.deviations, melody.problems
    except NotationError as error:
        refusal, expected, problems = str(error), [], ()
    done = CliRunner().invoke(_SEARCH, [str(collection), f"--pae={text}", "--matcher", "dp"])
    page = client.get("/results", params={"q": text, "matcher": "dp"})
    shown = html.unescape(page.text)
    unsaid = [line for line in expected[:_LINES_IN_TERMINAL] if line not in done.stderr.splitlines()]
    unsaid += [line for line in expected if line not in shown]
    if not expected and not refusal:  # then strict reading must have nothing to say either
        unsaid += _said_strictly(text)
    in_terminal, on_page = done.exit_code == 0, page.status_code == 200
    return Pasted(text, refusal, tuple({each.reason for each in problems}), in_terminal, on_page, tuple(unsaid))


def _said_strictly(text: str) -> list[str]:
    try:
        read_query(text, strict=True)
    except NotationError as error:
        return [str(error)]
    return []
