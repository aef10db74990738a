"""Three ways to read scores, on the same real files: Roslin (through verovio but for MEI), partitura and music21.

    .venv/bin/python tools/compare_score_libraries.py               60 MusicXML and 60 **kern files, and MEI of them all
    .venv/bin/python tools/compare_score_libraries.py --count 10    fewer

The files are a fixed sample of those in the music21 package; the MEI is made by verovio. A file is complete when it has
as many written notes (ties not merged, grace notes counted) as stand in the source (`score_witness.py`). Seconds are
those of all files of a kind, in this run, relative to music21's. partitura is no dependency of Roslin: without
`pip install partitura` its rows are missing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from compare_music21_scores import as_mei, parse_with_music21, sample
from roslin import notation
from roslin.notation.musicxml import unpacked
from score_witness import ties_apart, written_notes

SUFFIXES = {"musicxml": ".musicxml", "kern": ".krn", "mei": ".mei"}


@dataclass
class Tally:
    """What one library made of the files of one kind."""

    files: int = 0
    loaded: int = 0
    complete: int = 0
    seconds: float = 0.0


def roslin_notes(path: Path, kind: str) -> int:
    """Written notes as Roslin reads them."""
    with ties_apart():
        records = list(notation.records(path, kind, strict=False))
    return sum(len(record.melody_or_raise()) for record in records)


def music21_notes(path: Path, _kind: str) -> int:
    """Written notes as music21 reads them."""
    return sum(map(len, parse_with_music21(path)))


def partitura_notes(path: Path, kind: str) -> int:
    """Written notes as partitura reads them."""
    partitura: Any = import_module("partitura")
    load = {"musicxml": partitura.load_musicxml, "kern": partitura.load_kern, "mei": partitura.load_mei}[kind]
    return sum(len(part.notes) for part in partitura.score.Score(load(str(path)).parts).parts)


def files_in(folder: Path, count: int) -> list[tuple[str, Path, int]]:
    """(kind, path, notes in the source) of every file to read; archives unpacked, MEI made."""
    found = []
    for source_kind in ("musicxml", "kern"):
        for number, (_, path) in enumerate(sample(source_kind, count)):
            data = unpacked(path.read_bytes())
            notes = written_notes(data, source_kind)
            for kind, content in ((source_kind, data), ("mei", as_mei(data, source_kind))):
                target = folder / f"{source_kind}-{number}{SUFFIXES[kind]}"
                target.write_bytes(content)
                found.append((kind, target, notes))
    return found


def measure(files: list[tuple[str, Path, int]], count_notes: Callable[[Path, str], int]) -> dict[str, Tally]:
    """Read all files with one library."""
    tallies = {kind: Tally() for kind in SUFFIXES}
    for kind, path, notes in files:
        tally = tallies[kind]
        tally.files += 1
        start = time.perf_counter()
        try:
            found = count_notes(path, kind)
        except Exception:  # whatever a library raises, it has not read the file
            found = None
        tally.seconds += time.perf_counter() - start
        tally.loaded += found is not None
        tally.complete += found == notes
    return tallies


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="files of each kind")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the libraries warn about what they repair
    libraries: dict[str, Callable[[Path, str], int]] = {"Roslin": roslin_notes}
    if find_spec("partitura") is None:
        sys.stdout.write("partitura is not installed: its rows are missing\n\n")
    else:
        libraries["partitura"] = partitura_notes
    libraries["music21"] = music21_notes
    with tempfile.TemporaryDirectory() as folder:
        files = files_in(Path(folder), arguments.count)
        for count_notes in libraries.values():
            measure(files[:1], count_notes)  # the first reading also starts the library
        results = {name: measure(files, count_notes) for name, count_notes in libraries.items()}
    lines = ["| format | library | load | with every note | seconds, music21 = 1 |", "|---|---|---|---|---|"]
    for kind in SUFFIXES:
        for name, tallies in results.items():
            tally = tallies[kind]
            relative = tally.seconds / results["music21"][kind].seconds
            of = f"of {tally.files}"
            lines.append(f"| {kind} | {name} | {tally.loaded} {of} | {tally.complete} {of} | {relative:.2f} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
