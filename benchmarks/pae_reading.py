"""Reading Plaine & Easie: Roslin against verovio's load + time map, on the same real incipits in the same run.

    .venv/bin/python benchmarks/pae_reading.py

Both get each incipit as the fields of one JSON record and have to produce notes with onset and pitch in memory. The
target is 20x. Incipits on which verovio crashes would end the run, so they are taken from records that Roslin reads
without a problem (verovio reads all of those).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import verovio

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import INCIPITS
from roslin.notation import pae, records

TARGET = 20.0
ROUNDS = 5


def main() -> int:
    """Print both times and their ratio; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path, nargs="?", default=INCIPITS)
    parser.add_argument("--count", type=int, default=1000, help="how many incipits")
    arguments = parser.parse_args()
    sample = _sample(arguments.incipits, arguments.count)
    os.environ["VRV_LOG"] = "off"
    toolkit = verovio.toolkit()
    toolkit.setInputFrom("pae")

    def with_verovio() -> None:
        for fields in sample:
            toolkit.loadData(json.dumps(fields))
            toolkit.renderToTimemap()

    def with_roslin() -> None:
        for fields in sample:
            pae.read_incipit(pae.incipit_from_mapping(fields), strict=True)

    theirs, ours = _microseconds(with_verovio, len(sample)), _microseconds(with_roslin, len(sample))
    sys.stdout.write(
        f"{len(sample)} incipits, median of {ROUNDS} rounds\n"
        f"verovio {verovio.toolkit(False).getVersion()}, load + time map: {theirs:8.1f} us an incipit\n"
        f"roslin: {ours:33.1f} us an incipit\n"
        f"ratio: {theirs / ours:34.1f}  (target: at least {TARGET:g})\n"
    )
    return int(theirs / ours < TARGET)


def _sample(path: Path, count: int) -> list[dict[str, str]]:
    clean = [r.melody for r in records(path, strict=True) if r.melody is not None]
    step = max(1, len(clean) // count)
    return [
        {
            "clef": melody.clef or "G-2",
            "keysig": melody.key_signature or "",
            "timesig": melody.metre or "",
            "data": melody.music or "",
        }
        for melody in clean[::step][:count]
    ]


def _microseconds(work: Callable[[], None], count: int) -> float:
    """Median time an incipit, after one round to warm up."""
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) / count * 1e6


if __name__ == "__main__":
    sys.exit(main())
