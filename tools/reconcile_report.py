"""Reconcile 2,000 real incipits, whose records are taken out of the collection, in batches as OpenRefine does.

    .venv/bin/python tools/reconcile_report.py [CELLS]

A match is right if its composer is that of the record that the cell came from. Matches without a composer are counted
apart. The limit for automatic matches is chosen on cells of one half of the composers and reported on the other half.
Prints a table in Markdown, the times of 1,000 cells, and every match of the reported half that is not right.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi.testclient import TestClient

from real_data import DATA
from roslin import Collection
from roslin.concordances.concordance import folded_name, is_nobody
from roslin.notation.record import record_of
from roslin.web.app import create_app
from roslin.web.reconcile import BATCH, CERTAIN
from roslin.web.settings import Settings

SEED, LEAST_NOTES = 31, 10
LIMITS = (1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 1e-6)
Answered = tuple[dict[str, Any], float, dict[str, Any] | None]  # a row, E and the first candidate


def main() -> None:
    """Build the collection without the records of the cells, ask, and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with TemporaryDirectory() as folder:
        cells, path = held_out(count, DATA, Path(folder))
        settings = Settings(str(path), log_requests=False)
        with TestClient(create_app(settings)) as client, Collection(path) as collection:
            began, worked = time.perf_counter(), time.process_time()
            answered = [each for start in range(0, count, BATCH) for each in ask(client, cells[start : start + BATCH])]
            seconds, processor = time.perf_counter() - began, time.process_time() - worked
            report(collection, answered)
    print(f"\n1,000 cells, in batches of {BATCH}: {seconds / count * 1000:.0f} s")
    print(f"On the processor: {processor / count * 1000:.0f} s")


def held_out(count: int, data: Path, folder: Path, among: int | None = None) -> tuple[list[dict[str, Any]], Path]:
    """Incipits of this many records, and a collection of all other records, or of this many other incipits."""
    with gzip.open(data / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    by_record = {record_of(row["id"]): row for row in rows if sum(map(str.isalpha, row["pae"])) >= LEAST_NOTES}
    cells = random.Random(SEED).sample([row for row in by_record.values() if not is_nobody(row["composer"])], count)
    taken = {record_of(row["id"]) for row in cells}
    source, path = folder / "others.jsonl", folder / "others.roslin"
    others = [row for row in rows if record_of(row["id"]) not in taken]
    if among is not None:
        others = random.Random(SEED).sample(others, among)
    source.write_text("".join(json.dumps(row) + "\n" for row in others), "utf-8")
    Collection.build(source, path).close()
    return cells, path


def is_right(row: dict[str, Any], composer: str | None) -> bool | None:
    """Whether a match has the composer of the cell; None if it has no composer."""
    return None if is_nobody(composer) else folded_name(composer or "") == folded_name(row["composer"])


def ask(client: TestClient, cells: list[dict[str, Any]]) -> list[Answered]:
    """The first candidates of a batch."""
    queries = {f"q{place}": {"query": text_of(row), "limit": 1} for place, row in enumerate(cells)}
    answers = client.post("/reconcile", data={"queries": json.dumps(queries)}).json()
    found = [(answers[f"q{place}"]["result"] or [None])[0] for place in range(len(cells))]
    return [
        (row, each["features"][0]["value"] if each else float("inf"), each)
        for row, each in zip(cells, found, strict=True)
    ]


def text_of(row: dict[str, Any]) -> str:
    """The incipit with its clef, key and metre, as a cell has it."""
    parts = (("%", row.get("clef")), ("@", row.get("timesig")), ("$", row.get("keysig")))
    return "".join(f"{sign}{value}" for sign, value in parts if value) + f" {row['pae']}"


def report(collection: Collection, answered: list[Answered]) -> None:
    """Matches within each limit, and how many are right, in both halves."""
    halves: dict[str, list[tuple[float, bool | None, str]]] = {"choose": [], "report": []}
    for row, expected, candidate in answered:
        if candidate:
            composer = collection[candidate["id"]].composer
            share = "choose" if zlib.crc32(folded_name(row["composer"]).encode()) % 2 else "report"
            right = is_right(row, composer)
            halves[share].append((expected, right, f"{row['id']} {row['composer']} ~ {candidate['id']} {composer}"))
    print("| at most E | chosen on: matches | right | reported: matches | right | of 1,000 | without composer |")
    print("|---|---|---|---|---|---|---|")
    for limit in LIMITS:
        figures: list[int] = []
        for part in halves.values():
            within = [right for expected, right, _ in part if expected <= limit]
            figures += [len(within) - within.count(None), within.count(True), within.count(None)]
        figures.insert(5, round(1000 * figures[4] / max(figures[3], 1)))
        print(f"| {limit:g} | {figures[0]} | {figures[1]} | {' | '.join(map(str, figures[3:]))} |")
    print("\nNot right:\n")
    for expected, right, text in halves["report"]:
        if right is False and expected <= CERTAIN:
            print(f"- {text} (E = {expected:.1g})")


if __name__ == "__main__":
    main()
