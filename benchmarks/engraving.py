"""Engraving: incipits a second from a warm cache, against drawing them anew, in the same run.

    python benchmarks/engraving.py ../shared/data/rism/incipits.jsonl.gz

The cache is a new folder on the disk of the temporary files. Cold: every incipit goes through verovio and is written to
the cache. Warm: the same incipits again, each read from the cache and given its title (the disk's own cache is warm
too). The target is 200 incipits a second from the warm cache.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from roslin.engrave import engrave
from roslin.melody import Melody
from roslin.notation import records

TARGET = 200.0
SEED = 20260
ROUNDS = 5


def main() -> int:
    """Print both rates and their ratio; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path)
    parser.add_argument("--count", type=int, default=500, help="how many incipits")
    arguments = parser.parse_args()
    read = [record.melody for record in records(arguments.incipits, strict=False) if record.melody is not None]
    sample = random.Random(SEED).sample(read, min(arguments.count, len(read)))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROSLIN_CACHE"] = folder
        engrave(sample[0], use_cache=False)  # starts the worker process
        cold = _rate(sample)
        warm = statistics.median(_rate(sample) for _ in range(ROUNDS))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.z")) / len(sample)
    sys.stdout.write(
        f"{len(sample)} incipits (seed {SEED})\n"
        f"cold, through verovio: {cold:10.0f} a second\n"
        f"warm, median of {ROUNDS}: {warm:12.0f} a second  (target: at least {TARGET:g})\n"
        f"ratio: {warm / cold:26.1f}\n"
        f"on disk: {size:24.0f} bytes an incipit\n"
    )
    return int(warm < TARGET)


def _rate(sample: list[Melody]) -> float:
    began = time.perf_counter()
    for melody in sample:
        if not engrave(melody).drawn:
            raise SystemExit(f"{melody.id} could not be drawn")
    return len(sample) / (time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
