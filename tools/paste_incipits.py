"""Paste real incipits, as they stand in catalogues, into the command line and the page, and count what is searched.

python tools/paste_incipits.py --count 400

Each incipit is pasted in one of four forms, in turn: the music alone, one line with clef, metre and key before it,
fields on one line, MARC subfields. The fields are those of the catalogue, untidy as they are. What is refused is
listed, and what was read otherwise is counted by its kind. Exit code 1 when less than 99.5 % is searched, or when a
deviation is not shown.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from real_data import INCIPITS
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
    settings = Settings(str(collection), warm_up=False, log_requests=False)
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


def main() -> int:
    """Print what came of the sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path, nargs="?", default=INCIPITS)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--state", type=int, default=RANDOM_STATE)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(paste(texts(arguments.incipits, arguments.count, arguments.state), Path(folder)))
    ways = {"terminal": [each.in_terminal for each in found], "page": [each.on_page for each in found]}
    for way, searched in ways.items():
        sys.stdout.write(f"{way}: {sum(searched)} of {len(searched)} searched\n")
    for each in found:
        if each.refusal:
            sys.stdout.write(f"refused: {each.text!r}: {each.refusal}\n")
        for line in each.unsaid:
            sys.stdout.write(f"not shown: {each.text!r}: {line}\n")
    kinds = Counter(re.sub(r"\s+", " ", kind) for each in found for kind in each.kinds)
    sys.stdout.write(f"{sum(bool(each.kinds) for each in found)} read otherwise than they are written:\n")
    for kind, count in kinds.most_common():
        sys.stdout.write(f"{count:6d}  {kind}\n")
    least = min(sum(searched) / len(searched) for searched in ways.values())
    return int(least < LEAST_SEARCHED or any(each.unsaid for each in found))


if __name__ == "__main__":
    sys.exit(main())
