"""What it costs to find out that a collection is whole, beside reading its files.

    .venv/bin/python benchmarks/opening.py

A hundred thousand melodies. CPU seconds (user and system) of one process for each line, medians of rounds that take
turns; the files are in memory, as they are after a build. "read" only reads the files that are compared. "first
opening" makes their checksums and looks at the numbers that kernels trust; "second opening" finds that nothing has
changed; "mapped only" maps the arrays and looks at nothing. Target: a first opening within 3 times reading, a second
within 1.5 times mapping only.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from roslin.collection import write
from roslin.melody import Melody

MELODIES, NOTES = 100_000, 16
ROUNDS = 7
FIRST_TIMES_READ, SECOND_TIMES_MAPPED = 3.0, 1.5

PROGRAM = """
import json, sys, time
from pathlib import Path
import roslin.api
from roslin.collection import store, verified
from roslin.collection.files import ARRAY_NAMES, DATABASE, array_path
folder, what = Path(sys.argv[1]), sys.argv[2]
token = store.token_of(folder)
files = [folder / DATABASE, *(array_path(folder, name, token) for name in ARRAY_NAMES)]
if what == "first opening":
    for path in folder.glob("verified-*"):
        path.unlink()
if what == "mapped only":
    store.verified_arrays = lambda folder, token: {
        name: verified.open_array(folder, name, token) for name in ARRAY_NAMES
    }
began = time.process_time()
if what == "read":
    for path in files:
        with path.open("rb") as file:
            while file.read(2**20):
                pass
else:
    store.Store(folder).close()
print(json.dumps([time.process_time() - began, sum(path.stat().st_size for path in files)]))
"""


def melodies() -> Iterator[Melody]:
    """Walks at random, always the same."""
    random = np.random.default_rng(4)
    onsets = np.arange(NOTES)
    for number in range(MELODIES):
        pitches = 60 + np.cumsum(random.integers(-2, 3, NOTES))
        yield Melody.from_notes(onsets, np.ones(NOTES), np.clip(pitches, 30, 90), id=f"walk-{number}")


def main() -> int:
    """Print the medians; exit code 1 when a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "half.roslin"
        write.build(melodies(), path)
        lines = ("read", "first opening", "second opening", "mapped only")
        rounds = [{what: _measured(path, what) for what in lines} for _ in range(ROUNDS)]
    seconds = {what: statistics.median(each[what][0] for each in rounds) for what in lines}
    size = rounds[0]["read"][1]
    print(f"{MELODIES:,} melodies of {NOTES} notes, {size / 1e6:.0f} MB")
    for what in lines:
        print(f"{what:16} {1000 * seconds[what]:9.2f} ms")
    first = seconds["first opening"] / seconds["read"]
    second = seconds["second opening"] / seconds["mapped only"]
    print(f"first opening: {first:.2f} times reading the files (target: {FIRST_TIMES_READ})")
    print(f"second opening: {second:.2f} times mapping only (target: {SECOND_TIMES_MAPPED})")
    return int(first > FIRST_TIMES_READ or second > SECOND_TIMES_MAPPED)


def _measured(path: Path, what: str) -> tuple[float, int]:
    program = [sys.executable, "-c", PROGRAM, str(path), what]
    done = subprocess.run(program, stdout=subprocess.PIPE, check=True, text=True)
    seconds, size = json.loads(done.stdout)
    return float(seconds), int(size)


if __name__ == "__main__":
    sys.exit(main())
